"""Binding of several sources: names, aliases, windows of streams, warnings, one canonical text."""

import re

import pytest
from hypothesis import given, strategies as st

from psoup.engine import limits
from psoup.engine.errors import SqlError, UnknownColumnError, UnsupportedSqlError
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.clause import BoundQuery, Source
from psoup.engine.query.values.expression import ColumnRef, column_refs
from psoup.engine.query.window import Bound, Window, WindowKind, windows_of
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    Retention,
    StreamId,
    StreamSchema,
)
from tests.engine.query.join_strategies import join_conditions, joined


def stream(
    name: str, stream_id: int, *columns: str, kept_us: int | None = None
) -> tuple[str, tuple[StreamId, StreamSchema]]:
    """Return a declaration of integer columns, as streams hold it under its name."""
    listed = tuple(ColumnSchema(column, ColumnType.INT64) for column in columns)
    schema = StreamSchema(name, listed, None, ClockKind.SERVER, Retention(time_us=kept_us))
    return name, (StreamId(stream_id), schema)


NAMES = dict(
    [
        stream("p", 1, "k", "Price", "only", "X", kept_us=3_600_000_000),
        stream("q", 2, "k", "price", "x"),
        stream("P2", 3, "k", "other"),
    ]
)


def named(text: str) -> BoundQuery:
    """Return the text bound over NAMES, and that its canonical text is the same query."""
    query = bind(text, NAMES)
    again = bind(query.canonical, NAMES)
    assert query == again
    assert repr(query) == repr(again)
    return query


def refusal(text: str) -> SqlError:
    """Return how the text is refused."""
    with pytest.raises(SqlError) as refused:
        bind(text, NAMES)
    return refused.value


def test_columns_know_their_source():
    """By its place in FROM, each under its own alias."""
    query = named("SELECT q.x, only, other FROM p, q, p2 WHERE p.k = q.k AND q.k = p2.k")
    assert (
        Source("p", "p", StreamId(1)),
        Source("q", "q", StreamId(2)),
        Source("P2", "P2", StreamId(3)),
    ) == query.clause.sources
    refs = [output.expression for output in query.shape.outputs]
    assert [
        ColumnRef(i, name, ColumnType.INT64) for i, name in [(1, "x"), (0, "only"), (2, "other")]
    ] == refs
    assert ["q", "p", "P2"] == [ref.alias for ref in refs if isinstance(ref, ColumnRef)]


def test_column_without_stream_means_the_one_that_has_it():
    """Taken exactly first: `Price` is p's, `price` q's; `X` is p's, `x` q's."""
    text = "SELECT Price, price, X AS a, x AS b, ONLY FROM p, q WHERE p.k = q.k"
    refs = [output.expression for output in named(text).shape.outputs]
    assert [(0, "Price"), (1, "price"), (0, "X"), (1, "x"), (0, "only")] == [
        (ref.source, ref.name) for ref in refs if isinstance(ref, ColumnRef)
    ]


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("SELECT k FROM p AS a, q WHERE a.k = q.k", "write a.k or q.k"),
        ("SELECT PRICE FROM p, q WHERE p.k = q.k", "write p.Price or q.price"),
        ('SELECT k FROM p, q AS "my q" WHERE only = x', 'write p.k or "my q".k'),
        ("SELECT pryce FROM p, q WHERE p.k = q.k", "did you mean price?"),
        ("SELECT zzz FROM p, q WHERE p.k = q.k", "columns of p, q: Price, X, k, only, price, x"),
        ("SELECT p.zzz FROM p, q WHERE p.k = q.k", "columns of p: Price, X, k, only"),
        ("SELECT r.k FROM p, q WHERE p.k = q.k", "write p.column or q.column, or the column alone"),
        (
            "SELECT p.k FROM p AS a, q WHERE a.k = q.k",
            "write a.column or q.column, or the column alone",
        ),
        ("SELECT z.* FROM p, q WHERE p.k = q.k", "write p.column or q.column, or the column alone"),
        (
            "SELECT p.k FROM p JOIN q ON p.k = p2.k JOIN p2 ON q.k = p2.k",
            "ON reads the streams up to its own: write the condition in WHERE",
        ),
        ("SELECT p.k FROM p JOIN q ON other = x JOIN p2 ON q.k = p2.k", "columns of p, q: "),
    ],
)
def test_name_that_means_no_column_or_several_is_refused_with_what_to_write(text, hint):
    """Unknown and ambiguous are one code: no column is meant."""
    error = refusal(text)
    assert isinstance(error, UnknownColumnError)
    assert error.hint.startswith(hint)


