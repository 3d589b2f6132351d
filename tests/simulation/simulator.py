"""A seeded run of every verb, with the engine lost and brought back at every boundary of a turn.

A turn of the fold reads, applies, publishes, trims. The engine may die between any two of these, and
between an append and the turn that reads it. After each step every standing query is answered, and the
answer is the twin's at the seq it names.
"""

from collections import Counter
from dataclasses import replace
from enum import StrEnum
from random import Random

from psoup.engine.errors import NotFoundError
from psoup.engine.limits import QUERY_RENEWALS_PER_TTL, SECOND_US
from psoup.engine.log.operation import Expire, QueryId, Renew
from psoup.engine.results.delta import merge
from psoup.engine.tuples.schema import StreamSchema
from tests.agreement.comparison import compare_all
from tests.reference import Reference
from tests.simulation import workload
from tests.world import World

STREAMS = ("s", "t", "u")
LIFETIMES_US = (None, 2 * SECOND_US, 10 * SECOND_US)


class Boundary(StrEnum):
    """Where in a turn the engine dies."""

    APPENDED = "appended, not read"
    APPLIED = "applied, not published"
    PUBLISHED = "published, not trimmed"
    TRIMMED = "between two turns"


class Simulator:
    """One seed, one run."""

    def __init__(self, seed: int) -> None:
        """Begin with an empty store."""
        self.seed = seed
        self.rng = Random(seed)
        self.world = World()
        self.reference = Reference()
        self.schemas: dict[str, StreamSchema] = {}
        self.first_columns: dict[str, int] = {}
        """How many columns each was declared with: a body checked before others were added has them alone."""
        self.queries: dict[QueryId, str] = {}
        """Standing queries and their streams."""
        self.named: dict[QueryId, str] = {}
        """Names of queries, of those that are gone too."""
        self.lifetimes: dict[QueryId, tuple[int, int]] = {}
        """Of standing queries that do not stand for ever: time to live, and when it is over (µs)."""
        self.expired: dict[QueryId, int] = {}
        """When queries expired."""
        self.counts: Counter[str] = Counter()
        self.steps = 0

    def run(self, steps: int) -> int:
        """Take `steps` steps; on a difference, say how to take them again. Return how many were compared."""
        try:
            for self.steps in range(1, steps + 1):
                self.step()
        except BaseException as error:
            error.add_note(f"replay: make sim SEED={self.seed}    (step {self.steps} of {steps})")
            raise
        return self.steps

    def step(self) -> None:
        """Do one thing, perhaps die, fold, and compare everything."""
        verbs = [self.append] * 6 + [self.register] * 2
        verbs += [
            self.declare,
            self.alter,
            self.replace,
            self.remove,
            self.renew,
            self.expire,
            self.expire,
            self.drop,
            self.tick,
            self.advance,
            self.advance,
        ]
        self.rng.choice(verbs)()
        if self.rng.random() < 0.8:
            self.turn()
        self.world.check()
        compare_all(self.world, self.reference, self.rng)

    # --- Verbs ------------------------------------------------------------------------------------

    def declare(self) -> None:
        """Declare a stream that is not there."""
        free = [name for name in STREAMS if name not in self.schemas]
        if free:
            schema = workload.schema(self.rng, self.rng.choice(free))
            self.schemas[schema.name] = schema
            self.first_columns[schema.name] = len(schema.columns)
            self.world.declare(schema, fold=False)
            self.counts["declare"] += 1

    def alter(self) -> None:
        """Let a stream keep more or less, or have one more column."""
        if self.schemas:
            name = self.rng.choice(sorted(self.schemas))
            schema = self.schemas[name]
            if self.rng.random() < 0.5:
                self.schemas[name] = replace(schema, retention=workload.retention(self.rng))
            else:
                self.schemas[name] = workload.with_column(self.rng, schema)
            self.world.alter(self.schemas[name], fold=False)
            self.counts["alter"] += 1

    def drop(self) -> None:
        """Drop a stream, with what reads it; not often, or nothing would grow old."""
        if self.schemas and self.rng.random() < 0.3:
            name = self.rng.choice(sorted(self.schemas))
            readers = [query_id for query_id, stream in self.queries.items() if stream == name]
            self.world.drop(name, readers, fold=False)
            del self.schemas[name]
            self.queries = {q: stream for q, stream in self.queries.items() if stream != name}
            self.lifetimes = {q: one for q, one in self.lifetimes.items() if q in self.queries}
            self.counts["drop"] += 1

    def append(self) -> None:
        """Append a batch; now and then twice under one version."""
        if not self.schemas:
            return self.declare()
        name = self.rng.choice(sorted(self.schemas))
        rows = workload.rows(self.rng, self.schemas[name], self.world.clock.now_us())
        if self.rng.random() < 0.7 or not rows:  # versions count from the first row on
            columns = self.rng.randint(self.first_columns[name], len(self.schemas[name].columns))
            self.world.append(name, rows, columns=columns, fold=False)
            self.counts["append"] += 1
        else:
            version = 1 + self.counts["version"]
            for duplicate in (False, True):
                appended = self.world.append(name, rows, app="p", version=version, fold=False)
                assert duplicate == appended.duplicate
                if self.rng.random() < 0.5:
                    self.die(Boundary.APPENDED)
            self.counts["version"] += 1
        return None

    def register(self) -> None:
        """Register a query."""
        if self.schemas and len(self.queries) < 12:
            name = self.rng.choice(sorted(self.schemas))
            sql = workload.query(self.rng, self.schemas[name])
            self.counts["register"] += 1
            query_name = f"query {self.counts['register']}"
            ttl_us = self.rng.choice(LIFETIMES_US)
            query_id = self.world.register(sql, name=query_name, ttl_us=ttl_us, fold=False)
            self.queries[query_id], self.named[query_id] = name, query_name
            self._begin(query_id, ttl_us, self.world.history[-1].arrival_us)

    def replace(self) -> None:
        """Give a query another definition."""
        if self.queries:
            query_id = self.rng.choice(sorted(self.queries))
            name = self.rng.choice(sorted(self.schemas))
            sql = workload.query(self.rng, self.schemas[name])
            ttl_us = self.rng.choice(LIFETIMES_US)
            replaced = self.world.replace(
                query_id, self.named[query_id], sql, ttl_us=ttl_us, fold=False
            )
            self.queries[query_id] = name
            if not replaced.duplicate:
                self._begin(query_id, ttl_us, replaced.arrival_us)
            self.counts["replace"] += 1

    def remove(self) -> None:
        """Remove a query."""
        if self.queries:
            query_id = self.rng.choice(sorted(self.queries))
            del self.queries[query_id]
            self.lifetimes.pop(query_id, None)
            self.world.remove(query_id, fold=False)
            self.counts["remove"] += 1

    def renew(self) -> None:
        """Use a query that does not stand for ever; the log calls it a duplicate for a tenth of its time."""
        if self.lifetimes:
            query_id = self.rng.choice(sorted(self.lifetimes))
            ttl_us, expires_us = self.lifetimes[query_id]
            renewed = self.world.append_content(Renew(query_id), fold=False)
            passed_us = renewed.arrival_us + ttl_us - expires_us
            assert renewed.duplicate or passed_us * QUERY_RENEWALS_PER_TTL >= ttl_us
            if not renewed.duplicate:
                self._begin(query_id, ttl_us, renewed.arrival_us)
                self.counts["renew"] += 1

    def expire(self) -> None:
        """Let queries go that the engine takes to be over; the log refuses those that are not, or were renewed."""
        for query_id in self.world.engine.overdue(self.world.clock.now_us(), limit=9):
            _, expires_us = self.lifetimes.get(query_id, (0, None))
            try:
                gone = self.world.append_content(Expire(query_id), fold=False)
            except NotFoundError:
                self.counts["still"] += 1
                continue
            assert expires_us is not None, "it has a time to live"
            assert gone.arrival_us >= expires_us, "it is over"
            del self.queries[query_id], self.lifetimes[query_id]
            self.expired[query_id] = gone.arrival_us
            self.counts["expire"] += 1

    def tick(self) -> None:
        """Let the log know that time passes."""
        self.world.tick(fold=False)
        self.counts["tick"] += 1

    def advance(self) -> None:
        """Move the clock, sometimes back."""
        seconds = self.rng.choice([-5, 1, 1, 3, 10, 30])
        self.world.clock.advance(seconds * SECOND_US + self.rng.choice([0, 1]))
        self.counts["advance"] += 1

    # --- The fold, and its deaths -----------------------------------------------------------------

    def turn(self) -> None:
        """Fold all that is committed, a few operations at a time, dying now and then."""
        if self.rng.random() < 0.1:
            self.die(Boundary.APPENDED)
        results, log = self.world.store.results, self.world.store.log
        while operations := log.read(
            results.cut().seq, operations_max=self.rng.randint(1, 4), bytes_max=2**20
        ):
            deltas = [self.world.engine.apply(operation) for operation in operations]
            delta = merge(deltas)
            if self.rng.random() < 0.05:
                self.die(Boundary.APPLIED)  # nothing of this was published: it is folded again
                continue
            results.publish(delta)
            self.world.engine.published()
            for operation in operations:
                self.reference.apply(operation)
            if self.rng.random() < 0.05:
                self.die(Boundary.PUBLISHED)  # the log keeps what was not trimmed: harmless
                continue
            log.trim(batches=sorted(seq for _, seq in delta.dropped_batches), below=delta.expect)
            if self.rng.random() < 0.05:
                self.die(Boundary.TRIMMED)
        self._check_lifetimes()

    def _begin(self, query_id: QueryId, ttl_us: int | None, now_us: int) -> None:
        """Let the time to live of a query begin."""
        if ttl_us is None:
            self.lifetimes.pop(query_id, None)
        else:
            self.lifetimes[query_id] = ttl_us, now_us + ttl_us

    def _check_lifetimes(self) -> None:
        """Assert that each query stands that is not over, until when the log says, and that expiries are remembered."""
        results = self.world.store.results
        lasting = dict.fromkeys(self.queries, (None, None))
        found = {one.query_id: (one.ttl_us, one.expires_us) for one in results.queries()}
        assert found == {**lasting, **self.lifetimes}
        told = [gone.extras.get("expired_at") for gone in results.gone(list(self.expired))]
        assert told == list(self.expired.values())

    def die(self, boundary: Boundary) -> None:
        """Lose the engine; another one begins where the store stands."""
        self.world.lose_engine()
        self.counts[boundary] += 1
