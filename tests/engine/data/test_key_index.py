"""Key indexes over segments, chunks and what comes and goes; beside looking at every row."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.data import key_index
from psoup.engine.data.data_stem import DataSteM
from psoup.engine.data.join_keys import SideKey, band_values
from psoup.engine.data.key_index import NO_KEYS, KeyLookup, distinct, ordered, spans
from psoup.engine.errors import PageExpiredError
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.tuples.batch import Column, Seq, TupleBatch, TupleId
from psoup.engine.tuples.schema import ColumnType, StreamId
from tests.engine.joins.folds import SCHEMA

INT64 = ColumnType.INT64
KEY = SideKey((ColumnRef(0, "i", INT64),), (False,), None, band_double=False)
BAND = SideKey((), (), ColumnRef(0, "ts", ColumnType.TIMESTAMP), band_double=False)
BOTH = SideKey(KEY.equal, KEY.doubles, BAND.band, band_double=False)


class Stream:
    """A Data SteM of SCHEMA's columns, `i` and `ts` of which are told, and those as arrays; NULL is -1."""

    def __init__(self, first_row=0):
        self.stem = DataSteM(SCHEMA, first_row=first_row)
        self.first_row = first_row
        self.keys, self.times = np.empty((2, 0), dtype=np.int64)

    def grow(self, count, rng, keys=50):
        numbers, times = rng.integers(-1, keys, count), rng.integers(0, 1_000, count)
        nothing = np.zeros(count, dtype=np.bool_)
        columns = (
            Column(ColumnType.TIMESTAMP, times),
            Column(INT64, numbers, numbers >= 0),
            Column(ColumnType.FLOAT64, np.zeros(count), nothing),
            Column(ColumnType.STRING, np.zeros(count, dtype=np.int32), nothing, ("",)),
            Column(ColumnType.BOOL, nothing, nothing),
        )
        self.stem.build(TupleBatch(StreamId(1), SCHEMA, columns, TupleId(1), times, Seq(1), 1))
        self.keys = np.append(self.keys, numbers)
        self.times = np.append(self.times, times)

    @property
    def whole(self):
        return self.stem.past_row // CHUNK_ROWS * CHUNK_ROWS

    def found(self, key, asked, first_row, past_row):
        """Return the rows that indexes have for what is asked, of those between, sorted; each is there once."""
        parts = [one.candidates(asked) for one in self.stem.indexed(key, first_row, past_row)]
        rows = np.sort(np.concatenate([NO_KEYS, *parts]))
        assert (np.diff(rows) > 0).all(), "a row is found once"
        return rows[(rows >= first_row) & (rows < past_row)].tolist()

    def rows(self, holds, first_row, past_row):
        """Return the rows between that satisfy a condition over (keys, times)."""
        some = slice(first_row - self.first_row, past_row - self.first_row)
        return (np.flatnonzero(holds(self.keys[some], self.times[some])) + first_row).tolist()


def integers(*values):
    return np.array(values, dtype=np.int64)


ASKED = {
    "equal": (
        KEY,
        KeyLookup(integers(3, 7, 7_000), NO_KEYS, NO_KEYS),
        lambda i, t: (i == 3) | (i == 7),
    ),
    "band": (
        BAND,
        KeyLookup(NO_KEYS, integers(5, 900, 7, 3), integers(9, 902, 20, 2)),
        lambda i, t: ((t >= 5) & (t <= 20)) | ((t >= 900) & (t <= 902)),
    ),
    "both": (
        BOTH,
        KeyLookup(integers(2, 2, 8), integers(0, 100, 990), integers(300, 400, 2_000)),
        lambda i, t: ((i == 2) & (t <= 400)) | ((i == 8) & (t >= 990)),
    ),
    "nothing": (KEY, KeyLookup(NO_KEYS, NO_KEYS, NO_KEYS), lambda i, t: i == 7_000),
}


@pytest.mark.parametrize("form", sorted(ASKED))
def test_key_index_over_segments_chunks_and_open_rows_oracle_finds_what_is_asked(form):
    """Between any whole chunks; rows of the open chunk and NULL are in none of them."""
    stream, rng = Stream(), np.random.default_rng(1)
    key, asked, holds = ASKED[form]
    for count in (CHUNK_ROWS + 5, SEGMENT_ROWS - 10, 3 * CHUNK_ROWS + 7):
        stream.grow(count, rng)
        for first, past in [
            (0, stream.whole),
            (CHUNK_ROWS, stream.whole),
            (stream.whole - CHUNK_ROWS, stream.whole),
            (max(0, stream.whole - 2 * CHUNK_ROWS) + 17, stream.whole - 5),
            (stream.whole, stream.whole),
        ]:
            assert stream.rows(holds, first, past) == stream.found(key, asked, first, past)


