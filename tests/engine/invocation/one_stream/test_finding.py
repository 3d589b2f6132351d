"""Hits of one invocation after the other: found once by whole chunks, the same whatever was asked before."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.one_stream.finding import Finding
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.query.clause import Source, StandingQueryClause
from psoup.engine.query.window import Window
from psoup.engine.results.contract import Cut, Gen, Snapshot
from psoup.engine.results.delta import ClauseRecord, QueryRecord, StreamRecord
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.segment_blocks import rows_by_chunk
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from tests.engine.batches import SCHEMA
from tests.engine.results.blocks import block_of

STREAM, CLAUSE = StreamId(1), ClauseId(5)
ROWS = SEGMENT_ROWS + 5 * CHUNK_ROWS + 77


class Held:
    """Pages and columns of a stream in which every so manyth row matches, and what was asked of them."""

    def __init__(self, step):
        self.matches = list(range(3, ROWS, step))
        self.looked: list[range] = []

    def pages(self, _clause, chunks):
        found = {}
        for chunk in chunks:
            rows = {row % CHUNK_ROWS for row in self.matches if row // CHUNK_ROWS == chunk}
            self.looked.append(range(chunk * CHUNK_ROWS, (chunk + 1) * CHUNK_ROWS))
            page = block_of({CLAUSE: rows}).page(CLAUSE)
            if page is not None:
                found[chunk] = page
        return found

    def hits(self, _clause, first_chunk, past_chunk):
        return rows_by_chunk(self.pages(_clause, range(first_chunk, past_chunk)))

    def matching(self, _stream_id, _clause, first_row, past_row):
        self.looked.append(range(first_row, past_row))
        return np.array([r for r in self.matches if first_row <= r < past_row], dtype=np.int64)


def snapshot_of(rows=ROWS, *, dropped_row=0, materialize=Materialize.AUTO, kept_row=0):
    record = ClauseRecord(CLAUSE, "", (STREAM,), materialize, kept_row, kept_row)
    query = QueryRecord(QueryId("q"), Seq(5), CLAUSE, "", Window())
    stream = StreamRecord(STREAM, SCHEMA, rows=rows, dropped_row=dropped_row)
    return Snapshot(Cut(Gen(1), Seq(9), 0, 0), query, record, (stream,))


BOUND_CLAUSE = StandingQueryClause("", (Source("s", "s", STREAM),), ())


def cache():
    return InvocationCache(BoundQueries())


def finding_of(held, snapshot, cache):
    source: Any = held
    return Finding(source, source, snapshot, BOUND_CLAUSE, cache)


rows_asked = st.one_of(
    st.integers(0, ROWS),
    st.sampled_from([0, CHUNK_ROWS, SEGMENT_ROWS - 1, SEGMENT_ROWS, SEGMENT_ROWS + 1, ROWS]),
)
asked = st.lists(st.tuples(rows_asked, rows_asked, st.integers(0, 3)), min_size=1, max_size=6)


@given(asked, st.sampled_from([1_000, 5, 70_000]), st.sampled_from(list(Materialize)), st.data())
def test_finding_of_any_spans_one_after_the_other_oracle_has_the_hits_between(
    spans, step, policy, data
):
    """Counted, listed, the first of them: as looking at each row, whatever was found or forgotten before."""
    held, kept = Held(step), cache()
    kept_row = CHUNK_ROWS * data.draw(st.integers(0, ROWS // CHUNK_ROWS))
    for one, other, how in spans:
        first_row, past_row = min(one, other), max(one, other)
        known = data.draw(st.integers(past_row, ROWS))
        dropped_row = min(first_row, known) // SEGMENT_ROWS * SEGMENT_ROWS
        snapshot = snapshot_of(
            known, dropped_row=dropped_row, materialize=policy, kept_row=kept_row
        )
        finding = finding_of(held, snapshot, kept)
        expected = [row for row in held.matches if first_row <= row < past_row]
        if how != 1:
            listed = [row for part in finding.rows(first_row, past_row) for row in part.tolist()]
            assert expected == listed
        if how != 2:
            first = expected[0] if expected else None
            last = expected[-1] if expected else None
            assert (len(expected), first, last) == finding.count(first_row, past_row)
        if how != 3:
            finding.remember()
        kept.check()


@pytest.mark.parametrize("step", [1_000, 5])
def test_finding_looks_once_at_whole_chunks(step):
    """The second invocation reads the open chunk alone; one that follows new rows, the chunks behind."""
    held, kept = Held(step), cache()
    rows = ROWS - 2 * CHUNK_ROWS
    for known, expected in (
        (rows, (0, rows)),
        (rows, (rows // CHUNK_ROWS * CHUNK_ROWS, rows)),
        (ROWS, (rows // CHUNK_ROWS * CHUNK_ROWS, ROWS)),
        (ROWS, (ROWS // CHUNK_ROWS * CHUNK_ROWS, ROWS)),
    ):
        held.looked.clear()
        finding = finding_of(held, snapshot_of(known), kept)
        finding.count(0, known)
        assert finding.looked
        finding.remember()
        looked = sorted(row for some in held.looked for row in some)
        assert list(range(*expected)) == looked


def test_finding_looks_every_time_where_nothing_is_remembered():
    """By `none`, and where what was found was not settled."""
    for materialize, remembered in ((Materialize.NONE, True), (Materialize.AUTO, False)):
        held, kept = Held(1_000), cache()
        for _ in range(2):
            held.looked.clear()
            finding = finding_of(held, snapshot_of(materialize=materialize), kept)
            finding.rows(0, ROWS)
            if remembered:
                finding.remember()
            assert ROWS == sum(map(len, held.looked))


def test_finding_that_looked_at_nothing_says_so():
    """All of it known: nobody has to see to it that it is still there."""
    held, kept = Held(1_000), cache()
    finding = finding_of(held, snapshot_of(), kept)
    finding.count(0, SEGMENT_ROWS)
    finding.remember()
    again = finding_of(held, snapshot_of(), kept)
    again.count(0, SEGMENT_ROWS)
    assert (True, False) == (finding.looked, again.looked)
    assert (0, None, None) == again.count(5, 5)


def test_finding_forgets_segments_that_are_gone():
    """What is remembered of a clause ends where the stream begins."""
    held, kept = Held(1_000), cache()
    for dropped_row, known in ((0, {0, 1}), (SEGMENT_ROWS, {1})):
        snapshot = snapshot_of(dropped_row=dropped_row)
        finding = finding_of(held, snapshot, kept)
        finding.count(dropped_row, ROWS - dropped_row // SEGMENT_ROWS)
        if dropped_row:  # something new makes it look through what it has
            finding = finding_of(
                held, snapshot_of(ROWS + CHUNK_ROWS, dropped_row=dropped_row), kept
            )
            finding.count(dropped_row, ROWS)
            finding.count(dropped_row, ROWS // CHUNK_ROWS * CHUNK_ROWS + CHUNK_ROWS)
        finding.remember()
        assert known == set(kept.hits(snapshot))


def test_hits_that_take_more_than_the_cache_has_are_found_again():
    """A bound that nothing fits keeps nothing, and the answer is the same."""
    held = Held(5)
    kept = cache()
    kept._hits._size_max = 1_000
    for _ in range(2):
        finding = finding_of(held, snapshot_of(), kept)
        below = [row for row in held.matches if row < SEGMENT_ROWS]
        assert (len(below), 3, below[-1]) == finding.count(0, SEGMENT_ROWS)
        finding.remember()
        assert {} == kept.hits(snapshot_of())