def test_condition_of_on_reads_the_streams_up_to_its_own():
    """So a name is ambiguous only among those."""
    text = "SELECT p.k FROM p JOIN q ON p.k = q.k AND other = x JOIN p2 ON q.k = p2.k"
    assert isinstance(refusal(text), UnknownColumnError)
    text = "SELECT only FROM p2 JOIN p ON other = only JOIN q ON x = only"
    named(text)


@pytest.mark.parametrize(
    ("select", "expected"),
    [
        ("*", ["a.k", "Price", "only", "X", "b.k", "price", "x"]),
        ("b.*", ["b.k", "price", "x"]),
        ("b.*, a.k", ["b.k", "price", "x", "k"]),
        ("a.k, b.k AS bk, a.k + b.k", ["k", "bk", "p.k + q.k"]),
    ],
)
def test_outputs_are_named_by_their_column_and_in_a_star_by_their_source_where_they_must(
    select, expected
):
    """The alias of the text, not the canonical one: it is what the client wrote."""
    query = named(f"SELECT {select} FROM p AS a, q AS b WHERE a.k = b.k")
    assert expected == [output.name for output in query.shape.outputs]


@pytest.mark.parametrize("alias", ["x" * limits.COLUMN_NAME_LENGTH_MAX, "line\nend"])
def test_star_over_an_alias_that_names_no_output_is_refused(alias):
    """What is built of it would not be a name; without the star it is an alias as any other."""
    error = refusal(f'SELECT * FROM p AS "{alias}", q WHERE only = x')
    assert isinstance(error, UnsupportedSqlError)
    assert "An output cannot be named" in error.detail
    named(f'SELECT only FROM p AS "{alias}", q WHERE only = x')


@pytest.mark.parametrize(
    ("origins", "expected"),
    [
        ("s AS x, l AS y", ["s", "l"]),
        ("s x, s y", ["s_1", "s_2"]),
        ("s x, l, s y, l AS z", ["s_1", "l_1", "s_2", "l_2"]),
        ('"select" AS x, l y, "select" AS z', ["select_1", "l", "select_2"]),
        ('"select" AS s, l', ["select", "l"]),
    ],
)
def test_canonical_alias_is_the_stream_where_that_tells_it_apart(origins, expected):
    """Else the stream with a number."""
    query = joined(f"SELECT 1 AS one FROM {origins} WHERE 1 = 2")
    assert expected == [source.alias for source in query.clause.sources]
    assert query == joined(query.canonical)


def test_canonical_alias_is_no_other_stream_of_the_query():
    """s_1 is a stream there: the two sources of `s` take the next numbers."""
    streams = dict([stream("s", 1, "k"), stream("s_1", 2, "k"), stream("s_3", 3, "k")])
    text = "SELECT a.k FROM s a, s b, s_1 c, s_3 d WHERE a.k = b.k AND b.k = c.k AND c.k = d.k"
    query = bind(text, streams)
    assert ["s_2", "s_4", "s_1", "s_3"] == [source.alias for source in query.clause.sources]
    assert query == bind(query.canonical, streams)


def test_sources_of_one_name_are_refused_with_an_alias_to_write():
    """A self-join needs one at least."""
    error = refusal("SELECT p.k FROM p, p WHERE p.k = p.k")
    assert "Two sources of FROM are named 'p'." == error.quoting
    assert "tell them apart by an alias: p AS p_2" == error.hint
    named("SELECT p.k FROM p, p AS p_2 WHERE p.k = p_2.k")


ALIASES = ["ka", "kb", "kc", "kd"]


