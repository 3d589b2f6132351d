"""Filters of Spark inside a query's text: the text keeps the rows that pass, and nothing else changes."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, strategies as st

from psoup.engine.limits import QUERY_TEXT_BYTES_MAX
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.canonical import sql_window
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.text.parser import parse
from psoup.engine.query.values.expression import Value
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema
from tests import strategies, strategies_sql
from tests.oracle_duckdb import DuckDbOracle

datasource = pytest.importorskip("pyspark.sql.datasource", reason="needs pyspark")
from psoup.pipeline.spark.read.pushdown import push  # noqa: E402 - where pyspark is

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
COMPARISONS = {
    datasource.EqualTo: lambda left, right: left == right,
    datasource.GreaterThan: lambda left, right: left > right,
    datasource.GreaterThanOrEqual: lambda left, right: left >= right,
    datasource.LessThan: lambda left, right: left < right,
    datasource.LessThanOrEqual: lambda left, right: left <= right,
    datasource.StringStartsWith: lambda left, right: left.startswith(right),
    datasource.StringEndsWith: lambda left, right: left.endswith(right),
    datasource.StringContains: lambda left, right: right in left,
}
TRADES = StreamSchema(
    "trades",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("sym", ColumnType.STRING),
        ColumnSchema("px", ColumnType.FLOAT64),
        ColumnSchema("qty", ColumnType.INT64),
        ColumnSchema("own", ColumnType.BOOL),
    ),
    "ts",
    ClockKind.HIGH_WATER,
)
QUOTES = StreamSchema("quotes", TRADES.columns, "ts", ClockKind.HIGH_WATER)
STREAMS = {"trades": (StreamId(1), TRADES), "quotes": (StreamId(2), QUOTES)}


def _without_window(query: BoundQuery) -> str:
    """Return the canonical text without BEGIN-END, which DuckDB does not know."""
    return query.canonical.removesuffix(sql_window(query.window))


def passes(one: Any, row: dict[str, Value | None], kinds: dict[str, ColumnType]) -> bool | None:
    """Return what Spark's filter says of a row, None for unknown: as Spark's documentation has it."""
    if isinstance(one, datasource.Not):
        inner = passes(one.child, row, kinds)
        return None if inner is None else not inner
    (name,) = one.attribute
    value: Any = row[name]
    if kinds[name] is ColumnType.TIMESTAMP and value is not None:
        value = EPOCH + timedelta(microseconds=value)
    if isinstance(one, datasource.IsNull):
        return value is None
    if isinstance(one, datasource.IsNotNull):
        return value is not None
    if isinstance(one, datasource.EqualNullSafe):
        return bool(value == one.value) if None not in (value, one.value) else value is one.value
    if value is None:
        return None
    if isinstance(one, datasource.In):
        return True if value in one.value else None if None in one.value else False
    return bool(COMPARISONS[type(one)](value, one.value))


def constants(kind: ColumnType) -> st.SearchStrategy[Any]:
    """Draw a constant as Spark passes it."""
    values = strategies.values(kind)
    if kind is ColumnType.TIMESTAMP:
        return values.map(lambda us: EPOCH + timedelta(microseconds=int(us)))
    return values


@st.composite
def filters(draw: st.DrawFn, kinds: dict[str, ColumnType]) -> Any:
    """Draw a filter over one of the columns, negated now and then."""
    name = draw(st.sampled_from(sorted(kinds)))
    kind, path = kinds[name], (name,)
    tests = [datasource.IsNull, datasource.IsNotNull]
    lists = st.lists(st.one_of(constants(kind), st.none()), min_size=1, max_size=4)
    of_constant = [one for one in COMPARISONS if not one.__name__.startswith("String")]
    of_constant.append(datasource.EqualNullSafe)
    if kind is ColumnType.STRING:
        of_constant += [one for one in COMPARISONS if one.__name__.startswith("String")]
    drawn = draw(
        st.one_of(
            st.builds(
                lambda kept, value: kept(path, value), st.sampled_from(of_constant), constants(kind)
            ),
            st.builds(lambda values: datasource.In(path, values), lists),
            st.builds(lambda kept: kept(path), st.sampled_from(tests)),
        )
    )
    return datasource.Not(drawn) if draw(st.integers(0, 3)) == 0 else drawn


def outputs_of(bound: BoundQuery) -> dict[str, ColumnType]:
    return {output.name: output.type for output in bound.shape.outputs}


@given(data=st.data())
def test_push_drawn_filters_into_drawn_queries_oracle_keeps_what_passes(data):
    """DuckDB's answer to the narrowed text is its answer to the query without the rows that do not pass."""
    schema = data.draw(strategies.schemas())
    rows = data.draw(strategies.batches(schema))
    query = data.draw(strategies_sql.queries(schema))
    streams = {schema.name: (StreamId(1), schema)}
    whole = bind(query.sql, streams)
    kinds = outputs_of(whole)
    wanted = data.draw(st.lists(filters(kinds), min_size=1, max_size=4))

    text, left = push(whole.canonical, kinds, wanted)

    narrowed = bind(text, streams)
    taken = [one for one in wanted if not any(one is other for other in left)]
    assert whole.window == narrowed.window
    assert kinds == outputs_of(narrowed)
    assert (text == whole.canonical) == (not taken)

    def kept(values: tuple[Value | None, ...]) -> bool:
        row = dict(zip(kinds, values, strict=True))
        return all(passes(one, row, kinds) is True for one in taken)

    numbers = range(1, len(rows) + 1)
    with DuckDbOracle() as oracle:
        oracle.load(schema, rows, tuple_ids=numbers, times_us=numbers)
        if query.distinct:
            before = oracle.distinct_values(_without_window(whole))
            after = oracle.distinct_values(_without_window(narrowed))
            assert sorted(filter(kept, before), key=repr) == sorted(after, key=repr)
        else:
            found = oracle.answer(_without_window(whole))
            expected = [one for one in found if kept(one[-1])]
            assert expected == oracle.answer(_without_window(narrowed))


