"""The papers' vectors: what PSoup, CACQ, TelegraphCQ and STREAM say a selection or a window answers."""

import re

import pytest

from psoup.engine.limits import DAY_US, SECOND_US
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from tests.golden.vectors import (
    CLOSING_STOCK_PRICES,
    FIRST_DAY_US,
    LOOPS,
    LoopVector,
    closing_price,
    day_us,
    stock_rows,
)
from tests.strategies_sql import instant
from tests.world import World


def spelled(window: str) -> str:
    """Return the window's text with day numbers in braces written as timestamps."""
    return re.sub(
        r"\{(\d+)\}", lambda found: f"TIMESTAMP '{instant(day_us(int(found[1])))}'", window
    )


def select(vector: LoopVector) -> str:
    """Return the vector as a query."""
    return (
        f"SELECT closingPrice, timestamp FROM ClosingStockPrices WHERE {vector.where} "
        + spelled(vector.window)
    )


def cells(answer):
    """Return the first cell of each row."""
    return [values[0] for _, _, values in answer.rows]


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.no_cover
def test_golden_telegraphcq_loop_answers_each_of_its_windows(name):
    """TelegraphCQ's loop is one standing query: at every t it answers exactly the window's days."""
    vector = LOOPS[name]
    world = World()
    world.declare(CLOSING_STOCK_PRICES)
    early = world.register(select(vector))
    world.append("ClosingStockPrices", stock_rows(range(1, vector.loop[-1] + 1)))
    late = world.register(select(vector))
    for t in vector.loop:
        expected = [(closing_price("MSFT", day), day) for day in vector.days(t)]
        for query_id in (early, late):
            answer = world.invoke(query_id, at_us=day_us(t))
            assert expected == [values for _, _, values in answer.rows], (vector.source, t)
    assert vector.windows_count == len(vector.loop), vector.source


def test_golden_telegraphcq_sliding_query_standing_while_days_pass_answers_at_each_day():
    """Without now=, NOW is the last trading day seen: the window moves as the days are sent."""
    vector = LOOPS["sliding"]
    world = World()
    world.declare(CLOSING_STOCK_PRICES)
    query_id = world.register(select(vector))
    for day in range(1, 12):
        world.append("ClosingStockPrices", stock_rows(range(day, day + 1)))
        answer = world.invoke(query_id)
        assert day_us(day) == answer.now_us
        assert vector.days(day) == [values[1] for _, _, values in answer.rows]


def test_golden_telegraphcq_sliding_average_of_five_days_is_the_papers():
    """AVG(closingPrice) over (t-4, t) is the mean of five closings, not of four."""
    world = World()
    world.declare(CLOSING_STOCK_PRICES)
    query_id = world.register(select(LOOPS["sliding"]))
    world.append("ClosingStockPrices", stock_rows(range(1, 10)))
    closings = cells(world.invoke(query_id))
    # Days 5 to 9: 48 + (5, 6, 7, 8, 0) / 2.
    assert [50.5, 51.0, 51.5, 52.0, 48.0] == closings
    assert 50.6 == sum(closings) / len(closings)


NUMBERS = ("a", "b")


def numbers_stream(name: str) -> StreamSchema:
    """Return a stream of two integers, dated by a column."""
    columns = [ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False)]
    columns += [ColumnSchema(column, ColumnType.INT64) for column in NUMBERS]
    return StreamSchema(name, tuple(columns), "ts", ClockKind.HIGH_WATER)


def numbers_rows(*pairs: tuple[int | None, int | None]) -> list[dict[str, int | None]]:
    """Return one row a second: (a, b)."""
    return [
        {"ts": FIRST_DAY_US + second * SECOND_US, "a": a, "b": b}
        for second, (a, b) in enumerate(pairs)
    ]


