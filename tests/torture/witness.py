"""One who reads the log of a run as it grows, past every API: what is in it, and who writes to the store.

The store answers a read only after what it shows is on disk, so an entry that was seen once stays as it was seen:
an operation that later has another content, a gap, an epoch or a position that falls back are violations.
"""

import asyncio
import contextlib
import threading
from collections.abc import Mapping
from typing import Final

from psoup.engine.errors import EngineError
from psoup.engine.log.operation import Operation
from psoup.engine.tuples.batch import Seq
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.entries import decode_entry
from tests.torture.history import History

LOOK_S: Final = 0.1
ENTRIES_AT_ONCE: Final = 20
META: Final = "{ps}:m"
LOG: Final = "{ps}:log"


class Witness:
    """Follows a store. `operations` are all entries of its log so far."""

    def __init__(self, client: RedisClient, history: History) -> None:
        """Look through `client`, which is the witness's own."""
        self.client = client
        self._history = history
        self.operations: list[Operation] = []
        self.epochs: list[int] = []
        """Each epoch that was seen, once, in the order of being seen."""
        self.gens: list[int] = []
        self.applied = 0
        self._looking = threading.Lock()

    async def run(self) -> None:
        """Look until cancelled; a store that is away is looked for again."""
        while True:
            with contextlib.suppress(EngineError):
                await asyncio.to_thread(self.look)
            await asyncio.sleep(LOOK_S)

    def look(self) -> None:
        """Read what is new. Raises EngineError where the store does not answer.

        Any thread, one at a time: a look that `run` had begun goes on in its thread when `run` is cancelled.
        """
        with self._looking:
            while self._read_on():
                pass
            self._judge(self.meta())

    def meta(self) -> Mapping[str, str]:
        """Return META."""
        flat = [one.decode(errors="replace") for one in self.client.fetch_one("HGETALL", META)]
        return dict(zip(flat[::2], flat[1::2], strict=True))

    def head(self) -> int:
        """Return the last operation of the log."""
        return int(self.client.fetch_one("HGET", "{ps}:log:h", "seq") or 0)

    def recheck(self) -> None:
        """Compare what the log still holds with what was seen of it."""
        for operation in self._entries("-"):
            if operation.seq > len(self.operations):
                self._history.violation(f"entry {operation.seq} came after the end")
            elif operation != self.operations[operation.seq - 1]:
                self._history.violation(f"entry {operation.seq} has changed")

    def close(self) -> None:
        """Let go of the connections."""
        self.client.close()

    def _read_on(self) -> bool:
        seen = len(self.operations)
        first = f"({seen}-0" if seen else "-"
        entries = self._entries(first, "COUNT", ENTRIES_AT_ONCE)
        for operation in entries:
            if operation.seq != len(self.operations) + 1:
                text = f"the log goes from {len(self.operations)} to {operation.seq}"
                self._history.violation(text)
                raise AssertionError(text)
            self.operations.append(operation)
        return len(entries) == ENTRIES_AT_ONCE

    def _entries(self, first: str, *count: str | int) -> list[Operation]:
        """Return the entries from `first` on. No run stages parts, so every body is in its entry."""
        found = []
        for entry_id, flat in self.client.fetch_one("XRANGE", LOG, first, "+", *count):
            fields = dict(zip(flat[::2], flat[1::2], strict=True))
            found.append(decode_entry(Seq(int(entry_id.removesuffix(b"-0"))), fields, fields[b"b"]))
        return found

    def _judge(self, meta: Mapping[str, str]) -> None:
        if "gen" not in meta:
            if self.gens:
                self._history.violation("META has gone")
            return
        gen, applied = int(meta["gen"]), int(meta["applied"])
        epoch = int(meta.get("epoch", "0"))
        if self.gens and gen != self.gens[-1]:
            self._history.violation(f"generation {gen} after {self.gens[-1]}")
        if applied < self.applied:
            self._history.violation(f"applied {applied} after {self.applied}")
        if self.epochs and epoch < self.epochs[-1]:
            self._history.violation(f"epoch {epoch} after {self.epochs[-1]}")
        self.gens = self.gens if gen in self.gens else [*self.gens, gen]
        self.epochs = self.epochs if epoch in self.epochs else [*self.epochs, epoch]
        self.applied = applied
