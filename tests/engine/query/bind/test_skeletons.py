"""Skeletons against the binder itself: filling a template may be quicker, and nothing else."""

import threading
from contextlib import AbstractContextManager

import pytest
from hypothesis import given, strategies as st

from psoup.engine import limits
from psoup.engine.errors import SqlError, TypeMismatchError
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.query.bind.skeletons import Skeletons, SkeletonsStatistics
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema
from tests import strategies_sql
from tests.engine.query.expression_strategies import SCHEMA, STREAMS

PLAIN = ["0", "1", "5", "7", "42", "007", "9007199254740991", "9007199254740992"]
WHOLE = [*PLAIN, "9007199254740993", "9223372036854775806", "9223372036854775807"]
DOUBLES = [
    *(
        "0.0",
        "0.1",
        "1.",
        ".5",
        "1e3",
        "1E+3",
        "1e-3",
        "1.5",
        "17.25",
        "7.0",
        "1e15",
        "1e16",
        "1e308",
    ),
    *("1.7976931348623157e308", "5e-324", "1e-400", "2.2250738585072014e-308"),
]
NUMBERS = [*WHOLE, *DOUBLES, "9223372036854775808", "9" * 44, "1e400"]
numbers = st.builds(str.__add__, st.sampled_from(["", "", "-", "- "]), st.sampled_from(NUMBERS))
"""Numbers as they are written, the edges of the types among them."""

SIMPLE = {
    "i = {}": WHOLE,
    "i > {} AND i<={}": WHOLE,
    "i between {} and {} /* it's */ AND j <> {}": WHOLE,
    "s.i ={} and (((i)>={}) AND i <{})": WHOLE,
    'j BETWEEN {} AND {} -- "\n AND "i" < {}': WHOLE,
    "(f >={} and g < {})": [*PLAIN, *DOUBLES],
    "f BETWEEN {} AND {}": [*PLAIN, *DOUBLES],
    "f > {} AND f >= {} AND f < {} AND f = {}": [*PLAIN, *DOUBLES],
    "i BETWEEN {} AND {} AND f BETWEEN {} AND {} AND j BETWEEN {} AND {} AND g != {}": PLAIN,
}
"""WHERE of simple skeletons, and numbers that are taken as they are wherever they stand."""
OTHERS = [
    "I = {}",
    "f >= {} AND f >= {}",
    "{} < i AND f > {}",
    "i > {} OR i < {}",
    "NOT i > {}",
    "i NOT BETWEEN {} AND {}",
    "i IN ({} , {} )",
    "i IN ( {} )",
    "i + {} > {}",
    "i > j AND f > {}",
    "i -{} > {}",
    "i > {} - {}",
    "i > - {}",
    "ABS({}) = f",
    "CASE WHEN i > {} THEN j ELSE {} END = {}",
    "i IS NOT DISTINCT FROM {}",
    "i IS DISTINCT FROM {} AND j > {}",
    "(i, j) IN (({} , {} ), (1, 2))",
    "LEFT(t, {} ) = 'a' AND i > {}",
    "COALESCE(i, {} ) > {}",
    "DATE_TRUNC('day', ts) = '2014-01-05' AND i > {}",
    "i > {} ::BIGINT",
    "t || {} = 'a5'",
    "i = {} AND j IS NULL",
    "i = {} AND b",
    "i > NULL AND i < {}",
    "i = {} AND t = 'a {} b'",
    "i = {} AND t LIKE '% {} %'",
    "ts > TIMESTAMP '2014-01-05' AND i > {}",
    "ts > te - INTERVAL {} SECOND AND i > {}",
    "i > {} AND b > {}",
    "i > {} /* 5 */",
    "i = ({})",
    "{} = {}",
    "f{} > {}",
    "i = {}AND j = {}",
    "i > {} /* {} */",
    "i > {} -- {} ",
    "i > {} > {}",
    "nowhere > {}",
]
_HEADS = [
    "SELECT * FROM s WHERE ",
    "select distinct i, f + 5 AS x from s as s where ",
    "SELECT i FROM S WHERE ",
    "SELECT COUNT(*) AS n, SUM(i) AS f FROM s WHERE ",
    "SELECT COUNT(*) FILTER (WHERE i > 5) AS n FROM s WHERE ",
    "SELECT i FROM s [RANGE 300 ] WHERE ",
    "SELECT s.i FROM s, s AS r WHERE s.i = r.i AND ",
    "SELECT s.i FROM s JOIN s AS r ON s.i = 5 AND r.i > 7 WHERE ",
]
_TAILS = [
    "",
    " BEGIN (NOW - 60) END (NOW)",
    " begin (now - 5 ) END (now - 1)",
    " ;",
    " ORDER BY 1 ",
    " ORDER BY 1 LIMIT 7 OFFSET 5 BEGIN (NOW - 60) END (NOW)",
    " GROUP BY i + 1 HAVING COUNT(*) > 5 AND MAX(i) < 7 LIMIT 5",
    " limit 5",
]


