"""Live results: deltas one by one, merged, twice, and from a checkpoint on."""

import itertools
import sys
from random import Random

import pytest
from hypothesis import given, strategies as st

from psoup.engine.errors import NotFoundError
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.log.operation import QueryId
from psoup.engine.query.window import Window
from psoup.engine.results.contract import Counts, StreamBatches
from psoup.engine.results.delta import ClauseRecord, Delta, QueryRecord, StreamRecord, merge
from psoup.engine.results.draft import Draft
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.live import LiveResults
from psoup.engine.results.match_block import Keeping
from psoup.engine.results.page import UNKEPT
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from tests.engine.batches import SCHEMA
from tests.engine.results.blocks import block_of, runs_of
from tests.engine.results.deltas import History, applied_to, readable

NOW_US = 7_777


def results():
    return LiveResults(lambda: NOW_US)


def history(seed, steps):
    made = History(Random(seed))
    return made, [made.step() for _ in range(steps)]


@given(st.integers(0, 2**32), st.integers(1, 30))
def test_live_results_after_any_deltas_oracle_hold_what_stands(seed, steps):
    """Records written and not dropped are there, by id and by name, and no other."""
    model, deltas = history(seed, steps)
    live = applied_to(results(), deltas)
    checkpoint, _ = readable(live)
    assert sorted(model.streams.values(), key=lambda r: r.schema.name) == list(checkpoint.streams)
    assert list(model.clauses.values()) == list(checkpoint.clauses)
    assert list(model.queries.values()) == list(checkpoint.queries)
    expected = [b for i in sorted(model.batches) for b in model.batches[i]]
    assert expected == list(checkpoint.batches)
    assert model.composites == checkpoint.composites
    assert sorted(model.composites) == list(checkpoint.composites)
    assert Counts(len(model.streams), len(model.queries)) == live.counts()
    for record in model.streams.values():
        assert record == live.stream(record.schema.name)
        for after in (0, steps // 2, steps):
            later = tuple(b for b in model.batches[record.stream_id] if b.seq > after)
            assert StreamBatches(Seq(steps), record, later) == live.batches(
                record.stream_id, Seq(after)
            )
        read = {q.query_id for q in live.readers(record.stream_id)}
        of_stream = {i for i, c in model.clauses.items() if record.stream_id in c.streams}
        assert {q.query_id for q in model.queries.values() if q.clause_id in of_stream} == read
    asked = [*model.queries, QueryId("nobody")]
    for query_id, snapshot in zip(asked, live.snapshots(asked), strict=True):
        assert (snapshot is None) == (query_id == "nobody")
        if snapshot is not None:
            assert snapshot == live.snapshot(query_id)
            assert model.clauses[snapshot.query.clause_id] == snapshot.clause
            assert [model.streams[i] for i in snapshot.clause.streams] == list(snapshot.streams)
    assert (steps, NOW_US) == (live.cut().seq, live.cut().server_now_us)


@given(st.integers(0, 2**32), st.integers(1, 30), st.data())
def test_merge_of_any_deltas_differential_does_what_they_do_one_after_the_other(seed, steps, data):
    """However a history is cut into publishes, what can be read afterwards is the same."""
    _, deltas = history(seed, steps)
    expected = readable(applied_to(results(), deltas))
    cuts = sorted(data.draw(st.sets(st.integers(1, steps - 1))) if steps > 1 else ())
    edges = [0, *cuts, steps]
    merged = [merge(deltas[a:b]) for a, b in itertools.pairwise(edges)]
    assert expected == readable(applied_to(results(), merged))
    for delta in merged:
        written = {(i, chunk // 16) for i, chunk in delta.blocks}
        assert not written & delta.dropped_segments, "nothing is both written and dropped"
        for (clause_id, _), pages in delta.pages.items():
            assert (clause_id, pages.last_segment) not in delta.dropped_pages
        assert not delta.streams.keys() & delta.dropped_streams
        assert not delta.clauses.keys() & delta.dropped_clauses
        assert not delta.queries.keys() & delta.dropped_queries
        assert not delta.batches.keys() & delta.dropped_batches
        assert not delta.composites.keys() & delta.dropped_composites


def test_merge_of_deltas_with_a_gap_is_refused():
    """Deltas are merged in the order of the log or not at all."""
    first, second = Delta(Seq(0), Seq(1), 0), Delta(Seq(2), Seq(3), 0)
    with pytest.raises(AssertionError):
        merge([first, second])
    with pytest.raises(AssertionError):
        applied_to(results(), [second])


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(0, 30))
def test_live_results_begun_from_a_checkpoint_differential_answer_as_those_that_were_there(
    seed, steps, began
):
    """Pages of chunks that were whole before come from where they were published, the others from here."""
    _, deltas = history(seed, steps)
    expected = readable(applied_to(results(), deltas))
    earlier = applied_to(results(), deltas[:began])
    asked = []

    def older_pages(clause, chunks):
        assert chunks, "nobody is asked for nothing"
        asked.append(clause.clause_id)
        return earlier.pages(clause, chunks)

    later = results()
    later.begin(earlier.checkpoint(), older_pages)
    assert expected == readable(applied_to(later, deltas[began:]))
    assert all(clause_id <= began for clause_id in asked), "younger clauses are known here"


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(0, 30))
def test_bytes_held_after_any_deltas_oracle_are_those_of_what_is_held(seed, steps, began):
    """Whatever came, was written again and went, the counters are what adding up gives; begun anew, too."""
    _, deltas = history(seed, steps)
    live = applied_to(results(), deltas[:began])
    live.check()
    later = results()
    later.begin(live.checkpoint())
    composites = sum(page.nbytes for page in live.checkpoint().composites.values())
    assert (composites, live.held.texts) == (later.held.hits, later.held.texts)
    later = applied_to(later, deltas[began:])
    later.check()
    assert later.held.texts == applied_to(live, deltas[began:]).held.texts


def test_bytes_held_of_hits_go_with_them():
    """Lists take two bytes a hit, a block 17 for each clause, a clause's pages 9 for each chunk from 3 to 17.

    A dropped stream leaves nothing.
    """
    live = standing()
    of_blocks, of_pages = 4 * 17 + 2 * (2 + 1 + 2), 15 * 9 + 2 * (1 + 1)
    assert of_blocks + of_pages == live.held.hits
    drop = Draft(Seq(6), Seq(7), 70)
    drop.dropped_clauses.add(NEW)
    drop.dropped_queries.add(QueryId("q5"))
    before = live.held.texts
    applied_to(live, [drop.delta()])
    assert of_blocks == live.held.hits
    assert sum(map(sys.getsizeof, ("new", "q5", "", ""))) == before - live.held.texts
    gone = Draft(Seq(7), Seq(8), 80)
    gone.dropped_streams.add(STREAM)
    gone.dropped_clauses.add(OLD)
    gone.dropped_queries.add(QueryId("q2"))
    applied_to(live, [gone.delta()])
    assert (0, 0) == (live.held.hits, live.held.texts)


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(0, 30), st.data())
def test_hits_of_any_chunks_differential_are_those_of_the_pages(seed, steps, began, data):
    """From blocks, from pages of its own, from before a beginning: the same rows, in one piece or by chunk."""
    _, deltas = history(seed, steps)
    earlier = applied_to(results(), deltas[:began])
    live = results()
    live.begin(earlier.checkpoint(), earlier.pages)
    applied_to(live, deltas[began:])
    checkpoint = live.checkpoint()
    streams = {stream.stream_id: stream for stream in checkpoint.streams}
    for clause in checkpoint.clauses:
        stream = streams[clause.streams[0]]
        first_kept = max(clause.kept_row, stream.dropped_row) // CHUNK_ROWS
        past_kept = stream.rows // CHUNK_ROWS
        if first_kept >= past_kept:
            continue
        first = data.draw(st.integers(first_kept, past_kept - 1))
        past = data.draw(st.integers(first + 1, past_kept))
        pages = live.pages(clause, list(range(first, past)))
        found = live.hits(clause, first, past)
        rows = [row for part, _ in found for row in part.tolist()]
        kept = sorted((chunk, page) for chunk, page in pages.items() if page.kept)
        assert rows == [
            row for chunk, page in kept for row in page.rows(chunk * CHUNK_ROWS).tolist()
        ]
        unkept = [chunk for _, chunks in found for chunk in chunks]
        assert unkept == sorted(chunk for chunk, page in pages.items() if not page.kept)


