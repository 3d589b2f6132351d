"""Bound queries that are kept, against the binder itself: asking for them may be quicker, and nothing else."""

import threading
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Self

import pytest
from hypothesis import given, strategies as st

from psoup.engine.errors import SqlError, UnknownColumnError, UnknownStreamError
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.bound_queries import BOUND_BYTES_PER_TEXT_BYTE, BoundQueries
from psoup.engine.query.bind.predicates import predicates_of
from psoup.engine.query.bind.scope import Streams
from psoup.engine.recent import ENTRY_BYTES
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema
from tests.engine.query.expression_strategies import STREAMS

TEXT = "select i from S where f > 1 and 2 < f begin (now - 60) end (now)"


def size_of(canonical: str) -> int:
    """Return what a query counts under its canonical text."""
    return max(ENTRY_BYTES, BOUND_BYTES_PER_TEXT_BYTE * len(canonical.encode()))


def counts_of(cache: BoundQueries) -> tuple[int, int]:
    """Return the number of texts kept, and of calls that had to bind."""
    found = cache.statistics()
    return found.texts, found.bound


def declared(
    name: str, stream_id: int, *columns: str, kind: ColumnType = ColumnType.INT64
) -> Streams:
    """Return one stream of columns of one type under its name."""
    listed = tuple(ColumnSchema(column, kind) for column in columns)
    schema = StreamSchema(name, listed, time=None, clock=ClockKind.SERVER)
    return {name: (StreamId(stream_id), schema)}


def test_bound_text_and_its_canonical_text_give_the_same_object():
    """What the front has bound the fold does not bind again, whatever else is declared there."""
    cache = BoundQueries()
    query = cache.bind(TEXT, STREAMS)
    assert bind(TEXT, STREAMS) == query
    assert query is cache.bind(TEXT, dict(STREAMS))
    assert query is cache.bind(query.canonical, STREAMS)
    assert query is cache.bind(query.canonical, {**declared("other", 2, "a"), **STREAMS})
    assert (2, 1) == counts_of(cache)
    texts = len(TEXT) + len(query.canonical)
    assert size_of(query.canonical) + ENTRY_BYTES + texts == cache.statistics().nbytes
    cache.check()


def test_two_texts_of_one_query_share_its_object():
    """Binding is done again, and its equal answer is the one that is kept already."""
    cache = BoundQueries()
    query = cache.bind(TEXT, STREAMS)
    assert query is cache.bind(TEXT.upper().replace("S WHERE", "s WHERE"), STREAMS)
    assert (3, 2) == counts_of(cache)
    cache.check()


@pytest.mark.parametrize(
    "streams",
    [declared("s", 2, "i", "j"), declared("s", 1, "i", "j", "k"), declared("s", 1, "j", "i")],
    ids=["id", "columns", "order"],
)
def test_text_over_another_declaration_is_bound_again(streams):
    """Id and schema belong to what a query is kept for; the later declaration takes its place."""
    cache = BoundQueries()
    for text in ("SELECT * FROM s", "select * from s"):
        for one in (declared("s", 1, "i", "j"), streams, streams):
            assert bind(text, one) == cache.bind(text, one)
            cache.check()
    assert 4 == cache.statistics().bound


@pytest.mark.parametrize("stream_id", [1, 2], ids=["added", "declared anew"])
def test_text_with_a_star_means_the_columns_there_are(stream_id):
    """Although the canonical text that it came to before was bound over more columns meanwhile."""
    cache = BoundQueries()
    narrow, wide = declared("s", 1, "i", "j"), declared("s", stream_id, "i", "j", "k")
    canonical = cache.bind("SELECT * FROM s", narrow).canonical
    assert bind(canonical, wide) == cache.bind(canonical, wide)
    assert bind("SELECT * FROM s", wide) == cache.bind("SELECT * FROM s", wide)
    cache.check()


