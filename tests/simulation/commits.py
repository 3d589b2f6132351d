"""Micro-batches of a simulated run: drivers stage them in parts and commit them as one version, until that is definite.

A micro-batch may have several drivers: one that goes on for another, one that was only held up. Each cuts the rows in
its own way, and any of their parts may be gone when it is named. `Drivers.check` compares what was answered with what
the log holds in the end: P-01 and P-02 of the catalogue.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from psoup.engine.errors import EngineError
from psoup.engine.log.contract import Appended, Log
from psoup.engine.log.operation import Commit, Operation, Rows, Staged, StageId, sum_digests
from psoup.engine.results.contract import Gen
from psoup.engine.results.delta import StreamRecord
from psoup.engine.tuples.arrow import encode_batch
from psoup.engine.tuples.schema import StreamId, StreamSchema
from tests.reference_streams import decoded
from tests.reference_values import Row
from tests.simulation import workload
from tests.simulation.history import History
from tests.simulation.simulated_time import SimulatedTime
from tests.world import digest, record_batch

JOBS: Final = ("job-0", "job-1")
PARTS_MAX: Final = 3
"""Of one stream."""
DISCARDED: Final = 0.1
"""How likely it is that a part is discarded before the next call."""
DIES: Final = 0.05
"""How likely it is that a driver ends before the next call."""
TIDIES: Final = 0.2
"""How likely it is that a driver discards its parts when they are committed."""
TOGETHER: Final = 0.3
"""How likely it is that a micro-batch has two drivers from the beginning."""


@dataclass(frozen=True, slots=True)
class Part:
    """Some of a micro-batch's rows, for one stream."""

    stream_id: StreamId
    schema: StreamSchema
    rows: Sequence[Row]


@dataclass(eq=False, slots=True)
class MicroBatch:
    """Rows that become visible together, whoever commits them, and what was answered: never more than one is stored."""

    app: str
    version: int
    whole: Sequence[Part]
    acknowledged: list[tuple[Gen, Appended]] = field(default_factory=list)


@dataclass(eq=False, slots=True)
class Driver:
    """Who commits a micro-batch.

    Attributes:
        waiting: parts that are to be staged.
        staged: parts that are, as far as it knows.
        tidies: it has its answer, and discards what it has staged: that undoes nothing.
        over: it has its answer, will never have one, or is dead.
        in_flight: a call is on its way.
    """

    batch: MicroBatch
    waiting: list[Part]
    staged: dict[StageId, Part] = field(default_factory=dict)
    tidies: bool = False
    over: bool = False
    in_flight: bool = False

    def refused(self, error: EngineError, *, final: bool) -> None:
        """Take note of a refusal: of parts that are missing, which are to be staged again, or one that is `final`."""
        missing = error.extras.get("stages", [])
        assert isinstance(missing, list)
        self.waiting += [self.staged.pop(stage_id) for stage_id in missing]
        self.over = final