STREAM, OLD, NEW = StreamId(1), ClauseId(2), ClauseId(5)
ROWS = SEGMENT_ROWS + 3 * CHUNK_ROWS


def standing():
    """Return results with a clause that has block hits, and one with pages and block hits."""
    first = Draft(Seq(0), Seq(3), 30)
    first.streams[STREAM] = StreamRecord(STREAM, SCHEMA, rows=ROWS)
    first.clauses[OLD] = ClauseRecord(OLD, "old", (STREAM,))
    first.queries[QueryId("q2")] = QueryRecord(QueryId("q2"), Seq(2), OLD, "", Window())
    first.blocks[STREAM, 0] = block_of({OLD: {1, 2}})
    first.blocks[STREAM, 17] = block_of({OLD: set(range(2_000))}, Keeping.SPARSE)
    second = Draft(Seq(3), Seq(6), 60)
    block_row = 18 * CHUNK_ROWS
    second.clauses[NEW] = ClauseRecord(NEW, "new", (STREAM,), kept_row=0, block_row=block_row)
    second.queries[QueryId("q5")] = QueryRecord(QueryId("q5"), Seq(5), NEW, "", Window())
    own = {}
    for chunk in (3, 17):
        page = block_of({NEW: {chunk}}).page(NEW)
        assert page is not None
        own[chunk] = page
    second.pages = {(NEW, run): pages for run, pages in runs_of(own).items()}
    second.blocks[STREAM, 18] = block_of({OLD: {7}, NEW: {8, 9}})
    return applied_to(results(), [first.delta(), second.delta()])


