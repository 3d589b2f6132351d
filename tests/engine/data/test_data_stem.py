"""The Data SteM against lists of rows."""

import threading
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from psoup.engine.data.data_stem import DataSteM
from psoup.engine.data.stored_column import StoredColumn
from psoup.engine.errors import PageExpiredError
from psoup.engine.kernels import bits
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.query.bind.binder import bind
from psoup.engine.sources.stored_tuples import StoredTuples
from psoup.engine.tuples.arrow import arrow_schema, encode_batch
from psoup.engine.tuples.batch import Column, LoneTuple, Seq, TupleId
from psoup.engine.tuples.batch_reader import BatchReader
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    StreamId,
    StreamSchema,
)
from tests.engine.batches import SCHEMA, batch_of

STREAM = StreamId(1)
TEXTS = [None, "", "a", "b", "日本"]


def numbered(first, count):
    """Return rows whose every value tells their number; every seventh number is NULL."""
    return [(i * 10, None if i % 7 == 0 else i, TEXTS[i % 5]) for i in range(first, first + count)]


def held(*sizes, first_row=0):
    """Return the source and the rows of batches of these sizes; tuple ids are rows + 100."""
    stem, tuples = DataSteM(SCHEMA, first_row=first_row), StoredTuples()
    tuples.hold(STREAM, stem)
    rows, done = [], first_row
    for size in sizes:
        fresh = numbered(done, size)
        assert done == stem.build(batch_of(fresh, first_tuple_id=done + 100))
        rows += fresh
        done += size
    stem.check()
    return tuples, stem, rows


def read(tuples, numbers):
    wanted = np.array(numbers, dtype=np.int64)
    columns = tuples.tuples(STREAM, ("ts", "a", "t"), wanted).columns
    listed = [columns[name].to_list() for name in ("ts", "a", "t")]
    return list(zip(*listed, strict=True))


def reached(tuples, *, first_row, past_row):
    return tuples.reach(STREAM, first_row, past_row, None, 10 * past_row)


NUMBERS = StreamSchema(
    "numbers",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("n", ColumnType.INT64),
        ColumnSchema("x", ColumnType.FLOAT64),
        ColumnSchema("t", ColumnType.STRING),
    ),
    "ts",
    ClockKind.HIGH_WATER,
)
UNDATED = replace(NUMBERS, time=None, clock=ClockKind.SERVER)


@pytest.mark.parametrize("schema", [NUMBERS, UNDATED], ids=["dated", "undated"])
def test_data_stem_of_lone_tuples_twin_holds_what_one_batch_leaves(schema):
    """Tuples that come one by one lie as those of one batch, also where one of them begins or ends a chunk."""
    reader, first = BatchReader(schema), CHUNK_ROWS - 3
    table = {
        "ts": np.array([50, 20, 90, 10, 70, 60]),
        "n": np.array([-(2**63), 2**63 - 1, 0, -1, 5, 7]),
        "x": np.array([0.5, -0.0, 1e300, -2.0, 5e-324, 3.0]),
        "t": np.array(["b", "", "b", "日本", "a", ""], dtype=object),
    }

    def batches(rows):
        for begin in range(0, 6, rows):
            arrays = [
                pa.array(table[field.name][begin : begin + rows]).cast(field.type)
                for field in arrow_schema(schema)
            ]
            yield reader.batch(
                encode_batch(pa.record_batch(arrays, schema=arrow_schema(schema))),
                stream_id=STREAM,
                first_tuple_id=TupleId(40 + begin),
                seq=Seq(1),
                arrival_us=33,
            )

    stems = [DataSteM(schema, first_row=first) for _ in range(2)]
    for stem, rows in zip(stems, (1, 6), strict=True):
        made = list(batches(rows))
        assert [rows == 1] * len(made) == [isinstance(one, LoneTuple) for one in made]
        assert list(range(first, first + 6, rows)) == [stem.build(one) for one in made]
        stem.check()
    lone, whole = (stem.segments[0] for stem in stems)
    assert lone.chunk_spans() == whole.chunk_spans()
    some = slice(first, first + 6)
    for one, other in ((lone.times, whole.times), (lone.tuple_ids, whole.tuple_ids)):
        assert one[some].tobytes() == other[some].tobytes()
    for name in table:
        found, wanted = lone.column(name, some), whole.column(name, some)
        assert found.values.tobytes() == wanted.values.tobytes()
        assert found.dictionary == wanted.dictionary


