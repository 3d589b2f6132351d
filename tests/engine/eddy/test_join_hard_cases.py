"""Joins where it is hard: bounds shared fairly, takeovers bit by bit, segments that fill meanwhile, wide groups."""

from random import Random

import numpy as np
import pytest

from psoup.engine.data import key_index
from psoup.engine.data.data_stem import DataSteM
from psoup.engine.data.source import DatedRows
from psoup.engine.eddy import join_entrants as joins
from psoup.engine.eddy.join_routing import FromOrder
from psoup.engine.joins import join as joining_module
from psoup.engine.joins.clause_join import joining, joining_count
from psoup.engine.kernels.join import paired_alive
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.query.join_shape import JoinPlan
from tests.engine.joins.folds import BLANK, FOREVER, JoinFold, Tables, row, rows_drawn, sparse

TIED = "SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i"
CHAIN = "SELECT x.i FROM r AS x, s AS y, u AS z WHERE x.i = y.i AND y.i = z.i"


@pytest.mark.parametrize(
    "where",
    ["x.i - y.i >= 0", "x.i - y.i > 0", "y.i - x.i <= 0", "x.i - y.i <= 0", "x.i - y.i > -1"],
)
def test_joining_of_differences_that_overflow_by_one_oracle_leaves_them_out(where):
    """2**62 - -(2**62) is no int64, but NULL, and NULL is in no band."""
    size, tables = 2**62, Tables("r", "s")
    tables.send("r", [row(i=one) for one in (size, size - 1, 1, -size)])
    tables.send("s", [row(i=one) for one in (-size, 1 - size, size, 2)])
    clause = tables.clause(f"SELECT x.i FROM r AS x, s AS y WHERE {where}")
    spans = tables.spans(clause)
    expected = sorted(tables.expected(clause))
    assert expected == sorted(map(tuple, joining(tables.stem, JoinPlan(clause), spans).T.tolist()))
    assert len(expected) == joining_count(tables.stem, JoinPlan(clause), spans)


def test_joining_of_a_segment_that_fills_meanwhile_has_each_composite_once(monkeypatch):
    """Its index covers rows of the chunk that was open when the join began: these are not taken twice."""
    tables = Tables("r", "s")
    tables.send("r", [row(i=number) for number in range(5)])
    tables.send("s", [BLANK] * (SEGMENT_ROWS - 30) + [row(i=number) for number in range(10)])
    clause = tables.clause(TIED)
    spans = tables.spans(clause)
    stem, indexed = tables.stem(clause.sources[1].stream_id), DataSteM.indexed

    def filling(self, *asked):
        if self is stem and self.past_row < SEGMENT_ROWS:
            tables.send("s", [row(i=1)] * (SEGMENT_ROWS - self.past_row))
        return indexed(self, *asked)

    monkeypatch.setattr(DataSteM, "indexed", filling)
    for _ in range(2):  # while it fills, and when it is full
        found = joining(tables.stem, JoinPlan(clause), spans).T.tolist()
        assert [[n, SEGMENT_ROWS - 30 + n] for n in range(5)] == sorted(found)
    assert SEGMENT_ROWS == stem.past_row


def test_key_indexes_of_many_keys_count_their_bytes_as_they_come_and_go(monkeypatch):
    """What is told of their size is that of those kept: after segments fill, rows go, and the bound is met."""
    tables, rng = Tables("s"), Random(1)
    stem = tables.stem(tables.streams["s"][0])
    clauses = [
        tables.clause(f"SELECT x.i FROM s AS x, s AS y WHERE x.i = y.i + {n}") for n in range(3)
    ]

    def look_up():
        whole = stem.past_row // CHUNK_ROWS * CHUNK_ROWS
        first = stem.first_row
        for clause in clauses:
            joining(
                tables.stem,
                JoinPlan(clause),
                [DatedRows(s.stream_id, first, whole, None, FOREVER) for s in clause.sources],
            )
        made = stem.key_indexes._made.values()
        assert stem.key_indexes.nbytes == sum(one.nbytes for one in made)
        return len(made)

    tables.send("s", sparse(rng, 3 * CHUNK_ROWS, rows_drawn(rng, 90)))
    assert 3 * 3 == look_up() == look_up()
    tables.send("s", sparse(rng, SEGMENT_ROWS - 2 * CHUNK_ROWS, rows_drawn(rng, 90)))
    assert 2 * 3 == look_up(), "one of the full segment, one of the chunk behind it"
    stem.evict(SEGMENT_ROWS)
    assert stem.key_indexes.nbytes == sum(one.nbytes for one in stem.key_indexes._made.values())
    assert 3 == len(stem.key_indexes)
    tables.send("s", sparse(rng, 2 * CHUNK_ROWS, rows_drawn(rng, 90)))
    monkeypatch.setattr(key_index, "JOIN_INDEX_BYTES_MAX", stem.key_indexes.nbytes)
    assert look_up() < 9


