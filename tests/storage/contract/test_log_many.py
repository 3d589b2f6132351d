"""Appending many at once, over every store: as one after the other, and what happens when the store fails."""

from dataclasses import replace

import hypothesis
import pytest
from hypothesis import HealthCheck, given, strategies as st

from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.errors import EngineError
from psoup.engine.log.operation import Drop, Materialize, Remove, Tick
from psoup.engine.store.errors import (
    CommitUnknownError,
    RecoveringError,
    StoreUnavailableError,
    StoreUnsuitableError,
)
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys
from psoup.storage.memory.store import MemoryStore
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.cluster import ClusterMemory
from psoup.storage.redis.fsck import seals
from psoup.storage.redis.log import APPENDED_TOGETHER, RedisLog
from tests.storage.conftest import START_US
from tests.storage.samples import declare, query_id, register, rows, txn

MIXED = [
    declare("a"),
    declare("a"),  # a duplicate
    declare("a", columns=2),  # differs
    rows(1, body=b"12345", txn=txn()),
    rows(9),  # stale
    rows(1, txn=txn()),  # a duplicate, by its version
    rows(1, txn=txn(content="other")),  # other content under a version
    register(1, 1, name="n"),
    register(2, 1, sql="other", name="n"),  # the name is taken
    register(3, 1, sql=f"SELECT x0 FROM a WHERE x0 > {1}", name="n"),  # a duplicate, by its name
    Drop(StreamId(1), "a"),  # has queries
    Tick(),
    Remove(query_id(1)),
    Remove(query_id(1)),  # gone
    register(2, 1, sql="other", name="n"),
]

STREAMS = st.sampled_from([(1, "a"), (1, "a"), (1, "a"), (2, "b"), (3, "a")])
TXNS = st.builds(txn, st.sampled_from("xyz"), st.integers(0, 5), st.sampled_from(["one", "other"]))
BATCHES = st.builds(
    lambda stream, count, made: rows(*stream, count=count, body=b"x" * count, txn=made),
    STREAMS,
    st.integers(0, 2),
    st.none() | TXNS,
)
REGISTRATIONS = st.builds(
    lambda number, stream, name: register(number, *stream, name=name),
    st.integers(0, 9),
    STREAMS,
    st.sampled_from([None, None, "n"]),
)
DROPS = st.builds(
    lambda stream, queries: Drop(StreamId(stream[0]), stream[1], tuple(map(query_id, queries))),
    STREAMS,
    st.lists(st.integers(0, 3), max_size=1),
)
ANYTHING = st.one_of(
    BATCHES,
    BATCHES,
    BATCHES,
    REGISTRATIONS,
    REGISTRATIONS,
    st.builds(declare, st.sampled_from("abc"), st.integers(1, 2)),
    st.builds(lambda number: Remove(query_id(number)), st.integers(0, 9)),
    DROPS,
    st.just(Tick()),
)
"""Operations of all kinds, most of which repeat, contradict or undo another."""


def plain(outcomes):
    """Return what became of each without arrival times, which are the clock's."""
    return [
        (type(one).__name__, one.detail, dict(one.extras))
        if isinstance(one, EngineError)
        else (one.seq, one.duplicate, one.query_id)
        for one in outcomes
    ]


def one_by_one(store, contents):
    outcomes = []
    for content in contents:
        try:
            outcomes.append(store.log.append(content))
        except EngineError as refusal:
            outcomes.append(refusal)
    return outcomes


def read_back(store):
    return [
        (one.seq, one.first_tuple_id, one.content)
        for one in store.log.read(0, operations_max=10_000, bytes_max=1 << 30)
    ]


def test_append_many_is_as_one_after_the_other(store):
    """Stored, duplicate or refused: each in its place as `append` says, and the logs are equal."""
    model = MemoryStore(ManualClock(START_US))
    assert plain(one_by_one(model, MIXED)) == plain(store.log.append_many(MIXED))
    assert read_back(model) == read_back(store)
    assert model.log.statistics() == store.log.statistics()
    store.log.check()


