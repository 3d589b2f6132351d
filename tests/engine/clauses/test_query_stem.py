"""The Query SteM: slots, sharing, and what is left of a clause that has gone."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from psoup.engine.clauses import grouped_filter, table_probe
from psoup.engine.clauses.query_stem import (
    QuerySteM,
    QuerySteMStatistics,
    is_cheap,
    is_join_kept,
    keeping_of,
)
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize
from psoup.engine.query.bind.binder import bind
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import Harvest, Keeping
from psoup.engine.tuples.block import Block
from psoup.engine.tuples.chunk import Chunk
from psoup.engine.tuples.lineage import TILE_SLOTS, Slot
from psoup.engine.tuples.schema import StreamId
from tests.engine.batches import SCHEMA, batch_of
from tests.engine.clauses.plain_index import PlainIndex
from tests.engine.joins.folds import Tables

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
    """Return the rows of each clause after the chunk has met the index and every residual factor."""
    clauses = stem.probe(STREAM)
    if clauses is None:
        return {}
    harvest, wanted = Harvest(), np.full(clauses.width, Keeping.LISTS, dtype=np.uint8)
    for lineage in clauses.index.probe(CHUNK, wanted, harvest):
        for step in clauses.residuals.values():
            passed = step.narrow(Block(CHUNK, lineage))
            assert passed.left <= passed.seen
        harvest.add(lineage, wanted)
    block = harvest.block(clauses.clause_ids)
    block.check()
    return {clause_id: set(page.rows(0).tolist()) for clause_id, page in block.pages()}


@functools.cache
def alone(where):
    """Return the rows that a clause finds in a SteM of its own."""
    stem = QuerySteM()
    stem.build(ClauseId(1), clause(where), AUTO)
    return passing(stem).get(1, set())


@pytest.mark.parametrize("make_index", [grouped_filter.GroupedFilters, PlainIndex])
@pytest.mark.parametrize("tile_slots", [1, 2, TILE_SLOTS])
@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 5), st.sampled_from(WHERES)), max_size=14))
def test_query_stem_under_any_changes_oracle_lets_each_clause_find_what_it_finds_alone(
    make_index, tile_slots, changes
):
    """Clauses come and go, slots are reused, and each finds what it finds in a SteM of its own."""
    found = {where: alone(where) for where in WHERES}  # with tiles as they are
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_probe, "TILE_SLOTS", tile_slots)
        stem, names = QuerySteM(make_index), iter(range(100, 200))
        standing: dict[int, tuple[ClauseId, str]] = {}
        for place, where in changes:
            if place in standing:
                stem.evict(standing.pop(place)[0])
            else:
                clause_id = ClauseId(next(names))
                stem.build(clause_id, clause(where), AUTO)
                standing[place] = clause_id, where
            stem.check()
        assert {i: found[asked] for i, asked in standing.values()} == passing(stem)
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
        assert {i for i, a, t in ROWS if holds(a, t)} == alone(where), where


def test_query_stem_equal_residual_factors_are_evaluated_once():
    """One expression in many clauses is one step, for the rows that any of them asks for."""
    stem = QuerySteM()
    for i in range(10):
        stem.build(ClauseId(i), clause(f"a + 1 > 3 AND a < {i}"), AUTO)
    assert 1 == stem.statistics().residuals
    clauses = stem.probe(STREAM)
    assert clauses is not None
    (lineage,) = clauses.index.probe(CHUNK, clauses.wanted, Harvest())
    (step,) = clauses.residuals.values()
    held = [a for _, a, _ in ROWS if a is not None and a < 9]
    passed = step.narrow(Block(CHUNK, lineage))
    assert (len(held), sum(a > 2 for a in held)) == (passed.seen, passed.left)


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


def test_query_stem_statistics_tell_the_size_of_what_tuples_meet():
    """Tables are counted as they were last derived, over all streams."""
    stem = QuerySteM()
    for i in range(5):
        stem.build(ClauseId(i), clause(f"a < {i}"), AUTO)
    assert 0 == stem.statistics().index_bytes
    passing(stem)
    clauses = stem.probe(STREAM)
    assert clauses is not None
    assert 0 < stem.statistics().index_bytes == clauses.index.nbytes


def test_query_stem_looks_at_its_own_slots_in_every_lineage():
    """A clause that comes after a chunk asks for its residual factor of the next one."""
    stem = QuerySteM()
    stem.build(ClauseId(1), clause("a + 1 > 3"), AUTO)
    assert {1: alone("a + 1 > 3")} == passing(stem)
    stem.build(ClauseId(2), clause("a + 1 > 3"), AUTO)
    assert {1: alone("a + 1 > 3"), 2: alone("a + 1 > 3")} == passing(stem)
    stem.evict(ClauseId(1))
    assert {2: alone("a + 1 > 3")} == passing(stem)


def test_query_stem_built_twice_is_refused():
    """A clause is built once: anything else is a bug of the caller."""
    stem = QuerySteM()
    stem.build(ClauseId(1), clause("a < 4"), AUTO)
    with pytest.raises(AssertionError):
        stem.build(ClauseId(1), clause("a < 4"), AUTO)


def test_query_stem_check_looks_into_each_stream():
    """What `StreamClauses.check` notices is noticed here, and a clause that is not where it is thought to be."""
    for damage in ("stream", "place"):
        stem = QuerySteM()
        for i in range(2):
            stem.build(ClauseId(i), clause(f"a < {i}"), AUTO)
        stem.check()
        clauses = stem.probe(STREAM)
        assert clauses is not None
        if damage == "stream":
            clauses.index.evict(Slot(0))
        else:
            clauses.slots[Slot(0)] = ClauseId(77), clause("a < 0")
        with pytest.raises(AssertionError):
            stem.check()


def test_query_stem_without_clauses_keeps_nothing():
    """When the last clause of a stream goes, so does everything kept for the stream."""
    stem = QuerySteM()
    stem.build(ClauseId(1), clause("a < 4 AND a + 1 > 2"), AUTO)
    stem.evict(ClauseId(1))
    stem.check()
    assert stem.probe(STREAM) is None
    nothing = QuerySteMStatistics(clauses=0, residuals=0, slots=0, index_bytes=0)
    assert nothing == stem.statistics()


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


@pytest.mark.parametrize(
    ("where", "kept"),
    [
        ("x.i = y.i", True),
        ("ABS(x.i - y.i) <= 3", True),
        ("x.i < y.i AND x.i > y.i - 9", True),
        ("x.i < y.i", False),
        ("x.i <> y.i", False),
        ("x.i = 3 AND y.i = 4", False),
    ],
)
def test_is_join_kept_by_auto_where_keys_bound_it(where, kept):
    """By the other policies all are, or none."""
    asked = Tables("r", "s").clause(f"SELECT x.i FROM r AS x, s AS y WHERE {where}")
    found = {policy: is_join_kept(asked, policy) for policy in Materialize}
    always = {Materialize.PARTIAL: True, Materialize.COMPLETE: True, Materialize.NONE: False}
    assert {**always, AUTO: kept} == found


def test_query_stem_keeps_joins_in_groups_and_beside_them_clauses_over_one_stream():
    """A join with a group is in it; one without is nowhere, and taking it out is nothing."""
    stem, tables = QuerySteM(), Tables("r", "s")
    tied = tables.clause("SELECT x.i FROM r AS x, s AS y WHERE x.i = y.i")
    stem.build(ClauseId(1), tied, AUTO, ClauseId(1))
    stem.build(ClauseId(2), tied, AUTO, ClauseId(1))
    stem.build(ClauseId(3), tied, Materialize.NONE)
    stem.build(ClauseId(4), clause("a < 4"), AUTO)
    stem.check()
    assert 3 == stem.statistics().clauses
    assert [2] == [len(group) for group in stem.groups]
    for clause_id in (1, 3, 4):
        stem.evict(ClauseId(clause_id))
    stem.check()
    assert stem.probe(STREAM) is None
    assert 1 == stem.statistics().clauses == len(stem.groups)