def test_text_whose_stream_is_gone_is_refused_although_it_was_bound():
    """No entry outlives the declaration it reads."""
    cache = BoundQueries()
    query = cache.bind(TEXT, STREAMS)
    for text in (TEXT, query.canonical):
        with pytest.raises(UnknownStreamError):
            cache.bind(text, declared("other", 2, "i", "f"))


def test_text_that_names_a_stream_without_its_capitals_follows_what_else_is_declared():
    """`S` is `s` as long as nothing is called `S`."""
    cache = BoundQueries()
    small, capital = declared("s", 1, "i"), declared("S", 2, "i")
    assert StreamId(1) == cache.bind("SELECT i FROM S", small).clause.sources[0].stream_id
    both = {**small, **capital}
    assert StreamId(2) == cache.bind("SELECT i FROM S", both).clause.sources[0].stream_id
    assert StreamId(1) == cache.bind("SELECT i FROM s", both).clause.sources[0].stream_id
    cache.check()


def test_names_of_all_streams_are_not_kept_for_each_text():
    """Beside thousands of streams a text costs what it costs beside one."""
    cache = BoundQueries()
    streams = {f"s{i}": declared(f"s{i}", i + 1, "i")[f"s{i}"] for i in range(1_000)}
    for value in range(5):
        cache.bind(f"select i from S7 where i > {value}", streams)
    written = [text for text, _ in cache._kept.pairs() if isinstance(text, tuple)]
    assert (5, 1) == (len(written), len({number for _, number, _ in written}))
    assert 1_000 == len(cache._names)


def test_text_that_comes_to_mean_another_query_leaves_the_one_it_meant():
    """A column written without its capitals: another declaration, another canonical text."""
    cache = BoundQueries()
    for columns in (["Price"], ["PRICE"], ["Price"]):
        streams = declared("s", 1, *columns)
        assert bind("SELECT price FROM s", streams) == cache.bind("SELECT price FROM s", streams)
        cache.check()
    assert 3 == cache.statistics().texts, "the text, and the canonical ones of both"


def test_refused_text_is_refused_each_time_and_not_kept():
    """The error points into the text that was sent."""
    cache = BoundQueries()
    for _ in range(2):
        with pytest.raises(UnknownColumnError) as refused:
            cache.bind("SELECT wrong FROM s", STREAMS)
        assert 8 == refused.value.position.column
    assert (0, 2) == counts_of(cache)


def test_queries_over_their_bound_are_forgotten_the_least_recently_used_first():
    """Asked for again is used."""
    first, second, third = (f"SELECT i FROM s WHERE i = {n}" for n in range(3))
    cache = BoundQueries(bytes_max=2 * size_of(first))
    kept = cache.bind(first, STREAMS)
    cache.bind(second, STREAMS)
    assert kept is cache.bind(first, STREAMS)
    cache.bind(third, STREAMS)
    assert kept is cache.bind(first, STREAMS)
    assert (2, 3) == counts_of(cache)
    cache.bind(second, STREAMS)
    assert (2, 4) == counts_of(cache)
    cache.check()


def test_text_as_it_was_written_is_forgotten_before_what_it_means():
    """The fold and invocations ask for the canonical text."""
    query = bind(TEXT, STREAMS)
    texts = len(TEXT) + len(query.canonical)
    cache = BoundQueries(bytes_max=size_of(query.canonical) + ENTRY_BYTES + texts)
    kept = cache.bind(TEXT, STREAMS)
    assert (2, 1) == counts_of(cache)
    cache.bind("SELECT j FROM s", STREAMS)
    assert kept is cache.bind(kept.canonical, STREAMS)
    assert (2, 2) == counts_of(cache)
    cache.check()


def test_text_as_it_was_written_keeps_what_it_means():
    """A client sends it again and again: its query is used by that, and is not forgotten while others come."""
    query = bind(TEXT, STREAMS)
    texts = len(TEXT) + len(query.canonical)
    cache = BoundQueries(bytes_max=3 * (size_of(query.canonical) + ENTRY_BYTES + texts))
    for number in range(20):
        assert cache.bind(TEXT, STREAMS) is cache.bind(query.canonical, STREAMS)
        cache.bind(f"SELECT j FROM s WHERE j > {number}", STREAMS)
        cache.check()


