"""An API worker's store: it appends and reads, whatever becomes of server and engine, and never goes back."""

import time

import pytest

from psoup.engine import limits
from psoup.engine.errors import NotFoundError
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Drop, Remove, Tick
from psoup.engine.store.address import StoreUrlError
from psoup.engine.store.contract import Durability
from psoup.engine.store.errors import (
    RecoveringError,
    StoreUnavailableError,
    StoreUnsuitableError,
)
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage.opening import open_worker_store
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.reader import RedisReader
from psoup.storage.redis.store import RedisStore
from tests.patience import WAIT_S
from tests.storage.driver import assert_shows, do, plain_pages, rows_of
from tests.storage.fold import Fold
from tests.storage.samples import declare, join, query_id, register, rows

pytestmark = pytest.mark.redis


@pytest.fixture
def store(server, tmp_path) -> RedisStore:
    """The store as the engine has it."""
    found: RedisStore = server.empty_store(tmp_path)
    return found


def filled(store: RedisStore, fold: Fold) -> None:
    """Put a stream, a query, a join and whole chunks of tuples into the store."""
    do(store, fold, [declare("a"), declare("b"), rows(1, count=CHUNK_ROWS), register(1, 1)])
    do(store, fold, [join(2, {"a": 1}, "self x p"), rows(1, count=3 * CHUNK_ROWS)])
    assert fold.composites


def test_worker_asks_for_one_stream_alone_once_it_knows_its_id(store, worker):
    """Of a name that was listed, and of one whose stream is dropped and declared anew; all are listed no more."""
    fold = Fold()
    do(store, fold, [declare("a"), declare("b")])
    listed: list[object] = []
    everything = worker.results.streams

    def streams():
        listed.append(None)
        return everything()

    worker.results.streams = streams
    assert [store.results.stream(name) for name in "abab"] == [
        worker.results.stream(name) for name in "abab"
    ]
    assert 1 == len(listed)
    do(store, fold, [rows(1), Drop(StreamId(2), "b")])
    assert store.results.stream("a") == worker.results.stream("a")
    with pytest.raises(NotFoundError):
        worker.results.stream("b")
    do(store, fold, [declare("b", 2)])
    for _ in range(2):
        assert store.results.stream("b") == worker.results.stream("b")
    assert 3 == len(listed)


def test_worker_reads_what_the_engine_has_published(store, worker):
    """Every read of the contract answers as the engine's own does, first and again from what is kept."""
    fold = Fold()
    filled(store, fold)
    for _ in range(2):
        read, own = worker.results, store.results
        assert own.streams() == read.streams()
        assert own.stream("a") == read.stream("a")
        assert own.queries() == read.queries()
        assert own.query(query_id(1)) == read.query(query_id(1))
        assert own.readers(StreamId(1)) == read.readers(StreamId(1))
        assert own.counts() == read.counts()
        assert own.batches(StreamId(1), Seq(0)) == read.batches(StreamId(1), Seq(0))
        for number in (1, 2):
            expected, found = own.snapshot(query_id(number)), read.snapshot(query_id(number))
            assert (expected.query, expected.clause) == (found.query, found.clause)
            assert expected.streams == found.streams
        clause, joined = (read.snapshot(query_id(number)).clause for number in (1, 2))
        assert rows_of(own.pages(clause, [1, 2])) == rows_of(read.pages(clause, [1, 2]))
        assert plain_pages(own.composites(joined)) == plain_pages(read.composites(joined))
        do(store, fold, [rows(1, count=CHUNK_ROWS)])
    assert_shows(store, fold)


def test_worker_appends_and_sees_what_waits(store, worker):
    """What it appends is in the one log; position and health say where the store stands."""
    before = worker.position()
    assert (0, 0, 0, True) == (
        before.applied,
        before.head,
        before.waiting_bytes,
        before.engine_alive,
    )
    seqs = [worker.log.append(declare("a")).seq, worker.log.append(rows(1)).seq]
    assert [1, 2] == seqs
    waiting = worker.position()
    assert (0, 2, 4, before.gen) == (
        waiting.applied,
        waiting.head,
        waiting.waiting_bytes,
        waiting.gen,
    )
    do(store, Fold(), [])
    assert (2, 2, 0) == (
        worker.position().applied,
        worker.position().head,
        worker.position().waiting_bytes,
    )
    with pytest.raises(AssertionError, match="trims"):
        worker.log.trim(batches=[], below=1)


