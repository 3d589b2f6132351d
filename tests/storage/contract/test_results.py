"""The Results Structure's contract, the same cases over every store."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from bitarray import bitarray

from psoup.engine import limits
from psoup.engine.errors import IntegrityError, NotFoundError
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.log.operation import Content, Drop, Remove, Tick
from psoup.engine.query.window import Bound, Window
from psoup.engine.results.contract import Counts
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.page import UNKEPT, Page
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys
from tests.engine.results.blocks import runs_of
from tests.storage.driver import apply_next, assert_shows, delta, do, rows_of, shown_pages
from tests.storage.fold import Fold
from tests.storage.hits import block_of
from tests.storage.samples import declare, query_id, register, rows


@pytest.fixture
def fold() -> Fold:
    return Fold()


def fill(store, fold: Fold) -> None:
    """Two streams, five queries over four clauses, some ten chunks of rows."""
    do(store, fold, [declare("a"), declare("b", columns=3), rows(1, count=5_000)])
    queries = [register(n, 1) for n in (1, 2)]
    queries += [register(3, 2, "b"), register(4, 1, sql=queries[0].sql, name="n")]
    do(store, fold, [*queries, register(5, 1, sql="dense"), rows(2, "b", count=10)])
    do(store, fold, [rows(1, count=30_000), Tick()])


def test_cut_of_a_new_store_is_before_everything(store):
    """Nothing applied, nothing shown, a generation that began now."""
    cut = store.results.cut()
    assert (0, 0) == (cut.seq, cut.arrival_us)
    assert cut.gen == store.results.cut().gen
    assert 0 < cut.gen <= cut.server_now_us // 1_000
    assert [] == list(store.results.streams()) == list(store.results.queries())
    assert_shows(store, Fold())


def test_publish_shows_what_was_folded(store, fold):
    """Streams, clauses, queries, batches and pages are exactly those of the fold."""
    fill(store, fold)
    assert_shows(store, fold)
    assert store.log.head() == store.results.cut().seq


def test_batches_after_a_seq_are_those_held_of_the_stream(store, fold):
    """With the stream's record of the same cut; what was dropped is not among them, nor is another stream's."""
    fill(store, fold)
    do(store, fold, [rows(1, count=1_000), rows(2, "b", count=1)])
    for stream_id, record in fold.streams.items():
        for after in range(store.results.cut().seq + 2):
            held = [b for b in fold.batches.values() if b.stream_id == stream_id and b.seq > after]
            found = store.results.batches(stream_id, Seq(after))
            assert (store.results.cut().seq, record) == (found.applied, found.stream)
            assert held == list(found.batches)
    with pytest.raises(NotFoundError):
        store.results.batches(StreamId(99), Seq(0))


def test_publish_of_a_window_of_each_kind_reads_back(store, fold):
    """Bounds, names, labels and the parameters of a text come back equal."""
    do(store, fold, [declare("a"), register(1, 1, name="naïve \u2603")])
    record = store.results.query(query_id(1))
    windows = (
        Window(),
        Window(Bound(-(2**62), moving=False), Bound(2**62, moving=False)),
        Window(Bound(5, moving=False), Bound(0, moving=True)),
        Window(Bound(9, moving=True), Bound(3, moving=True)),
    )
    for window in windows:
        seq = store.log.append(Tick()).seq
        wanted = replace(record, window=window)
        change = delta(seq - 1, seq, seq, queries={query_id(1): wanted})
        store.results.publish(change)
        assert wanted == store.results.query(query_id(1))


def test_readers_and_counts_are_those_of_the_records(store, fold):
    """The queries of one stream in the order of their registration, and how many there are of all."""
    assert Counts(0, 0) == store.results.counts()
    fill(store, fold)
    for stream_id, numbers in ((1, (1, 2, 4, 5)), (2, (3,)), (99, ())):
        found = store.results.readers(StreamId(stream_id))
        assert list(map(query_id, numbers)) == [query.query_id for query in found]
    assert Counts(2, 5) == store.results.counts()
    store.log.append(register(6, 1))
    assert Counts(2, 5) == store.results.counts(), "committed, not applied"


def test_publish_out_of_order_changes_nothing(store, fold):
    """A delta that does not follow the applied one, or is ahead of the log, is refused."""
    do(store, fold, [declare("a")])
    store.log.append(Tick())
    stream = replace(store.results.stream("a"), rows=9)
    for expect, seq in ((0, 1), (2, 2), (1, 3)):
        with pytest.raises(IntegrityError):
            store.results.publish(delta(expect, seq, 1, streams={StreamId(1): stream}))
    assert 1 == store.results.cut().seq
    assert_shows(store, fold)
    store.results.publish(delta(1, 2, 77))
    assert (2, 77) == (store.results.cut().seq, store.results.cut().arrival_us)


def test_publish_twice_is_refused(store, fold):
    """The second of two equal calls comes from an earlier turn."""
    do(store, fold, [declare("a")])
    store.log.append(Tick())
    store.results.publish(delta(1, 2, 1))
    with pytest.raises(IntegrityError):
        store.results.publish(delta(1, 2, 1))


def test_reads_of_what_is_not_there_are_refused(store, fold):
    """Streams and queries that are not in force are not found; pages are absent."""
    fill(store, fold)
    with pytest.raises(NotFoundError):
        store.results.stream("c")
    for read in (store.results.query, store.results.snapshot):
        with pytest.raises(NotFoundError):
            read(query_id(99))
    standing = store.results.snapshot(query_id(1)).clause
    unknown = replace(standing, clause_id=ClauseId(99))
    assert {} == store.results.pages(unknown, [0, 1])
    assert {} == store.results.pages(replace(unknown, block_row=0), [0, 1])
    assert {} == store.results.pages(standing, [])


def test_query_that_is_committed_and_not_applied_is_not_found(store, fold):
    """What the log holds above the applied operation is invisible."""
    do(store, fold, [declare("a")])
    store.log.append(register(1, 1))
    with pytest.raises(NotFoundError):
        store.results.snapshot(query_id(1))
    apply_next(store, fold)
    assert 2 == store.results.snapshot(query_id(1)).query.seq


def test_snapshots_of_several_queries_belong_to_one_cut(store, fold):
    """In the order asked for, one asked for twice is told twice, one that is not standing is None."""
    fill(store, fold)
    asked = [query_id(number) for number in (3, 99, 1, 4, 3)]
    found = store.results.snapshots(asked)
    assert [query_id(3), None, query_id(1), query_id(4), query_id(3)] == [
        snapshot and snapshot.query.query_id for snapshot in found
    ]
    assert 1 == len({snapshot.cut for snapshot in found if snapshot is not None})
    for snapshot in found:
        if snapshot is not None:
            alone = store.results.snapshot(snapshot.query.query_id)
            assert replace(snapshot, cut=alone.cut) == alone
    assert [] == list(store.results.snapshots([]))
    store.log.append(register(7, 1))
    assert [None] == list(store.results.snapshots([query_id(7)])), "committed, not applied"


def test_clock_of_the_store_goes_on_and_never_back(store, fold):
    """It is that of the last answer at least, and not far from it."""
    first_us = store.results.now_us()
    cut = store.results.cut()
    later = [store.results.now_us() for _ in range(100)]
    assert sorted(later) == later
    assert first_us <= later[0]
    do(store, fold, [declare("a")])
    assert store.results.now_us() >= later[-1]
    assert abs(later[0] - cut.server_now_us) < 60_000_000


def test_remove_of_the_last_handle_takes_the_clause_and_its_hits(store, fold):
    """A clause lives as long as one of its handles; what blocks still hold of it is shown to nobody."""
    fill(store, fold)
    clause = store.results.snapshot(query_id(1)).clause
    do(store, fold, [Remove(query_id(1))])
    assert {0, 1} <= shown_pages(store, clause, 10).keys(), "one of its own, and one in a block"
    do(store, fold, [Remove(query_id(4))])
    assert {} == shown_pages(store, clause, 10)
    assert_shows(store, fold)


def test_drop_takes_queries_clauses_batches_and_pages(store, fold):
    """Nothing of a dropped stream is left, and its name may come again."""
    fill(store, fold)
    do(store, fold, [Drop(StreamId(1), "a", tuple(map(query_id, (1, 2, 4, 5))))])
    assert ["b"] == [stream.schema.name for stream in store.results.streams()]
    assert_shows(store, fold)
    (again,) = do(store, fold, [declare("a", 2)])
    do(store, fold, [rows(again, count=4)])
    assert_shows(store, fold)


def test_expiry_takes_pages_and_batches_of_whole_segments(store):
    """When a segment is no longer held, its pages and batch records go."""
    fold = Fold(rows_kept=SEGMENT_ROWS)
    fill(store, fold)
    do(store, fold, [rows(1, count=60_000) for _ in range(4)])
    assert 3 * SEGMENT_ROWS == store.results.stream("a").dropped_row
    assert_shows(store, fold)
    clause = store.results.snapshot(query_id(5)).clause
    assert min(shown_pages(store, clause, 200)) >= 48
    assert {} == store.results.pages(clause, range(48))


@pytest.mark.parametrize("writes_max", [1, 7])
def test_publish_in_slices_shows_the_same(store, monkeypatch, writes_max):
    """A delta larger than one call may carry ends in the same state as a small one."""
    monkeypatch.setattr(limits, "PUBLISH_WRITES_MAX", writes_max)
    fold = Fold(rows_kept=SEGMENT_ROWS)
    fill(store, fold)
    assert_shows(store, fold)
    do(store, fold, [rows(1, count=100_000), Remove(query_id(2)), rows(1, count=70_000)])
    assert_shows(store, fold)
    do(store, fold, [Drop(StreamId(1), "a", tuple(map(query_id, (1, 4, 5))))])
    assert_shows(store, fold)


def test_publish_over_the_byte_bound_shows_the_same(store, monkeypatch, fold):
    """Slices are bounded in bytes as well; a single larger write goes alone."""
    monkeypatch.setattr(limits, "PUBLISH_BYTES_MAX", 600)
    fill(store, fold)
    assert_shows(store, fold)


@pytest.mark.parametrize("own", [True, False], ids=["page", "block"])
def test_hits_of_every_density_and_form_read_back(store, fold, own):
    """One hit, a list at its longest and beyond, a bitmap at its smallest and fullest; or not kept."""
    contents: list[Content] = [rows(1, count=7 * CHUNK_ROWS), register(1, 1, sql="x")]
    do(store, fold, [declare("a"), *(contents if own else reversed(contents))])
    record = store.results.snapshot(query_id(1)).clause
    wanted: dict[int, tuple[Page, list[int] | None]] = {}
    for chunk, count in enumerate((1, 255, 256, 257, CHUNK_ROWS)):
        offsets = np.linspace(0, CHUNK_ROWS - 1, count).astype(np.uint16)
        bits = bitarray(CHUNK_ROWS, endian="little")
        bits[offsets.astype(int).tolist()] = 1
        page = Page(None, bits) if chunk % 2 else Page(offsets, None)
        wanted[chunk] = page, offsets.tolist()
    wanted[5] = UNKEPT, None
    seq = store.log.append(Tick()).seq
    change = delta(seq - 1, seq, seq, dropped_segments={(StreamId(1), 0)})
    if own:
        change = delta(seq - 1, seq, seq, dropped_pages={(record.clause_id, 0)})
    store.results.publish(change)
    seq = store.log.append(Tick()).seq
    if own:
        held = runs_of({chunk: page for chunk, (page, _) in wanted.items()})
        pages = {(record.clause_id, run): one for run, one in held.items()}
        store.results.publish(delta(seq - 1, seq, seq, pages=pages))
    else:
        blocks = {
            (StreamId(1), chunk): block_of({record.clause_id: page}, {record.clause_id: page.count})
            for chunk, (page, _) in wanted.items()
        }
        store.results.publish(delta(seq - 1, seq, seq, blocks=blocks))
    found = store.results.pages(record, range(7))
    assert {chunk: told for chunk, (_, told) in wanted.items()} == rows_of(found)
    assert [p.nbytes for p, _ in wanted.values()] == [found[chunk].nbytes for chunk in wanted]


def test_block_of_many_clauses_shows_each_its_hits(store, fold):
    """Clauses of several groups in one chunk, some without hits: nobody gets what is another's."""
    do(store, fold, [declare("a")])
    do(store, fold, [register(n, 1, sql=f"{n}") for n in range(150)])
    do(store, fold, [rows(1, count=CHUNK_ROWS), rows(1, count=2 * CHUNK_ROWS - 1)])
    groups = {clause_id >> keys.GROUP_BITS for clause_id in fold.clauses}
    assert 3 <= len(groups)
    assert_shows(store, fold)
    do(store, fold, [Remove(query_id(n)) for n in range(0, 150, 2)])
    do(store, fold, [rows(1, count=1)])
    assert_shows(store, fold)


