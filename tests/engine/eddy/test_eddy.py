"""The eddy: each pair of whole chunk and clause meets once, whatever the order, the policy, the filter."""

import functools
import itertools
import random

import pytest
from hypothesis import given, strategies as st

from psoup.engine.clauses import table_probe
from psoup.engine.clauses.grouped_filter import GroupedFilters
from psoup.engine.clauses.query_stem import QuerySteM
from psoup.engine.data.data_stem import DataSteM
from psoup.engine.eddy.eddy import Eddy, FreshData, FreshQuery
from psoup.engine.eddy.policy import BySelectivity, Fixed, OperatorCounts
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize
from psoup.engine.query.bind.binder import bind
from psoup.engine.results.hits import ClauseId
from psoup.engine.sources.stored_tuples import StoredTuples
from psoup.engine.tuples.schema import StreamId
from tests.engine.batches import SCHEMA, batch_of
from tests.engine.clauses.plain_index import OpenIndex, PlainIndex
from tests.strategies import fewer

STREAM = StreamId(1)
KEPT = Materialize.PARTIAL
"""All hits are kept, so that a match block tells each one."""
WHERES = {
    1: "a > 2 AND a < 8",
    2: "a > 2 AND t = 'x'",
    3: "a IS NULL",
    4: "t LIKE '%x%' AND a < 5",
    5: "a * 2 + 1 > 6",
    6: "a > 2 AND a < 8",
    7: "t LIKE '%x%' AND a * 2 + 1 > 6",
}
PREDICATES = {
    1: lambda ts, a, t: a is not None and 2 < a < 8,
    2: lambda ts, a, t: a is not None and a > 2 and t == "x",
    3: lambda ts, a, t: a is None,
    4: lambda ts, a, t: t is not None and "x" in t and a is not None and a < 5,
    5: lambda ts, a, t: a is not None and a * 2 + 1 > 6,
    6: lambda ts, a, t: a is not None and 2 < a < 8,
    7: lambda ts, a, t: t is not None and "x" in t and a is not None and a * 2 + 1 > 6,
}


def many(count, *, seed):
    rng = random.Random(seed)
    return [
        (i, rng.choice([None, *range(12)]), rng.choice([None, "x", "y", "axb"]))
        for i in range(count)
    ]


BATCHES = [many(count, seed=count) for count in (0, 1, CHUNK_ROWS - 1, CHUNK_ROWS, 2 * CHUNK_ROWS)]


@functools.cache
def clause_of(where):
    return bind(f"SELECT * FROM s WHERE {where}", {"s": (STREAM, SCHEMA)}).clause


class Backwards:
    """The worst order anybody could think of."""

    def order(self, counts):
        return range(len(counts))[::-1]


