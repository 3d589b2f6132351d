"""Shapes: what GROUP BY, HAVING, ORDER BY and LIMIT become, and that their canonical text means what they mean."""

from collections import Counter

import duckdb
import pytest
from hypothesis import assume, event, given, strategies as st

from psoup.engine import limits
from psoup.engine.errors import QueryTooComplexError, SqlError, UnsupportedSqlError
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.shapes.grouping import aggregates_of
from psoup.engine.query.reading import Reading
from psoup.engine.query.shape import Ordering, Shape
from psoup.engine.query.values.expression import (
    AggregateCall,
    AggregateFunction,
    ColumnRef,
    Constant,
    GroupKey,
    children,
    column_refs,
)
from psoup.engine.tuples.schema import ColumnType
from tests.engine.query.bind.shapes.shape_strategies import AGGREGATES, SCHEMA, STREAMS, shapes
from tests.golden.query_files import STREAMS as GOLDEN

INT64, FLOAT64, BOOL = ColumnType.INT64, ColumnType.FLOAT64, ColumnType.BOOL
A, B = ColumnRef(0, "a", INT64), ColumnRef(0, "b", INT64)
COUNT = AggregateCall(AggregateFunction.COUNT, (), distinct=False, filter=None, type=INT64)


def shape_of(text: str) -> Shape:
    return bind(text, STREAMS).shape


def bound_or_none(text: str):
    """Return the query; None where it is refused."""
    try:
        return bind(text, STREAMS)
    except SqlError as refused:
        event(refused.detail)
        return None


def test_shape_has_the_parts_that_were_asked_for():
    """Keys and aggregates over rows, each once; the rest over groups."""
    shape = shape_of(
        "SELECT a AS k, SUM(b) AS total, COUNT(*) AS n FROM s WHERE f > 1 GROUP BY k, a, p "
        "HAVING n > 2 ORDER BY total DESC, MIN(f) NULLS FIRST LIMIT 3 OFFSET 4"
    )
    total = AggregateCall(AggregateFunction.SUM, (B,), distinct=False, filter=None, type=INT64)
    least = AggregateCall(
        AggregateFunction.MIN, (ColumnRef(0, "f", FLOAT64),), False, None, FLOAT64
    )
    assert (A, ColumnRef(0, "p", BOOL)) == shape.keys
    assert ("k", "total", "n") == tuple(output.name for output in shape.outputs)
    assert (GroupKey(0, A, INT64), total, COUNT) == tuple(o.expression for o in shape.outputs)
    assert (total, COUNT, least) == shape.aggregates
    assert (Ordering(total, descending=True), Ordering(least, nulls_first=True)) == shape.order
    assert (3, 4, "replace") == (shape.limit, shape.offset, shape.delta)
    assert shape.having is not None
    assert (COUNT,) == aggregates_of(shape.having)


def test_shape_of_rows_has_no_keys_and_that_of_aggregates_without_group_by_one_group():
    """None and () differ."""
    assert shape_of("SELECT a FROM s ORDER BY b").keys is None
    assert () == shape_of("SELECT COUNT(*) FROM s").keys
    assert () == shape_of("SELECT 1 AS one FROM s HAVING TRUE").keys
    assert () == shape_of("SELECT 1 AS one FROM s ORDER BY COUNT(*)").keys
    assert () == shape_of("SELECT FALSE AND COUNT(*) > 1 AS never FROM s").keys


@pytest.mark.parametrize(
    ("text", "delta"),
    [
        ("SELECT DISTINCT a FROM s", "rows"),
        ("SELECT a FROM s ORDER BY b", "rows"),
        ("SELECT a, COUNT(*) FROM s GROUP BY a HAVING COUNT(*) > 2", "rows"),
        ("SELECT a FROM s LIMIT 5", "replace"),
        ("SELECT a FROM s OFFSET 5", "replace"),
        ("SELECT a FROM s ORDER BY a LIMIT 5", "replace"),
    ],
)
def test_delta_is_of_rows_unless_limit_or_offset_cuts(text, delta):
    """A top-k by cursor is wrong where a client may keep rows."""
    assert delta == shape_of(text).delta


