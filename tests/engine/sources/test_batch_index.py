"""The batch index: grown in any steps, dated as the batches are, without those that are gone."""

from random import Random

import pytest

from psoup.engine.errors import PageExpiredError
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.results.delta import BatchRecord, StreamRecord
from psoup.engine.sources.batch_index import FIRST_ROW, BatchIndex, segments_of
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.schema import StreamId
from tests.engine.batches import SCHEMA

STREAM = StreamId(1)


def batches_drawn(rng: Random, count: int) -> list[BatchRecord]:
    """Return batches that follow each other, of times that overlap."""
    made, row = [], 0
    for seq in range(1, count + 1):
        rows = rng.choice([1, 50, 50, 4_000, CHUNK_ROWS, 3 * CHUNK_ROWS + 1, SEGMENT_ROWS])
        oldest_us = seq * 10 + rng.randrange(-30, 30)
        times = oldest_us, oldest_us + rng.randrange(20)
        made.append(BatchRecord(STREAM, Seq(2 * seq), row, rows, 1, TupleId(row + 9), *times))
        row += rows
    return made


def record(rows: int, dropped_row: int = 0) -> StreamRecord:
    return StreamRecord(STREAM, SCHEMA, rows=rows, dropped_row=dropped_row)


def grown(index: BatchIndex, batches: list[BatchRecord], dropped_row: int = 0) -> BatchIndex:
    return index.grown(record(batches[-1].past_row, dropped_row), batches)


@pytest.mark.parametrize("seed", range(20))
def test_batch_index_grown_in_any_steps_oracle_reaches_what_the_batches_reach(seed):
    """A chunk is reached iff its batches together may be dated in the span; earlier indexes stay."""
    rng = Random(seed)
    batches = batches_drawn(rng, 60)
    index, done, dropped_row = BatchIndex(0), 0, 0
    while done < len(batches):
        count = rng.choice([1, 1, 2, 20])
        fresh, done = batches[done : done + count], done + count
        if rng.random() < 0.2:
            known = range(dropped_row, fresh[0].first_row + 1, SEGMENT_ROWS)
            dropped_row = rng.choice(known)
        before, past_row = index, index.past_row
        index = grown(index, fresh, dropped_row)
        index.check()
        before.check()
        assert past_row == before.past_row
        held = [one for one in batches[:done] if one.past_row > dropped_row]
        assert [one.first_row for one in held] == index.batches[FIRST_ROW].tolist()
        assert held[-1].past_row == index.past_row
        first_row = rng.randrange(dropped_row, index.past_row)
        span = first_row, rng.randrange(first_row, index.past_row) + 1
        begin_us = rng.choice([None, done * 10 - rng.randrange(200)])
        end_us = done * 10 - rng.randrange(100)
        assert expected_reach(held, span, begin_us, end_us) == index.reach(*span, begin_us, end_us)
        overlapping = [held[place] for place in index.overlapping(*span)]
        assert [one for one in held if meets(one, *span)] == overlapping


def meets(batch: BatchRecord, first_row: int, past_row: int) -> bool:
    return batch.first_row < past_row and batch.past_row > first_row


def expected_reach(held, span, begin_us, end_us):
    """Return the runs, chunk by chunk."""
    runs: list[tuple[int, int, bool]] = []
    for chunk in range(span[0] // CHUNK_ROWS, (span[1] - 1) // CHUNK_ROWS + 1):
        bounds = chunk * CHUNK_ROWS, (chunk + 1) * CHUNK_ROWS
        own = [one for one in held if meets(one, *bounds)]
        oldest_us, newest_us = min(b.oldest_us for b in own), max(b.newest_us for b in own)
        if oldest_us > end_us or (begin_us is not None and newest_us < begin_us):
            continue
        inside = newest_us <= end_us and (begin_us is None or oldest_us >= begin_us)
        first, past = max(span[0], bounds[0]), min(span[1], bounds[1])
        if runs and runs[-1][1:] == (first, inside):
            first = runs.pop()[0]
        runs.append((first, past, inside))
    return runs


def test_batch_index_refuses_batches_that_do_not_follow_and_rows_it_does_not_know():
    """Another history, rows dropped, rows to come."""
    batches = batches_drawn(Random(3), 30)
    index = grown(BatchIndex(0), batches[:10])
    with pytest.raises(PageExpiredError):
        grown(index, batches[11:])
    later = grown(index, batches[10:], SEGMENT_ROWS)
    for span in ((SEGMENT_ROWS - 1, SEGMENT_ROWS + 1), (SEGMENT_ROWS, later.past_row + 1)):
        with pytest.raises(PageExpiredError):
            later.reach(*span, None, 2**62)


def test_batch_index_of_a_stream_that_was_dropped_far_past_what_was_known_begins_there():
    """Batches in between never come; the first that is held reaches below the row."""
    batches = batches_drawn(Random(4), 40)
    index = grown(BatchIndex(0), batches[:3])
    dropped_row = batches[20].first_row // SEGMENT_ROWS * SEGMENT_ROWS
    held = [one for one in batches if one.past_row > dropped_row]
    index = index.grown(record(held[-1].past_row, dropped_row), held)
    index.check()
    assert [(dropped_row, index.past_row, True)] == index.reach(
        dropped_row, index.past_row, None, 2**62
    )


def test_chunks_narrowed_are_reached_no_wider_and_without_a_batch_nothing_is():
    """What has been read is known for good, in every index that goes on in the same arrays."""
    batch = BatchRecord(STREAM, Seq(1), 0, 3 * CHUNK_ROWS + 5, 1, TupleId(1), 0, 100)
    index = grown(BatchIndex(0), [batch])
    assert [(0, batch.rows, False)] == index.reach(0, batch.rows, 40, 50)
    index.narrow(0, [(0, 39), (40, 50), (51, 100), (0, 100)])
    index.check()
    expected = [(CHUNK_ROWS, 2 * CHUNK_ROWS, True), (3 * CHUNK_ROWS, batch.rows, False)]
    assert expected == index.reach(0, batch.rows, 40, 50)
    assert (None, [(40, 0)]) == index.oldest(5, 40, batch.rows)
    empty = BatchIndex(SEGMENT_ROWS)
    empty.check()
    assert SEGMENT_ROWS == empty.past_row


def test_segments_of_runs_are_those_their_rows_lie_in():
    """Ends are past the last row."""
    runs = [(5, SEGMENT_ROWS, True), (2 * SEGMENT_ROWS - 1, 2 * SEGMENT_ROWS + 1, False)]
    assert [0, 1, 2] == list(segments_of(runs))


def test_batch_index_of_a_stream_that_goes_on_for_ever_stays_as_small_as_what_is_held():
    """Neither batches nor the dates of chunks that are gone pile up."""
    index, rows = BatchIndex(0), SEGMENT_ROWS
    for seq in range(1, 500):
        times = seq * 10, seq * 10 + 9
        one = BatchRecord(STREAM, Seq(seq), (seq - 1) * rows, rows, 1, TupleId(1), *times)
        index = grown(index, [one], max(0, seq - 4) * rows)
    index.check()
    assert index.nbytes < 5_000
    span = 496 * rows, 499 * rows
    assert [(497 * rows, 498 * rows, True)] == index.reach(*span, 4_980, 4_989)