class Join:
    """An eddy with its SteMs; `met` collects (clause, row) in the order found."""

    def __init__(self, *, policy=None, make_index=GroupedFilters):
        self.tuples = StoredTuples()
        self.tuples.hold(STREAM, DataSteM(SCHEMA))
        self.query_stem = QuerySteM(make_index)
        self.eddy = Eddy(query_stem=self.query_stem, tuples=self.tuples, policy=policy)
        self.rows = []
        self.standing = set()
        self.met = []
        self.chunks = []

    def data(self, rows):
        batch = batch_of(rows, first_tuple_id=len(self.rows) + 1)
        self.rows += rows
        self._take(self.eddy.join(fresh=FreshData(batch, lambda _: 0)))

    def query(self, number, first_row=0):
        clause = clause_of(WHERES[number])
        self.standing.add(number)
        fresh = FreshQuery(ClauseId(number), clause, KEPT, first_row)
        for found in self.eddy.join(fresh=fresh):
            found.check()
            for chunk, page in found.pages():
                self.chunks.append((chunk, [number]))
                self.met += [(number, row) for row in page.rows(chunk * CHUNK_ROWS).tolist()]

    def _take(self, matches):
        for found in matches:
            found.block.check()
            self.chunks.append((found.chunk, found.block.clause_ids.tolist()))
            self.met += [
                (clause_id, row)
                for clause_id, page in found.block.pages()
                for row in page.rows(found.chunk * CHUNK_ROWS).tolist()
            ]

    def expected(self):
        """The pairs of clauses and rows of chunks that are whole, each once, in order."""
        whole = self.rows[: len(self.rows) // CHUNK_ROWS * CHUNK_ROWS]
        return [
            (number, i)
            for number in sorted(self.standing)
            for i, row in enumerate(whole)
            if PREDICATES[number](*row)
        ]


def entrants(join, order):
    """Let the entrants in, numbers are clauses, lists of rows are batches; return the pairs that met."""
    for entrant in order:
        join.query(entrant) if isinstance(entrant, int) else join.data(entrant)
        join.query_stem.check()
    return sorted(join.met)


@pytest.mark.no_cover
def test_join_of_every_interleaving_order_meets_each_pair_once():
    """Every order of three batches and two clauses finds the pairs of whole chunks, each exactly once."""
    for order in itertools.permutations([BATCHES[1], BATCHES[2], BATCHES[3], 4, 5]):
        join = Join()
        assert entrants(join, order) == join.expected()


@fewer(12)
@given(st.permutations([*BATCHES, *WHERES]))
def test_join_of_any_interleaving_order_meets_each_pair_once(order):
    """Random orders of all batches and all clauses find the same pairs, each exactly once."""
    join = Join()
    assert entrants(join, order) == join.expected()


@pytest.mark.parametrize("tile_slots", [1, 4])
def test_join_in_tiles_differential_finds_the_same(tile_slots, monkeypatch):
    """Clauses in several tiles are found in one block a chunk, as in one tile."""
    monkeypatch.setattr(table_probe, "TILE_SLOTS", tile_slots)
    join = Join()
    assert entrants(join, [*WHERES, BATCHES[4], BATCHES[2]]) == join.expected()
    assert [0, 1] == [chunk for chunk, _ in join.chunks if chunk < 2]


@pytest.mark.parametrize("policy", [Fixed(), BySelectivity(), Backwards()])
def test_join_under_any_policy_differential_finds_the_same(policy):
    """A policy decides how much is looked at, never what is found."""
    join = Join(policy=policy)
    order = [1, 2, 7, BATCHES[3], 3, 4, BATCHES[1], BATCHES[2], 5, 6, BATCHES[3]]
    assert entrants(join, order) == join.expected()


@pytest.mark.parametrize("count", [0, 1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1])
def test_join_at_boundary_sizes_oracle_finds_every_pair(count):
    """Blocks end where chunks do: rows on both sides of the edge are met once."""
    join = Join()
    order = [1, [(-1, 5, "x")], 3, many(count, seed=count), 4, many(3, seed=1)]
    assert entrants(join, order) == join.expected()


def test_join_meets_no_chunk_that_is_open():
    """4,095 rows meet nobody, however often clauses come; with one more, all meet the chunk together."""
    join = Join()
    assert entrants(join, [1, many(CHUNK_ROWS - 1, seed=1), 2]) == join.expected()
    assert [] == join.chunks
    assert entrants(join, [[(0, 5, "x")]]) == join.expected()
    assert [(0, [1, 2])] == join.chunks


def test_join_of_a_fresh_query_from_a_row_on_meets_the_chunks_behind_it():
    """Chunks before the first row asked for are not met, and none of them where nothing is asked for."""
    join = Join()
    join.data(BATCHES[4])
    join.query(1, first_row=CHUNK_ROWS)
    join.query(3, first_row=None)
    assert [(1, [1])] == join.chunks
    join.data(BATCHES[3])
    assert (2, [1, 3]) == join.chunks[-1]


def test_join_for_a_stream_without_clauses_forgets_its_operators():
    """When the last clause has gone, tuples meet nobody and nothing is counted for them."""
    join = Join()
    join.query(5)
    join.data(BATCHES[3])
    assert 1 == join.eddy.statistics().operators
    join.query_stem.evict(ClauseId(5))
    join.data(BATCHES[3])
    assert (0, 1) == (join.eddy.statistics().operators, join.eddy.statistics().blocks)


def test_join_in_a_slot_given_away_never_shows_the_bits_of_the_clause_before():
    """A clause in a used slot has the hits of its own chunks under its own id."""
    join = Join()
    join.query(3)
    join.data(BATCHES[3])
    join.query_stem.evict(ClauseId(3))
    join.query(5, first_row=None)
    join.data(BATCHES[3])
    assert [(0, [3]), (1, [5])] == join.chunks
    second = {row for clause_id, row in join.met if clause_id == 5}
    assert {row for number, row in join.expected() if number == 5 and row >= CHUNK_ROWS} == second


def test_join_with_filtering_off_differential_finds_the_same_and_compares_more():
    """The grouped filter only saves work: off, 40 factors are compared with each of 4,096 tuples; on,
    the chunk is put in order once."""  # noqa: D205, D209
    rows = many(CHUNK_ROWS, seed=4)
    asked = {i: f"a >= {i % 12} AND a < {i % 12 + 3}" for i in range(40)}
    found = []
    PlainIndex.compared = 0
    for make_index in (GroupedFilters, PlainIndex):
        join = Join(make_index=make_index)
        for number, where in asked.items():
            join.query_stem.build(ClauseId(number), clause_of(where), KEPT)
        join.data(rows)
        found.append(set(join.met))
        if make_index is GroupedFilters:
            clauses = join.query_stem.probe(STREAM)
            assert clauses is not None
            real = clauses.index
            assert isinstance(real, GroupedFilters)
            counted = real.statistics()
            assert (40, 1, 1) == (counted.slots, counted.probed, counted.derived)
    assert found[0] == found[1]
    assert CHUNK_ROWS * 40 == PlainIndex.compared


def test_join_with_an_index_that_lets_everything_pass_finds_a_superset():
    """What the index clears is all that tells clauses apart: one that clears nothing finds every row."""
    join = Join(make_index=OpenIndex)
    join.query(1)
    join.data(BATCHES[3])
    assert {(1, row) for row in range(CHUNK_ROWS)} == set(join.met)


def test_eddy_statistics_count_blocks_rows_hits_and_operators():
    """What was routed is counted: blocks, rows, clauses with hits, standing operators."""
    join = Join()
    assert entrants(join, [1, 5, BATCHES[3], BATCHES[1]]) == join.expected()
    counted = join.eddy.statistics()
    assert (1, CHUNK_ROWS, 2, 1) == (
        counted.blocks,
        counted.rows,
        counted.matched,
        counted.operators,
    )


def test_policy_by_selectivity_orders_the_selective_first():
    """Those that let least through come first; ties keep their order, and nothing is known at first."""
    counts = [
        OperatorCounts(seen=10, left=9),
        OperatorCounts(seen=0, left=0),
        OperatorCounts(seen=10, left=2),
        OperatorCounts(seen=10, left=10),
        OperatorCounts(seen=20, left=4),
        OperatorCounts(seen=10, left=0),
    ]
    assert [5, 2, 4, 0, 1, 3] == list(BySelectivity().order(counts))
    assert [0, 1, 2, 3, 4, 5] == list(Fixed().order(counts))
