"""Rows of a clause: kept ones read, the others evaluated, each once and in order."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.invocation.one_stream.matching import matching_rows, runs
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.window import Window
from psoup.engine.results.contract import Cut, Gen, Snapshot
from psoup.engine.results.delta import ClauseRecord, QueryRecord, StreamRecord
from psoup.engine.results.draft import Draft
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.live import LiveResults
from psoup.engine.results.match_block import Keeping
from psoup.engine.results.segment_blocks import rows_by_chunk
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from tests.engine.batches import SCHEMA
from tests.engine.results.blocks import block_of

STREAM, CLAUSE = StreamId(1), ClauseId(5)
CHUNKS = 6


@given(st.sets(st.integers(0, 30)).map(sorted))
def test_runs_of_any_numbers_oracle_hold_each_once(numbers):
    """Every number lies in one run, runs do not touch, and no run is empty."""
    found = list(runs(numbers))
    assert numbers == [number for first, past in found for number in range(first, past)]
    assert all(past < following for (_, past), (following, _) in itertools.pairwise(found))


class Held:
    """Pages and columns that say what was asked of them; `matches` are all rows that match."""

    def __init__(self, hits, keeping):
        self.matches, self.keeping = hits, keeping
        self.read, self.scanned = [], []

    def pages(self, clause, chunks):
        assert CLAUSE == clause.clause_id
        self.read += chunks
        found = {}
        for chunk in reversed(chunks):  # in no order that anybody may count on
            rows = {row % CHUNK_ROWS for row in self.matches if row // CHUNK_ROWS == chunk}
            page = block_of({CLAUSE: rows}, self.keeping).page(CLAUSE)
            if page is not None:
                found[chunk] = page
        return found

    def hits(self, clause, first_chunk, past_chunk):
        return rows_by_chunk(self.pages(clause, range(first_chunk, past_chunk)))

    def matching(self, stream_id, clause, first_row, past_row):
        assert (STREAM, "the clause") == (stream_id, clause)
        self.scanned.append((first_row, past_row))
        return np.array([r for r in self.matches if first_row <= r < past_row], dtype=np.int64)


def snapshot_of(rows, **clause):
    record = ClauseRecord(CLAUSE, "", (STREAM,), **clause)
    query = QueryRecord(QueryId("q"), Seq(5), CLAUSE, "", Window())
    stream = StreamRecord(STREAM, SCHEMA, rows=rows)
    return Snapshot(Cut(Gen(1), Seq(9), 0, 0), query, record, (stream,))


@given(data=st.data())
def test_matching_rows_of_any_clause_oracle_are_all_hits_in_range_once(data):
    """Whatever is kept and whatever is not: the hits of the chunks asked about, from floor to end."""
    rows = data.draw(st.integers(1, CHUNKS * CHUNK_ROWS))
    dense = data.draw(st.sets(st.integers(0, CHUNKS - 1)))
    hits = sorted(
        row
        for chunk in range(CHUNKS)
        for row in range(chunk * CHUNK_ROWS, (chunk + 1) * CHUNK_ROWS, 3 if chunk in dense else 997)
        if row < rows and chunk % 5 != 4
    )
    keeping = data.draw(st.sampled_from(list(Keeping)))
    kept_row = CHUNK_ROWS * data.draw(st.integers(0, rows // CHUNK_ROWS))
    policy = data.draw(st.sampled_from(list(Materialize)))
    chunks = sorted(data.draw(st.sets(st.integers(0, (rows - 1) // CHUNK_ROWS))))
    floor_row = data.draw(st.integers(0, rows))
    past_row = data.draw(st.integers(floor_row, rows))
    held: Any = Held(hits, keeping)
    clause: Any = "the clause"
    snapshot = snapshot_of(rows, materialize=policy, kept_row=kept_row, block_row=kept_row)
    found = matching_rows(
        held, held, snapshot, clause, chunks=chunks, floor_row=floor_row, past_row=past_row
    )
    assert [r for r in hits if r // CHUNK_ROWS in chunks and floor_row <= r < past_row] == (
        found.tolist()
    )
    assert np.int64 == found.dtype
    whole = {c for c in chunks if kept_row <= c * CHUNK_ROWS and (c + 1) * CHUNK_ROWS <= rows}
    assert (set() if policy is Materialize.NONE else whole) == set(held.read)
    scanned = {
        c
        for first, past in held.scanned
        for c in range(first // CHUNK_ROWS, -(-past // CHUNK_ROWS))
    }
    answered = {c for c in held.read if keeping is not Keeping.SPARSE or c not in dense}
    assert not scanned & answered, "what is kept is not evaluated"


@pytest.mark.parametrize("policy", list(Materialize))
def test_clause_record_keeps_whole_chunks_from_its_row_on(policy):
    """Neither the open chunk, nor one before the first kept row, nor anything by `none`."""
    record = ClauseRecord(CLAUSE, "", (STREAM,), policy, kept_row=CHUNK_ROWS, block_row=CHUNK_ROWS)
    kept = [chunk for chunk in range(5) if record.keeps(chunk, 4 * CHUNK_ROWS - 1)]
    assert ([] if policy is Materialize.NONE else [1, 2]) == kept
    assert record.keeps(3, 4 * CHUNK_ROWS) == (policy is not Materialize.NONE)


@pytest.mark.parametrize(
    ("kept_row", "block_row", "segments"),
    [
        (0, 0, []),
        (CHUNK_ROWS, CHUNK_ROWS, []),
        (0, CHUNK_ROWS, [0]),
        (0, SEGMENT_ROWS, [0]),
        (0, SEGMENT_ROWS + CHUNK_ROWS, [0, 1]),
        (SEGMENT_ROWS - CHUNK_ROWS, SEGMENT_ROWS, [0]),
        (SEGMENT_ROWS, 3 * SEGMENT_ROWS, [1, 2]),
    ],
)
def test_clause_record_has_pages_of_its_own_between_its_two_rows(kept_row, block_row, segments):
    """In every segment with a chunk that is kept and was whole before the clause came; in no other."""
    record = ClauseRecord(CLAUSE, "", (STREAM,), kept_row=kept_row, block_row=block_row)
    assert segments == list(record.paged_segments)


def standing(*, kept):
    """Return live results whose clause has hits in three blocks of one segment, the middle one not kept."""
    live = LiveResults(lambda: 0)
    draft = Draft(Seq(0), Seq(9), 0)
    draft.streams[STREAM] = StreamRecord(STREAM, SCHEMA, rows=4 * CHUNK_ROWS)
    draft.clauses[CLAUSE] = ClauseRecord(CLAUSE, "", (STREAM,))
    draft.queries[QueryId("q")] = QueryRecord(QueryId("q"), Seq(5), CLAUSE, "", Window())
    for chunk, rows in kept.items():
        draft.blocks[STREAM, chunk] = block_of({CLAUSE: rows}, Keeping.SPARSE)
    live.apply(draft.delta())
    return live


@pytest.mark.parametrize("dense", [1, 0, 3])
@pytest.mark.parametrize(
    ("floor_row", "past_row"), [(0, 4 * CHUNK_ROWS), (6, 3 * CHUNK_ROWS + 1_000)]
)
def test_matching_rows_between_kept_ones_stand_in_their_place(dense, floor_row, past_row):
    """What is evaluated for a chunk amid the blocks of a segment comes between their rows, cut at both ends."""
    kept = {chunk: {5, 7, 900, 1_001} for chunk in range(4)}
    kept[dense] = set(range(0, 3_000, 2))
    hits = [chunk * CHUNK_ROWS + row for chunk, rows in kept.items() for row in sorted(rows)]
    live, held = standing(kept=kept), Held(hits, Keeping.SPARSE)
    source: Any = held
    clause: Any = "the clause"
    found = matching_rows(
        live,
        source,
        live.snapshot(QueryId("q")),
        clause,
        chunks=range(4),
        floor_row=floor_row,
        past_row=past_row,
    )
    assert [row for row in hits if floor_row <= row < past_row] == found.tolist()
    begin, end = dense * CHUNK_ROWS, (dense + 1) * CHUNK_ROWS
    assert [(max(begin, floor_row), min(end, past_row))] == held.scanned