class Drivers:
    """All micro-batches and their drivers."""

    def __init__(
        self, rng: Random, clock: SimulatedTime, history: History, counts: Counter[str]
    ) -> None:
        self._rng = rng
        self._clock = clock
        self._history = history
        self._counts = counts
        self._batches: list[MicroBatch] = []
        self._drivers: list[Driver] = []
        self._stages = 0

    def pending(self) -> list[Driver]:
        """Return those that have no definite answer yet."""
        return [driver for driver in self._drivers if not driver.over]

    def wish(self, streams: Sequence[StreamRecord]) -> Driver | None:
        """Return a new driver: of the next micro-batch of a job, or of the latest one once more."""
        busy = {driver.batch.app for driver in self.pending()}
        free = [app for app in JOBS if app not in busy]
        if not free:
            return None
        app = self._rng.choice(free)
        of_app = [batch for batch in self._batches if batch.app == app]
        if of_app and self._rng.random() < 0.4:
            self._counts["replay"] += 1
            return self._driver(of_app[-1])
        read = self._rng.sample(streams, min(len(streams), self._rng.randint(1, 2)))
        batch = MicroBatch(app, len(of_app) + 1, [self._rows(stream) for stream in read])
        self._batches.append(batch)
        self._counts["commit"] += 1
        if self._rng.random() < TOGETHER:
            self._driver(batch)
        return self._driver(batch)

    def step(self, driver: Driver, log: Log) -> Appended | None:
        """Take a driver's next step; return what became of its commit, if that was it. Raises what the log does."""
        at = self._rng.random()
        if at < DIES:
            driver.over = True
            return None
        if driver.staged and (driver.tidies or at < DIES + DISCARDED):
            self._discard(driver, log)
            return None
        if driver.waiting:
            self._stage(driver, log)
            return None
        batch = driver.batch
        return log.commit(Commit(batch.app, batch.version, tuple(driver.staged)))

    def committed(self, driver: Driver, appended: Appended) -> Gen:
        """Take note of an answer; return the generation it belongs to."""
        gen = self._history.committed(driver.batch.app, driver.batch.version, appended)
        driver.batch.acknowledged.append((gen, appended))
        driver.tidies = self._rng.random() < TIDIES
        driver.over = not driver.tidies
        return gen

    def check(self) -> None:
        """Assert that each micro-batch is in the log whole and once, or not at all where its answers allow that.

        One without rows may be there oftener: a version counts for a stream from its producer's first row on.
        """
        for batch in self._batches:
            if not any(part.rows for part in batch.whole):
                continue
            found = self._history.of_version(batch.app, batch.version)
            lasting = [
                appended
                for gen, appended in batch.acknowledged
                if not appended.duplicate and self._history.lasts(gen, appended.seq)
            ]
            assert found or not lasting, f"what was acknowledged is in the log: {batch}"
            if found:
                _check_whole(batch, found)
            for appended in lasting:
                stored = (found[-1].seq, sum(len(part.rows) for part in batch.whole))
                assert stored == (appended.seq, appended.rows), f"as was answered: {batch}"

    def _discard(self, driver: Driver, log: Log) -> None:
        """Discard a part, which may be wanted, and may be committed."""
        self._counts["discard"] += 1
        stage_id = self._rng.choice(list(driver.staged))
        log.discard(stage_id)
        if driver.tidies:
            del driver.staged[stage_id]
            driver.over = not driver.staged

    def _stage(self, driver: Driver, log: Log) -> None:
        part = driver.waiting[-1]
        self._stages += 1
        stage_id = StageId(f"st_{self._stages:022d}")
        name, body = part.schema.name, encode_batch(record_batch(part.schema, part.rows))
        count, bag = len(part.rows), _bag_digest(part.rows)
        log.stage(Staged(stage_id, part.stream_id, name, count, body, bag, declared=part.schema))
        driver.staged[stage_id] = driver.waiting.pop()

    def _rows(self, stream: StreamRecord) -> Part:
        rows = workload.rows(self._rng, stream.schema, self._clock.server_us())
        return Part(stream.stream_id, stream.schema, rows)

    def _driver(self, batch: MicroBatch) -> Driver:
        """Return another driver of a micro-batch, which cuts it anew."""
        parts = [part for whole in batch.whole for part in self._cut(whole)]
        self._rng.shuffle(parts)
        driver = Driver(batch, parts)
        self._drivers.append(driver)
        return driver

    def _cut(self, whole: Part) -> list[Part]:
        dealt: list[list[Row]] = [[] for _ in range(self._rng.randint(1, PARTS_MAX))]
        for row in whole.rows:
            self._rng.choice(dealt).append(row)
        return [Part(whole.stream_id, whole.schema, rows) for rows in dealt]


def _check_whole(batch: MicroBatch, found: Sequence[Operation]) -> None:
    """Assert that these operations are one commit, and have the micro-batch's rows."""
    first, contents = found[0], [one.content for one in found if isinstance(one.content, Rows)]
    assert [first.seq + n for n in range(len(found))] == [one.seq for one in found], "side by side"
    assert {first.arrival_us} == {one.arrival_us for one in found}, "of one instant"
    more = [content.more for content in contents]
    assert [True] * (len(found) - 1) + [False] == more, "and said to be"
    stored: dict[StreamId, list[Row]] = {}
    schemas = {part.stream_id: part.schema for part in batch.whole}
    for content in contents:
        rows = decoded(schemas[content.stream_id], content.body)
        assert content.rows == len(rows)
        stored.setdefault(content.stream_id, []).extend(rows)
    wanted = {part.stream_id: _sorted(part.schema, part.rows) for part in batch.whole}
    found_rows = {one: sorted(map(repr, rows)) for one, rows in stored.items()}
    assert wanted == found_rows, f"all rows are stored, each once: {batch}"


def _sorted(schema: StreamSchema, rows: Sequence[Row]) -> list[str]:
    """Return rows as they come out of a body again."""
    return sorted(map(repr, decoded(schema, encode_batch(record_batch(schema, rows)))))


def _bag_digest(rows: Sequence[Row]) -> bytes:
    """Return a digest that adds up, as those of parts do."""
    return sum_digests(digest([row]) for row in rows)