@st.composite
def drawn_joins(draw: st.DrawFn) -> str:
    """Draw a join of two to four sources under ALIASES."""
    aliases = ALIASES[: draw(st.integers(2, 4))]
    origins = []
    for alias in aliases:
        text = draw(st.sampled_from(["s", "l", '"select"', "S", "L"]))
        reach = draw(st.sampled_from(["", "", " [RANGE 300]", " [RANGE INTERVAL '1' HOUR]"]))
        origins.append(f"{text}{reach} AS {alias}")
    outputs = ", ".join(f"{alias}.i AS o{n}" for n, alias in enumerate(aliases))
    distinct = draw(st.sampled_from(["", "DISTINCT "]))
    window = draw(st.sampled_from(["", " BEGIN (NOW - 60) END (NOW)"]))
    if all("RANGE" in origin for origin in origins):
        window = ""
    where = draw(join_conditions(aliases))
    return f"SELECT {distinct}{outputs}, ABS(ka.f) FROM {', '.join(origins)} WHERE {where}{window}"


@given(text=drawn_joins())
def test_canonical_text_of_drawn_join_binds_to_an_equal_query(text):
    """Idempotent: what the log keeps is what the client was told."""
    query = joined(text)
    again = joined(query.canonical)
    assert query == again
    assert repr(query) == repr(again)
    for output in (*query.shape.outputs, *again.shape.outputs):
        for ref in column_refs(output.expression):
            assert query.clause.sources[ref.source].alias == ref.alias


@given(text=drawn_joins())
def test_query_of_drawn_join_does_not_depend_on_aliases(text):
    """Texts that differ in aliases alone share one evaluation, however these are sorted or quoted."""
    renamed = text
    for alias, other in zip(ALIASES, ["z", "y", '"The X"', "s_1"], strict=True):
        renamed = re.sub(rf"\b{alias}\b", other, renamed)
    assert joined(text) == joined(renamed)


@pytest.mark.parametrize(
    "texts",
    [
        [
            "SELECT only FROM p, q WHERE only = x AND p.k > 1 AND q.k > 2",
            "SELECT only FROM p JOIN q ON only = x WHERE p.k > 1 AND q.k > 2",
            "SELECT only FROM p INNER JOIN q ON only = x AND p.k > 1 AND q.k > 2",
            "SELECT only FROM p CROSS JOIN q WHERE q.k > 2 AND (x = only AND p.k > 1)",
            "SELECT a.only FROM p AS a join q b on NOT b.x <> a.only WHERE 1 < a.k AND 2 < b.k",
        ],
        [
            "SELECT only FROM p, q, p2 WHERE only = x AND x = other",
            "SELECT only FROM p, q JOIN p2 ON x = other AND only = x",
            "SELECT only FROM p JOIN q ON only = x, p2 WHERE x = other",
            "SELECT only FROM p JOIN q ON only = x JOIN p2 ON x = other",
            "SELECT only FROM p JOIN q ON only = x CROSS JOIN p2 WHERE x = other",
        ],
    ],
)
def test_join_on_means_what_the_comma_form_means(texts):
    """One clause, one canonical text."""
    assert 1 == len({named(text) for text in texts})


def test_streams_of_unlike_clocks_are_refused_by_name():
    """One NOW holds for all parts of a row."""
    with pytest.raises(UnsupportedSqlError) as refused:
        joined("SELECT a.i FROM s AS a, s_1 AS b WHERE a.i = b.i")
    assert (
        "Streams of unlike clocks do not join: s has the clock high-water, s_1 server."
        == refused.value.quoting
    )
    assert 25 == refused.value.position.column


MINUTE = 60_000_000


def moving(begin_us: int) -> Window:
    """Return BEGIN (NOW - begin) END (NOW)."""
    return Window(Bound(begin_us, moving=True), Bound(0, moving=True))


@pytest.mark.parametrize("place", ["p [RANGE {0}] AS a", "p AS a [RANGE {0}]", "p [RANGE {0}] a"])
@pytest.mark.parametrize(
    "reach", ["60", "60.0", "INTERVAL '1' MINUTE", "INTERVAL 1 MINUTE", "interval '60 seconds'"]
)
def test_range_of_a_source_stands_before_or_behind_its_alias(place, reach):
    """Seconds or an INTERVAL; part of the canonical text and not of the clause's."""
    query = named(
        f"SELECT only FROM {place.format(reach)}, q WHERE only = x BEGIN ('2020-01-01') END (NOW)"
    )
    assert (MINUTE, None) == query.ranges
    assert WindowKind.LANDMARK is query.window.kind
    assert (moving(MINUTE), query.window) == windows_of(query.window, query.ranges, 2)
    assert "FROM p [RANGE INTERVAL '1' MINUTE], q WHERE" in query.canonical
    assert "FROM p, q WHERE" in query.clause.text
    assert query.clause == named("SELECT only FROM p, q WHERE only = x").clause


