"""The cache of bound queries against the binder itself: it may be quicker, and nothing else."""

import threading
from contextlib import AbstractContextManager
from typing import Self

import pytest
from hypothesis import given, strategies as st

from psoup.engine.errors import SqlError, UnknownColumnError, UnknownStreamError
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.bound_cache import BoundCache, BoundCacheStatistics
from psoup.engine.query.bind.scope import Streams
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema
from tests.engine.query.expression_strategies import STREAMS

TEXT = "select i from S where f > 1 and 2 < f begin (now - 60) end (now)"


def cache_of(queries_max: int = 8, text_bytes_max: int = 4_096) -> BoundCache:
    """Return an empty cache."""
    return BoundCache(queries_max=queries_max, text_bytes_max=text_bytes_max)


def declared(name: str, stream_id: int, *columns: str) -> Streams:
    """Return one stream of integer columns under its name."""
    listed = tuple(ColumnSchema(column, ColumnType.INT64) for column in columns)
    schema = StreamSchema(name, listed, time=None, clock=ClockKind.SERVER)
    return {name: (StreamId(stream_id), schema)}


def test_bound_text_and_its_canonical_text_give_the_same_object():
    """What the front has bound the fold does not bind again, whatever else is declared there."""
    cache = cache_of()
    query = cache.bind(TEXT, STREAMS)
    assert bind(TEXT, STREAMS) == query
    assert query is cache.bind(TEXT, dict(STREAMS))
    assert query is cache.bind(query.canonical, STREAMS)
    assert query is cache.bind(query.canonical, {**declared("other", 2, "a"), **STREAMS})
    size = len(TEXT) + len(query.canonical)
    assert BoundCacheStatistics(1, size, hits=3, misses=1) == cache.statistics()
    cache.check()


def test_two_texts_of_one_query_share_its_object():
    """Binding is done again, and its equal answer is the one that is kept already."""
    cache = cache_of()
    query = cache.bind(TEXT, STREAMS)
    assert query is cache.bind(TEXT.upper().replace("S WHERE", "s WHERE"), STREAMS)
    assert (1, 2) == (cache.statistics().queries, cache.statistics().misses)
    cache.check()


@pytest.mark.parametrize(
    "streams",
    [declared("s", 2, "i", "j"), declared("s", 1, "i", "j", "k"), declared("s", 1, "j", "i")],
    ids=["id", "columns", "order"],
)
def test_text_over_another_declaration_is_bound_again(streams):
    """Id and schema belong to what a query is kept for; the later declaration takes its place."""
    cache = cache_of()
    for text in ("SELECT * FROM s", "select * from s"):
        for one in (declared("s", 1, "i", "j"), streams, streams):
            assert bind(text, one) == cache.bind(text, one)
            cache.check()
    assert (2, 4) == (cache.statistics().hits, cache.statistics().misses)


def test_text_whose_stream_is_gone_is_refused_although_it_was_bound():
    """No entry outlives the declaration it reads."""
    cache = cache_of()
    query = cache.bind(TEXT, STREAMS)
    for text in (TEXT, query.canonical):
        with pytest.raises(UnknownStreamError):
            cache.bind(text, declared("other", 2, "i", "f"))


def test_text_that_names_a_stream_without_its_capitals_follows_what_else_is_declared():
    """`S` is `s` as long as nothing is called `S`."""
    cache = cache_of()
    small, capital = declared("s", 1, "i"), declared("S", 2, "i")
    assert StreamId(1) == cache.bind("SELECT i FROM S", small).clause.sources[0].stream_id
    both = {**small, **capital}
    assert StreamId(2) == cache.bind("SELECT i FROM S", both).clause.sources[0].stream_id
    assert StreamId(1) == cache.bind("SELECT i FROM s", both).clause.sources[0].stream_id
    cache.check()


def test_names_of_all_streams_are_not_kept_for_each_text():
    """Beside thousands of streams a text costs what it costs beside one."""
    cache = cache_of()
    streams = {f"s{i}": declared(f"s{i}", i + 1, "i")[f"s{i}"] for i in range(1_000)}
    for value in range(5):
        cache.bind(f"select i from S7 where i > {value}", streams)
    assert 5 == cache.statistics().queries
    assert 1 == len({number for _, number in cache._canonical})
    assert 1_000 == len(cache._names)