@pytest.mark.parametrize(
    ("shown", "read"),
    [
        ("a FROM s", ("a", "", "", "")),
        ("a FROM s ORDER BY f, b DESC", ("a", "bf", "", "")),
        ("COUNT(*) FROM s", ("", "", "", "")),
        (
            "SUM(b) FILTER (WHERE p) FROM s GROUP BY t HAVING MIN(f) > 1",
            ("", "", "t", "bfpt"),
        ),
        ("ARG_MAX(t, f) FROM s ORDER BY LAST(u)", ("", "", "", "ftu")),
    ],
)
def test_reading_names_the_columns_that_the_shape_reads_of_rows(shown, read):
    """Those of the select list, of ORDER BY, of keys, and of these with arguments and filters; not those of WHERE."""
    query = bind(f"SELECT {shown}".replace("FROM s", "FROM s WHERE a > 1"), STREAMS)
    reading = Reading(query.clause, query.shape)
    found = (reading.names, reading.order_names, reading.key_names, reading.group_names)
    assert [(tuple(names),) for names in read] == list(found)


def test_queries_that_differ_in_their_shapes_have_one_clause():
    """The condition alone is what stands in the Query SteM."""
    shown = ["a", "DISTINCT b", *AGGREGATES]
    behind = ["", " ORDER BY 1", " LIMIT 5", " OFFSET 2"]
    texts = [f"SELECT {one} FROM s WHERE a > 1{end}" for one in shown for end in behind]
    clauses = {bind(text, STREAMS).clause for text in [*texts, "SELECT 1 FROM s WHERE a > 1"]}
    assert ["SELECT 1 FROM s WHERE a > 1"] == [clause.text for clause in clauses]


def leaves(expression):
    """Return what an expression is made of at last."""
    parts = children(expression)
    return {expression} if not parts else set().union(*map(leaves, parts))


@given(drawn=shapes())
def test_canonical_text_of_a_shape_binds_to_an_equal_query(drawn):
    """Clause, shape and window are the same, to the last type; and what is over groups reads no column."""
    query = bound_or_none(drawn.text)
    assume(query is not None)
    again = bind(query.canonical, STREAMS)
    assert (query, repr(query), query.canonical) == (again, repr(again), again.canonical)
    shape = query.shape
    shown = [output.expression for output in shape.outputs] + [
        one.expression for one in shape.order
    ]
    shown += [] if shape.having is None else [shape.having]
    read = set().union(*map(leaves, shown))
    if shape.keys is None:
        assert {ColumnRef, Constant} >= {type(one) for one in read}
        return
    assert {GroupKey, AggregateCall, Constant} >= {type(one) for one in read}
    assert {one for one in read if isinstance(one, AggregateCall)} == set(shape.aggregates)
    assert len(set(shape.aggregates)) == len(shape.aggregates)
    for one in read:
        if isinstance(one, GroupKey):
            assert shape.keys[one.place] == one.expression
    for key in shape.keys:
        assert column_refs(key)
        assert not aggregates_of(key)


cells = {
    "a": st.none() | st.integers(-2, 3),
    "b": st.none() | st.integers(0, 4),
    "f": st.none() | st.sampled_from([-1.5, 0.0, 1.5, 2.0]),
    "t": st.none() | st.sampled_from(["x", "y", "xy"]),
    "p": st.none() | st.booleans(),
}
TYPES = {INT64: "BIGINT", FLOAT64: "DOUBLE", ColumnType.STRING: "VARCHAR", BOOL: "BOOLEAN"}


@given(drawn=shapes(ties=False), rows=st.lists(st.fixed_dictionaries(cells), max_size=12))
def test_oracle_canonical_text_of_a_shape_means_to_duckdb_what_the_text_means(drawn, rows):
    """So names mean what they mean there: columns, outputs and places, in each clause."""
    query = bound_or_none(drawn.text)
    assume(query is not None)
    with duckdb.connect() as connection:
        columns = ", ".join(f"{one.name} {TYPES[one.type]}" for one in SCHEMA.columns)
        connection.execute(f"CREATE TABLE s ({columns})")
        if rows:
            names = [one.name for one in SCHEMA.columns]
            values = [
                [{**row, "u": number}[name] for name in names] for number, row in enumerate(rows)
            ]
            connection.executemany("INSERT INTO s VALUES (?, ?, ?, ?, ?, ?)", values)
        expected = connection.execute(drawn.text).fetchall()
        found = connection.execute(query.canonical).fetchall()
    if drawn.is_distinct:
        assert Counter(expected) == Counter(found)
    else:
        assert expected == found


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("SELECT COUNT(*) FROM s GROUP BY {}", limits.QUERY_KEYS_MAX),
        ("SELECT a FROM s ORDER BY {}", limits.QUERY_KEYS_MAX),
    ],
)
def test_list_of_keys_and_of_order_is_bounded(text, limit):
    """One entry more than the limit is refused where it stands."""
    entries = [f"a + {number}" for number in range(1, limit + 2)]
    assert bind(text.format(", ".join(entries[:limit])), STREAMS).canonical
    with pytest.raises(QueryTooComplexError) as refused:
        bind(text.format(", ".join(entries)), STREAMS)
    assert (limit, limit + 1) == (refused.value.extras["limit"], refused.value.extras["actual"])


