"""Commits in the fold: all of a group is shown and published at once, whatever is in the way."""

import random
from collections.abc import Callable
from typing import Any

import pytest

from psoup.app.backend.at_hand import AtHand
from psoup.app.fold.turns import Fold
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.engine import Engine
from psoup.engine.errors import IntegrityError
from psoup.engine.invocation.position.answer import Request
from psoup.engine.limits import SECOND_US
from psoup.engine.query.bind.binder import bind
from psoup.engine.store.errors import StoreUnavailableError
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from tests.app.faults import FaultyStore
from tests.app.fold.folding import numbers
from tests.app.support import START_US
from tests.reference import Reference
from tests.stores import SharedServer
from tests.world import World

COMMITS = 6
ALL = "SELECT a FROM s WHERE a >= 0"


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_US)


@pytest.fixture(params=["memory", pytest.param("redis", marks=pytest.mark.redis)])
def store(request, clock, monkeypatch, tmp_path):
    """A store in which a turn would end inside every group, if it went by its bounds."""
    monkeypatch.setattr(limits, "FOLD_OPERATIONS_MAX", 3)
    monkeypatch.setattr(limits, "FOLD_BYTES_MAX", 1_500)
    if request.param == "memory":
        yield FaultyStore(clock)
        return
    server = SharedServer(tmp_path / "server")
    try:
        yield FaultyStore(clock, server.empty_store(tmp_path))
    finally:
        server.stop()


def schema(name: str = "s") -> StreamSchema:
    return StreamSchema(name, (ColumnSchema("a", ColumnType.INT64),), None, ClockKind.SERVER)


class Watched:
    """A fold, and every position that it has shown or published."""

    def __init__(self, store: FaultyStore, *, answers: bool) -> None:
        self.store, self.answers = store, answers
        self.told: list[int] = []
        self.seen: list[int] = []
        self.fold = Fold(
            store,
            at_hand=AtHand(),
            answers=answers,
            on_applied=self.told.append,
            bind=bind,
            elapsed_s=lambda: 0.0,
        )
        self.fold.restore()

    def look(self) -> None:
        """Note where a reader stands now, in this process and in another one."""
        self.seen += [self.fold.applied, self.fold.published, self.fold.figures().applied]
        self.seen.append(self.store.plain.results.cut().seq)
        if self.answers:
            self.seen.append(self.fold.results.cut().seq)

    def run(self) -> None:
        """Fold all there is, and publish it."""
        while self.fold.turn():
            self.fold.check()
        self.fold.publish()
        self.fold.check()


@pytest.fixture
def looking(monkeypatch) -> Callable[[Callable[[], None]], None]:
    """Return what makes a call come before each operation that an engine applies."""

    def begin(look: Callable[[], None]) -> None:
        apply = Engine.apply

        def watched(self: Engine, operation: Any) -> Any:
            look()
            return apply(self, operation)

        monkeypatch.setattr(Engine, "apply", watched)

    return begin


def filled(store: FaultyStore, clock: ManualClock) -> tuple[World, Any, set[int]]:
    """Append batches and commits of one to nine parts, unfolded; return positions that may be shown as well."""
    world = World(store.plain, clock)
    world.declare(schema())
    query_id = world.register(ALL)
    ends = {0, 1, world.store.log.head()}
    for version in range(COMMITS):
        parts = [("s", numbers(*range(100 * version, 100 * version + 7)))] * (1 + version**2 % 10)
        ends.add(world.commit(parts, version=version, fold=False).seq)
        ends.add(world.append("s", numbers(version), fold=False).seq)
    return world, query_id, ends


def twins(world: World, query_id: Any) -> list[int]:
    """Return the values that the naive twin shows."""
    found = Reference.fold(world.history).invoke(query_id, server_now_us=world.clock.now_us())
    return sorted(v for _, _, values in found.rows for v in values if isinstance(v, int))


def answer(watched: Watched, query_id: Any) -> list[int]:
    """Return the values that a query shows: from memory, or as it was published."""
    world = World(watched.store.plain)
    if watched.answers:
        world.store = type("Shown", (), {"results": watched.fold.results})()
        world.engine = watched.fold._engine
    page = world.page(query_id, Request(10_000))
    return sorted(v for v in page.columns[0][1].to_list() if isinstance(v, int))


