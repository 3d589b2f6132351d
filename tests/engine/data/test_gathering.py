"""Tuples by row out of segments, whatever their columns are kept as, against lists of rows."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.data.data_stem import DataSteM
from psoup.engine.data.gathering import Gathering
from psoup.engine.errors import PageExpiredError
from psoup.engine.limits import SEGMENT_ROWS
from psoup.engine.tuples.batch import DTYPES, Column, Seq, TupleBatch, TupleId
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema

KINDS = {
    "ts": ColumnType.TIMESTAMP,
    "tiny": ColumnType.INT64,
    "small": ColumnType.INT64,
    "wide": ColumnType.INT64,
    "gaps": ColumnType.INT64,
    "real": ColumnType.FLOAT64,
    "flag": ColumnType.BOOL,
    "text": ColumnType.STRING,
}
TEXTS = ("a", "b", "日本")
COUNT = 2 * SEGMENT_ROWS + 50
GAPS_FROM = SEGMENT_ROWS + 10
"""Rows below it have no NULL."""


def schema_of(time):
    columns = tuple(ColumnSchema(name, kind) for name, kind in KINDS.items())
    return StreamSchema("s", columns, time, ClockKind.HIGH_WATER if time else ClockKind.SERVER)


def row_of(i):
    """Return the values of row i."""
    gap = i if i < GAPS_FROM or i % 3 else None
    return (7 * i, i % 256 - 5, i * 31 % 60_000, i * 2**40, gap, i / 8, i % 5 == 0, TEXTS[i % 3])


def batch_of(first, past, time):
    i = np.arange(first, past, dtype=np.int64)
    valid = (i < GAPS_FROM) | (i % 3 != 0)
    values = {
        "ts": 7 * i,
        "tiny": i % 256 - 5,
        "small": i * 31 % 60_000,
        "wide": i * 2**40,
        "gaps": i,
        "real": i / 8,
        "flag": i % 5 == 0,
        "text": (i % 3).astype(np.int32),
    }
    columns = tuple(
        Column(
            kind,
            values[name].astype(DTYPES[kind], copy=False),
            valid if name == "gaps" and not valid.all() else None,
            TEXTS if name == "text" else None,
        )
        for name, kind in KINDS.items()
    )
    return TupleBatch(StreamId(1), schema_of(time), columns, TupleId(first + 900), 7 * i, Seq(1), 0)


def held(time="ts"):
    stem = DataSteM(schema_of(time))
    for first, past in ((0, 1_000), (1_000, SEGMENT_ROWS + 20), (SEGMENT_ROWS + 20, COUNT)):
        stem.build(batch_of(first, past, time))
    return stem


STEM = held()
EDGES = [0, SEGMENT_ROWS - 1, SEGMENT_ROWS, GAPS_FROM, 2 * SEGMENT_ROWS - 1, 2 * SEGMENT_ROWS]
rows_held = st.lists(st.sampled_from(EDGES) | st.integers(0, COUNT - 1), max_size=20)
names_asked = st.lists(st.sampled_from(list(KINDS)), unique=True)


@given(rows_held, names_asked, st.booleans())
def test_tuples_of_any_rows_oracle_are_those_that_were_built(numbers, names, ordered):
    """Compact codes, wide values, NULLs in one segment alone, texts: in any order, with times and ids."""
    numbers = sorted(numbers) if ordered else numbers
    rows = np.array(numbers, dtype=np.int64)
    found = STEM.gathering.tuples(names, rows)
    assert [7 * i for i in numbers] == found.times.tolist() == STEM.gathering.times(rows).tolist()
    assert [i + 900 for i in numbers] == found.tuple_ids.tolist()
    assert set(names) == set(found.columns)
    for at, name in enumerate(KINDS):
        if name in names:
            column = found.columns[name]
            assert [row_of(i)[at] for i in numbers] == column.to_list()
            assert (KINDS[name], DTYPES[KINDS[name]]) == (column.type, column.values.dtype)
    reverse = np.arange(len(numbers))[::-1]
    assert [7 * i for i in reversed(numbers)] == found.take(reverse).times.tolist()


@pytest.mark.parametrize(
    ("first", "past"), [(0, 3), (SEGMENT_ROWS + 5, SEGMENT_ROWS + 40), (COUNT - 7, COUNT)]
)
def test_tuples_between_rows_of_a_segment_are_those_of_the_rows(first, past):
    """They are read as they lie, of full segments and of the one that grows."""
    found = STEM.gathering.tuples_between(list(KINDS), first, past)
    expected = STEM.gathering.tuples(list(KINDS), np.arange(first, past))
    assert expected.times.tolist() == found.times.tolist()
    assert expected.tuple_ids.tolist() == found.tuple_ids.tolist()
    for name, column in expected.columns.items():
        assert column.to_list() == found.columns[name].to_list()


def test_tuples_of_a_stream_without_declared_time_have_the_times_given():
    """Times lie beside the columns then, and a column of timestamps is one like others."""
    rows = np.array([COUNT - 1, 3], dtype=np.int64)
    found = held(time=None).gathering.tuples(("ts", "tiny"), rows)
    assert [7 * (COUNT - 1), 21] == found.times.tolist() == found.columns["ts"].to_list()
    assert [row_of(COUNT - 1)[1], row_of(3)[1]] == found.columns["tiny"].to_list()


@pytest.mark.parametrize("number", [-1, SEGMENT_ROWS - 1, 3 * SEGMENT_ROWS, 2**50])
def test_tuples_of_segments_that_are_not_held_are_refused(number):
    """Evicted, not there yet, never there: refused, whatever other rows are asked for."""
    stem = held()
    stem.evict(SEGMENT_ROWS)
    for numbers in ([number], [SEGMENT_ROWS, number, SEGMENT_ROWS + 1]):
        rows = np.array(numbers, dtype=np.int64)
        with pytest.raises(PageExpiredError):
            stem.gathering.times(rows)
        with pytest.raises(PageExpiredError):
            stem.gathering.tuples(("text",), rows)
        with pytest.raises(PageExpiredError):
            stem.gathering.tuples_between(("text",), number, number + 1)
    kept = np.array([SEGMENT_ROWS], dtype=np.int64)
    assert [7 * SEGMENT_ROWS] == stem.gathering.times(kept).tolist()


def test_gathering_of_no_segment_holds_nothing():
    """Before the first tuple there is no row to be read, and no rows have typed, empty columns."""
    empty = Gathering(schema_of("ts"), {})
    with pytest.raises(PageExpiredError):
        empty.times(np.array([0]))
    none = empty.tuples(list(KINDS), np.empty(0, dtype=np.int64))
    assert [[]] * len(KINDS) == [none.columns[name].to_list() for name in KINDS]


def test_gathering_is_the_same_while_segments_are():
    """It is made again when a segment comes or goes, and not for rows."""
    stem = DataSteM(schema_of("ts"))
    stem.build(batch_of(0, 10, "ts"))
    first = stem.gathering
    stem.build(batch_of(10, 20, "ts"))
    assert first is stem.gathering
    assert [7 * 19] == first.times(np.array([19])).tolist()
    stem.build(batch_of(20, SEGMENT_ROWS + 1, "ts"))
    second = stem.gathering
    assert first is not second
    stem.evict(SEGMENT_ROWS)
    assert second is not stem.gathering
    assert [0] == second.times(np.array([0])).tolist(), "a reader keeps what it began with"


@pytest.mark.parametrize("time", ["ts", None])
def test_gathering_with_a_hole_between_segments_reads_around_it(time):
    """Rows on both sides, whatever their columns are kept as; rows of what is not held are refused."""
    stem = held(time)
    around = Gathering(stem.schema, {n: one for n, one in stem.segments.items() if n != 1})
    rows = np.array([2 * SEGMENT_ROWS + 5, 3, 2 * SEGMENT_ROWS, SEGMENT_ROWS - 1])
    found, expected = around.tuples(list(KINDS), rows), stem.gathering.tuples(list(KINDS), rows)
    assert expected.tuple_ids.tolist() == found.tuple_ids.tolist()
    for name in KINDS:
        assert expected.columns[name].to_list() == found.columns[name].to_list()
    for row in (SEGMENT_ROWS, 2 * SEGMENT_ROWS - 1):
        with pytest.raises(PageExpiredError):
            around.times(np.array([3, row, 2 * SEGMENT_ROWS]))
