"""The clauses of one stream: slots, what they ask of it, and what no index can be asked."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.clauses.stream_clauses import NOBODY, ResidualStep, StreamClauses
from psoup.engine.kernels.bits import CHUNK_WORDS, full
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.bind.binder import bind
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import Harvest, Keeping
from psoup.engine.tuples.block import Block
from psoup.engine.tuples.chunk import Chunk
from psoup.engine.tuples.lineage import Lineage, Slot
from psoup.engine.tuples.schema import StreamId
from tests.engine.batches import SCHEMA, batch_of
from tests.engine.kernels import twins

ROWS = [
    (i, i % 23 if i % 4 else None, ["x", "y", None, "axb", "z"][i % 5]) for i in range(CHUNK_ROWS)
]
CHUNK = Chunk(0, batch_of(ROWS).column)
MORE_THAN_TWO = {i for i, a, _ in ROWS if a is not None and a > 2}
"""The rows of which `a + 1 > 3` is TRUE."""


def clause(where):
    return bind(f"SELECT * FROM s WHERE {where}", {"s": (StreamId(1), SCHEMA)}).clause


def built(wheres, keeping=Keeping.LISTS):
    clauses = StreamClauses()
    for number, where in enumerate(wheres):
        clauses.build(ClauseId(10 + number), clause(where), keeping)
    return clauses


def met(clauses):
    """Return the one lineage in which the chunk meets clauses, before anything but the index has been asked."""
    (lineage,) = clauses.index.probe(CHUNK, clauses.wanted, Harvest())
    return lineage


def test_stream_clauses_give_the_lowest_free_slot_away():
    """Those that have gone leave room for the next; there are as many as stood at once."""
    clauses = built(["a < 1", "a < 2", "a < 3"])
    assert (3, [10, 11, 12]) == (clauses.width, clauses.clause_ids[:3].tolist())
    for slot in (2, 0):
        clauses.evict(Slot(slot))
        clauses.check()
    assert [NOBODY, 11, NOBODY] == clauses.clause_ids[:3].tolist()
    slots = [clauses.build(ClauseId(20 + n), clause("a < 9"), Keeping.SPARSE) for n in range(3)]
    clauses.check()
    assert ([0, 2, 3], 4) == (slots, clauses.width)
    clauses.evict(Slot(3))
    assert [11, NOBODY] == clauses.clause_ids[[1, 3]].tolist()


def test_stream_clauses_know_what_is_kept_of_each_slot():
    """By slot, and the next clause's own where one is given away."""
    clauses = StreamClauses()
    for number, keeping in enumerate(Keeping):
        clauses.build(ClauseId(number), clause("a < 4"), keeping)
    assert list(Keeping) == clauses.wanted[: len(Keeping)].tolist()
    clauses.evict(Slot(0))
    clauses.build(ClauseId(9), clause("a < 4"), Keeping.LISTS)
    assert Keeping.LISTS == clauses.wanted[0]


@pytest.mark.parametrize("count", [1, 2, 3, 64, 65, 200])
def test_stream_clauses_of_any_number_have_room(count):
    """Arrays by slot grow with them."""
    clauses = built([f"a < {number}" for number in range(count)])
    clauses.check()
    assert list(range(10, 10 + count)) == clauses.clause_ids[:count].tolist()
    assert count == clauses.width == len(clauses.slots)


def test_stream_clauses_evaluate_an_expression_for_rows_still_asked_for_alone():
    """Those that the index left to some clause; of clauses that are not alive none."""
    clauses = built(["a < 4 AND t LIKE '%x%'"])
    lineage = met(clauses)
    (residual,) = clauses.residuals.values()
    seen = residual.narrow(Block(CHUNK, lineage)).seen
    assert sum(a is not None and a < 4 for _, a, _ in ROWS) == seen
    lineage.alive[:] = False
    passed = residual.narrow(Block(CHUNK, lineage))
    assert (0, 0) == (passed.seen, passed.left)


def test_stream_clauses_keep_an_expression_as_long_as_a_clause_asks_for_it():
    """One step for all of them, whatever else they ask."""
    clauses = built(["a + 1 > 3", "a + 1 > 3 AND a < 9", "a + 2 > 3"])
    first, second = [one.expression for one in clause("a + 1 > 3 AND a + 2 > 3").factors]
    assert {first: {0, 1}, second: {2}} == {
        expression: step.slots for expression, step in clauses.residuals.items()
    }
    clauses.evict(Slot(0))
    clauses.evict(Slot(2))
    assert {first: {1}} == {one: step.slots for one, step in clauses.residuals.items()}
    clauses.check()


@pytest.mark.parametrize("damage", ["index", "residual", "slots", "clause_ids", "free"])
def test_stream_clauses_check_notices_what_does_not_agree(damage):
    """Slots, index and residual factors are compared with each other, not each with itself."""
    clauses = built([f"a < {number} AND a + 1 > 3" for number in range(3)])
    clauses.evict(Slot(1))
    clauses.check()
    match damage:
        case "index":
            clauses.index.evict(Slot(0))
        case "residual":
            next(iter(clauses.residuals.values())).change(Slot(0), asks=False)
        case "slots":
            clauses.slots[Slot(0)] = ClauseId(77), clause("a < 0")
        case "clause_ids":
            clauses.clause_ids[0] = 77
        case _:
            clauses._free.clear()
    with pytest.raises(AssertionError):
        clauses.check()


@given(
    st.sets(st.integers(0, 9)),
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), max_size=10),
    st.sets(st.integers(0, 9)),
)
def test_residual_step_of_any_slots_oracle_narrows_its_own_alone(slots, changes, alive):
    """Slots of the lineage that do not ask for the expression keep their rows, dead ones are left alone."""
    (factor,) = clause("a + 1 > 3").factors
    step = ResidualStep(factor.expression)
    for slot, asks in changes:
        if asks != (slot in step.slots):
            step.change(Slot(slot), asks=asks)
    words = np.repeat(full(CHUNK_ROWS, CHUNK_WORDS)[None, :], len(slots), axis=0)
    named = np.array(sorted(slots), dtype=np.int32)
    lineage = Lineage(named, words, np.array([slot in alive for slot in sorted(slots)], np.bool_))
    asking = {slot for slot in slots & step.slots if slot in alive}
    step.narrow(Block(CHUNK, lineage))
    passed = step.narrow(Block(CHUNK, lineage))  # once more, for the rows that are left
    true = MORE_THAN_TWO
    assert ((len(true), len(true)) if asking else (0, 0)) == (passed.seen, passed.left)
    for slot, row in zip(sorted(slots), words, strict=True):
        assert (true if slot in asking else set(range(CHUNK_ROWS))) == twins.bits_of(row)
    assert [slot in alive for slot in sorted(slots)] == lineage.alive.tolist()
