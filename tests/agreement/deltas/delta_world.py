"""Random worlds in which clients come and go, and ask what has changed: psoup against the naive twin.

A world is one query over one or two streams, and a few clients. Tuples arrive, late ones and ones of the future;
the clock moves; retention drops; clients stay away, lose answers, take two in the wrong order, die between an answer
and its cursor, and read pages while the world moves on.
Source: the executable model of the protocol, which plays the same worlds without an engine.
"""

from collections.abc import Callable, Sequence
from random import Random
from threading import Lock
from typing import Any

import numpy as np

from psoup.engine.errors import PageExpiredError
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.position.answer import Answer, Request, Since
from psoup.engine.invoke import invoke
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.sources.cached_tuples import CachedTuples
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from tests.agreement.deltas.client import Client, Shown, told
from tests.reference import AnswerRow, Reference
from tests.strategies import EPOCH_US
from tests.strategies_sql import instant
from tests.world import World

PAGES_MOVING = 60
"""Tuples arrive between so many pages: each makes a join's answer longer by many."""
AWAY, LOST, CROSSED, DIED, PAGED, DIED_PAGING, ASKED = range(7)


class Forgetful:
    """A `TupleSource` that holds nothing that retention has dropped: as if each tuple were a segment."""

    def __init__(self, source: Any, world: World) -> None:
        self._source = source
        self._world = world

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def reach(self, stream_id: Any, first_row: int, *span: Any) -> Any:
        self._refuse(stream_id, first_row)
        return self._source.reach(stream_id, first_row, *span)

    def joining(self, plan: Any, spans: Any) -> Any:
        for span in spans:
            self._refuse(span.stream_id, span.first_row)
        return self._source.joining(plan, spans)

    def partnered(self, plan: Any, spans: Any, source: Any) -> Any:
        for span in spans:
            self._refuse(span.stream_id, span.first_row)
        return self._source.partnered(plan, spans, source)

    def _refuse(self, stream_id: Any, first_row: int) -> None:
        for stream in self._world.store.results.streams():
            if stream.stream_id == stream_id and first_row < stream.floor_row:
                raise PageExpiredError