def test_worker_knows_what_the_engine_knows(store, worker):
    """Durability, page key and figures come from the store: its user may not ask for settings."""
    assert ("fsync", store.page_key, None) == (worker.durability, worker.page_key, worker.told())
    store.tell(b"figures")
    assert b"figures" == worker.told()


def test_registrations_that_wait_are_told_until_they_are_applied_or_removed(store, worker):
    """Committed and not applied: neither what is, nor what has been removed since, nor what never was."""
    fold = Fold()
    do(store, fold, [declare("a"), register(1, 1)])
    assert [] == worker.registrations()
    for content in (register(2, 1, name="n"), rows(1), register(3, 1), Remove(query_id(3))):
        worker.log.append(content)
    (waiting,) = worker.registrations()
    assert (3, register(2, 1, name="n")) == (waiting.seq, waiting.content)
    assert waiting == worker.registration(query_id(2))
    assert [None] * 3 == [worker.registration(query_id(number)) for number in (1, 3, 4)]
    worker.log.append(Remove(query_id(2)))
    assert [] == worker.registrations()
    worker.log.append(register(5, 1))
    assert worker.registration(query_id(5)) is not None
    do(store, fold, [])
    assert worker.registration(query_id(5)) is None


def test_worker_that_no_engine_precedes_waits_for_one(server, tmp_path):
    """An empty store is not a store without streams: everything but listening is refused until an engine begins."""
    server.client.fetch_one("FLUSHALL")
    with_worker = open_worker_store(server.url)
    for ask in (
        with_worker.position,
        with_worker.results.cut,
        with_worker.results.streams,
        with_worker.results.counts,
        lambda: with_worker.results.snapshot(query_id(1)),
        lambda: with_worker.results.batches(StreamId(1), Seq(0)),
        lambda: with_worker.log.append(Tick()),
        lambda: with_worker.page_key,
        with_worker.registrations,
    ):
        with pytest.raises(RecoveringError):
            ask()
    assert ("recovering",) == with_worker.health().reasons
    assert "everysec" == with_worker.durability, "nobody knows yet: the lower one"
    server.empty_store(tmp_path)
    assert 0 == with_worker.position().applied
    assert "fsync" == with_worker.durability
    with_worker.close()


@pytest.mark.parametrize("word", ["", "later", "fsync\r\nPsoup-Seq: 1"])
def test_durability_that_is_no_level_is_taken_for_the_lower_one(server, worker, word):
    """A worker promises no more than it knows, and shows nothing but a level with its answers."""
    server.say("durability", word)
    worker.position()
    assert Durability.EVERYSEC is worker.durability


def test_worker_without_a_server_says_so(tmp_path):
    """It may start first."""
    worker = open_worker_store(f"unix://{tmp_path / 'nobody'}?db=0")
    for ask in (worker.position, worker.results.cut, worker.told, lambda: worker.page_key):
        with pytest.raises(StoreUnavailableError):
            ask()
    assert ("store-down",) == worker.health().reasons
    begun = time.monotonic()
    worker.wait(0.05)
    assert time.monotonic() - begun >= 0.05, "it does not ask a store that is away without a pause"
    worker.close()
    worker.wait(WAIT_S)


@pytest.mark.parametrize("url", ["memory://", "ftp://host", "redis://host:port/0"])
def test_worker_takes_only_what_processes_can_share(url):
    """Another process's memory is no store."""
    with pytest.raises(StoreUrlError):
        open_worker_store(url)