def test_number_of_aggregates_is_bounded_each_counted_once():
    """Wherever they stand."""
    limit = limits.QUERY_AGGREGATES_MAX
    calls = [f"SUM(a + {number})" for number in range(1, limit + 2)]
    shown = ", ".join(calls[:limit])
    same = bind(f"SELECT {shown} FROM s HAVING {calls[0]} > 1 ORDER BY {calls[1]}", STREAMS)
    assert limit == len(same.shape.aggregates)
    with pytest.raises(QueryTooComplexError) as refused:
        bind(f"SELECT {shown} FROM s HAVING {calls[limit]} > 1", STREAMS)
    assert (limit, limit + 1) == (refused.value.extras["limit"], refused.value.extras["actual"])


@pytest.mark.parametrize(
    "place", ["{} FROM s", "COUNT(*) FROM s HAVING {} > 1", "1 FROM s ORDER BY {}"]
)
def test_depth_is_that_of_the_canonical_text(place):
    """What an aggregate holds counts with what holds the aggregate, wherever it stands."""

    def nested(inside: int, outside: int) -> str:
        text = f"MAX({'-(' * inside}a{')' * inside})"
        return str.format(place, f"{'ABS(' * outside}{text}{')' * outside}")

    most = limits.QUERY_DEPTH_MAX - 2  # HAVING compares it, and an aggregate is one more
    query = bind(f"SELECT {nested(most // 2, most - most // 2)}", STREAMS)
    assert query == bind(query.canonical, STREAMS)
    with pytest.raises(QueryTooComplexError):
        bind(f"SELECT {nested(limits.QUERY_DEPTH_MAX, 0)}", STREAMS)


def balanced(leaf: str, height: int) -> str:
    """Return a sum of 2^height leaves in brackets."""
    below = leaf if not height else balanced(leaf, height - 1)
    return leaf if not height else f"({below} + {below})"


@pytest.mark.parametrize(
    "behind",
    ["ORDER BY {}", "GROUP BY z, {}", "GROUP BY a HAVING {} > 1", "GROUP BY a ORDER BY {}"],
)
def test_names_of_a_long_output_are_not_written_out_past_the_longest_text(behind):
    """A thousand names of an output of twenty thousand bytes; few of them, and one alone in ORDER BY, are taken."""
    output = balanced(f"MAX(a + {10**12})" if "a HAVING" in behind else f"(a + {10**12})", 9)
    if behind == "GROUP BY a ORDER BY {}":
        output = balanced(f"MAX(a + {10**12})", 9)
    text = f"SELECT {output} AS z FROM s {behind}"
    assert bind(text.format("z + 1"), STREAMS).canonical
    assert bind(f"SELECT {output} AS z FROM s ORDER BY z, 1, z DESC", STREAMS).canonical
    with pytest.raises(QueryTooComplexError) as refused:
        bind(text.format(balanced("z", 5)), STREAMS)
    assert limits.QUERY_TEXT_BYTES_MAX == refused.value.extras["limit"]


def test_joins_are_grouped_and_ordered_by_columns_of_any_source():
    """Keys are printed as columns of their sources."""
    query = bind(
        "SELECT lot, MAX(px) AS high FROM trades JOIN symbols ON sym = id GROUP BY lot, since ORDER BY high, id".replace(
            ", id", ", since"
        ),
        GOLDEN,
    )
    assert query.canonical.endswith(
        " GROUP BY symbols.lot, symbols.since ORDER BY high, symbols.since"
    )
    assert query == bind(query.canonical, GOLDEN)


def test_name_of_two_sources_that_an_output_has_alone_is_the_output():
    """In GROUP BY a name that is no one column falls back to the output, as one that is no column does."""
    text = "SELECT trades.px AS px, COUNT(*) FROM trades, Quotes WHERE trades.sym = Quotes.sym GROUP BY px"
    assert " GROUP BY trades.px" in bind(text, GOLDEN).canonical


def test_refusal_points_at_the_column_that_is_not_grouped_by():
    """Not at one inside an aggregate, nor at the whole output."""
    text = "SELECT SUM(b) + a + b AS x FROM s GROUP BY a"
    with pytest.raises(UnsupportedSqlError) as refused:
        bind(text, STREAMS)
    assert (text.index(" + b AS") + 4, 1) == (
        refused.value.position.column,
        refused.value.position.length,
    )