def answer(how, text, streams=STREAMS):
    """Return all that a query or a refusal says."""
    try:
        query = how(text, streams)
    except SqlError as refused:
        return type(refused), refused.detail, refused.position, refused.excerpt, refused.hint
    return query, repr(query), query.canonical, query.warnings


def filled_in(where, values):
    """Return the pattern with these values in its places."""
    parts = where.split("{}")
    return "".join(part + value for part, value in zip(parts, [*values, ""], strict=False))


@st.composite
def skeletons(draw):
    """Draw a pattern of one or two conditions, simple or nearly so, between a head and a window."""
    some = st.sampled_from([*SIMPLE, *OTHERS, "i = 1e-{}", "i = +1e-{}"])
    where = " AND ".join(draw(st.lists(some, min_size=1, max_size=2)))
    head, tail = draw(st.sampled_from([_HEADS[0], *_HEADS])), draw(st.sampled_from(_TAILS))
    return head + where + tail


@given(data=st.data(), skeleton=skeletons())
def test_oracle_skeletons_answer_what_the_binder_answers(data, skeleton):
    """Any numbers in any skeleton, in any order: equal queries to the last digit, equal refusals."""
    known = Skeletons()
    places = skeleton.count("{}")
    for _ in range(4):
        text = filled_in(skeleton, data.draw(st.lists(numbers, min_size=places, max_size=places)))
        assert answer(bind, text) == answer(known.bind, text)
        known.check()
    found = known.statistics()
    assert 4 == found.filled + found.passed_on


@pytest.mark.parametrize("where", SIMPLE)
@given(data=st.data())
def test_oracle_template_is_filled_as_the_binder_binds(where, data):
    """From the second text of a simple skeleton on a template is filled, whichever numbers came first."""
    drawn = st.builds(str.__add__, st.sampled_from(["", "-"]), st.sampled_from(SIMPLE[where]))
    places = where.count("{}")
    known = Skeletons()
    for turn in range(3):
        values = data.draw(st.lists(drawn, min_size=places, max_size=places))
        text = f"SELECT i FROM s WHERE {filled_in(where, values)} BEGIN (NOW - 60) END (NOW)"
        assert answer(bind, text) == answer(known.bind, text)
        assert SkeletonsStatistics(1, 1, filled=turn, passed_on=1) == known.statistics()
    known.check()


@pytest.mark.parametrize("where", OTHERS)
def test_skeletons_that_are_not_simple_are_left_to_the_binder(where):
    """Nothing of them is ever filled, and they are remembered as such where they are queries at all."""
    known = Skeletons()
    for value in ("3", "4", "-5"):
        text = f"SELECT * FROM s WHERE {filled_in(where, [value] * where.count('{}'))}"
        assert answer(bind, text) == answer(known.bind, text)
    found = known.statistics()
    assert (0, 0, 3) == (found.simple, found.filled, found.passed_on)


@given(data=st.data())
def test_oracle_drawn_queries_and_their_likes(data):
    """Queries of every kind, and each again with digits of its WHERE changed."""
    known = Skeletons(skeletons_max=3)
    text = data.draw(strategies_sql.queries(SCHEMA)).sql
    head, where, behind = text.partition(" WHERE ")
    conditions, begin, window = behind.partition(" BEGIN ")
    changed = head + where + conditions.translate(str.maketrans("13", "31")) + begin + window
    for one in (text, changed, text):
        assert answer(bind, one) == answer(known.bind, one)
        known.check()


def declared(number, kind, name="s"):
    """Return one stream of one column under this number."""
    schema = StreamSchema(name, (ColumnSchema("a", kind),), None, ClockKind.SERVER)
    return {name: (StreamId(number), schema)}