def test_text_that_comes_to_mean_another_query_leaves_the_one_it_meant():
    """A column written without its capitals: another declaration, another canonical text."""
    cache = cache_of()
    for columns in (["Price"], ["PRICE"], ["Price"]):
        streams = declared("s", 1, *columns)
        assert bind("SELECT price FROM s", streams) == cache.bind("SELECT price FROM s", streams)
        cache.check()
    assert 1 == cache.statistics().queries


def test_refused_text_is_refused_each_time_and_not_kept():
    """The error points into the text that was sent."""
    cache = cache_of()
    for _ in range(2):
        with pytest.raises(UnknownColumnError) as refused:
            cache.bind("SELECT wrong FROM s", STREAMS)
        assert 8 == refused.value.position.column
    assert BoundCacheStatistics(0, 0, hits=0, misses=2) == cache.statistics()


def test_cache_over_its_number_forgets_the_least_recently_used():
    """Asked for again is used."""
    cache = cache_of(queries_max=2)
    first, second, third = (f"SELECT i FROM s WHERE i = {n}" for n in range(3))
    kept = cache.bind(first, STREAMS)
    cache.bind(second, STREAMS)
    assert kept is cache.bind(first, STREAMS)
    cache.bind(third, STREAMS)
    assert kept is cache.bind(first, STREAMS)
    before = cache.statistics().misses
    cache.bind(second, STREAMS)
    assert before + 1 == cache.statistics().misses
    assert 2 == cache.statistics().queries
    cache.check()


def test_cache_over_its_bytes_forgets_and_keeps_nothing_larger_than_itself():
    """Bytes of UTF-8, of both texts."""
    text = "SELECT i FROM s WHERE t = 'é'"
    cache = cache_of(text_bytes_max=2 * len(text.encode()))
    cache.bind(text, STREAMS)
    assert len(text.encode()) == cache.statistics().text_bytes
    cache.bind(text.lower(), STREAMS)
    assert 2 * len(text.encode()) == cache.statistics().text_bytes
    large = f"SELECT i FROM s WHERE t = '{'x' * 60}'"
    assert bind(large, STREAMS) == cache.bind(large, STREAMS)
    assert 1 == cache.statistics().queries
    cache.bind("SELECT j FROM s", STREAMS)
    assert 15 == cache.statistics().text_bytes
    cache.check()


def test_cache_of_nothing_binds():
    """A bound of zero is a bound."""
    for cache in (cache_of(queries_max=0), cache_of(text_bytes_max=0)):
        assert bind(TEXT, STREAMS) == cache.bind(TEXT, STREAMS)
        assert 0 == cache.statistics().queries
        cache.check()


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


def test_cache_shared_by_threads_is_guarded_by_the_lock_it_is_given():
    """One lock, made once; every thread gets the binder's answer, and the counts add up."""
    locks: list[CountingLock] = []

    def make_lock() -> AbstractContextManager[object]:
        locks.append(CountingLock())
        return locks[-1]

    cache = BoundCache(queries_max=4, text_bytes_max=4_096, make_lock=make_lock)
    texts = [f"SELECT i FROM s WHERE i > {n}" for n in range(8)]
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
    (lock,) = locks
    assert lock.taken >= 160
    found = cache.statistics()
    assert 160 == found.hits + found.misses
    cache.check()


def test_join_is_kept_for_the_declarations_of_all_its_streams():
    """Whichever of them is declared anew, dropped or joined by another: bound again, or refused."""
    cache = cache_of()
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
    assert 1 == cache.statistics().queries


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
    queries_max=st.integers(0, 4),
    text_bytes_max=st.sampled_from([0, 20, 60, 1_000]),
)
def test_oracle_cache_answers_what_the_binder_answers(steps, queries_max, text_bytes_max):
    """Any texts over any declarations in any order: equal queries, equal refusals, bounds kept."""
    cache = cache_of(queries_max, text_bytes_max)
    for text, streams in steps:
        assert answer(bind, text, streams) == answer(cache.bind, text, streams)
        cache.check()
    assert len(steps) == cache.statistics().hits + cache.statistics().misses


def answer(how, text, streams):
    """Return the query, or all that a refusal says."""
    try:
        return how(text, streams)
    except SqlError as refused:
        return type(refused), refused.detail, refused.position, refused.excerpt, refused.hint
