"""What the clients of a run asked and were told, with times: one JSON object a line, kept where it fails.

All clients live in one process, so instants of its monotonic clock order what happened: an answer that had
arrived before another request was sent happened before it.
"""

import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from psoup.engine.clock import SystemClock
from tests.reference_values import Row
from tests.torture.exchange import Answer, BrokenError, Connection, Cut, SilentError

NOT_NOW: Final = frozenset(
    {"overloaded", "recovering", "store-unavailable", "commit-unknown", "query-filling"}
    | {"not-yet-visible", "store-full", "store-unsuitable"}
)
"""What a service under torture may answer: definite but for `commit-unknown`, and worth another try."""
VIOLATIONS_SHOWN_MAX: Final = 20


@dataclass(frozen=True, slots=True)
class Sent:
    """A batch as its producer made it: how many rows, and a digest of them in their order."""

    rows: int
    digest: str


@dataclass(slots=True)
class Exchange:
    """One request and what came of it; `answer` None = the connection broke."""

    sent_s: float
    sent_us: int
    done_s: float = 0.0
    done_us: int = 0
    answer: Answer | None = None


@dataclass
class History:
    """Events of one run, in the order in which they ended, and what was found to be wrong on the way."""

    path: Path
    violations: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    batches: dict[tuple[str, str, int], Sent] = field(default_factory=dict)
    """(stream, app, version) -> what was sent under it."""
    slowest_s: float = 0.0
    unresolved: int = 0
    """Operations on their way whose outcome is not known."""

    def __post_init__(self) -> None:
        """Begin the file."""
        self._file = self.path.open("w", encoding="utf-8")
        self._clock = SystemClock()

    async def ask(
        self,
        connection: Connection,
        method: str,
        target: str,
        *,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        cut: Cut | None = None,
    ) -> Exchange:
        """Return what came of one request; nobody answering at all is noted as a violation."""
        asked = Exchange(time.monotonic(), self._clock.now_us())
        try:
            asked.answer = await connection.ask(method, target, body=body, headers=headers, cut=cut)
        except BrokenError:
            self.counts["broken"] += 1
        except SilentError as error:
            self.violation(str(error))
        asked.done_s, asked.done_us = time.monotonic(), self._clock.now_us()
        if asked.answer is not None:
            self.slowest_s = max(self.slowest_s, asked.done_s - asked.sent_s)
            self.counts[f"status {asked.answer.status}"] += 1
            if asked.answer.code:
                self.counts[f"problem {asked.answer.code}"] += 1
            self._judge(method, target, asked.answer)
        return asked

    def note(self, kind: str, asked: Exchange, **what: object) -> None:
        """Write an event that has ended: its times, and what it was."""
        event = {"kind": kind, "sent_s": asked.sent_s, "done_s": asked.done_s}
        event |= {"sent_us": asked.sent_us, "done_us": asked.done_us, **what}
        self.write(event)
        self.counts[kind] += 1

    def violation(self, text: str) -> None:
        """Take note of something that must not be."""
        self.violations.append(text)
        asked = Exchange(time.monotonic(), self._clock.now_us())
        self.note("violation", asked, text=text)

    def fault(self, name: str, **what: object) -> None:
        """Take note of a fault that was injected."""
        self.note("fault", Exchange(time.monotonic(), self._clock.now_us()), name=name, **what)
        self.counts[f"fault {name}"] += 1
        self.counts["under way at faults"] += self.unresolved

    def events(self) -> Iterator[dict[str, Any]]:
        """Yield all events, read back from the file."""
        self._file.flush()
        with self.path.open(encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)

    def write(self, event: dict[str, Any]) -> None:
        """Write an event as it is."""
        self._file.write(json.dumps(event) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _judge(self, method: str, target: str, answer: Answer) -> None:
        """Refuse whatever no fault excuses."""
        if answer.status in {429, 500} or (answer.status >= 500 and answer.code not in NOT_NOW):
            self.violation(f"{method} {target}: {answer.status} {answer.body[:300]!r}")
        elif answer.status in {503, 507} and "retry-after" not in answer.headers:
            self.violation(f"{method} {target}: {answer.code} without Retry-After")


def digest(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """Return a hash of rows in their order."""
    listed = [[row.get(name) for name in columns] for row in rows]
    return hashlib.sha256(repr(listed).encode()).hexdigest()


async def pause(seconds: float, ending: asyncio.Event) -> None:
    """Wait, or return at once where the run is ending."""
    try:
        async with asyncio.timeout(seconds):
            await ending.wait()
    except TimeoutError:
        return