def test_hits_read_over_many_segments_are_all_there(store, monkeypatch):
    """However few segments are asked for at once."""
    fold = Fold(rows_kept=1_000_000)
    monkeypatch.setattr("psoup.storage.redis.calls.hits.SEGMENTS_PER_FETCH", 2)
    do(store, fold, [declare("a"), *[rows(1, count=100_000)] * 2, register(1, 1, sql="x")])
    do(store, fold, [rows(1, count=100_000)] * 2)
    assert_shows(store, fold)
    clause = store.results.snapshot(query_id(1)).clause
    assert 7 == len({chunk // 16 for chunk in shown_pages(store, clause, 200)})


def test_statistics_count_publishes_pages_and_reads(store, fold):
    """A page of a clause's own, three clauses in blocks of two chunks, one snapshot, one look at hits."""
    do(store, fold, [declare("a"), register(1, 1, sql="x"), register(2, 1, sql="y")])
    do(store, fold, [rows(1, count=CHUNK_ROWS), register(3, 1, sql="z")])
    do(store, fold, [rows(1, count=2 * CHUNK_ROWS)])
    clause = store.results.snapshot(query_id(1)).clause
    store.results.pages(clause, [0])
    found = store.results.statistics()
    pages = [page for clause_id in fold.clauses for page in fold.pages(clause_id).values()]
    assert (3, len(pages), 2) == (found.publishes, found.pages_written, found.reads)
    assert found.page_bytes_written > sum(page.nbytes for page in pages) > 0


def test_snapshots_while_publishing_belong_to_one_operation(store, fold, monkeypatch):
    """A reader never sees part of a delta: a stream's rows fit the operation the cut names."""
    monkeypatch.setattr(limits, "PUBLISH_WRITES_MAX", 3)
    do(store, fold, [declare("a"), register(1, 1, sql="x")])
    first = store.log.head()
    for _ in range(60):
        store.log.append(rows(1, count=700))
    wrong: list[str] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            snapshot = store.results.snapshot(query_id(1))
            shown = snapshot.streams[0].rows
            if 700 * (snapshot.cut.seq - first) != shown:
                wrong.append(f"{shown} rows at operation {snapshot.cut.seq}")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        while store.results.cut().seq < store.log.head():
            apply_next(store, fold, operations=7)
    finally:
        done.set()
        for reader in readers:
            reader.join()
    assert [] == wrong
    assert_shows(store, fold)