EqualTo, GreaterThan, In, Not = (
    datasource.EqualTo,
    datasource.GreaterThan,
    datasource.In,
    datasource.Not,
)
FROM_ENDS = re.compile(" WHERE | GROUP BY | ORDER BY | BEGIN ")
INSTANT = datetime(2014, 1, 5, 12, 0, 0, 123456, tzinfo=UTC)
CASES = [
    ("SELECT px FROM trades", EqualTo(("px",), 0.1), "WHERE px = 0.1"),
    ("SELECT px AS price FROM trades", EqualTo(("price",), 5.0), "WHERE px = 5.0"),
    ("SELECT px FROM trades WHERE px > 1.0 OR qty = 2", GreaterThan(("px",), 3.0),
     "WHERE (px > 1.0 OR qty = 2) AND px > 3.0"),
    ("SELECT ts FROM trades BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)", EqualTo(("ts",), INSTANT),
     "WHERE ts = TIMESTAMP '2014-01-05 12:00:00.123456' BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)"),
    ("SELECT sym FROM trades", datasource.StringContains(("sym",), "50%_\\"),
     r"WHERE sym LIKE '%50\%\_\\%' ESCAPE '\'"),
    ("SELECT sym FROM trades", EqualTo(("sym",), "it's -- /* ;"), "WHERE sym = 'it''s -- /* ;'"),
    ("SELECT own FROM trades", Not(EqualTo(("own",), True)), "WHERE NOT own"),
    ("SELECT qty FROM trades", EqualTo(("qty",), -(2**63)), "WHERE qty = -9223372036854775808"),
    ("SELECT qty FROM trades", Not(datasource.EqualNullSafe(("qty",), 5)),
     "WHERE qty <> 5 OR qty IS NULL"),
    ("SELECT qty FROM trades", In(("qty",), [1, None, 3]), "WHERE qty IN (1, 3)"),
    ("SELECT trades.sym FROM trades, quotes WHERE trades.sym = quotes.sym", EqualTo(("sym",), "A"),
     "WHERE quotes.sym = trades.sym AND trades.sym = 'A'"),
    ("SELECT b.qty AS q FROM trades AS a JOIN trades AS b ON a.sym = b.sym", GreaterThan(("q",), 1),
     "WHERE trades_1.sym = trades_2.sym AND trades_2.qty > 1"),
    ("SELECT t.ts FROM trades AS t [RANGE INTERVAL '5' MINUTE], quotes AS q WHERE t.qty = q.qty",
     datasource.IsNotNull(("ts",)), "WHERE quotes.qty = trades.qty AND trades.ts IS NOT NULL"),
    ("SELECT sym AS s, COUNT(*) AS n FROM trades GROUP BY sym HAVING COUNT(*) > 1 BEGIN (NOW - 60) END (NOW)",
     EqualTo(("s",), "A"), "WHERE sym = 'A' GROUP BY sym HAVING"),
    ("SELECT qty, MAX(px) AS px FROM trades WHERE own GROUP BY qty, sym ORDER BY px", GreaterThan(("qty",), 1),
     "WHERE own AND qty > 1 GROUP BY"),
    ("SELECT a.sym, SUM(b.qty) AS t FROM trades AS a, quotes AS b WHERE a.sym = b.sym GROUP BY a.sym",
     EqualTo(("sym",), "A"), "AND trades.sym = 'A' GROUP BY trades.sym"),
    ("SELECT sym, px FROM trades ORDER BY px DESC", GreaterThan(("px",), 2.0), "WHERE px > 2.0 ORDER BY px DESC"),
    ("SELECT px FROM trades BEGIN (NOW - 600) END (NOW) EVERY 60 ALIGN '1970-01-01 00:00:10'", EqualTo(("px",), 0.1),
     "WHERE px = 0.1 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW) EVERY INTERVAL '1' MINUTE ALIGN"),
    ("SELECT sym, COUNT(*) AS n FROM trades WHERE own GROUP BY sym BEGIN (NOW - 60) END (NOW) EVERY 60",
     EqualTo(("sym",), "A"), "WHERE own AND sym = 'A' GROUP BY sym BEGIN"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "one", "condition"), CASES)
