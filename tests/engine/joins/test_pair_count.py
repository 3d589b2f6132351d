"""Counting pairs without making them, over full segments, chunks and open rows; beside histograms of NumPy."""

import numpy as np
import pytest

from psoup.engine.data.source import DatedRows
from psoup.engine.joins.clause_join import joining, joining_count
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.query.join_shape import JoinPlan
from psoup.engine.tuples.batch import Column, Seq, TupleBatch, TupleId
from psoup.engine.tuples.schema import ColumnType
from tests.engine.joins.folds import FOREVER, SCHEMA, Tables

KEYS = 3_000
NULL = -(2**40)
ROWS = {"r": SEGMENT_ROWS + 2 * CHUNK_ROWS + 77, "s": 2 * SEGMENT_ROWS + 5}


def build(tables, name, count, rng):
    """Append rows of random keys and times; return both as arrays, keys NULL where they are."""
    stream_id, _ = tables.streams[name]
    keys, times = rng.integers(-KEYS, KEYS, count), rng.integers(0, 20_000, count)
    valid = rng.random(count) > 0.05
    nothing = np.zeros(count, dtype=np.bool_)
    columns = (
        Column(ColumnType.TIMESTAMP, times),
        Column(ColumnType.INT64, keys, valid),
        Column(ColumnType.FLOAT64, np.zeros(count), nothing),
        Column(ColumnType.STRING, np.zeros(count, dtype=np.int32), nothing, ("",)),
        Column(ColumnType.BOOL, rng.random(count) < 0.5),
    )
    batch = TupleBatch(stream_id, SCHEMA, columns, TupleId(1), times, Seq(1), 1)
    tables.stem(stream_id).build(batch)
    return np.where(valid, keys, NULL), times, columns[4].values


@pytest.fixture(scope="module")
def world():
    rng, tables = np.random.default_rng(1), Tables("r", "s")
    return tables, {name: build(tables, name, count, rng) for name, count in ROWS.items()}


def between(one, other, low, high):
    """Return how many pairs have `one` - `other` in `[low, high]`."""
    ordered = np.sort(other)
    first = np.searchsorted(ordered, one - high, side="left")
    past = np.searchsorted(ordered, one - low, side="right")
    return int((past - first).sum())


FORMS = {
    "x.i = y.i": ("i", 0, 0),
    "x.i = y.i AND x.b": ("i", 0, 0),
    "ABS(x.i - y.i) <= 3": ("i", -3, 3),
    "ABS(x.i - y.i) < 3 AND y.b": ("i", -2, 2),
    "x.i < y.i": ("i", -(2**30), -1),
    "x.i BETWEEN y.i + 2 AND y.i + 5": ("i", 2, 5),
    "x.ts BETWEEN y.ts AND y.ts + INTERVAL '0.000004' SECOND": ("ts", 0, 4),
    "x.i = y.i AND x.i >= 0 AND y.i >= 0": ("i", 0, 0),
}


def sides(world, where, spans):
    """Return the values of both sides that a join is about, within spans."""
    _, arrays = world
    column, low, high = FORMS[where]
    found = []
    for name, alias, span in zip(("r", "s"), "xy", spans, strict=True):
        keys, times, flags = (one[span.first_row : span.past_row] for one in arrays[name])
        begin_us = -FOREVER if span.begin_us is None else span.begin_us
        taken = (times >= begin_us) & (times <= span.end_us)
        if f"AND {alias}.b" in where:
            taken &= flags
        if f"{alias}.i >= 0" in where:
            taken &= keys >= 0
        if column == "i":
            taken &= keys != NULL
        found.append((keys if column == "i" else times)[taken])
    return *found, low, high


@pytest.mark.parametrize("where", list(FORMS))
def test_joining_count_of_many_rows_oracle_is_that_of_the_pairs(world, where):
    """Whole streams, and spans that begin and end anywhere in rows and in time; asked twice."""
    tables, _ = world
    clause = tables.clause(f"SELECT x.i FROM r AS x, s AS y WHERE {where}")
    rng = np.random.default_rng(2)
    whole = [
        DatedRows(source.stream_id, 0, ROWS[source.stream], None, FOREVER)
        for source in clause.sources
    ]
    cut = []
    for span in whole:
        first, past = sorted(rng.integers(0, span.past_row, 2).tolist())
        cut.append(DatedRows(span.stream_id, first, past, None, FOREVER))
    dated = [DatedRows(span.stream_id, 5, span.past_row - 5, 300, 9_000) for span in whole]
    mixed = [whole[0], DatedRows(whole[1].stream_id, SEGMENT_ROWS, 2 * SEGMENT_ROWS, None, FOREVER)]
    for spans in (whole, cut, dated, mixed, whole):
        expected = between(*sides(world, where, spans))
        assert expected == joining_count(tables.stem, JoinPlan(clause), spans)


@pytest.mark.parametrize("where", ["x.i = y.i AND x.b", "ABS(x.i - y.i) < 3 AND y.b"])
def test_joining_of_many_rows_makes_as_many_as_are_counted(world, where):
    """Over full segments, chunks and open rows: none twice, and each a pair."""
    tables, arrays = world
    clause = tables.clause(f"SELECT x.i FROM r AS x, s AS y WHERE {where}")
    spans = [
        DatedRows(source.stream_id, first, ROWS[source.stream], None, end_us)
        for source, first, end_us in zip(clause.sources, (100, 3), (400, 800), strict=True)
    ]
    rows = joining(tables.stem, JoinPlan(clause), spans)
    _, low, high = FORMS[where]
    differences = arrays["r"][0][rows[0]] - arrays["s"][0][rows[1]]
    assert ((differences >= low) & (differences <= high)).all()
    assert rows.shape[1] == len(np.unique(rows[0] * 2**30 + rows[1]))
    assert between(*sides(world, where, spans)) == rows.shape[1] > 100