@pytest.mark.redis
@hypothesis.settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(together=st.lists(ANYTHING, min_size=40, max_size=80), called=st.sampled_from([1, 3, 64]))
def test_any_operations_together_are_as_one_after_the_other(server, tmp_path, together, called):
    """Wherever calls cut them: a producer that finds no place, a query whose end frees one, a stream that goes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("psoup.storage.redis.calls.append.CALLED_TOGETHER", called)
        for name, most in (
            ("APPS_COUNT_MAX", 2),
            ("APP_DIGESTS_KEPT", 2),
            ("QUERIES_COUNT_MAX", 2),
        ):
            patch.setattr(limits, name, most)
        store = server.empty_store(tmp_path, streams_max=2)
        model = MemoryStore(ManualClock(START_US), streams_max=2)
        for contents in ([declare("a"), declare("b")], together):
            assert plain(one_by_one(model, contents)) == plain(store.log.append_many(contents))
        assert read_back(model) == read_back(store)
        store.log.check()


def test_append_many_of_nothing_is_nothing(store):
    """No operation, no outcome."""
    assert [] == list(store.log.append_many([]))
    assert 0 == store.log.head()


def test_append_many_dates_them_as_they_come(store):
    """Arrival times never decrease along a bulk, and those told are those kept."""
    appended = store.log.append_many([declare("a"), *[Tick()] * 5])
    times = [one.arrival_us for one in appended]
    assert sorted(times) == times
    read = store.log.read(0, operations_max=10, bytes_max=1)
    assert times == [operation.arrival_us for operation in read]


def test_append_many_past_the_backlog_refuses_the_rest(store, monkeypatch):
    """What still fits is stored; the rest is refused as it would be by itself, duplicates are not."""
    monkeypatch.setattr(limits, "BACKLOG_OPERATIONS_MAX", 3)
    outcomes = store.log.append_many(
        [declare("a"), rows(1, txn=txn()), Tick(), Tick(), rows(1, txn=txn()), rows(1)]
    )
    assert [
        (1, False, None),
        (2, False, None),
        (3, False, None),
        "OverloadedError",
        (2, True, None),
        "OverloadedError",
    ] == [one[0] if one[0] == "OverloadedError" else one for one in plain(outcomes)]
    assert 3 == store.log.head()


def test_append_many_past_the_quota_refuses_the_rest(store, monkeypatch):
    """Standing queries are counted as they are registered, and a removal among them makes room."""
    monkeypatch.setattr(limits, "QUERIES_COUNT_MAX", 2)
    store.log.append(declare("a"))
    many = [register(i, 1) for i in range(3)]
    outcomes = store.log.append_many([*many, Remove(query_id(0)), many[2]])
    assert [2, 3, "QuotaExceededError", 4, 5] == [one[0] for one in plain(outcomes)]


def test_append_many_of_more_than_one_exchange(store, monkeypatch):
    """Wherever the bounds of an exchange cut them, they stand in the log in their order."""
    monkeypatch.setattr(limits, "PUBLISH_BYTES_MAX", 20_000)
    store.log.append(declare("a"))
    many = [register(i, 1) for i in range(APPENDED_TOGETHER + 20)]
    many.append(register(5_000, 1, sql="x" * 30_000))  # larger by itself than an exchange
    outcomes = store.log.append_many(many)
    assert list(range(2, len(many) + 2)) == [one.seq for one in outcomes]
    assert many == [content for _, _, content in read_back(store)[1:]]


def test_register_with_another_materialize_is_another_definition(store):
    """A name stands for text and what is kept of it: another value is refused, the same is a duplicate."""
    store.log.append(declare("a"))

    def named(number, materialize):
        return replace(register(number, 1, sql="one", name="n"), materialize=materialize)

    first, other, again = store.log.append_many(
        [named(1, Materialize.PARTIAL), named(2, Materialize.NONE), named(3, Materialize.PARTIAL)]
    )
    assert (2, False) == (first.seq, first.duplicate)
    assert ("name-taken", {"id": query_id(1)}) == (other.code, dict(other.extras))
    assert (2, True, query_id(1)) == (again.seq, again.duplicate, again.query_id)
    (_, _, kept) = read_back(store)[1]
    assert Materialize.PARTIAL is kept.materialize


class Exchanges:
    """A Redis log whose exchanges a test can make fail, by their number."""

    def __init__(self, log: RedisLog, fail: dict[int, Exception], *, sent: bool = False) -> None:
        """Exchange n of appends raises `fail[n]`; `sent` = after it was carried out."""
        self.client, self.count = log._client, 0
        plain = self.client.call_each

        def call_each(calls, *, lost):
            self.count += 1
            error = fail.get(self.count)
            if error is None:
                return plain(calls, lost=lost)
            if sent:
                plain(calls, lost=lost)
            raise error

        self.call_each = call_each


@pytest.fixture
def failing(embedded_store, monkeypatch):
    monkeypatch.setattr("psoup.storage.redis.log.APPENDED_TOGETHER", 2)

    def fail(errors, *, sent=False):
        exchanges = Exchanges(embedded_store.log, errors, sent=sent)
        monkeypatch.setattr(exchanges.client, "call_each", exchanges.call_each)
        return embedded_store.log

    return fail


@pytest.mark.redis
def test_append_many_whose_first_exchange_is_lost_raises_that_it_is_unknown(failing):
    """Lost on its way, some may be stored: nothing definite is said of any."""
    log = failing({1: CommitUnknownError("gone")}, sent=True)
    with pytest.raises(CommitUnknownError):
        log.append_many([Tick()] * 5)


@pytest.mark.redis
def test_append_many_whose_later_exchange_fails_tells_what_was_stored_before(failing):
    """The first exchange's outcomes stand, nobody knows of the lost one, and what lies behind that was not sent."""
    log = failing({2: CommitUnknownError("gone")})
    outcomes = log.append_many([Tick()] * 5)
    assert [1, 2] == [one.seq for one in outcomes[:2]]
    assert [*["commit-unknown"] * 2, "store-unavailable"] == [one.code for one in outcomes[2:]]
    log = failing({2: RecoveringError("not yet")})
    assert ["recovering"] * 3 == [one.code for one in log.append_many([Tick()] * 5)[2:]]