# --- Groups ---------------------------------------------------------------------------------------


def test_restore_with_slots_that_were_reused_writes_the_same_pages_bit_by_bit():
    """A restart gives slots anew, in order of clauses; pages do not show it."""

    def story(*, restarts):
        fold, rng = JoinFold("r", "s"), Random(5)
        first = [fold.register(f"{TIED} AND x.f < {number}") for number in range(5)]
        for gone in (first[1], first[3]):
            fold.remove(gone)
        for number in (7, 8):
            fold.register(f"{TIED} AND y.f < {number}")
        fold.send("r", sparse(rng, CHUNK_ROWS, rows_drawn(rng, 50)))
        if restarts:
            fold.restart()
        return fold.send("s", sparse(rng, CHUNK_ROWS, rows_drawn(rng, 50)))

    one, other = story(restarts=False), story(restarts=True)
    assert one.composites.keys() == other.composites.keys() != set()
    for key, page in one.composites.items():
        twin = other.composites[key]
        for name in ("clause_ids", "forms", "counts", "places", "offsets", "bitmaps"):
            assert np.array_equal(getattr(page.block, name), getattr(twin.block, name)), name
        for name in ("rows", "earliest", "latest"):
            assert np.array_equal(getattr(page, name), getattr(twin, name)), name


@pytest.mark.parametrize("slice_pairs", [160, 1_000_000])
def test_joins_overrun_in_a_late_slice_suspends_who_had_the_steps_before(monkeypatch, slice_pairs):
    """The clause that took nearly all of them goes, not the one whose few came last."""
    monkeypatch.setattr(joining_module, "SLICE_PAIRS", slice_pairs)
    fold = JoinFold("r", "s", "u", routing=FromOrder())
    fold.send("s", [row(i=number % 8) for number in range(64)] + [BLANK] * (CHUNK_ROWS - 64))
    fold.send("u", [row(i=0)] * 400 + [row(i=7)] * 40 + [BLANK] * (CHUNK_ROWS - 440))
    greedy, modest = (fold.register(f"{CHAIN} AND x.f = {number}") for number in (1, 2))
    candidates, pairs = 16 + 440, 22 * 8 + 160 * 400 + 16 * 40  # of few rows, by their keys
    monkeypatch.setattr(joins, "JOIN_STEPS_MAX", candidates + pairs - 1)
    some = [row(i=0, f=1.0)] * 20 + [row(i=7, f=2.0)] * 2
    fold.send("r", some + [BLANK] * (CHUNK_ROWS - 22))
    assert fold.join(greedy).suspended is not None
    assert fold.join(modest).suspended is None
    assert 16 * 40 == len(fold.kept(modest))


@pytest.mark.parametrize("clauses", [3, 130])
def test_join_of_a_wide_group_makes_fewer_pairs_at_once(monkeypatch, clauses):
    """The lineage of what is made at once takes no more than that of 64 clauses; answers are the same."""
    monkeypatch.setattr(joining_module, "SLICE_PAIRS", 300)
    made: list[int] = []

    def noting(low, high, *others):
        made.append(others[-1].size)
        return paired_alive(low, high, *others)

    monkeypatch.setattr(joining_module, "paired_alive", noting)
    fold = JoinFold("r", "s")
    standing = [fold.register(f"{TIED} AND x.i < {number}") for number in range(1, clauses + 1)]
    fold.send("r", [row(i=number % 4) for number in range(80)] + [BLANK] * (CHUNK_ROWS - 80))
    fold.send("s", [row(i=number % 4) for number in range(80)] + [BLANK] * (CHUNK_ROWS - 80))
    assert 0 < max(made) <= 300
    for clause_id in (standing[0], standing[-1]):
        assert fold.expected(clause_id) == fold.kept(clause_id) != []