def test_golden_psoup_figure_4_single_stream_factors_keep_the_sides():
    """PSoup 3.2.2, Figure 4: query 23 keeps R.a < 5 of R and S.b > 1 of S, old data and new alike.

    What the join then makes of the sides, R.a > S.b, is worked out here by hand from both answers.
    """
    world = World()
    world.declare(numbers_stream("R"))
    world.declare(numbers_stream("S"))
    world.append("R", numbers_rows((3, 0), (4, 0), (5, 0)))
    world.append("S", numbers_rows((0, 0), (0, 1), (0, 2)))
    of_r = world.register("SELECT a FROM R WHERE a < 5")
    of_s = world.register("SELECT b FROM S WHERE b > 1")
    world.append("R", numbers_rows((6, 0), (2, 0)))
    world.append("S", numbers_rows((0, 3), (0, 1)))
    kept_of_r = sorted(cells(world.invoke(of_r)))
    kept_of_s = sorted(cells(world.invoke(of_s)))
    assert [2, 3, 4] == kept_of_r
    assert [2, 3] == kept_of_s
    assert [(3, 2), (4, 2), (4, 3)] == [(a, b) for a in kept_of_r for b in kept_of_s if a > b]


def test_golden_psoup_example_with_a_bare_offset_counts_seconds():
    """PSoup 1.1: WHERE a < v1 AND b > v2 BEGIN (NOW - 10) END (NOW), both ends inclusive."""
    world = World()
    world.declare(numbers_stream("Data_Stream"))
    query_id = world.register(
        "SELECT * FROM Data_Stream AS D_s WHERE (D_s.a < 5 AND D_s.b > 7) BEGIN (NOW - 10) END (NOW)"
    )
    world.append("Data_Stream", numbers_rows(*[(4, 8)] * 13, (5, 8), (4, 7), (None, 8), (4, 8)))
    times = cells(world.invoke(query_id))
    # NOW is second 16: 6 to 12 pass, 13 to 15 fail one factor each, 16 is NOW itself.
    assert [6, 7, 8, 9, 10, 11, 12, 16] == [(t - FIRST_DAY_US) // SECOND_US for t in times]


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("a > 10 AND a < 5", []),
        ("a >= 3 AND a <= 7", [3, 5, 7]),
        ("a > 3 AND a < 7 AND a <> 5", []),
        ("a > 3 AND a > 5", [7, 11]),
        ("a = 5 AND a = 7", []),
        ("a >= 5 AND a <= 5", [5]),
    ],
)
def test_golden_cacq_two_factors_on_one_attribute_both_have_to_hold(where, expected):
    """CACQ's grouped filter ORs a query's factors on one attribute (SIGMOD 2002, 2.3): here they AND.

    Other standing queries with one factor each on the same attribute share the filter meanwhile.
    """
    world = World()
    world.declare(numbers_stream("S"))
    others = {one: world.register(f"SELECT a FROM S WHERE {one}") for one in ("a > 10", "a < 5")}
    before = world.register(f"SELECT a FROM S WHERE {where}")
    world.append("S", numbers_rows(*[(a, 0) for a in (1, 3, 5, 7, 11)], (None, 0)))
    after = world.register(f"SELECT a, b FROM S WHERE {where}")
    for query_id in (before, after):
        assert expected == cells(world.invoke(query_id))
    found = {one: cells(world.invoke(query_id)) for one, query_id in others.items()}
    assert {"a > 10": [11], "a < 5": [1, 3]} == found


@pytest.mark.parametrize(
    ("offset_us", "shown"), [(-1, True), (0, True), (1, False)], ids=["before", "at", "after"]
)
def test_golden_range_window_is_closed_at_both_ends(offset_us, shown):
    """STREAM's [Range w] holds a tuple of age exactly w; JIT's [ts, ts + w) would not (edge tested)."""
    world = World()
    world.declare(numbers_stream("S"))
    query_id = world.register("SELECT a FROM S BEGIN (NOW - INTERVAL '1' DAY) END (NOW)")
    row = {"ts": FIRST_DAY_US, "a": 1, "b": 0}
    later = {"ts": FIRST_DAY_US + DAY_US + offset_us, "a": 2, "b": 0}
    world.append("S", [row, later])
    answer = world.invoke(query_id)
    assert ([(1,)] if shown else []) + [(2,)] == [values for _, _, values in answer.rows]
    leaves = {values: leaves_us for _, leaves_us, values in answer.rows}
    assert FIRST_DAY_US + 2 * DAY_US + offset_us + 1 == leaves[2,]
