"""The eddy: each pair of tuple and clause meets once, whatever the order, the policy, the filter."""

import functools
import itertools
import random

import pytest
from hypothesis import given, settings, strategies as st

from engine.eddy.eddy import Eddy, FreshData, FreshQuery
from engine.eddy.policy import BySelectivity, Counts, Fixed
from engine.limits import CHUNK_ROWS
from engine.query.binder import bind
from engine.results.hits import ClauseId
from engine.stems.data_stem import DataSteM, StoredTuples
from engine.stems.grouped_filter import GroupedFilter
from engine.stems.query_stem import QuerySteM
from engine.tuples.schema import StreamId
from tests.engine.batches import SCHEMA, batch_of
from tests.engine.filters import PlainFilter

STREAM = StreamId(1)
WHERES = {
    1: "a > 2 AND a < 8",
    2: "a > 2 AND t = 'x'",
    3: "a IS NULL",
    4: "t LIKE '%x%' AND a < 5",
    5: "a * 2 + 1 > 6",
    6: "a > 2 AND a < 8",
}
PREDICATES = {
    1: lambda ts, a, t: a is not None and 2 < a < 8,
    2: lambda ts, a, t: a is not None and a > 2 and t == "x",
    3: lambda ts, a, t: a is None,
    4: lambda ts, a, t: t is not None and "x" in t and a is not None and a < 5,
    5: lambda ts, a, t: a is not None and a * 2 + 1 > 6,
    6: lambda ts, a, t: a is not None and 2 < a < 8,
}
BATCHES = [
    [(0, 3, "x"), (1, None, "y"), (2, 9, None)],
    [],
    [(3, 4, "axb")],
    [(4, 7, "x"), (5, 2, "x")],
]


@functools.cache
def clause_of(where):
    return bind(f"SELECT * FROM s WHERE {where}", {"s": (STREAM, SCHEMA)}).clause


class Backwards:
    """The worst order anybody could think of."""

    def order(self, counts):
        return range(len(counts))[::-1]


class Join:
    """An eddy with its SteMs; `met` collects (clause, row) in the order found."""

    def __init__(self, *, policy=None, make_filter=GroupedFilter):
        self.tuples = StoredTuples()
        self.tuples.hold(STREAM, DataSteM(SCHEMA))
        self.query_stem = QuerySteM(make_filter)
        self.eddy = Eddy(query_stem=self.query_stem, tuples=self.tuples, policy=policy)
        self.rows = []
        self.standing = set()
        self.met = []

    def data(self, rows):
        batch = batch_of(rows, first_tuple_id=len(self.rows) + 1)
        self.rows += rows
        self._take(self.eddy.join(fresh=FreshData(batch)))

    def query(self, number):
        clause = clause_of(WHERES[number])
        self.standing.add(number)
        self._take(self.eddy.join(fresh=FreshQuery(ClauseId(number), clause, 0)))

    def _take(self, hits):
        self.met += [(one.clause_id, row) for one in hits for row in one.rows.tolist()]

    def expected(self):
        return {
            (number, i)
            for number in self.standing
            for i, row in enumerate(self.rows)
            if PREDICATES[number](*row)
        }


def entrants(join, order):
    """Let the entrants in: numbers are clauses, lists of rows are batches."""
    for entrant in order:
        join.query(entrant) if isinstance(entrant, int) else join.data(entrant)
        assert len(set(join.met)) == len(join.met)
        assert join.expected() == set(join.met)


def test_join_of_every_interleaving_order_meets_each_pair_once():
    """Every order of two batches and three clauses finds the same pairs, each exactly once."""
    for order in itertools.permutations([BATCHES[0], BATCHES[3], 1, 4, 5]):
        entrants(Join(), order)


@settings(max_examples=60)
@given(st.permutations([*BATCHES, *WHERES]))
def test_join_of_any_interleaving_order_meets_each_pair_once(order):
    """Random orders of all batches and all clauses find the same pairs, each exactly once."""
    entrants(Join(), order)


@pytest.mark.parametrize("policy", [Fixed(), BySelectivity(), Backwards()])
def test_join_under_any_policy_differential_finds_the_same(policy):
    """A policy decides how much is looked at, never what is found."""
    join = Join(policy=policy)
    entrants(join, [1, 2, BATCHES[0], 3, 4, BATCHES[2], 5, 6, BATCHES[3]])


def many(count, *, seed):
    rng = random.Random(seed)
    return [
        (i, rng.choice([None, *range(12)]), rng.choice(["x", "y", "axb"])) for i in range(count)
    ]


@pytest.mark.parametrize("count", [0, 1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1])
def test_join_at_boundary_sizes_oracle_finds_every_pair(count):
    """Blocks end where chunks do: rows on both sides of the edge are met once."""
    entrants(Join(), [1, [(-1, 5, "x")], 3, many(count, seed=count), 4, many(3, seed=1)])


def test_join_hit_batches_of_fresh_data_lie_in_one_chunk():
    """A page is made of one hit batch: none spans two chunks."""
    join = Join()
    join.query(1)
    join.data(many(10, seed=2))
    batch = batch_of(many(2 * CHUNK_ROWS, seed=3), first_tuple_id=11)
    for hits in join.eddy.join(fresh=FreshData(batch)):
        assert 1 == len(list(hits.by_chunk()))


def test_join_with_filtering_off_differential_finds_the_same_and_compares_more():
    """The grouped filter only saves work: off, 40 factors are compared with each of 300 tuples; on,
    each tuple is ranked once."""  # noqa: D205, D209
    rows = many(300, seed=4)
    asked = {i: f"a >= {i % 12} AND a < {i % 12 + 3}" for i in range(40)}
    found = []
    PlainFilter.compared = 0
    for make_filter in (GroupedFilter, PlainFilter):
        join = Join(make_filter=make_filter)
        for number, where in asked.items():
            join.query_stem.build(ClauseId(number), clause_of(where))
        join.data(rows)
        found.append(set(join.met))
        if make_filter is GroupedFilter:
            clauses = join.query_stem.probe(STREAM)
            assert clauses is not None
            real = clauses.filters["a"].filter
            assert isinstance(real, GroupedFilter)
            assert 300 == real.statistics().probed
            assert 1 == real.statistics().derived
    assert found[0] == found[1]
    assert 300 * 40 == PlainFilter.compared


def test_eddy_statistics_count_blocks_rows_hits_and_operators():
    """What was routed is counted: blocks, rows, hits and standing operators."""
    join = Join()
    entrants(join, [1, 5, BATCHES[0], BATCHES[3]])
    counted = join.eddy.statistics()
    assert (2, 5, len(join.met), 2) == (
        counted.blocks,
        counted.rows,
        counted.hits,
        counted.operators,
    )


def test_policy_by_selectivity_orders_indexed_then_selective():
    """Indexed operators come first, then those that let least through; ties keep their order."""
    counts = [
        Counts(indexed=False, seen=10, left=1),
        Counts(indexed=True, seen=10, left=9),
        Counts(indexed=True, seen=10, left=2),
        Counts(indexed=False, seen=0, left=0),
        Counts(indexed=True, seen=20, left=4),
    ]
    assert [2, 4, 1, 0, 3] == list(BySelectivity().order(counts))
    assert [0, 1, 2, 3, 4] == list(Fixed().order(counts))
