"""LEFT JOIN: whose hits it shares, when rows beside NULLs come and go by the clock, and what it leaves to WHERE."""

from dataclasses import replace
from typing import Any

import pytest

from psoup.engine.errors import QuerySuspendedError
from psoup.engine.invocation.position.answer import Request
from psoup.engine.invoke import invoke
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Materialize
from psoup.engine.results.delta import JoinRecord, Suspension
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import ClockKind
from tests.engine.batches import schema_keeping
from tests.engine.one_stream import ask
from tests.reference import Reference
from tests.strategies import EPOCH_US
from tests.strategies_sql import instant as written
from tests.world import World

SQL = "SELECT x.a, y.a AS b FROM s AS x LEFT JOIN r AS y ON x.t = y.t"


def world_of(clock: ClockKind = ClockKind.HIGH_WATER) -> World:
    world = World()
    for name in ("s", "r"):
        world.declare(schema_keeping(name=name, clock=clock))
    return world


def pairs(answer) -> list[tuple[int, int | None]]:
    return list(zip(*[column.to_list() for _, column in answer.columns], strict=True))


def test_left_join_shares_the_clause_of_its_inner_join():
    """With what WHERE asks of the left; what it asks of the right is asked after the join."""
    world = world_of()
    handles = [
        world.register(f"{SQL} WHERE x.a > 1"),
        world.register(f"{SQL} WHERE x.a > 1 AND y.a IS NULL"),
        world.register("SELECT y.a FROM s AS x, r AS y WHERE x.t = y.t AND x.a > 1"),
    ]
    records = [world.store.results.snapshot(one).clause for one in handles]
    assert 1 == len({record.clause_id for record in records})


@pytest.mark.parametrize("materialize", Materialize)
def test_rows_beside_nulls_come_and_go_with_the_clock(materialize):
    """A partner that leaves earlier leaves its row alone, at the instant that the answer names."""
    world = world_of(ClockKind.SERVER)
    now = world.clock.now_us()
    query_id = world.register(f"{SQL} BEGIN (NOW - 0.000100) END (NOW)", materialize=materialize)
    world.append("s", [{"ts": now, "a": 1, "t": "k"}, {"ts": now + 10, "a": 2, "t": "l"}])
    world.append("r", [{"ts": now - 60, "a": 7, "t": "k"}, {"ts": now + 5, "a": 8, "t": "k"}])
    seen = []
    for _ in range(8):
        answer = ask(world, query_id)
        seen.append((world.clock.now_us() - now, pairs(answer)))
        twin = Reference.fold(world.history).invoke(query_id, server_now_us=world.clock.now_us())
        assert twin == world.invoke(query_id)
        if answer.changes_us is None:
            break
        world.clock.advance(answer.changes_us - world.clock.now_us())
    assert seen == [
        (0, [(1, 7)]),
        (5, [(1, 7), (1, 8)]),
        (10, [(1, 7), (1, 8), (2, None)]),
        (41, [(1, 8), (2, None)]),
        (101, [(2, None)]),
        (111, []),
    ]


def test_a_row_that_partners_leave_stands_alone_until_it_leaves_itself():
    """A window of its own lets the partner go first."""
    world = world_of(ClockKind.SERVER)
    now = world.clock.now_us()
    query_id = world.register(
        "SELECT x.a, y.a AS b FROM s AS x [RANGE 0.000100] LEFT JOIN r AS y [RANGE 0.000010] ON x.t = y.t"
    )
    world.append("s", [{"ts": now, "a": 1, "t": "k"}])
    world.append("r", [{"ts": now, "a": 7, "t": "k"}, {"ts": now + 30, "a": 8, "t": "k"}])
    seen = []
    while (answer := ask(world, query_id)).changes_us is not None:
        seen.append((world.clock.now_us() - now, pairs(answer)))
        world.clock.advance(answer.changes_us - world.clock.now_us())
    assert seen == [(0, [(1, 7)]), (11, [(1, None)]), (30, [(1, 8)]), (41, [(1, None)])]