def test_query_larger_than_the_bound_is_bound_each_time():
    """A long text counts by its bytes of UTF-8; a bound of nothing keeps nothing."""
    large = f"SELECT i FROM s WHERE t = '{'é' * 60}'"
    for bytes_max in (0, size_of(large) - 1):
        cache = BoundQueries(bytes_max=bytes_max)
        for _ in range(2):
            assert bind(large, STREAMS) == cache.bind(large, STREAMS)
        assert (0, 2) == counts_of(cache)
        cache.check()
    cache = BoundQueries(bytes_max=size_of(large))
    assert cache.bind(large, STREAMS) is cache.bind(large, STREAMS)


def test_reading_of_a_standing_query_binds_nothing_that_was_registered():
    """Whatever text it was registered by; the columns that its select list reads, by source."""
    cache = BoundQueries()
    streams = {**declared("s", 1, "a", "b", "c"), **declared("r", 2, "a", "d")}
    query = cache.bind("select y.d, x.c + x.b as e from s x, r y where x.a = y.a", streams)
    reading = cache.reading(query.canonical, (streams["s"], streams["r"]))
    assert (query.clause, 1) == (reading.clause, cache.statistics().bound)
    assert (("b", "c"), ("d",)) == reading.names
    assert reading.plan is cache.reading(query.canonical, (streams["s"], streams["r"])).plan
    assert (1, 2) == reading.plan.shape.streams


def test_reading_is_of_the_columns_that_the_streams_have():
    """A log that begins anew gives a stream the number of another one, whose columns had other types."""
    cache = BoundQueries()
    before, after = declared("s", 1, "a"), declared("s", 1, "a", kind=ColumnType.FLOAT64)
    text = bind("SELECT x.a FROM s AS x, s AS y WHERE x.a <= y.a", before).canonical
    plan = None
    for streams in (before, after, before):
        reading = cache.reading(text, (streams["s"], streams["s"]))
        assert bind(text, streams).clause == reading.clause
        assert plan is not reading.plan
        plan = reading.plan
        cache.check()
    assert 3 == cache.statistics().bound


class CountingLock:
    """A lock that knows how often it was taken, and whether it is held."""

    def __init__(self) -> None:
        self.taken = 0
        self.lock = threading.Lock()

    def __enter__(self) -> Self:
        self.lock.acquire()
        self.taken += 1
        return self

    def __exit__(self, *_: object) -> None:
        self.lock.release()


def test_queries_shared_by_threads_are_guarded_by_the_locks_that_are_given():
    """Every thread gets the binder's answer, and what is kept keeps its bound."""
    locks: list[CountingLock] = []

    def make_lock() -> AbstractContextManager[object]:
        locks.append(CountingLock())
        return locks[-1]

    texts = [f"SELECT i FROM s WHERE i > {n}" for n in range(8)]
    cache = BoundQueries(bytes_max=4 * size_of(texts[0]), make_lock=make_lock)
    wrong: list[str] = []

    def work(first: int) -> None:
        for turn in range(40):
            text = texts[(first + turn) % len(texts)]
            if cache.bind(text, STREAMS).canonical != text:
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == wrong
    assert sum(lock.taken for lock in locks) >= 160
    assert cache.statistics().texts <= 4
    cache.check()


