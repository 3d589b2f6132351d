"""LEFT JOIN: psoup, the naive twin and DuckDB agree on drawn programs with NULL keys, windows and row windows."""

from typing import Any

from hypothesis import given, strategies as st

from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Materialize
from tests.engine.batches import schema_keeping
from tests.oracle_duckdb import DuckDbOracle
from tests.reference import Reference
from tests.reference_windows import bounds
from tests.strategies import EPOCH_US, fewer
from tests.world import World

ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "ts": st.integers(0, 12).map(lambda second: EPOCH_US + second * SECOND_US),
            "a": st.one_of(st.none(), st.integers(0, 5)),
            "t": st.sampled_from([None, "", "x", "y"]),
        }
    ),
    max_size=12,
)
NUMBER = st.integers(-1, 6).map(str)
ON = st.sampled_from(
    [
        "x.a = y.a",
        "x.t = y.t",
        "x.a = y.a AND x.t = y.t",
        "x.a + 1 = y.a AND x.ts <= y.ts",
        "x.ts BETWEEN y.ts - INTERVAL '2' SECOND AND y.ts + INTERVAL '1' SECOND",
        "x.a < y.a AND y.a IS NOT NULL",
        "x.a = y.a AND x.a > {0}",
        "x.a = y.a AND y.t <> 'x'",
        "x.t = y.t AND (x.a < {0} OR y.a > {0})",
        "x.t = y.t AND x.a IS NULL",
    ]
)
WHERE = st.sampled_from(
    [
        "",
        "y.a IS NULL",
        "y.ts IS NULL AND x.a IS NOT NULL",
        "y.a IS NOT NULL",
        "x.a > {0}",
        "x.t IS NULL OR y.t IS NULL",
        "y.a IN (1, 2, {0})",
        "NOT (y.a = {0})",
        "x.a <> {0} AND (y.a = {0} OR y.a IS NULL)",
        "COALESCE(y.a, {0}) = {0}",
        "y.a IS NULL IS NOT TRUE",
        "x.t = 'x' AND x.a < 4",
    ]
)
SHOWN = "x.ts AS at, x.a AS a, y.ts AS met, y.a AS b, y.t AS word, COALESCE(y.a, x.a) AS either"
WINDOWS = [
    "",
    "BEGIN (NOW - 4) END (NOW)",
    "BEGIN (NOW - 9) END (NOW - 2)",
]


def drawn_join(data: st.DataObject) -> tuple[World, str, str]:
    """Return a world with drawn tuples of `s` and `r`; and of a LEFT JOIN of these, `x` and `y`, ON and WHERE."""
    world = World()
    for name in ("s", "r"):
        world.declare(schema_keeping(name=name))
        world.append(name, data.draw(ROWS))
    on, where = data.draw(ON).format(data.draw(NUMBER)), data.draw(WHERE).format(data.draw(NUMBER))
    return world, on, f"WHERE {where}" if where else ""


@fewer(15)
@given(data=st.data())
def test_oracle_left_joins_of_drawn_programs_equal_duckdb_naive_twin(data: Any):
    """Rows, their order, their ids with an empty part, and NULL in every column of what is missing."""
    world, on, where = drawn_join(data)
    window = data.draw(st.sampled_from(WINDOWS))
    counted = data.draw(st.sampled_from([None, None, 1, 3]))
    partition = [] if counted is None or data.draw(st.booleans()) else ["t"]
    by = f"PARTITION BY {', '.join(partition)} " if partition else ""
    row_window = "" if counted is None else f"[{by}ROWS {counted}]"
    inner = data.draw(st.sampled_from(["", "JOIN s AS z ON x.t = z.t AND x.ts <= z.ts"]))
    query_id = world.register(
        f"SELECT {SHOWN} FROM s AS x {inner} LEFT JOIN r AS y {row_window} ON {on} {where} {window}",
        materialize=data.draw(st.sampled_from(list(Materialize))),
    )
    found = world.invoke(query_id)
    twin = Reference.fold(world.history)
    assert found == twin.invoke(query_id, server_now_us=world.clock.now_us())
    if found.now_us is None:
        return
    begin_us, end_us = bounds(twin.queries[query_id].bound.window, found.now_us)
    with DuckDbOracle() as oracle:
        for name, stream in zip(("s", "r"), twin.streams.values(), strict=True):
            oracle.load(
                stream.schema,
                [one.values for one in stream.tuples],
                tuple_ids=[one.tuple_id for one in stream.tuples],
                times_us=[one.time_us for one in stream.tuples],
            )
            newest = counted if name == "r" and counted is not None else 1_000
            last_us = found.now_us if end_us is None else end_us
            oracle.keep_newest(
                name, newest, partition if name == "r" else [], begin_us=begin_us, end_us=last_us
            )
        select = f"SELECT {SHOWN} FROM s AS x {inner} LEFT JOIN r AS y ON {on} {where}"
        expected: list[Any] = oracle.join(select, [(None, None)] * (3 if inner else 2))
    expected.sort(key=_place)
    assert [
        ("-".join("" if part is None else str(part) for part in ids), values)
        for ids, _, values in expected
    ] == [(row_id, values) for row_id, _, values in found.rows]


def _place(row: Any) -> tuple[int, ...]:
    """Return where a row stands: by the earliest time of its parts, then by their ids."""
    (*lefts, right), _, (at, _, met, *_) = row  # the first of two of the left is the earlier
    return (at, *lefts, -1) if met is None else (min(at, met), *lefts, right)