def test_push_filter_reads_as_written(query, one, condition):
    """The condition stands where it has to, about the column that is shown, and FROM and window stay."""
    whole = bind(query, STREAMS)
    text, left = push(whole.canonical, outputs_of(whole), [one])
    assert [] == left
    narrowed = bind(text, STREAMS)
    assert condition in narrowed.canonical
    before = [FROM_ENDS.split(one.canonical)[0] for one in (whole, narrowed)]
    assert before[0] == before[1]
    assert whole.shape == narrowed.shape
    assert (whole.window, whole.ranges) == (narrowed.window, narrowed.ranges)


LEFT = [
    ("SELECT px FROM trades", EqualTo(("px",), float("nan"))),
    ("SELECT px FROM trades", GreaterThan(("px",), float("inf"))),
    ("SELECT px FROM trades", EqualTo(("px",), 5)),
    ("SELECT px FROM trades", In(("px",), [1.0, -0.0])),
    ("SELECT px FROM trades", In(("px",), [1.0, float("nan")])),
    ("SELECT px FROM trades", In(("px",), [])),
    ("SELECT qty FROM trades", EqualTo(("qty",), True)),
    ("SELECT qty FROM trades", EqualTo(("qty",), 2**63)),
    ("SELECT qty FROM trades", EqualTo(("qty",), None)),
    ("SELECT own FROM trades", EqualTo(("own",), 1)),
    ("SELECT sym FROM trades", EqualTo(("sym",), "a\0b")),
    ("SELECT sym FROM trades", datasource.StringContains(("sym",), "a" * 2_000)),
    ("SELECT sym FROM trades", In(("sym",), [str(one) for one in range(2_000)])),
    ("SELECT sym FROM trades", EqualTo(("sym",), "a" * QUERY_TEXT_BYTES_MAX)),
    ("SELECT ts FROM trades", GreaterThan(("ts",), datetime(2014, 1, 5))),  # noqa: DTZ001 - no instant
    ("SELECT px * 2.0 AS twice FROM trades", GreaterThan(("twice",), 1.0)),
    ("SELECT px FROM trades", GreaterThan(("_x",), INSTANT)),
    ("SELECT px FROM trades", EqualTo(("px", "inner"), 1.0)),
    ("SELECT px FROM trades", Not(EqualTo(("px",), float("nan")))),
]