def test_join_is_kept_for_the_declarations_of_all_its_streams():
    """Whichever of them is declared anew, dropped or joined by another: bound again, or refused."""
    cache = BoundQueries()
    one, other = declared("s", 1, "a", "b"), declared("r", 2, "a", "c")
    text = "SELECT b, c FROM s AS x, r AS y WHERE x.a = y.a BEGIN (NOW - 60) END (NOW)"
    query = cache.bind(text, {**one, **other})
    assert query is cache.bind(text, {**one, **other})
    assert query is cache.bind(query.canonical, {**other, **declared("t", 3, "a"), **one})
    for changed in (declared("r", 4, "a", "c"), declared("r", 2, "a", "c", "d")):
        streams = {**one, **changed}
        assert query is not cache.bind(text, streams)
        assert bind(text, streams) == cache.bind(text, streams)
        cache.check()
    assert bind(text, {**one, **other}) == cache.bind(text, {**one, **other})
    for lacking in (one, other, {**one, **declared("r", 2, "c")}):
        with pytest.raises(SqlError):
            cache.bind(text, lacking)
        cache.check()
    assert 2 == cache.statistics().texts


_CATALOGUES = [
    declared("s", 1, "a", "B"),
    declared("s", 1, "a", "b"),
    declared("s", 2, "a", "B"),
    declared("S", 3, "a"),
    {**declared("s", 1, "a", "B"), **declared("S", 3, "a")},
    {**declared("S", 3, "a"), **declared("s", 1, "a", "B")},
    {**declared("s", 1, "a", "B"), **declared("r", 4, "a", "c")},
    {**declared("s", 1, "a"), **declared("r", 4, "a", "B", "c")},
    {**declared("s", 1, "a", "B"), **declared("r", 5, "a", "c")},
    {},
]
_TEXTS = [
    "SELECT a FROM s",
    "select a from s",
    "SELECT a FROM S",
    'SELECT a FROM "s"',
    "SELECT b FROM s",
    "SELECT B FROM s",
    "SELECT * FROM s WHERE a = 1 OR a = 2",
    "SELECT * FROM s WHERE a IN (1, 2)",
    "SELECT a, B FROM s WHERE a IN (1, 2)",
    "SELECT B, c FROM s, r WHERE s.a = r.a",
    "SELECT b, c FROM S AS x JOIN r AS y ON x.a = y.a",
    "SELECT x.a FROM s AS x, s AS y WHERE x.a < y.a",
    "no query",
]


@given(
    steps=st.lists(st.tuples(st.sampled_from(_TEXTS), st.sampled_from(_CATALOGUES)), max_size=40),
    bytes_max=st.sampled_from([0, 1_024, 3_000, 10_000, 100_000]),
)
def test_oracle_queries_kept_are_what_the_binder_answers(steps, bytes_max):
    """Any texts over any declarations in any order: equal queries, equal refusals, bounds kept."""
    cache = BoundQueries(bytes_max=bytes_max)
    for text, streams in steps:
        assert answer(bind, text, streams) == answer(cache.bind, text, streams)
        cache.check()


def answer(how, text, streams):
    """Return the query, or all that a refusal says."""
    try:
        return how(text, streams)
    except SqlError as refused:
        return type(refused), refused.detail, refused.position, refused.excerpt, refused.hint


def test_predicates_are_read_once_for_a_declaration():
    """They are those of the text, the same object when they are asked for again, and count as much as the query."""
    cache = BoundQueries()
    query = cache.bind(TEXT, STREAMS)
    streams = tuple([STREAMS[source.stream] for source in query.clause.sources])
    before = cache.statistics().nbytes
    predicates = cache.predicates(query.canonical, streams)
    assert predicates_of(query.canonical, STREAMS) == predicates
    assert predicates is cache.predicates(query.canonical, streams)
    assert query is cache.bind(TEXT, STREAMS)
    assert before + size_of(query.canonical) == cache.statistics().nbytes
    ((_, schema),) = streams
    other = ((StreamId(7), schema),)
    (source,) = predicates.sources
    expected = predicates._replace(sources=(replace(source, stream_id=StreamId(7)),))
    assert expected == cache.predicates(query.canonical, other)
    assert StreamId(7) == cache.reading(query.canonical, other).clause.sources[0].stream_id
    cache.check()