def test_skeleton_holds_for_one_declaration():
    """Another number, another type, another stream of nearly that name, none at all: bound anew."""
    known = Skeletons()
    whole, again = declared(1, ColumnType.INT64), declared(2, ColumnType.INT64)
    double = declared(1, ColumnType.FLOAT64)
    none: dict[str, tuple[StreamId, StreamSchema]] = {}
    both = {**declared(3, ColumnType.INT64, "S"), **whole}
    for turn, streams in enumerate([whole, again, double, none, both, whole, double, whole]):
        text = f"SELECT * FROM s WHERE a > {turn}"
        assert answer(bind, text, streams) == answer(known.bind, text, streams)
    assert SkeletonsStatistics(1, 1, filled=1, passed_on=7) == known.statistics()


def test_stream_by_other_capitals_is_left_to_the_binder():
    """Which stream it means hangs on all that are declared."""
    known = Skeletons()
    one, other = declared(1, ColumnType.INT64), declared(2, ColumnType.INT64, "S")
    for streams in (one, other, {**one, **other}, one):
        text = "SELECT a FROM S WHERE a = 1"
        assert answer(bind, text, streams) == answer(known.bind, text, streams)
    assert 0 == known.statistics().filled


def test_window_and_names_are_parts_of_the_skeleton():
    """One WHERE under other windows, heads and ends: what is filled has its own."""
    known = Skeletons()
    ends = [
        "",
        " BEGIN (NOW - 60) END (NOW)",
        " BEGIN (NOW - 5) END (NOW)",
        " BEGIN (NOW) END (NOW)",
    ]
    heads = ["*", "DISTINCT *", "a1", "a1 AS b", "a1 + 1", "a1 + 2"]
    schema = StreamSchema("s", (ColumnSchema("a1", ColumnType.INT64),), None, ClockKind.SERVER)
    streams = {"s": (StreamId(1), schema)}
    for number in (1, 2):
        for head in heads:
            for end in ends:
                text = f"SELECT {head} FROM s WHERE a1 = {number}{end}"
                assert answer(bind, text, streams) == answer(known.bind, text, streams)
    assert SkeletonsStatistics(24, 24, filled=24, passed_on=24) == known.statistics()


def test_groups_order_and_limit_are_parts_of_the_skeleton():
    """Their numbers are no holes: one template for each of them, filled with its own."""
    known = Skeletons()
    tails = [
        "GROUP BY i HAVING COUNT(*) > 5",
        "GROUP BY i HAVING COUNT(*) > 6",
        "ORDER BY 1 LIMIT 5",
        "ORDER BY 1 LIMIT 6 BEGIN (NOW - 60) END (NOW)",
        "OFFSET 5",
    ]
    for value in ("1", "2", "-3"):
        for tail in tails:
            text = f"SELECT COUNT(*) AS n FROM s WHERE i > {value} {tail}"
            assert answer(bind, text) == answer(known.bind, text)
    assert SkeletonsStatistics(5, 5, filled=10, passed_on=5) == known.statistics()


def test_warnings_of_one_text_are_not_those_of_its_skeleton():
    """A DOUBLE beyond what a BIGINT is compared with exactly makes a factor without index, and a warning."""
    known = Skeletons()
    for column, value in (("i", "1e17"), ("i", "5"), ("j", "5"), ("j", "1e17"), ("j", "6")):
        text = f"SELECT * FROM s WHERE {column} > 1 AND {column} < {value}"
        assert answer(bind, text) == answer(known.bind, text)
    assert bind("SELECT * FROM s WHERE i < 1e17", STREAMS).warnings


def test_number_of_another_type_is_left_to_the_binder_and_the_skeleton_stays_simple():
    """1.5 beside a BIGINT stays a DOUBLE, 7.0 becomes 7, what fits no type is refused."""
    known = Skeletons()
    for value in ("1.5", "2", "7.0", "1.5", "-3"):
        text = f"SELECT * FROM s WHERE i > {value}"
        assert answer(bind, text) == answer(known.bind, text)
    with pytest.raises(TypeMismatchError) as refused:
        known.bind("SELECT * FROM s WHERE i > 9223372036854775808", STREAMS)
    assert 27 == refused.value.position.column
    found = known.statistics()
    assert (1, 1) == (found.skeletons, found.simple)
    assert 3 == found.filled, "2, 7.0 and -3"