def test_key_indexes_are_made_once_for_each_segment_and_growing_chunk():
    """Those of chunks go when their segment is full and has one of its own; other keys have others."""
    stream, rng = Stream(), np.random.default_rng(2)
    stream.grow(3 * CHUNK_ROWS, rng)
    made = list(stream.stem.indexed(KEY, 0, stream.whole))
    assert [0, CHUNK_ROWS, 2 * CHUNK_ROWS] == [one.first_row for one in made]
    assert [id(one) for one in made] == [
        id(one) for one in stream.stem.indexed(KEY, 0, stream.whole)
    ]
    list(stream.stem.indexed(BAND, 0, CHUNK_ROWS))
    assert 4 == len(stream.stem.key_indexes)
    assert sum(one.nbytes for one in made) < stream.stem.key_indexes.nbytes
    before = stream.stem.statistics().nbytes
    stream.grow(SEGMENT_ROWS - 3 * CHUNK_ROWS + CHUNK_ROWS, rng)
    assert before < stream.stem.statistics().nbytes
    full, fresh = stream.stem.indexed(KEY, 0, stream.whole)
    assert [(0, SEGMENT_ROWS), (SEGMENT_ROWS, SEGMENT_ROWS + CHUNK_ROWS)] == [
        (one.first_row, one.past_row) for one in (full, fresh)
    ]
    assert 3 == len(stream.stem.key_indexes), "the band's chunk is still there"


def test_key_indexes_of_dropped_segments_go_with_them():
    """What is evicted has no index any more, and cannot be asked; what is held answers as before."""
    stream, rng = Stream(), np.random.default_rng(3)
    stream.grow(2 * SEGMENT_ROWS + CHUNK_ROWS, rng)
    key, asked, holds = ASKED["equal"]
    stream.found(key, asked, 0, stream.whole)
    assert 3 == len(stream.stem.key_indexes)
    stream.stem.evict(SEGMENT_ROWS + 5)
    assert 2 == len(stream.stem.key_indexes)
    with pytest.raises(PageExpiredError):
        stream.stem.indexed(key, SEGMENT_ROWS - CHUNK_ROWS, stream.whole)
    rows = stream.rows(holds, SEGMENT_ROWS, stream.whole)
    assert rows == stream.found(key, asked, SEGMENT_ROWS, stream.whole)


def test_key_index_of_a_stream_that_begins_within_a_segment_covers_what_is_held():
    """A restart may begin with rows behind the first of a segment: its index begins there, too."""
    stream, rng = Stream(first_row=2 * CHUNK_ROWS), np.random.default_rng(4)
    key, asked, holds = ASKED["equal"]
    for count in (CHUNK_ROWS, SEGMENT_ROWS):
        stream.grow(count, rng)
        rows = stream.rows(holds, stream.first_row, stream.whole)
        assert rows == stream.found(key, asked, stream.first_row, stream.whole)