def pages_of(live, clause_id, chunks=range(19)):
    (clause,) = (c for c in live.checkpoint().clauses if c.clause_id == clause_id)
    found = live.pages(clause, list(chunks))
    return {chunk: page.rows(0).tolist() if page.kept else None for chunk, page in found.items()}


def test_pages_come_from_blocks_and_from_pages_of_its_own():
    """A clause's own pages end where blocks begin; a page that is not kept says so."""
    live = standing()
    assert {0: [1, 2], 17: None, 18: [7]} == pages_of(live, OLD)
    assert {3: [3], 17: [17], 18: [8, 9]} == pages_of(live, NEW)
    assert {18: [8, 9]} == pages_of(live, NEW, [4, 18])
    assert [] == [row for rows, _ in live.hits(live.checkpoint().clauses[1], 0, 2) for row in rows]
    page = live.pages(live.checkpoint().clauses[0], [17])[17]
    assert UNKEPT is page


def test_dropped_segments_take_blocks_and_pages_along():
    """What lies in another segment stays; dropping twice is harmless."""
    live = standing()
    for seq in (6, 7):
        drop = Draft(Seq(seq), Seq(seq + 1), 70)
        drop.streams[STREAM] = StreamRecord(
            STREAM, SCHEMA, rows=ROWS, floor_row=SEGMENT_ROWS, dropped_row=SEGMENT_ROWS
        )
        drop.dropped_segments.add((STREAM, 0))
        drop.dropped_pages.add((NEW, 0))
        applied_to(live, [drop.delta()])
        assert {17: None, 18: [7]} == pages_of(live, OLD)
        assert {17: [17], 18: [8, 9]} == pages_of(live, NEW)


