"""Conditions that nothing meets are accepted with a warning, which shows the author the place."""

import pytest

from psoup.engine.query.bind.author_warnings import written_warnings
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.skeletons import Skeletons
from tests.golden.query_files import STREAMS


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("px = NULL", "px = NULL"),
        ("px <> NULL", "px <> NULL"),
        ("qty > 1 AND px IN (NULL)", "px IN (NULL)"),
        ("px NOT IN (1, NULL)", "px NOT IN (1, NULL)"),
        ("qty > 1 AND px BETWEEN 5 AND 1", "px BETWEEN 5 AND 1"),
        ("px > 5 AND sym = 'a' AND px < 3", "px > 5 AND sym = 'a' AND px < 3"),
        ("qty > 5 AND qty < 6", "qty > 5 AND qty < 6"),
        ("sym = 'a' AND sym = 'b'", "sym = 'a' AND sym = 'b'"),
        ("NOT (px > 5 OR px <= 5)", "NOT (px > 5 OR px <= 5)"),
        ("px < NULL OR px = NULL", "px < NULL OR px = NULL"),
        ("FALSE", "FALSE"),
        ("qty = 1 AND 1 = 2", "1 = 2"),
    ],
)
def test_condition_that_is_never_true_is_warned_of_where_it_stands(where, place):
    """One warning, whose position spans the contradiction; the query is accepted as it is."""
    text = f"SELECT sym\nFROM trades\nWHERE {where}"
    query = bind(text, STREAMS)
    assert ["never-true"] == [one.code for one in query.warnings]
    (warning,) = written_warnings(text, STREAMS, query)
    assert warning.position is not None
    assert warning.excerpt is not None
    assert (3, len(place)) == (warning.position.line, warning.position.length)
    assert f"WHERE {where}"[warning.position.column - 1 :].startswith(place)
    assert warning.excerpt.endswith("^" * len(place))


@pytest.mark.parametrize(
    "where",
    [
        "px BETWEEN 5 AND 5",
        "px > 5 AND px < 6",
        "px = NULL OR px = 1",
        "px IN (1, NULL)",
        "px > 5 AND qty < 3",
        "px IS NULL",
        "TRUE",
        "SQRT(-1) IS NULL",
        "10 IS DISTINCT FROM CAST(NULL AS BIGINT)",
    ],
)
def test_condition_that_may_be_true_is_not_warned_of(where):
    """A value that meets it is enough."""
    assert () == bind(f"SELECT sym FROM trades WHERE {where}", STREAMS).warnings


def test_text_that_is_called_like_a_column_is_warned_of_wherever_it_stands():
    """In GROUP BY, HAVING, ORDER BY, and inside aggregates too."""
    shown = "MAX(Name = 'px') AS a"
    text = f"SELECT {shown} FROM trades GROUP BY sym = 'sym' HAVING MIN(sym) = 'qty' ORDER BY FIRST('ts')"
    found = written_warnings(text, STREAMS, bind(text, STREAMS))
    assert ["text-like-column"] * 4 == [one.code for one in found]
    columns = [one.position.column for one in found if one.position is not None]
    places = [text.index(f"'{name}'") + 1 for name in ("px", "sym", "qty", "ts")]
    assert places == sorted(columns)


def test_contradiction_between_streams_is_warned_of():
    """Each side is below the other; the author's aliases are named, those that are kept are not."""
    join = "SELECT a.px FROM trades a, trades b WHERE a.sym = b.sym AND "
    window = " BEGIN (NOW - 60) END (NOW)"
    text = f"{join}a.px < b.px AND b.px < a.px{window}"
    assert ["never-true"] == [one.code for one in bind(text, STREAMS).warnings]
    text = f"{join}a.px > 5 AND a.px < 3{window}"
    (warning,) = written_warnings(text, STREAMS, bind(text, STREAMS))
    assert warning.position is not None
    assert len(join) + 1 == warning.position.column


def test_warnings_of_a_join_name_the_aliases_of_the_text():
    """What is kept says trades_1 and trades_2, as its canonical text does; its author reads his own names."""
    text = "SELECT a.px FROM trades a, trades b WHERE a.sym = b.sym AND a.px <> b.px BEGIN (NOW - 60) END (NOW)"
    query = bind(text, STREAMS)
    (kept,), (read,) = query.warnings, written_warnings(text, STREAMS, query)
    assert kept.detail.endswith(
        "trades_1, trades_2 that the other factors leave: trades_1.px <> trades_2.px"
    )
    assert read.detail.endswith("a, b that the other factors leave: a.px <> b.px")


def test_warnings_are_kept_where_the_text_is_too_long_under_its_own_aliases():
    """Aliases that are longer than the streams' names may take a text over its limit."""
    long = "z" * 128
    conditions = " AND ".join(f"{long}.px + {i} <> b.px + {i}" for i in range(60))
    text = f"SELECT b.px FROM trades {long}, trades b WHERE {long}.sym = b.sym AND {conditions}"
    query = bind(text, STREAMS)
    assert [one.code for one in query.warnings] == [
        one.code for one in written_warnings(text, STREAMS, query)
    ]


def test_filled_skeletons_warn_by_their_numbers():
    """Of one skeleton some numbers contradict each other and some do not, whichever came first."""
    skeletons = Skeletons()
    for low, high in ((5, 1), (1, 5), (7, 2), (2, 7), (3, 3)):
        text = f"SELECT sym FROM trades WHERE px BETWEEN {low} AND {high}"
        assert bind(text, STREAMS) == skeletons.bind(text, STREAMS)
        codes = [one.code for one in skeletons.bind(text, STREAMS).warnings]
        assert (["never-true"] if low > high else []) == codes
    assert 0 < skeletons.statistics().filled