def test_key_indexes_over_their_bound_are_made_again(monkeypatch):
    """What is kept never takes more than is allowed, but for the one in hand; answers are the same."""
    stream, rng = Stream(), np.random.default_rng(5)
    stream.grow(5 * CHUNK_ROWS, rng)
    key, asked, holds = ASKED["equal"]
    one = next(iter(stream.stem.indexed(key, 0, CHUNK_ROWS)))
    for most in (one.nbytes * 5 // 2, one.nbytes // 2):
        monkeypatch.setattr(key_index, "JOIN_INDEX_BYTES_MAX", most)
        for _ in range(2):
            expected = stream.rows(holds, 0, stream.whole)
            assert expected == stream.found(key, asked, 0, stream.whole)
            assert stream.stem.key_indexes.nbytes <= max(most, one.nbytes * 2)
    assert 1 == len(stream.stem.key_indexes)


def test_key_indexes_asked_by_threads_at_once_answer_alike():
    """Readers beside each other, of a stream that is being appended to meanwhile."""
    stream, rng = Stream(), np.random.default_rng(6)
    stream.grow(6 * CHUNK_ROWS, rng)
    key, asked, holds = ASKED["both"]
    past, start = stream.whole, Barrier(4)
    expected = stream.rows(holds, 0, past)

    def ask(_):
        start.wait()
        return [stream.found(key, asked, 0, past) for _ in range(5)]

    def grow():
        start.wait()
        for _ in range(5):
            stream.stem.evict(0)
            stream.grow(SEGMENT_ROWS // 4, rng)

    with ThreadPoolExecutor(4) as pool:
        growing = pool.submit(grow)
        answers = list(pool.map(ask, range(3)))
        growing.result()
    assert [[expected] * 5] * 3 == answers
    assert 0 < len(stream.stem.key_indexes)


# --- Orders and spans -----------------------------------------------------------------------------

KEYS = st.integers(-3, 3) | st.sampled_from([-(2**63), -(2**62), 2**62, 2**63 - 1])


@given(st.lists(KEYS, max_size=40))
def test_distinct_of_any_keys_oracle_ascend(keys):
    """However far keys lie apart."""
    assert sorted(set(keys)) == distinct(integers(*keys)).tolist()


@given(st.lists(st.tuples(KEYS, KEYS), max_size=30), st.sampled_from(["equal", "band", "both"]))
def test_ordered_and_spans_of_any_keys_oracle_find_what_is_asked(rows, form):
    """Of a key to be equal, of one in a band, of both: spans have the places of just those rows."""
    equal = integers(*(one[0] for one in rows)) if form != "band" else NO_KEYS
    band = integers(*(one[1] for one in rows)) if form != "equal" else NO_KEYS
    order, keys, ends = ordered(equal, band)
    asked_for = [(-3, -1, 1), (0, -(2**63), 2**63 - 1), (2, 1, 0), (2**63 - 1, 2**62, 2**63 - 1)]
    asked = KeyLookup(
        integers(*(one[0] for one in asked_for)) if form != "band" else NO_KEYS,
        integers(*(one[1] for one in asked_for)) if form != "equal" else NO_KEYS,
        integers(*(one[2] for one in asked_for)) if form != "equal" else NO_KEYS,
    )
    low, high, total = spans(keys, ends, asked)
    assert total == (high - low).sum()
    for (key, least, most), begin, past in zip(asked_for, low, high, strict=True):
        expected = [
            at
            for at, (one, other) in enumerate(rows)
            if (form == "band" or one == key) and (form == "equal" or least <= other <= most)
        ]
        assert expected == sorted(order[begin:past].tolist())


def test_band_values_are_in_the_order_of_doubles():
    """Those of an int64 column beside doubles as well."""
    values = [-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1]
    keys = band_values(Column(INT64, integers(*values)), double=True).tolist()
    assert sorted(keys) == keys
    assert keys[4] == keys[5], "one double"


def test_key_indexes_of_a_segment_that_fills_meanwhile_have_each_row_once():
    """Whoever has begun with its chunks goes on with them."""
    stream, rng = Stream(), np.random.default_rng(7)
    stream.grow(3 * CHUNK_ROWS, rng)
    indexes = stream.stem.indexed(KEY, 0, stream.whole)
    first = next(indexes)
    stream.grow(SEGMENT_ROWS, rng)
    covered = [(one.first_row, one.past_row) for one in (first, *indexes)]
    assert [(at, at + CHUNK_ROWS) for at in range(0, 3 * CHUNK_ROWS, CHUNK_ROWS)] == covered


def test_indexes_over_segments_with_a_hole_between_them_leave_its_rows_out():
    """Rows of a segment that no span reaches are not read; what was forgotten is made again."""
    stream = Stream()
    stream.grow(2 * SEGMENT_ROWS + CHUNK_ROWS, np.random.default_rng(5))
    indexes, segments = stream.stem.key_indexes, dict(stream.stem.segments)
    del segments[1]
    covered = [
        (one.first_row, one.past_row) for one in indexes.over(KEY, segments, 0, stream.whole)
    ]
    assert [(0, SEGMENT_ROWS), (2 * SEGMENT_ROWS, stream.whole)] == covered
    indexes.retain({0, 1, 2})
    assert 2 == len(indexes)
    indexes.retain({0, 1})
    assert 1 == len(indexes)