@pytest.mark.redis
def test_append_many_refused_for_good_amid_it_tells_what_was_stored_before(failing):
    """An ACL that was changed meanwhile takes back nothing of what is stored."""
    log = failing({2: StoreUnsuitableError("not allowed any more")})
    outcomes = log.append_many([Tick()] * 5)
    assert [1, 2] == [one.seq for one in outcomes[:2]]
    assert ["store-unsuitable"] * 3 == [one.code for one in outcomes[2:]]


@pytest.mark.redis
def test_batches_of_several_streams_are_one_call(embedded_store, monkeypatch):
    """Producers of each count for their own stream, and what frees memory is a call of its own."""
    log, made = embedded_store.log, []
    log.append_many([declare("a"), declare("b")])
    plain = log._client.call_each

    def call_each(calls, *, lost):
        made.extend(calls)
        return plain(calls, lost=lost)

    monkeypatch.setattr(log._client, "call_each", call_each)
    batches = [rows(stream, name, txn=txn()) for stream, name in ((1, "a"), (2, "b"), (1, "a"))]
    outcomes = log.append_many([*batches, Tick(), rows(2, "b", txn=txn(version=1))])
    assert [(3, False), (4, False), (3, True), (5, False), (6, False)] == [
        (one.seq, one.duplicate) for one in outcomes
    ]
    assert ["psoup_append", "psoup_append_freeing", "psoup_append"] == [name for name, *_ in made]
    log.check()


@pytest.mark.redis
def test_append_many_to_a_restarted_server_is_refused(embedded_store):
    """A server that nobody has verified since its start stores nothing, and says so at once."""
    embedded_store.log._client.fetch_one("HSET", "{ps}:m", "run", "another")
    with pytest.raises(RecoveringError):
        embedded_store.log.append_many([Tick(), Tick()])
    assert 0 == embedded_store.log.head()


def test_append_many_without_a_server_is_unavailable_and_definite(tmp_path):
    """What could not be sent was not stored."""
    client = RedisClient(f"unix://{tmp_path / 'nobody'}?db=0")
    with pytest.raises(StoreUnavailableError):
        RedisLog(client, ClusterMemory(tmp_path / "cluster.json")).append_many([Tick()])


@pytest.mark.redis
def test_call_that_fails_half_way_leaves_sums_of_what_it_has_written(server, tmp_path):
    """An operation before the one that fails counts; of that one seals are in step with what it has left."""
    store = server.empty_store(tmp_path)
    store.log.append(declare("a"))
    server.client.fetch_one(
        "SET", keys.EMPTY, "no hash"
    )  # written behind the entry, and never looked at before
    before, failed, behind = store.log.append_many([rows(1, txn=txn()), rows(1, count=0), rows(9)])
    assert 2 == before.seq == store.log.head()
    assert ("integrity", "stale-declaration") == (failed.code, behind.code)
    for key in (keys.SIZES, keys.OWNERS, keys.producers(StreamId(1))):
        assert server.client.fetch_one("HLEN", key) > 0
    server.client.fetch_one("UNLINK", keys.EMPTY)
    assert [] == [one.detail for one in seals.seal_faults(server.client)]