def test_segment_refuses_a_dictionary_that_has_a_text_twice():
    """The same text would get two codes: no row is written, and no text."""
    stored = StoredColumn(ColumnType.STRING)
    stored.write(0, 2, Column(ColumnType.STRING, np.array([0, 1]), None, ("a", "b")))
    with pytest.raises(AssertionError, match="no text twice"):
        stored.write(2, 5, Column(ColumnType.STRING, np.arange(3), None, ("c", "a", "c")))
    stored.check(0, 2)
    assert ["a", "b"] == stored.read(slice(0, 2)).to_list() == list(stored._texts)


def test_full_segments_share_the_texts_that_both_have():
    """Of one that has others, or is not full, they are its own. Full ones know whether their times ascend."""
    stem = DataSteM(SCHEMA)
    late = numbered(0, SEGMENT_ROWS)
    late[9:11] = [(0, 1, "other"), (0, 1, None)]
    for rows in (*[numbered(0, SEGMENT_ROWS)] * 2, late, numbered(0, 20)):
        stem.build(batch_of(rows, first_tuple_id=stem.past_row))
    stem.check()
    rows = slice(0, 20)
    columns = [segment.column("t", rows) for segment in stem.segments.values()]
    dictionaries = [column.dictionary or () for column in columns]
    assert dictionaries[0] is dictionaries[1]
    assert [["", "a", "b", "日本"], ["", "a", "b", "other", "日本"]] == list(
        map(list, dictionaries[1:3])
    )
    assert ["", "a", "b", "日本"] == list(dictionaries[3])
    assert [True, True, False, False] == [one.in_order for one in stem.segments.values()]


@given(st.lists(st.integers(0, 30), min_size=1, max_size=6), st.data())
def test_data_stem_of_any_batches_oracle_gives_back_every_row(sizes, data):
    """Rows come back by number in any order, with their ids and times, however they were batched."""
    tuples, stem, rows = held(*sizes)
    numbers = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=20)) if rows else []
    assert [rows[i] for i in numbers] == read(tuples, numbers)
    wanted = np.array(numbers, dtype=np.int64)
    assert [i + 100 for i in numbers] == tuples.tuples(STREAM, (), wanted).tuple_ids.tolist()
    assert [rows[i][0] for i in numbers] == tuples.tuples(STREAM, (), wanted).times.tolist()
    assert [rows[i][0] for i in numbers] == tuples.times(STREAM, wanted).tolist()
    assert len(rows) == stem.past_row == stem.statistics().rows


