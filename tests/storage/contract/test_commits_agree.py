"""Parts, commits and holds in `memory://` and in a server, compared after every one of many random steps."""

import collections
import random
from collections.abc import Callable
from typing import Any

import pytest

from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Drop
from psoup.engine.store.contract import Store
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage.memory.store import MemoryStore
from tests.storage.driver import apply_all
from tests.storage.outcomes import outcome
from tests.storage.samples import commit, declare, rows, stage_id, staged, txn
from tests.stores import SharedServer

STEPS = 700
SMALL_LIMITS = {
    "APPS_COUNT_MAX": 1,
    "APP_DIGESTS_KEPT": 3,
    "BACKLOG_OPERATIONS_MAX": 5,
    "BACKLOG_BYTES_MAX": 60,
    "STAGED_BYTES_MAX": 400,
    "STAGE_MARK_BYTES": 5,
    "COMMIT_BYTES_MAX": 12,
}


class Pair:
    """Both stores, and the steps that are taken on them."""

    def __init__(self, server: SharedServer, redis: Store, seed: int) -> None:
        self.redis, self.clock, self.chance = redis, ManualClock(0), random.Random(seed)
        self.memory, self.client = MemoryStore(self.clock), server.client
        self.in_force = {"a": 0, "b": 0}
        self.numbers = 0
        self.latest = commit(99_999)
        self.seen: collections.Counter[str] = collections.Counter()
        for name in self.in_force:
            self.declare(name)

    def both(self, what: str, step: Callable[[Store], Any]) -> Any:
        """Take a step on both, compare what they answer, and note it."""
        found = outcome(step, self.redis)
        if hasattr(found, "arrival_us"):
            self.clock.advance(found.arrival_us - self.clock.now_us())
        assert outcome(step, self.memory) == found
        kind = found[0] if isinstance(found, tuple) else "done"
        self.seen[f"{what} {'again' if getattr(found, 'duplicate', False) else kind}"] += 1
        return found

    def step(self) -> None:
        """Take one step."""
        steps: list[tuple[int, Callable[[], object]]] = [
            (9, self.stage),
            (7, self.commit),
            (2, self.commit_again),
            (1, self.discard),
            (2, self.rows),
            (1, self.publish),
            (1, self.expire),
            (1, self.drop),
            (1, self.hold),
            (2, self.trim),
            (1, self.look),
        ]
        (chosen,) = self.chance.choices(
            [one for _, one in steps], weights=[weight for weight, _ in steps]
        )
        chosen()
        self.both("statistics", lambda store: store.log.statistics())
        self.both("holds", lambda store: dict(store.log.holds()))

    def stream(self) -> tuple[StreamId, str]:
        """Return a stream, now and then one that is not in force."""
        name = self.chance.choice("ab")
        return StreamId(self.in_force[name] + (self.chance.random() < 0.05)), name

    def known(self) -> list[int]:
        """Return the numbers of parts that are kept, marks included."""
        return [int(one[3:]) for one in self.memory.log._staged._kept]

    def declare(self, name: str) -> None:
        self.in_force[name] = self.both(
            "declare", lambda store: store.log.append(declare(name))
        ).seq

    def stage(self) -> None:
        """Stage a part; the model's clock goes by when it expires in the server."""
        self.numbers += self.numbers not in self.known() or self.chance.random() < 0.9
        size, content = max(0, self.chance.randrange(-3, 12)), self.chance.choice("xy")
        part = staged(self.numbers, *self.stream(), count=size, body=b"x" * size, content=content)
        is_new = self.numbers not in self.known()
        expires = outcome(lambda store: store.log.stage(part), self.redis)
        if is_new and not isinstance(expires, tuple):
            self.clock.advance(expires - limits.STAGE_LIFE_S * SECOND_US - self.clock.now_us())
        assert expires == outcome(lambda store: store.log.stage(part), self.memory)
        self.seen[f"stage {expires[0] if isinstance(expires, tuple) else 'done'}"] += 1

    def commit(self) -> None:
        """Commit one to four parts, most of them the latest, seldom one that is not there."""
        latest = self.known()[-5:]
        chosen = self.chance.sample(latest, min(len(latest), self.chance.randint(1, 4)))
        if not chosen or self.chance.random() < 0.1:
            chosen.append(99_999)
        app, version = self.chance.choice("jjjk"), self.numbers // 4
        version -= self.chance.random() < 0.3
        self.latest = commit(*chosen, app=app, version=max(0, version))
        self.commit_again()

    def commit_again(self) -> None:
        """Send the latest commit again, or for the first time."""
        self.both("commit", lambda store: store.log.commit(self.latest))

    def discard(self) -> None:
        number = self.chance.choice([*self.known(), 99_999])
        self.both("discard", lambda store: store.log.discard(stage_id(number)))

    def rows(self) -> None:
        """Append a batch, most of them as a version of an app that commits as well."""
        stream_id, name = self.stream()
        made = txn(self.chance.choice("jjk"), self.numbers // 4, self.chance.choice("xy"))
        content = rows(
            stream_id, name, body=b"12", txn=None if self.chance.random() < 0.3 else made
        )
        self.both("rows", lambda store: store.log.append(content))

    def publish(self) -> None:
        if self.memory.log.head() > self.memory.results.cut().seq:
            self.both("publish", apply_all)

    def expire(self) -> None:
        """End the life of the oldest part, in both."""
        kept = self.memory.log._staged._kept
        if kept:
            oldest = next(iter(kept))
            kept[oldest] = type(kept[oldest])(
                kept[oldest].part, 1, kept[oldest].version, kept[oldest].seq
            )
            self.client.fetch_one("HSET", f"{{ps}}:log:g:{oldest}", "x", 1)
            self.seen["expired"] += 1

    def drop(self) -> None:
        if self.chance.random() < 0.5:
            return
        name = self.chance.choice("ab")
        content = Drop(StreamId(self.in_force[name]), name)
        if not isinstance(self.both("drop", lambda store: store.log.append(content)), tuple):
            self.publish()
            self.declare(name)

    def hold(self) -> None:
        (stream_id, _), head = self.stream(), self.memory.log.head()
        if self.chance.random() < 0.3:
            self.both("unhold", lambda store: store.log.unhold(stream_id))
            return
        through = Seq(self.chance.randint(0, head + 1))
        self.both("hold", lambda store: store.log.hold(stream_id, through))

    def trim(self) -> None:
        applied = self.memory.results.cut().seq
        batches = [Seq(self.chance.randint(1, max(1, applied))) for _ in range(4)]
        below = Seq(max(1, applied - 5))
        kept = self.both("trim", lambda store: store.log.trim(batches=batches, below=below))
        self.seen["kept"] += bool(kept)

    def look(self) -> None:
        """Read what the log has."""
        (stream_id, _), head = self.stream(), self.memory.log.head()
        after, limit = Seq(self.chance.randint(0, head)), self.chance.choice([None, 2])
        self.both(
            "batches_of",
            lambda store: store.log.batches_of(stream_id, after=after, up_to=head, limit=limit),
        )
        self.both("read", lambda store: list(store.log.read(after, operations_max=5, bytes_max=50)))
        self.both("held", lambda store: list(store.log.held_batches(head)))


@pytest.mark.redis
@pytest.mark.parametrize("kind", ["server", "redis_server"])
def test_commits_in_memory_and_in_a_server_answer_alike(request, tmp_path, monkeypatch, kind):
    """Whatever is staged, committed, discarded, expired, dropped, held and trimmed, in whatever order."""
    for name, value in SMALL_LIMITS.items():
        monkeypatch.setattr(limits, name, value)
    server: SharedServer = request.getfixturevalue(kind)
    pair = Pair(server, server.empty_store(tmp_path), seed=3)
    for _ in range(STEPS):
        pair.step()
    pair.redis.log.check()
    pair.memory.log.check()
    met = (
        *("commit done", "commit again", "commit StageMissingError", "commit OverloadedError"),
        *(
            "commit TxnContentDiffersError",
            "commit CommitTooLargeError",
            "commit QuotaExceededError",
        ),
        *("stage done", "stage StaleDeclarationError", "stage OverloadedError", "rows again"),
        *("hold done", "kept", "expired", "drop done"),
    )
    assert [] == [what for what in met if not pair.seen[what]]