@pytest.mark.parametrize("field", ["fmt", "library"])
def test_worker_of_another_version_refuses_the_store(server, store, worker, field):
    """Neither at the start nor later does it read what it may not understand, and it goes on once that is over."""
    (before,) = server.client.fetch_one("HMGET", "{ps}:m", field)
    server.say(field, "99")
    with pytest.raises(StoreUnsuitableError, match="version"):
        open_worker_store(server.url)
    with pytest.raises(StoreUnsuitableError):
        worker.position()
    for ask in (
        worker.results.counts,
        lambda: worker.log.append(Tick()),
        lambda: worker.log.append_many([Tick()]),
    ):
        with pytest.raises(StoreUnsuitableError):
            ask()
    assert ("store-down",) == worker.health().reasons
    server.say(field, before.decode())
    worker.position()
    assert 0 == worker.results.counts().queries


def test_worker_never_answers_below_what_it_has_answered(server, store, worker):
    """A store that came back behind is not read, but for another history, before which it forgets."""
    fold = Fold()
    filled(store, fold)
    applied, gen = store.results.cut().seq, store.results.cut().gen
    clause = worker.results.snapshot(query_id(1)).clause
    server.say("applied", applied - 1)
    for ask in (
        worker.position,
        worker.results.cut,
        worker.results.streams,
        worker.results.counts,
        worker.registrations,
        lambda: worker.results.snapshot(query_id(1)),
        lambda: worker.results.pages(clause, [1]),
        lambda: worker.results.batches(StreamId(1), Seq(0)),
    ):
        with pytest.raises(RecoveringError):
            ask()
    assert ("recovering",) == worker.health().reasons
    server.say("applied", applied, "gen", gen - 1)
    with pytest.raises(RecoveringError, match="behind"):
        worker.results.cut()
    server.say("applied", applied - 1, "gen", gen + 1)
    assert (gen + 1, applied - 1) == (worker.position().gen, worker.results.cut().seq)
    assert ((gen + 1, applied - 1), 1) == (
        worker.statistics().latest,
        worker.statistics().histories,
    )


def test_worker_that_is_overtaken_by_its_own_threads_answers(server, store, worker):
    """An answer that was asked for before a later one came is no older than what was answered then."""
    served = worker._served
    floor = served.latest
    gen = worker.results.cut().gen
    served.saw(gen, 7, floor)
    served.saw(gen, 5, floor)
    assert (gen, 7) == served.latest
    with pytest.raises(RecoveringError):
        served.saw(gen, 6, served.latest)


def test_another_history_is_told_before_anything_of_it_is_answered(server, store):
    """`forget` comes in the thread that sees it first; an answer begun before it is not finished from it."""
    fold, forgotten = Fold(), []
    worker = open_worker_store(server.url, forget=lambda: forgotten.append(True))
    filled(store, fold)
    clause = worker.results.snapshot(query_id(1)).clause
    joined = worker.results.snapshot(query_id(2)).clause
    assert worker.results.composites(joined)
    assert isinstance(worker.results, RedisReader)
    kept = worker.results._pages.statistics()
    assert kept.entries > 0
    begun = len(forgotten)
    assert 1 == begun, "the first history forgets nothing that is"
    server.say("gen", store.results.cut().gen + 1)
    with pytest.raises(RecoveringError, match="history"):
        worker.results.pages(clause, [1])
    assert begun + 1 == len(forgotten)
    assert 0 == worker.results._pages.statistics().entries
    with pytest.raises(RecoveringError, match="history"):
        worker.results.composites(joined)
    clause = worker.results.snapshot(query_id(1)).clause
    assert worker.results.pages(clause, [1])
    worker.close()


def test_composites_that_are_kept_are_not_asked_for_again(store, worker, monkeypatch):
    """Within a history a page never changes: only new ones are read, and the bound of all is kept."""
    fold = Fold()
    filled(store, fold)
    clause = worker.results.snapshot(query_id(2)).clause
    first = worker.results.composites(clause)
    assert first
    asked: list[object] = []
    fetch = RedisClient.fetch

    def counted(client, commands):
        asked.extend(c for c in commands if c[0] == "HMGET" and str(c[1]).startswith("{ps}:j"))
        return fetch(client, commands)

    monkeypatch.setattr(RedisClient, "fetch", counted)
    assert plain_pages(first) == plain_pages(worker.results.composites(clause))
    assert [] == asked
    do(store, fold, [rows(1, count=5 * CHUNK_ROWS)])
    clause = worker.results.snapshot(query_id(2)).clause
    assert plain_pages(fold.composites_of(clause)) == plain_pages(worker.results.composites(clause))
    assert 0 < len(asked) < len(worker.results.composites(clause))
    worker.results._pages.check()