def test_pages_of_a_run_go_with_its_last_segment():
    """Until then those of segments that are gone are held, and shown to nobody."""
    live = standing()
    drop = Draft(Seq(6), Seq(7), 70)
    drop.streams[STREAM] = StreamRecord(STREAM, SCHEMA, rows=ROWS, dropped_row=SEGMENT_ROWS)
    drop.dropped_segments.add((STREAM, 0))
    drop.dropped_pages.add((NEW, 0))
    held = live.held.hits
    applied_to(live, [drop.delta()])
    assert held - 17 - 2 * 2 == live.held.hits, "the block alone"
    assert {17: [17], 18: [8, 9]} == pages_of(live, NEW)
    drop = Draft(Seq(7), Seq(8), 80)
    drop.dropped_pages.add((NEW, 1))
    applied_to(live, [drop.delta()])
    assert held - 17 - 2 * 2 - 15 * 9 - 2 * (1 + 1) == live.held.hits
    assert {18: [8, 9]} == pages_of(live, NEW)


def test_dropped_clause_has_no_pages_and_others_keep_theirs():
    """Its hits in blocks are shown to nobody, whoever asks with its record."""
    live = standing()
    record = live.checkpoint().clauses[1]
    drop = Draft(Seq(6), Seq(7), 70)
    drop.dropped_clauses.add(NEW)
    drop.dropped_queries.add(QueryId("q5"))
    applied_to(live, [drop.delta()])
    assert {} == live.pages(record, list(range(19)))
    assert [] == live.hits(record, 0, 19)
    assert {0: [1, 2], 17: None, 18: [7]} == pages_of(live, OLD)
    with pytest.raises(NotFoundError):
        live.snapshot(QueryId("q5"))


def test_name_of_a_dropped_stream_goes_to_the_one_declared_after_it():
    """In one publish a name changes hands: it stays with the younger stream."""
    live = standing()
    change = Draft(Seq(6), Seq(9), 90)
    change.dropped_streams.add(STREAM)
    change.dropped_clauses |= {OLD, NEW}
    change.dropped_queries |= {QueryId("q2"), QueryId("q5")}
    change.streams[StreamId(8)] = StreamRecord(StreamId(8), SCHEMA)
    applied_to(
        live,
        [
            change.delta(),
        ],
    )
    assert StreamId(8) == live.stream("s").stream_id
    assert Counts(1, 0) == live.counts()
    with pytest.raises(NotFoundError):
        live.batches(STREAM, Seq(0))
    assert () == live.batches(StreamId(8), Seq(0)).batches
    with pytest.raises(NotFoundError):
        live.stream("t")


def test_pages_from_before_a_beginning_without_older_ones_are_none():
    """Begun from a checkpoint alone, results know no hits from before it, and those that come after."""
    later = results()
    later.begin(standing().checkpoint())
    assert {} == pages_of(later, OLD)
    fresh = Draft(Seq(6), Seq(7), 70)
    fresh.streams[STREAM] = StreamRecord(STREAM, SCHEMA, rows=ROWS + CHUNK_ROWS)
    fresh.blocks[STREAM, 19] = block_of({OLD: {3}})
    applied_to(later, [fresh.delta()])
    assert {19: [3]} == pages_of(later, OLD, range(20))


def test_statistics_count_publishes_pages_and_reads():
    """Clauses in blocks are pages as well; bytes are those of arrays and payloads."""
    live = standing()
    counted = live.statistics()
    assert (2, 2 + 1 + 1 + 2) == (counted.publishes, counted.pages_written)
    assert counted.page_bytes_written > 0
    pages_of(live, OLD)
    live.snapshot(QueryId("q2"))
    assert counted.reads + 2 == live.statistics().reads
    assert NOW_US == live.now_us()
    assert 6 == live.applied
