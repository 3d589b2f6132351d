"""The binder: names, what literals become, warnings, the parts of a clause."""

import pytest

from psoup.engine.errors import SqlError, UnknownColumnError, UnknownStreamError
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.clause import Source
from psoup.engine.query.factor import AttributeFactor, ResidualFactor
from psoup.engine.query.window import Bound, Window
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    Retention,
    StreamId,
    StreamSchema,
)
from tests.engine.query.expression_strategies import bound

COLUMNS = ["a", "A", "Price", "timestamp", "interval", "abs", "now", "select", 'q"t', "é b", "last"]
NAMES = StreamSchema(
    "Names",
    tuple(ColumnSchema(name, ColumnType.INT64) for name in COLUMNS),
    time=None,
    clock=ClockKind.SERVER,
    retention=Retention(time_us=3_600_000_000),
)


def names(text: str) -> list[str]:
    """Return the outputs' names of a query over NAMES."""
    query = bind(text, {"Names": (StreamId(3), NAMES)})
    assert query == bind(query.canonical, {"Names": (StreamId(3), NAMES)})
    return [output.name for output in query.shape.outputs]


def test_names_are_taken_exactly_first_and_without_capitals_where_one_is_meant():
    """`a` and `A` are two columns; `PRICE` can only be Price."""
    assert ["a", "A", "Price"] == names("SELECT a, A, PRICE FROM names")
    assert ["Price"] == names('SELECT "Price" FROM "Names"')


def test_names_like_words_of_sql_need_quotes_only_where_they_must():
    """`timestamp`, `interval`, `abs` and `now` are columns where no literal or call is meant."""
    text = (
        "SELECT timestamp, interval, abs, now, ABS(abs) AS x FROM Names WHERE timestamp > interval"
    )
    assert ["timestamp", "interval", "abs", "now", "x"] == names(text)
    assert ["select", 'q"t', "é b"] == names('SELECT "select", "q""t", "é b" FROM Names')


@pytest.mark.parametrize(
    ("text", "error", "hint"),
    [
        ("SELECT a FROM Namez", UnknownStreamError, "did you mean Names?"),
        ('SELECT a FROM "names"', UnknownStreamError, "did you mean Names?"),
        ("SELECT a FROM other", UnknownStreamError, "declared streams: Names"),
        ("SELECT prise FROM Names", UnknownColumnError, "did you mean Price?"),
        ('SELECT "price" FROM Names', UnknownColumnError, "did you mean Price?"),
        (
            "SELECT zzz FROM Names",
            UnknownColumnError,
            'columns of Names: A, Price, a, abs, interval, last, now, "q""t", "select", timestamp, ...',
        ),
        ("SELECT n.a FROM Names", UnknownColumnError, "write Names.column"),
    ],
)
def test_unknown_name_is_refused_with_the_nearest(text, error, hint):
    """A typing error costs one look at the hint."""
    with pytest.raises(error) as refused:
        names(text)
    assert hint in refused.value.hint


def test_bind_where_nothing_is_declared_says_so():
    """The hint names no stream."""
    with pytest.raises(UnknownStreamError) as refused:
        bind("SELECT a FROM s", {})
    assert "declared streams: none" == refused.value.hint


def test_clause_has_the_parts_that_were_asked_for():
    """Source, factors (indexed first, one a column), outputs, DISTINCT, text without the window."""
    query = bound(
        "SELECT DISTINCT i, f * 2 AS twice FROM s AS r WHERE f > 1 AND t LIKE '%x' AND f < 9 AND i = 1 "
        "BEGIN (NOW - 60) END (NOW - INTERVAL '1' SECOND)"
    )
    clause = query.clause
    assert (Source("s", "s", StreamId(1)),) == clause.sources
    assert [AttributeFactor, AttributeFactor, ResidualFactor] == [type(f) for f in clause.factors]
    assert ["f", "i"] == [f.column.name for f in clause.factors if isinstance(f, AttributeFactor)]
    assert ["i", "twice"] == [output.name for output in query.shape.outputs]
    assert [ColumnType.INT64, ColumnType.FLOAT64] == [output.type for output in query.shape.outputs]
    assert query.shape.distinct
    assert Window(Bound(60_000_000, moving=True), Bound(1_000_000, moving=True)) == query.window
    window = " BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW - INTERVAL '1' SECOND)"
    head = "SELECT DISTINCT i, f * 2.0 AS twice"
    assert clause.text.replace("SELECT 1", head) + window == query.canonical


def test_window_is_no_part_of_the_clause():
    """The same clause under two windows is one clause."""
    text = "SELECT i FROM s WHERE f > 1 "
    assert bound(text).clause == bound(text + "BEGIN (NOW - 60) END (NOW)").clause


@pytest.mark.parametrize(
    ("window", "codes"),
    [
        ("", []),
        ("BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)", []),
        ("BEGIN (NOW - INTERVAL '61' MINUTE) END (NOW)", ["window-exceeds-retention"]),
        ("BEGIN ('2014-01-05') END (NOW)", []),
    ],
)
def test_window_past_retention_is_accepted_with_a_warning(window, codes):
    """A moving BEGIN that reaches further back than the stream keeps."""
    query = bind(f"SELECT a FROM Names {window}", {"Names": (StreamId(3), NAMES)})
    assert codes == [warning.code for warning in query.warnings]


def test_factor_that_no_index_holds_is_accepted_with_a_warning_that_quotes_it():
    """One warning a factor; what is never TRUE is told apart."""
    query = bound("SELECT i FROM s WHERE t LIKE '%x' AND i + 1 > 2 AND f > 1")
    details = [warning.detail for warning in query.warnings if warning.code == "not-indexed"]
    assert 2 == len(details)
    assert details[0].endswith("i + 1 > 2")
    assert details[1].endswith("t LIKE '%x'")
    assert ["never-true"] == [one.code for one in bound("SELECT i FROM s WHERE FALSE").warnings]


def test_refused_query_says_nothing_of_how_it_was_refused_inside():
    """One error, without a chain of others."""
    with pytest.raises(SqlError) as refused:
        bound("SELECT wrong FROM s")
    assert refused.value.__cause__ is None
    assert refused.value.__suppress_context__