@pytest.mark.parametrize("size", [4_095, 4_096, 4_097, SEGMENT_ROWS - 1, SEGMENT_ROWS + 1])
def test_data_stem_at_boundary_sizes_oracle_gives_back_rows_across_segments(size):
    """Chunks and segments end anywhere in a batch without losing, doubling or mixing rows."""
    tuples, _, rows = held(7, size, 5)
    numbers = [len(rows) - 1, 0, 6, 7, size - 1, size + 6, size // 2]
    assert [rows[i] for i in numbers] == read(tuples, numbers)
    some = np.arange(3, len(rows) - 2)
    assert [row[0] for row in rows[3:-2]] == tuples.times(STREAM, some).tolist()


def clause_of(where):
    return bind(f"SELECT * FROM s WHERE {where}", {"s": (STREAM, SCHEMA)}).clause


CLAUSES = {
    "TRUE": lambda ts, a, t: True,
    "a IS NULL": lambda ts, a, t: a is None,
    "t = 'a' AND ts >= TIMESTAMP '1970-01-01 00:00:00.000100'": lambda ts, a, t: (
        t == "a" and ts >= 100
    ),
    "a % 3 = 1": lambda ts, a, t: a is not None and a % 3 == 1,
}


@pytest.mark.parametrize("where", CLAUSES)
def test_data_stem_probe_oracle_meets_each_row_once_from_the_first_asked_for(where):
    """A fresh query meets every row held from its first on, once, across segments."""
    tuples, stem, rows = held(10, SEGMENT_ROWS, 20)
    satisfied = [i for i, row in enumerate(rows) if CLAUSES[where](*row)]
    clause = clause_of(where)
    for first_row in (0, 5, SEGMENT_ROWS - 1, SEGMENT_ROWS, len(rows)):
        for past_row in (len(rows), SEGMENT_ROWS, 4_097, 6):
            expected = [i for i in satisfied if first_row <= i < past_row]
            first_chunk, words, counts = stem.probe(clause, first_row, past_row)
            assert expected == (bits.positions(words) + first_chunk * CHUNK_ROWS).tolist()
            assert len(expected) == counts.sum()
            assert expected == tuples.matching(STREAM, clause, first_row, past_row).tolist()


def test_source_matching_of_rows_that_are_gone_is_refused():
    """Rows of an evicted segment are not told from rows that do not match; the others are found."""
    tuples, stem, rows = held(SEGMENT_ROWS, 10)
    clause = clause_of("a IS NULL")
    stem.evict(SEGMENT_ROWS)
    with pytest.raises(PageExpiredError):
        tuples.matching(STREAM, clause, SEGMENT_ROWS - 1, len(rows))
    expected = [i for i, row in enumerate(rows) if i >= SEGMENT_ROWS and row[1] is None]
    assert expected == tuples.matching(STREAM, clause, SEGMENT_ROWS, len(rows)).tolist()
    assert [] == tuples.matching(STREAM, clause, SEGMENT_ROWS, SEGMENT_ROWS).tolist()
    tuples.release(STREAM)
    with pytest.raises(PageExpiredError):
        tuples.matching(STREAM, clause, SEGMENT_ROWS, len(rows))


def test_data_stem_chunk_gives_the_rows_of_a_whole_chunk():
    """A chunk has the values of its rows, whatever batches brought them; one that is open is refused."""
    _, stem, rows = held(100, SEGMENT_ROWS, CHUNK_ROWS)
    for number in (0, 3, SEGMENT_ROWS // CHUNK_ROWS):
        chunk = stem.chunk(number)
        first = number * CHUNK_ROWS
        every = np.arange(CHUNK_ROWS)
        listed = [chunk.values(name, every).to_list() for name in ("ts", "a", "t")]
        assert rows[first : first + CHUNK_ROWS] == list(zip(*listed, strict=True))
        assert (number, first) == (chunk.number, chunk.first_row)
    with pytest.raises(AssertionError):
        stem.chunk(len(rows) // CHUNK_ROWS)


def test_data_stem_begun_later_numbers_rows_from_there():
    """A restart begins at the first row that is held, in the middle of nothing."""
    tuples, stem, rows = held(30, first_row=SEGMENT_ROWS)
    assert SEGMENT_ROWS == stem.first_row
    assert rows[3:5] == read(tuples, [SEGMENT_ROWS + 3, SEGMENT_ROWS + 4])


def test_data_stem_evict_forgets_whole_segments_only():
    """Segments below the row go; the one it lies in stays whole; what is gone is refused."""
    tuples, stem, rows = held(SEGMENT_ROWS, SEGMENT_ROWS, 10)
    stem.evict(SEGMENT_ROWS + 5)
    stem.check()
    assert SEGMENT_ROWS == stem.first_row
    assert [rows[SEGMENT_ROWS]] == read(tuples, [SEGMENT_ROWS])
    with pytest.raises(PageExpiredError):
        read(tuples, [SEGMENT_ROWS, SEGMENT_ROWS - 1])
    past_row = stem.past_row
    assert [(SEGMENT_ROWS, past_row, True)] == list(
        reached(tuples, first_row=SEGMENT_ROWS, past_row=past_row)
    )
    with pytest.raises(PageExpiredError):
        reached(tuples, first_row=SEGMENT_ROWS - 1, past_row=past_row)


def test_source_without_the_stream_holds_nothing():
    """A stream that is not held has no rows: they are refused."""
    tuples, _, _ = held(3)
    tuples.release(STREAM)
    with pytest.raises(PageExpiredError):
        reached(tuples, first_row=0, past_row=3)
    with pytest.raises(PageExpiredError):
        tuples.times(STREAM, np.array([0]))


def test_source_without_rows_asked_gives_empty_columns():
    """No rows give columns of the right types with no values."""
    tuples, _, _ = held(3)
    assert [] == read(tuples, [])


def test_source_read_while_rows_are_appended_never_shows_a_row_in_the_making():
    """A reader that knows how many rows there are reads exactly those, whatever is appended meanwhile."""
    tuples, stem, _ = held(1)
    wrong = []
    stop = threading.Event()

    def watch():
        while not stop.is_set():
            past_row = stem.past_row
            numbers = list(range(max(0, past_row - 40), past_row))
            if read(tuples, numbers) != numbered(numbers[0], len(numbers)):
                wrong.append(past_row)

    reader = threading.Thread(target=watch)
    reader.start()
    for _ in range(150):
        stem.build(batch_of(numbered(stem.past_row, 23), first_tuple_id=stem.past_row + 100))
    stop.set()
    reader.join()
    assert [] == wrong


def test_source_oldest_of_any_floors_oracle_is_the_smallest_time_left():
    """Rows outside, rows dated before the floor, segments cut and segments whole: the smallest, or none."""
    tuples, _, rows = held(SEGMENT_ROWS + 50)
    past = len(rows)
    for floor_row in (0, 7, SEGMENT_ROWS, SEGMENT_ROWS + 3, past):
        for past_row in (past, SEGMENT_ROWS, 5):
            for floor_us in (None, 35, SEGMENT_ROWS * 10 + 5, past * 10):
                left = [
                    time_us
                    for time_us, _, _ in rows[floor_row:past_row]
                    if floor_us is None or time_us >= floor_us
                ]
                found = tuples.oldest(
                    STREAM, floor_row=floor_row, floor_us=floor_us, past_row=past_row
                )
                assert min(left, default=None) == found
    tuples.release(STREAM)
    assert tuples.oldest(STREAM, floor_row=0, floor_us=None, past_row=past) is None


def test_data_stem_probe_after_eviction_oracle_finds_the_rows_left():
    """Full segments are scanned in one go from whichever is the first; rows that are gone are refused."""
    tuples, stem, rows = held(3 * SEGMENT_ROWS + 30)
    clause = clause_of("a IS NULL AND ts >= TIMESTAMP '1970-01-01 00:00:00.000100'")
    satisfied = [i for i, row in enumerate(rows) if row[1] is None and row[0] >= 100]
    for gone in range(4):
        stem.evict(gone * SEGMENT_ROWS)
        for first_row in (gone * SEGMENT_ROWS, gone * SEGMENT_ROWS + 5, 3 * SEGMENT_ROWS - 1):
            for past_row in (len(rows), 3 * SEGMENT_ROWS):
                expected = [i for i in satisfied if first_row <= i < past_row]
                if first_row >= gone * SEGMENT_ROWS:
                    assert expected == tuples.matching(STREAM, clause, first_row, past_row).tolist()
        if gone:
            with pytest.raises(PageExpiredError):
                tuples.matching(STREAM, clause, gone * SEGMENT_ROWS - 1, len(rows))


def test_segments_that_go_while_they_are_reached_are_those_it_began_with():
    """Retention replaces the table of segments in another thread: nothing but what was seen at first is looked at."""
    stem = DataSteM(SCHEMA)

    class Numbers(tuple[int, ...]):
        __slots__ = ()

        def __iter__(self):
            yield from super().__iter__()
            stem.segments = {}

    segments: Any = {0: SimpleNamespace(time_span=(0, 9))}
    stem.segments = segments
    stem.sealed = Numbers((0,)), stem.sealed[1]
    assert [(0, 5, True)] == stem.reach_between(0, 5, None, 9)


def test_source_matching_beside_a_writer_finds_exactly_the_rows_there_are():
    """Segments fill, are sealed and go while readers scan: none mixes what was with what is."""
    tuples, stem, _ = held(1)
    clause, wrong, stop = clause_of("a IS NULL"), [], threading.Event()

    def watch():
        while not stop.is_set():
            first_row, past_row = stem.first_row, stem.past_row
            try:
                found = tuples.matching(STREAM, clause, first_row, past_row).tolist()
            except PageExpiredError:
                continue
            if found != list(range(-(-first_row // 7) * 7, past_row, 7)):
                wrong.append((first_row, past_row))

    reader = threading.Thread(target=watch)
    reader.start()
    fresh = numbered(0, 7 * 5_000)
    for _ in range(8):
        base = stem.past_row - stem.past_row % 7
        rows = [(ts + base * 10, a and a + base, t) for ts, a, t in fresh[stem.past_row % 7 :]]
        stem.build(batch_of(rows, first_tuple_id=stem.past_row + 100))
        stem.evict(stem.past_row - SEGMENT_ROWS)
    stop.set()
    reader.join()
    assert [] == wrong
    stem.check()