def test_range_of_every_source_is_kept_without_begin_and_end():
    """The query has no window of its own then."""
    query = named("SELECT only FROM p [RANGE 60], q [RANGE 0] WHERE only = x")
    assert (MINUTE, 0) == query.ranges
    assert Window() == query.window


def test_range_of_a_stream_that_is_alone_is_the_window_of_the_query():
    """Byte for byte what BEGIN-END says."""
    query = named("SELECT only FROM p [RANGE 60] WHERE only > 1")
    assert named("SELECT only FROM p WHERE only > 1 BEGIN (NOW - 60) END (NOW)") == query
    assert () == query.ranges
    assert moving(MINUTE) == query.window


def test_no_range_is_no_tuple_of_nothing():
    """Where no source has one there are none."""
    assert () == named("SELECT only FROM p, q WHERE only = x").ranges


@pytest.mark.parametrize(
    "text",
    [
        "SELECT only FROM p [RANGE 60] {}",
        "SELECT only FROM p [RANGE 60], q [RANGE 5] WHERE only = x {}",
    ],
)
def test_begin_end_that_holds_for_no_stream_is_refused(text):
    """Rather than passed over."""
    error = refusal(text.format("BEGIN (NOW - 5) END (NOW)"))
    assert isinstance(error, UnsupportedSqlError)
    assert "leave BEGIN and END out, or one [RANGE ...]" == error.hint
    named(text.format(""))


HOURS = "INTERVAL '2' HOUR"


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("FROM p, q WHERE only = x", ["join-unbounded"]),
        ("FROM p [RANGE 5], q WHERE only = x", []),
        ("FROM p, q WHERE only = x BEGIN (NOW - 5) END (NOW)", []),
        ("FROM p, q WHERE only = x BEGIN (NOW - {}) END (NOW)", ["window-exceeds-retention"]),
        ("FROM q, p [RANGE {}] WHERE only = x", ["window-exceeds-retention"]),
        ("FROM q [RANGE {}], p WHERE only = x", []),
        (
            "FROM p [RANGE {0}] AS p, p [RANGE {0}] AS z WHERE p.k = z.k",
            ["window-exceeds-retention"],
        ),
        (
            "FROM p [RANGE {0}] AS p, p AS z WHERE p.k = z.k BEGIN (NOW - {0}) END (NOW)",
            ["window-exceeds-retention", "window-exceeds-retention"],
        ),
        ("FROM p [RANGE 5], q WHERE only < x", ["join-not-kept"]),
        ("FROM p [RANGE 5], q WHERE only < x AND only > x - 5", []),
        ("FROM p [RANGE 5], q WHERE p.k > 1 AND q.k > 1", ["join-not-kept"]),
        ("FROM p [RANGE 5], q WHERE only = x AND p.k + q.k = 3", ["not-indexed"]),
        ("FROM p [RANGE 5], q WHERE only <> x", ["join-not-kept", "not-indexed"]),
    ],
)
def test_warnings_of_a_join_name_what_it_costs(text, codes):
    """Accepted all the same."""
    query = named(f"SELECT p.only {text.format(HOURS)}")
    assert codes == [warning.code for warning in query.warnings]


def test_warning_of_a_factor_says_how_often_it_runs():
    """For rows of one stream, or for combinations of several."""
    query = named("SELECT only FROM p, q WHERE only = x AND p.k + q.k = 3 AND p.k + 1 > 2")
    details = [warning.detail for warning in query.warnings if warning.code == "not-indexed"]
    assert [
        "runs for every row of p that the other factors leave: p.k + 1 > 2",
        "runs for every combination of p, q that the other factors leave: p.k + q.k = 3",
    ] == details