@pytest.mark.parametrize("answers", [True, False])
def test_no_position_inside_a_commit_is_ever_shown_or_published(store, clock, looking, answers):
    """Looked at before each operation and each call of the store: who reads sees ends of groups alone."""
    world, query_id, ends = filled(store, clock)
    watched = Watched(store, answers=answers)
    looking(watched.look)
    for contract, name in (("log", "read"), ("log", "trim"), ("results", "publish")):
        getattr(store, contract).before[name] = watched.look
    watched.run()
    assert len(watched.seen) > 4 * len(world.history)
    assert set(watched.told) | set(watched.seen) <= ends
    assert world.store.log.head() == watched.fold.applied == watched.fold.published
    expected = twins(world, query_id)
    assert expected == answer(watched, query_id)
    assert watched.fold.figures().tuples == len(expected)


@pytest.mark.parametrize("answers", [True, False])
def test_engine_that_dies_inside_a_commit_leaves_nothing_of_it(store, clock, looking, answers):
    """At whichever entry: the next engine begins at the end of a group, and folds this one whole."""
    world, query_id, ends = filled(store, clock)
    chance, deaths = random.Random(5), 0
    left = [0]

    def die() -> None:
        left[0] -= 1
        if left[0] == 0:
            raise RuntimeError("killed")

    looking(die)
    while store.plain.results.cut().seq < world.store.log.head():
        watched, left[0] = Watched(store, answers=answers), chance.randint(1, 14)
        try:
            watched.run()
        except RuntimeError:
            deaths += 1
        watched.look()
        watched.fold.publish()  # as a loop does that is stopped: what was applied before
        watched.look()
        assert set(watched.told) | set(watched.seen) <= ends
    assert deaths > COMMITS // 2
    after = Watched(store, answers=answers)
    assert twins(world, query_id) == answer(after, query_id)


@pytest.mark.parametrize("answers", [True, False])
def test_store_that_fails_inside_a_commit_delays_all_of_it(store, clock, answers):
    """A turn that could not read on has applied nothing of the group; the next one does, once."""
    world, query_id, ends = filled(store, clock)
    watched, chance, failed = Watched(store, answers=answers), random.Random(7), 0

    def fail() -> None:
        if chance.random() < 0.3:
            raise StoreUnavailableError("away")

    store.log.before["read"] = fail
    while watched.fold.applied < world.store.log.head():
        try:
            watched.fold.turn()
        except StoreUnavailableError:
            failed += 1
        watched.look()
        watched.fold.check()
    assert failed > COMMITS
    del store.log.before["read"]
    watched.run()
    assert set(watched.told) | set(watched.seen) <= ends
    assert twins(world, query_id) == answer(watched, query_id)


def test_log_that_ends_inside_a_commit_stops_the_fold(clock, monkeypatch):
    """It cannot come of a commit: nothing is guessed, nothing is shown."""
    store = FaultyStore(clock)
    world = World(store.plain, clock)
    world.declare(schema())
    world.commit([("s", numbers(1))] * 3, fold=False)
    log: Any = store.plain.log
    del log._entries[4]
    log._head = 3
    watched = Watched(store, answers=True)
    with pytest.raises(IntegrityError, match="amid a commit"):
        watched.run()
    assert [] == watched.told


def test_commits_over_several_streams_answer_as_the_twin_does(clock):
    """Selections and joins over commits amid batches, at the end of each group, against the naive twin."""
    chance, store = random.Random(11), FaultyStore(clock)
    world = World(store.plain, clock)
    for name in ("s", "t"):
        world.declare(schema(name))
    watched = Watched(store, answers=True)
    window = "BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)"
    queries = [
        world.register(f"{text} {window}", fold=False)
        for text in (
            "SELECT a FROM s WHERE a < 50",
            "SELECT s.a FROM s, t WHERE s.a = t.a",
            "SELECT t.a FROM s, t WHERE s.a > t.a AND s.a < 5",
        )
    ]
    for version in range(12):
        parts = [
            (chance.choice("st"), numbers(*(chance.randrange(100) for _ in range(5))))
            for _ in range(chance.randint(1, 6))
        ]
        world.commit(parts, version=version, fold=False)
        clock.advance(SECOND_US)
        watched.run()
        twin = Reference.fold(world.history)
        world.store = type("Shown", (), {"results": watched.fold.results, "log": store.plain.log})()
        world.engine = watched.fold._engine
        for query_id in queries:
            expected = twin.invoke(query_id, server_now_us=clock.now_us())
            assert expected == world.invoke(query_id)
        world.store = store.plain
        assert watched.fold.applied == store.plain.log.head()
