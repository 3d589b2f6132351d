"""The Query SteM: slots, sharing, and what is left of a clause that has gone."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from engine.kernels.bits import CHUNK_WORDS, LITTLE
from engine.limits import CHUNK_ROWS
from engine.log.operation import Materialize
from engine.query.binder import bind
from engine.results.hits import ClauseId
from engine.results.match_block import Keeping
from engine.stems import query_stem
from engine.stems.query_stem import QuerySteM, QuerySteMStatistics, is_cheap, keeping_of
from engine.tuples.block import Block
from engine.tuples.chunk import Chunk
from engine.tuples.lineage import TILE_SLOTS
from engine.tuples.schema import StreamId
from tests.engine.batches import SCHEMA, batch_of
from tests.engine.kernels import twins

STREAM = StreamId(1)
AUTO = Materialize.AUTO
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
ROWS = [
    (i, i % 23 if i % 4 else None, ["x", "y", None, "axb", "z"][i % 5]) for i in range(CHUNK_ROWS)
]
BATCH = batch_of(ROWS)
CHUNK = Chunk(0, BATCH.column)


def clause(where):
    return bind(f"SELECT * FROM s WHERE {where}", {"s": (STREAM, SCHEMA)}).clause


def passing(stem):
    """Return the rows left of each clause after the chunk has been through every step, tile by tile."""
    clauses = stem.probe(STREAM)
    found: dict[int, set[int]] = {}
    if clauses is None:
        return found
    buffer = np.full((TILE_SLOTS, CHUNK_WORDS), 7, dtype=LITTLE)
    for lineage in clauses.tiles(buffer):
        for step in clauses.steps():
            passed = step.narrow(Block(CHUNK, lineage))
            assert passed.left <= passed.seen
        ids, _ = clauses.standing(lineage)
        for place in np.flatnonzero(lineage.alive).tolist():
            assert ids[place] not in found, "a clause has one slot"
            found[int(ids[place])] = twins.bits_of(lineage.words[place])
    return found


def alone(where):
    """Return the rows that a clause finds in a SteM of its own."""
    stem = QuerySteM()
    stem.build(ClauseId(1), clause(where), AUTO)
    return passing(stem).get(1, set())


ALONE = {where: alone(where) for where in WHERES}


@pytest.mark.parametrize("tile_slots", [1, 2, TILE_SLOTS])
@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(WHERES)), max_size=14))
def test_query_stem_under_any_changes_oracle_lets_each_clause_find_what_it_finds_alone(
    tile_slots, changes
):
    """Clauses come and go, slots are reused, and each finds what it finds in a SteM of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_stem, "TILE_SLOTS", tile_slots)
        stem, names = QuerySteM(), iter(range(100, 200))
        standing: dict[int, tuple[ClauseId, str]] = {}
        for place, where in changes:
            if place in standing:
                stem.evict(standing.pop(place)[0])
            else:
                clause_id = ClauseId(next(names))
                stem.build(clause_id, clause(where), AUTO)
                standing[place] = clause_id, where
            stem.check()
        assert {i: ALONE[asked] for i, asked in standing.values()} == passing(stem)
        assert len(standing) == stem.statistics().clauses


def test_query_stem_twin_of_alone_is_right():
    """What clauses find alone is what Python finds, or the test above proves nothing."""
    expected = {
        "a > 2": lambda a, t: a is not None and a > 2,
        "a IS NULL": lambda a, t: a is None,
        "t LIKE '%x%'": lambda a, t: t is not None and "x" in t,
        "a + 1 > 3": lambda a, t: a is not None and a > 2,
        "t IN ('x', 'y') OR a = 1": lambda a, t: t in {"x", "y"} or a == 1,
        "TRUE": lambda a, t: True,
    }
    for where, holds in expected.items():
        assert {i for i, a, t in ROWS if holds(a, t)} == ALONE[where], where


def test_query_stem_equal_residual_factors_are_evaluated_once():
    """One expression in many clauses is one step."""
    stem = QuerySteM()
    for i in range(10):
        stem.build(ClauseId(i), clause(f"a + 1 > 3 AND a < {i}"), AUTO)
    assert (1, 1) == (stem.statistics().residuals, stem.statistics().filters)