def test_null_keys_have_no_partner_and_where_sees_nulls():
    """NULL equals nothing; conditions on the right are asked of the NULLs."""
    world = world_of()
    every = world.register(SQL)
    without = world.register(f"{SQL} WHERE y.ts IS NULL")
    above = world.register(f"{SQL} WHERE y.a > 1")
    world.append("s", [{"ts": 1, "a": 1, "t": None}, {"ts": 2, "a": 2, "t": "k"}])
    world.append("r", [{"ts": 3, "a": 5, "t": None}, {"ts": 3, "a": 6, "t": "k"}])
    assert [(1, None), (2, 6)] == pairs(ask(world, every))
    assert [(1, None)] == pairs(ask(world, without))
    assert [(2, 6)] == pairs(ask(world, above))


def test_left_join_is_not_complete_when_retention_has_passed_the_second_stream_alone():
    """Late tuples of the first may still come, and stand alone."""
    world = World()
    world.declare(schema_keeping(name="s"))
    world.declare(schema_keeping(name="r", time_us=SECOND_US))
    window = f"BEGIN ({instant(0)}) END ({instant(10)})"
    left = world.register(f"{SQL} {window}")
    inner = world.register(f"SELECT x.a, y.a AS b FROM s AS x, r AS y WHERE x.t = y.t {window}")
    world.append("s", [{"ts": EPOCH_US + 5 * SECOND_US, "a": 1, "t": "k"}])
    world.append("r", [{"ts": EPOCH_US + 60 * SECOND_US, "a": 7, "t": "k"}])
    assert (False, True) == (ask(world, left).complete, ask(world, inner).complete)
    world.append("s", [{"ts": EPOCH_US + 6 * SECOND_US, "a": 2, "t": "k"}])
    assert [(1, None), (2, None)] == pairs(ask(world, left))


def instant(second: int) -> str:
    return f"TIMESTAMP '{written(EPOCH_US + second * SECOND_US)}'"


@pytest.mark.parametrize("window", ["", "[ROWS 3]", "[PARTITION BY t ROWS 2]", "[RANGE 0.000004]"])
def test_left_of_a_left_join_may_stand_an_inner_join_naive_twin(window):
    """Each composite of it beside its partners, or beside NULLs: its id has an empty part at the end."""
    world = world_of()
    query_id = world.register(
        f"SELECT x.ts, z.a, y.a AS b FROM s AS x {window} JOIN s AS z {window} ON x.t = z.t AND x.ts < z.ts "
        f"LEFT JOIN r AS y {window} ON y.a = z.a AND y.t = x.t WHERE y.a IS NULL OR y.a < 3"
    )
    seen = set()
    for at in range(12):
        for name, kinds in (("s", 4), ("r", 5)):
            row = {"ts": at * 5 % 12, "a": at % kinds, "t": [None, "x", "y"][at % 3]}
            world.append(name, [row])
        expected = Reference.fold(world.history).invoke(
            query_id, server_now_us=world.clock.now_us()
        )
        assert expected == world.invoke(query_id)
        seen |= {row_id.endswith("-") for row_id, *_ in expected.rows}
    assert True in seen


class Suspended:
    """Published results of queries whose joins ran over a bound."""

    def __init__(self, results: Any) -> None:
        self._results = results

    def snapshot(self, query_id: Any) -> Any:
        snapshot = self._results.snapshot(query_id)
        join = JoinRecord(snapshot.clause.clause_id, (0, 0), Suspension(Seq(7), "too many"))
        return replace(snapshot, clause=replace(snapshot.clause, join=join))


def test_left_join_whose_pairs_are_suspended_answers_as_a_join_does():
    """Rows beside NULLs cannot be told from those whose partners are gone."""
    world = world_of()
    query_id = world.register(SQL)
    world.append("s", [{"ts": 1, "a": 1, "t": "k"}])
    results: Any = Suspended(world.store.results)
    with pytest.raises(QuerySuspendedError) as refused:
        invoke(
            results,
            world.engine.source,
            query_id=query_id,
            request=Request(limit=5),
            cache=world.cache,
        )
    assert {"since_seq": 7, "reason": "too many"} == refused.value.extras
