"""The Query SteM: slots, sharing, and what is left of a clause that has gone."""

import pytest
from hypothesis import given, settings, strategies as st

from engine.query.binder import bind
from engine.results.hits import ClauseId
from engine.stems.query_stem import QuerySteM, QuerySteMStatistics
from engine.tuples.block import Block
from engine.tuples.schema import StreamId
from tests.engine.batches import SCHEMA, batch_of

STREAM = StreamId(1)
WHERES = [
    "a > 2",
    "a > 2 AND t = 'x'",
    "a IS NULL",
    "t LIKE '%x%'",
    "a + 1 > 3",
    "a + 1 > 3 AND t LIKE '%x%' AND a < 9",
    "t IN ('x', 'y') OR a = 1",
    "TRUE",
]
ROWS = [(i, i if i % 4 else None, ["x", "y", None, "axb"][i % 4]) for i in range(12)]


def clause(where):
    return bind(f"SELECT * FROM s WHERE {where}", {"s": (STREAM, SCHEMA)}).clause


def passing(stem):
    """Return the (clause, row) pairs left after a block of ROWS has been through every step."""
    batch = batch_of(ROWS)
    clauses = stem.probe(STREAM)
    if clauses is None:
        return set()
    block = Block(first_row=0, rows=len(ROWS), columns=batch.column, live=clauses.live)
    for step in clauses.steps():
        passed = step.narrow(block)
        assert passed.left <= passed.seen
    return {
        (clauses.slots[slot][0], row)
        for slot, positions in block.lineage.hits()
        for row in block.rows_at(positions).tolist()
    }


def alone(where):
    """Return the rows that a clause finds in a SteM of its own."""
    stem = QuerySteM()
    stem.build(ClauseId(1), clause(where))
    return {row for _, row in passing(stem)}


ALONE = {where: alone(where) for where in WHERES}


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(WHERES)), max_size=20))
def test_query_stem_under_any_changes_oracle_lets_each_clause_find_what_it_finds_alone(changes):
    """Clauses come and go, slots are reused, and each finds what it finds in a SteM of its own."""
    stem, names = QuerySteM(), iter(range(100, 200))
    standing: dict[int, tuple[ClauseId, str]] = {}
    for place, where in changes:
        if place in standing:
            stem.evict(standing.pop(place)[0])
        else:
            clause_id = ClauseId(next(names))
            stem.build(clause_id, clause(where))
            standing[place] = clause_id, where
        stem.check()
        expected = {(i, row) for i, asked in standing.values() for row in ALONE[asked]}
        assert expected == passing(stem)
    assert len(standing) == stem.statistics().clauses


def test_query_stem_equal_residual_factors_are_evaluated_once():
    """One expression in many clauses is one step."""
    stem = QuerySteM()
    for i in range(10):
        stem.build(ClauseId(i), clause(f"a + 1 > 3 AND a < {i}"))
    assert 1 == stem.statistics().residuals
    assert 1 == stem.statistics().filters


def test_query_stem_slots_stay_dense_when_clauses_come_and_go():
    """Freed slots are given away before new ones: the lineage does not grow."""
    stem = QuerySteM()
    for i in range(64):
        stem.build(ClauseId(i), clause(f"a < {i}"))
    for turn in range(3):
        for i in range(64):
            stem.evict(ClauseId(100 * turn + i))
            stem.build(ClauseId(100 * (turn + 1) + i), clause(f"a > {i}"))
    assert 64 == stem.statistics().slots


def test_query_stem_residual_factor_sees_only_rows_still_asked_for():
    """A residual factor is evaluated for the rows that the indexed ones left, and no other."""
    stem = QuerySteM()
    stem.build(ClauseId(1), clause("a < 4 AND t LIKE '%x%'"))
    clauses = stem.probe(STREAM)
    assert clauses is not None
    batch = batch_of(ROWS)
    block = Block(first_row=0, rows=len(ROWS), columns=batch.column, live=clauses.live)
    seen = [step.narrow(block).seen for step in clauses.steps()]
    assert [len(ROWS), sum(a is not None and a < 4 for _, a, _ in ROWS)] == seen


def test_query_stem_built_twice_is_refused():
    """A clause is built once: anything else is a bug of the caller."""
    stem = QuerySteM()
    stem.build(ClauseId(1), clause("a < 4"))
    with pytest.raises(AssertionError):
        stem.build(ClauseId(1), clause("a < 4"))


def test_query_stem_without_clauses_keeps_nothing():
    """When the last clause of a stream goes, so does everything kept for the stream."""
    stem = QuerySteM()
    stem.build(ClauseId(1), clause("a < 4 AND a + 1 > 2"))
    stem.evict(ClauseId(1))
    stem.check()
    assert stem.probe(STREAM) is None
    assert QuerySteMStatistics(clauses=0, filters=0, residuals=0, slots=0) == stem.statistics()