def test_query_stem_slots_stay_dense_when_clauses_come_and_go():
    """Freed slots are given away before new ones: the lineage does not grow."""
    stem = QuerySteM()
    for i in range(64):
        stem.build(ClauseId(i), clause(f"a < {i}"), AUTO)
    for turn in range(3):
        for i in range(64):
            stem.evict(ClauseId(100 * turn + i))
            stem.build(ClauseId(100 * (turn + 1) + i), clause(f"a > {i}"), AUTO)
    stem.check()
    assert 64 == stem.statistics().slots


def test_query_stem_tiles_without_a_clause_are_left_out(monkeypatch):
    """A tile in which every slot is free costs nothing."""
    monkeypatch.setattr(query_stem, "TILE_SLOTS", 2)
    stem = QuerySteM()
    for i in range(6):
        stem.build(ClauseId(i), clause(f"a < {i}"), AUTO)
    for i in (2, 3):
        stem.evict(ClauseId(i))
    clauses = stem.probe(STREAM)
    assert clauses is not None
    buffer = np.empty((2, CHUNK_WORDS), dtype=LITTLE)
    assert [0, 4] == [lineage.first_slot for lineage in clauses.tiles(buffer)]


def test_query_stem_residual_factor_sees_only_rows_still_asked_for():
    """A residual factor is evaluated for the rows that the indexed ones left, and no other."""
    stem = QuerySteM()
    stem.build(ClauseId(1), clause("a < 4 AND t LIKE '%x%'"), AUTO)
    clauses = stem.probe(STREAM)
    assert clauses is not None
    buffer = np.empty((TILE_SLOTS, CHUNK_WORDS), dtype=LITTLE)
    (lineage,) = clauses.tiles(buffer)
    seen = [step.narrow(Block(CHUNK, lineage)).seen for step in clauses.steps()]
    assert [1, sum(a is not None and a < 4 for _, a, _ in ROWS)] == seen
    (residual,) = clauses.residuals.values()
    lineage.alive[:] = False
    assert (0, 0) == (
        residual.narrow(Block(CHUNK, lineage)).seen,
        residual.narrow(Block(CHUNK, lineage)).left,
    )


def test_query_stem_built_twice_is_refused():
    """A clause is built once: anything else is a bug of the caller."""
    stem = QuerySteM()
    stem.build(ClauseId(1), clause("a < 4"), AUTO)
    with pytest.raises(AssertionError):
        stem.build(ClauseId(1), clause("a < 4"), AUTO)


def test_query_stem_without_clauses_keeps_nothing():
    """When the last clause of a stream goes, so does everything kept for the stream."""
    stem = QuerySteM()
    stem.build(ClauseId(1), clause("a < 4 AND a + 1 > 2"), AUTO)
    stem.evict(ClauseId(1))
    stem.check()
    assert stem.probe(STREAM) is None
    assert QuerySteMStatistics(clauses=0, filters=0, residuals=0, slots=0) == stem.statistics()


def test_query_stem_clause_of_which_nothing_is_kept_has_no_slot():
    """It meets no tuples; taking it out again is nothing."""
    stem = QuerySteM()
    stem.build(ClauseId(1), clause("a < 4"), Materialize.NONE)
    assert stem.probe(STREAM) is None
    stem.evict(ClauseId(1))
    stem.check()


@pytest.mark.parametrize(
    ("where", "materialize", "keeping"),
    [
        ("a < 4", Materialize.AUTO, Keeping.SPARSE),
        ("TRUE", Materialize.AUTO, Keeping.SPARSE),
        ("a + 1 < 4", Materialize.AUTO, Keeping.SMALLER),
        ("a < 4 AND t LIKE '%x'", Materialize.AUTO, Keeping.SMALLER),
        ("a < 4", Materialize.PARTIAL, Keeping.SMALLER),
        ("a < 4", Materialize.COMPLETE, Keeping.LISTS),
        ("a + 1 < 4", Materialize.COMPLETE, Keeping.LISTS),
    ],
)
def test_keeping_of_a_clause_follows_its_policy_and_what_it_costs(where, materialize, keeping):
    """By `auto` what is dense and cheap is not kept; by the others everything is, in their forms."""
    assert keeping == keeping_of(clause(where), materialize)
    assert is_cheap(clause(where)) == ("+" not in where and "LIKE" not in where)