def test_skeletons_over_their_bound_forget_the_oldest():
    """What was met last stays; a bound of none keeps none."""
    known = Skeletons(skeletons_max=2)
    for where in ("i > 1", "i < 1", "i > 2", "i = 3"):
        known.bind(f"SELECT * FROM s WHERE {where}", STREAMS)
        known.check()
    assert SkeletonsStatistics(2, 2, filled=1, passed_on=3) == known.statistics()
    known.bind("SELECT * FROM s WHERE i > 4", STREAMS)
    assert 2 == known.statistics().filled
    known.bind("SELECT * FROM s WHERE i < 4", STREAMS)
    assert 2 == known.statistics().filled
    nothing = Skeletons(skeletons_max=0)
    for _ in range(2):
        nothing.bind("SELECT * FROM s WHERE i > 4", STREAMS)
    assert SkeletonsStatistics(0, 0, filled=0, passed_on=2) == nothing.statistics()


def test_long_texts_are_left_to_the_binder():
    """No skeleton of theirs is kept, and none is simple that has a long canonical text."""
    known = Skeletons()
    text = f"SELECT * FROM s WHERE i > 1 {' ' * limits.SKELETON_LENGTH_MAX}"
    assert bind(text, STREAMS) == known.bind(text, STREAMS)
    assert 0 == known.statistics().skeletons
    columns = [ColumnSchema(f"c{n:0126}", ColumnType.INT64) for n in range(40)]
    schema = StreamSchema("s", (*columns, *SCHEMA.columns), None, ClockKind.SERVER)
    streams = {"s": (StreamId(1), schema)}
    for _ in range(2):
        assert bind("SELECT * FROM s WHERE i > 1", streams) == known.bind(
            "SELECT * FROM s WHERE i > 1", streams
        )
    assert SkeletonsStatistics(1, 0, filled=0, passed_on=3) == known.statistics()


def test_skeletons_shared_by_threads_are_guarded_by_the_lock_they_are_given():
    """Every thread gets the binder's answer, and the counts add up; the lock is free while a text is bound."""
    locks: list[threading.Lock] = []

    def make_lock() -> AbstractContextManager[object]:
        locks.append(threading.Lock())
        return locks[-1]

    known = Skeletons(skeletons_max=2, make_lock=make_lock)
    texts = [f"SELECT i FROM s WHERE i {op} {n}" for n in range(8) for op in "<>="]
    wrong: list[str] = []

    def work(first: int) -> None:
        for turn in range(40):
            text = texts[(first + turn) % len(texts)]
            if known.bind(text, STREAMS).canonical != text:
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == wrong
    assert 2 == len(locks), "of the templates, and of the counts"
    found = known.statistics()
    assert 160 == found.filled + found.passed_on
    known.check()


def test_bound_queries_bind_by_skeletons_what_they_do_not_keep():
    """The binder is asked once for each skeleton, and a template once for each text."""
    queries = BoundQueries()
    texts = [f"SELECT i FROM s WHERE i > {n}" for n in range(4)]
    for text in [*texts, *texts]:
        assert answer(bind, text) == answer(queries.bind, text)
    skeletons = queries.statistics().skeletons
    assert SkeletonsStatistics(1, 1, filled=3, passed_on=1) == skeletons


@pytest.mark.parametrize("where", ["s.i > {} AND r.i < {}", "s.i = r.i AND s.f BETWEEN {} AND {}"])
def test_skeleton_of_a_join_is_left_to_the_binder(where):
    """Numbers of a join's WHERE stand in band factors too."""
    known = Skeletons()
    for numbers_of_it in (["1", "2"], ["3", "4"], ["-5", "6"]):
        text = f"SELECT s.i FROM s, s AS r WHERE {filled_in(where, numbers_of_it)}"
        assert answer(bind, text) == answer(known.bind, text)
    found = known.statistics()
    assert (1, 0, 0, 3) == (found.skeletons, found.simple, found.filled, found.passed_on)


def test_skeleton_with_the_window_of_its_stream_is_filled_with_it():
    """It is the window of the query."""
    known = Skeletons()
    for value in ("1", "2"):
        for reach in ("60", "90"):
            text = f"SELECT s.i FROM s [RANGE {reach}] WHERE i > {value}"
            assert answer(bind, text) == answer(known.bind, text)
    assert SkeletonsStatistics(2, 2, filled=2, passed_on=2) == known.statistics()