@pytest.mark.parametrize(("query", "one"), LEFT)
def test_push_filter_without_equal_meaning_is_left_to_spark(query, one):
    """What psoup cannot say exactly changes nothing, and Spark goes on to apply it."""
    whole = bind(query, STREAMS)
    assert (whole.canonical, [one]) == push(whole.canonical, outputs_of(whole), [one])


def test_push_more_filters_than_a_query_may_have_leaves_the_rest():
    """A text is filled up to its limits; the filters beyond them are Spark's."""
    whole = bind("SELECT qty FROM trades", STREAMS)
    many = [Not(EqualTo(("qty",), number)) for number in range(100)]
    text, left = push(whole.canonical, outputs_of(whole), many)
    bind(text, STREAMS)
    assert many[64:] == left


def test_push_into_a_text_of_a_newer_dialect_leaves_it_alone():
    """A service may take what this client cannot read: nothing is pushed then."""
    one = EqualTo(("sym",), "A")
    text = "SELECT sym FROM trades SOMETHING NEW"
    with pytest.raises(Exception, match="Expected the end of the query"):
        parse(text)
    assert (text, [one]) == push(text, {"sym": ColumnType.STRING}, [one])


OF_OTHER_ROWS = [
    ("trades [ROWS 2]", "px", GreaterThan(("px",), 1.0)),
    ("trades [PARTITION BY sym ROWS 1] WHERE own", "px", GreaterThan(("px",), 1.0)),
    ("trades AS t [PARTITION BY sym ROWS 1], quotes WHERE t.sym = quotes.sym", "quotes.qty", EqualTo(("qty",), 1)),
    ("trades LEFT JOIN quotes ON trades.sym = quotes.sym", "quotes.qty", datasource.IsNull(("qty",))),
    ("trades LEFT JOIN quotes ON trades.sym = quotes.sym", "trades.px", GreaterThan(("px",), 1.0)),
    ("trades [ROWS 2]", "sym, COUNT(*) AS n", EqualTo(("sym",), "A")),
]  # fmt: skip


@pytest.mark.parametrize("window", ["", " BEGIN (NOW - 600) END (NOW) EVERY 60 ALIGN '2014-01-05'"])
@pytest.mark.parametrize(("source", "shown", "one"), OF_OTHER_ROWS)
def test_query_whose_rows_depend_on_other_rows_takes_no_filters(source, shown, one, window):
    """A row window would keep older rows that pass; of a LEFT JOIN, rows with partners would lose them, and stay."""
    grouped = " GROUP BY sym" if "COUNT" in shown else ""
    whole = bind(f"SELECT {shown} FROM {source}{grouped}{window}", STREAMS)
    columns = outputs_of(whole)
    assert set(one.attribute) <= set(columns)
    assert (whole.canonical, [one]) == push(whole.canonical, columns, [one])


@pytest.mark.parametrize(
    "behind",
    [
        "ORDER BY sym LIMIT 5",
        "OFFSET 1",
        "GROUP BY sym LIMIT 3",
        "GROUP BY sym || 'x', sym OFFSET 1",
    ],
)
def test_query_that_limits_its_rows_takes_no_filters(behind):
    """They hold for its answer, not for the rows that it is made of; so do those of aggregates."""
    text = bind(f"SELECT sym FROM trades {behind}", STREAMS).canonical
    wanted = [datasource.EqualTo(("sym",), "A")]
    assert (text, wanted) == push(text, {"sym": ColumnType.STRING}, wanted)
    total = bind("SELECT MAX(sym) AS sym FROM trades", STREAMS).canonical
    assert (total, wanted) == push(total, {"sym": ColumnType.STRING}, wanted)
    most = bind("SELECT MAX(sym) AS sym, px FROM trades GROUP BY px", STREAMS).canonical
    assert (most, wanted) == push(most, {"sym": ColumnType.STRING}, wanted)