def test_records_are_decoded_once(store, worker, monkeypatch):
    """They are kept by their bytes, so that one that has changed is another one."""
    fold = Fold()
    do(store, fold, [declare("a"), register(1, 1)])
    first = worker.results.snapshot(query_id(1))
    again = worker.results.snapshot(query_id(1))
    assert first.clause is again.clause
    assert first.query is again.query
    assert first.streams[0] == again.streams[0]
    assert first.streams[0].schema is again.streams[0].schema
    do(store, fold, [rows(1)])
    assert 3 == worker.results.snapshot(query_id(1)).streams[0].rows
    worker.results._records.check()
    assert 1 == worker.results._records.statistics()[2].entries, (
        "what every batch changes is not kept"
    )


def test_batches_of_a_long_range_are_those_of_a_short_one(store, monkeypatch, server, worker):
    """Past what one call looks through they are scanned; those of rows no longer held are left out."""
    fold = Fold(rows_kept=limits.SEGMENT_ROWS)
    do(store, fold, [declare("a"), declare("b"), *[rows(1)] * 4, rows(2, "b")])
    everything = worker.results.batches(StreamId(1), Seq(0))
    assert [3, 4, 5, 6] == [batch.seq for batch in everything.batches]
    assert (7, fold.streams[StreamId(1)]) == (everything.applied, everything.stream)
    assert everything.batches[2:] == worker.results.batches(StreamId(1), Seq(4)).batches
    assert () == worker.results.batches(StreamId(1), Seq(7)).batches
    library = store.log._client._library_text
    short = library.replace(b"BATCHES_MAX = 5 * UNPACK_MAX", b"BATCHES_MAX = 2")
    assert short != library
    server.client.fetch_one("FUNCTION", "LOAD", "REPLACE", short)
    assert everything == worker.results.batches(StreamId(1), Seq(0))
    assert everything.batches[1:] == worker.results.batches(StreamId(1), Seq(3)).batches
    server.client.fetch_one("FUNCTION", "LOAD", "REPLACE", library)
    do(store, fold, [rows(1, count=3 * limits.SEGMENT_ROWS)])
    held = worker.results.batches(StreamId(1), Seq(0))
    assert held.stream.dropped_row > 0
    assert [batch for batch in fold.batches.values() if batch.stream_id == 1] == list(held.batches)
    do(store, fold, [Drop(StreamId(1), "a", ())])
    with pytest.raises(NotFoundError):
        worker.results.batches(StreamId(1), Seq(0))


def test_batches_published_while_others_are_scanned_are_all_there(
    store, monkeypatch, server, worker
):
    """More than one call looks through are published during the scan: it is scanned on from where it began."""
    fold = Fold()
    do(store, fold, [declare("a"), *[rows(1)] * 3])
    library = store.log._client._library_text
    short = library.replace(b"BATCHES_MAX = 5 * UNPACK_MAX", b"BATCHES_MAX = 2")
    server.client.fetch_one("FUNCTION", "LOAD", "REPLACE", short)
    publishes = [3, 1]
    scan = worker.results._batches

    def scanned(stream_id, cut):
        found = scan(stream_id, cut)
        do(store, fold, [rows(1)] * publishes.pop(0))
        return found

    monkeypatch.setattr(worker.results, "_batches", scanned)
    found = worker.results.batches(StreamId(1), Seq(0))
    server.client.fetch_one("FUNCTION", "LOAD", "REPLACE", library)
    assert [] == publishes
    assert list(range(2, 9)) == [batch.seq for batch in found.batches]
    assert (8, fold.streams[StreamId(1)]) == (found.applied, found.stream)