class DeltaWorld:
    """One query and its clients, drawn from a seed."""

    joins = 0.4
    """How many of these worlds have two streams."""

    def __init__(self, seed: int) -> None:
        self.seed, self.rng = seed, Random(seed)
        rng = self.rng
        self.world = World()
        self.by_arrival = rng.random() < 0.2
        server = self.by_arrival or rng.random() < 0.5
        clock = ClockKind.SERVER if server else ClockKind.HIGH_WATER
        self.join = rng.random() < self.joins
        self.distinct = rng.random() < 0.3
        for name in ("s", "r") if self.join else ("s",):
            self.world.declare(self._schema(name, clock))
        sql = self._sql()
        policy = rng.choice(list(Materialize))
        self.query_id: QueryId = self.world.register(sql, materialize=policy)
        self.twin = Reference()
        self.folded = 0
        self.clients = [Client() for _ in range(4)]
        store = self.world.store
        self.source: Any = self.world.engine.source
        if rng.random() < 0.4:  # as a worker does
            self.source = CachedTuples(store.results, store.log, make_lock=Lock)
        if rng.random() < 0.4:
            self.source = Forgetful(self.source, self.world)
        self.answers: dict[str, int] = {}
        self.states: dict[Any, Any] = {}
        self.complete: dict[str, Shown] | None = None

    def _schema(self, name: str, clock: ClockKind) -> StreamSchema:
        rng = self.rng
        columns = tuple(
            ColumnSchema(column, kind, nullable)
            for column, kind, nullable in (
                ("ts", ColumnType.TIMESTAMP, False),
                ("a", ColumnType.INT64, False),
                ("t", ColumnType.STRING, True),
            )
        )
        kept: dict[str, int | None] = {"time_us": None, "rows": None, "bytes": None}
        how = rng.randrange(4)
        if how == 1:
            kept["rows"] = rng.choice([3, 8, 20])
        if how == 2:
            kept["time_us"] = rng.choice([5, 20, 60]) * SECOND_US
        if how == 3:
            kept |= {"rows": rng.choice([8, 20]), "time_us": 30 * SECOND_US}
        time = None if self.by_arrival else "ts"
        return StreamSchema(name, columns, time, clock, Retention(**kept))

    def _sql(self) -> str:
        rng = self.rng
        listed = "DISTINCT " if self.distinct else ""
        if not self.join:
            listed += "a, t" if self.distinct else "ts, a, t"
            return f"SELECT {listed} FROM s WHERE a % 3 <> 0 {self._window()}"
        listed += "x.a, y.t" if self.distinct else "x.a, x.ts, y.t"
        ranged = rng.random() < 0.4
        one, other = [
            f"[RANGE INTERVAL '{rng.choice([5, 20, 60])}' SECOND]"
            if ranged and rng.random() < 0.8
            else ""
            for _ in "sr"
        ]
        where = "x.a % 6 = y.a % 6 AND x.a % 3 <> 0"
        window = "" if one and other else self._window()
        return f"SELECT {listed} FROM s AS x {one}, r AS y {other} WHERE {where} {window}"

    def _window(self) -> str:
        rng = self.rng
        begin, end = self._constant(-20), self._constant(rng.randrange(60))
        near = rng.choice([3, 10])
        window = rng.choice(
            [
                "",
                f"BEGIN ({begin}) END ({end})",
                f"BEGIN ({self._constant(-10)}) END (NOW)",
                f"BEGIN ({self._constant(5)}) END (NOW - {near})",
                f"BEGIN (NOW - {rng.choice([0, 5, 20, 60])}) END (NOW)",
                f"BEGIN (NOW - {near + 15}) END (NOW - {near})",
                f"BEGIN (NOW - {rng.choice([5, 20])}) END (NOW)",
            ]
        )
        every = rng.choice(["", "", "", " EVERY 4", f" EVERY 10 ALIGN {self._constant(3)}"])
        return f"{window}{every}" if window else ""

    @staticmethod
    def _constant(second: int) -> str:
        return f"TIMESTAMP '{instant(EPOCH_US + second * SECOND_US)}'"

    # --- What happens -----------------------------------------------------------------------------

    def send(self) -> None:
        """Append a few tuples to a stream: most are of now, some late, some of the future."""
        rng = self.rng
        rows = []
        for _ in range(rng.choice([1, 1, 2, 5])):
            moved = rng.choice([0, 0, 0, -2, -9, -40, 4, 15]) * SECOND_US
            text = rng.choice([None, "x", "y"])
            rows.append(
                {"ts": self.world.clock.now_us() + moved, "a": rng.randrange(12), "t": text}
            )
        self.world.append(rng.choice(["s", "r"]) if self.join else "s", rows)

    def tick(self) -> None:
        """Let time pass."""
        half = SECOND_US // 2
        self.world.clock.advance(
            self.rng.choice([0, 0, half, SECOND_US, SECOND_US, 3 * SECOND_US, 12 * SECOND_US])
        )
        if self.rng.random() < 0.3:
            self.world.tick()

    def ask(self, *, since: Since | None = None, limit: int = 100_000, **request: Any) -> Answer:
        """Return one page, as the engine gives it, out of a cache or without one."""
        cache = self.world.cache if self.rng.random() < 0.7 else InvocationCache(BoundQueries())
        answer = invoke(
            self.world.store.results,
            self.source,
            query_id=self.query_id,
            request=Request(limit, since=since, **request),
            cache=cache,
        )
        kind = "reset" if answer.reset else "keep" if answer.keep is not None else "removed"
        if answer.removed is None and kind == "removed":
            kind = "unchanged" if answer.unchanged else "delta"
        self.answers[kind] = self.answers.get(kind, 0) + 1
        return answer

    def expected(self) -> dict[str, Shown]:
        """Return what the naive twin answers now, by ids; rows of DISTINCT by their values."""
        self.fold()
        found = self.twin.invoke(self.query_id, server_now_us=self.world.clock.now_us())
        return self.named(found.rows)

    def fold(self) -> None:
        """Let the twin take what has happened."""
        for operation in self.world.history[self.folded :]:
            self.twin.apply(operation)
        self.folded = len(self.world.history)

    def named(self, rows: Sequence[AnswerRow]) -> dict[str, Shown]:
        """Return the twin's rows by what they are known by."""
        if self.keyed_by_values:
            return {repr(values): (leaves_us, values) for _, leaves_us, values in rows}
        return {row_id: (leaves_us, values) for row_id, leaves_us, values in rows}

    @property
    def keyed_by_values(self) -> bool:
        """Whether rows are known by a digest of their values."""
        return self.distinct

    @property
    def exact_changes(self) -> bool:
        """Whether the answer changes at `changes_us`, not later: a row that enters may be equal to one shown."""
        return not self.distinct

    # --- What clients do --------------------------------------------------------------------------

    def visit(self, client: Client) -> None:
        """Let a client come by, in one of the ways in which things go wrong."""
        rng = self.rng
        how = rng.choices(
            [AWAY, LOST, CROSSED, DIED, PAGED, DIED_PAGING, ASKED], [25, 7, 8, 10, 12, 5, 33]
        )[0]
        if how == AWAY:
            return
        if how == LOST:
            self.ask(since=client.cursor)
            return
        if how == CROSSED:
            cursor = client.cursor
            old = self.ask(since=cursor)
            self.send()
            self.tick()
            client.take(self.ask(since=cursor), cursor)
            client.take(old, cursor)
        elif how == DIED:
            cursor = client.cursor
            client.take(self.ask(since=cursor), cursor, save_cursor=False)
            client.forget_position()
            return
        elif how in {PAGED, DIED_PAGING}:
            self.read_pages(client, dies=how == DIED_PAGING)
            if how == DIED_PAGING:
                client.forget_position()
                return
        self.refresh(client)
        self.compare(client)

    def read_pages(self, client: Client, *, dies: bool) -> None:
        """Read what has changed page by page while the world moves on; a client that dies leaves the rest."""
        cursor, limit = client.cursor, self.rng.choice([1, 2, 3, 7])
        answer = self.ask(since=cursor, limit=limit)
        client.take(answer, cursor)
        pages = 0
        while answer.next is not None and not (dies and self.rng.random() < 0.5):
            pages += 1
            if pages < PAGES_MOVING:
                self.send()
            self.tick()
            try:
                answer = self.ask(position=answer.next, limit=limit)
            except PageExpiredError:
                return
            assert not answer.reset
            client.take(answer, cursor)

    def refresh(self, client: Client) -> None:
        """Let a client ask with its cursor, twice where nothing happens in between."""
        limit = self.rng.choice([2, 5, 100_000, 100_000])
        cursor = client.cursor
        answer = self.ask(since=cursor, limit=limit)
        self.check_state(answer, (cursor, limit))
        client.take(answer, cursor)
        while answer.next is not None:
            answer = self.ask(position=answer.next, limit=limit)
            client.take(answer, cursor)
        again = self.ask(since=client.cursor)
        self.check_state(again, (client.cursor, None))
        assert again.unchanged, "nothing happened in between"
        assert again.stands is client.cursor
        client.take(again, client.cursor)

    def compare(self, client: Client) -> None:
        """Compare what a client has with the twin, and what an answer says of itself with what it is."""
        expected = self.expected()
        rows = client.rows
        if self.keyed_by_values:
            rows = {repr(row[1]): row for row in rows.values()}
            assert len(rows) == len(client.rows), "one digest for each row"
        assert expected == rows, (self.seed, set(expected) ^ set(rows))
        assert not client.mistaken, self.seed
        full = self.ask()
        assert full.reset
        assert full.count == len(expected)
        counted = self.ask(count_only=True)
        assert counted.count == full.count
        self.check_state(full, None)
        if self.complete is not None and full.complete_from_us is None:
            assert self.complete == expected, (self.seed, "a complete answer changed")
        if full.complete and full.complete_from_us is None:
            self.complete = expected
        self.check_changes(full, expected)

    def check_state(self, answer: Answer, asked: Any) -> None:
        """Compare an answer with earlier ones to the same request whose states are equal."""
        changes_us = answer.changes_us if answer.ticks else None
        said = (told(answer), changes_us, answer.complete_from_us, answer.overflowed)
        before = self.states.setdefault((asked, answer.state), said)
        assert before == said, (self.seed, "equal states, unequal answers")

    def check_changes(self, full: Answer, expected: dict[str, Shown]) -> None:
        """Compare the next instant at which the clock changes the answer with the twin's answers around it."""
        stands = full.stands
        assert stands is not None
        assert stands.changes_us == full.changes_us
        if full.now_us is None or self.twin_now() is None:
            return
        if full.changes_us is not None:
            assert full.changes_us > full.now_us
            if self.exact_changes:
                assert self.shown_at(full.changes_us) != expected, (self.seed, "nothing changes")
        last_us = full.now_us + 200 * SECOND_US if full.changes_us is None else full.changes_us - 1
        assert self.shown_at(last_us) == expected, (self.seed, "something changes before")

    def twin_now(self) -> int | None:
        return self.twin.now_us(self.query_id, self.world.clock.now_us())

    def shown_at(self, now_us: int) -> dict[str, Shown]:
        """Return what the twin would answer at an instant to come if nothing arrived."""
        marks = {stream_id: one.high_water_us for stream_id, one in self.twin.streams.items()}
        for stream in self.twin.streams.values():
            stream.high_water_us = now_us
        found = self.twin.invoke(self.query_id, server_now_us=now_us)
        for stream_id, mark in marks.items():
            self.twin.streams[stream_id].high_water_us = mark
        return self.named(found.rows)


def play(
    seed: int,
    *,
    steps: int = 40,
    before: Callable[[DeltaWorld], None] | None = None,
    of: Callable[[int], DeltaWorld] = DeltaWorld,
) -> DeltaWorld:
    """Play a world to its end; AssertionError where an answer is wrong."""
    world = of(seed)
    if before is not None:
        before(world)
    for _ in range(steps):
        for _ in range(world.rng.randrange(4)):
            world.send()
        world.tick()
        world.visit(world.rng.choice(world.clients))
    world.world.cache.check()
    return world


def counts(worlds: list[DeltaWorld]) -> dict[str, int]:
    """Return how often each kind of answer was given in some worlds."""
    kinds = sorted(set().union(*(world.answers for world in worlds)))
    return {kind: int(np.sum([world.answers.get(kind, 0) for world in worlds])) for kind in kinds}
