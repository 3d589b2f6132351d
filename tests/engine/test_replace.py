"""The engine's replacements: a handle gets another definition."""

from psoup.engine.engine import Engine
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Declare, Replace
from psoup.engine.results.hits import ClauseId
from tests.engine.batches import SCHEMA, Operations
from tests.engine.one_fold import STREAM, folded, numbers, register


def test_apply_of_a_replacement_moves_a_handle_to_another_clause():
    """The clause goes with its last handle, the record keeps its place, and readers are counted as before."""
    op, engine = Operations(), Engine()
    *_, first, shaped, moved = folded(
        engine,
        [
            op(Declare(SCHEMA)),
            op.rows(numbers(0, CHUNK_ROWS)),
            op(register(1)),
            op(Replace(register(1, "SELECT t FROM s WHERE a > 2"))),
            op(Replace(register(1, "SELECT t FROM s WHERE t LIKE '%x%'"))),
        ],
    )
    (before,), (same,), (after,) = (one.queries.values() for one in (first, shaped, moved))
    assert [1, 2, 3] == [one.version for one in (before, same, after)]
    assert [(3, 0), (3, 4), (3, 5)] == [(q.seq, q.defined_seq) for q in (before, same, after)]
    assert ({}, set(), ClauseId(3)) == (shaped.clauses, shaped.dropped_clauses, same.clause_id)
    assert (ClauseId(5), {ClauseId(3)}) == (after.clause_id, moved.dropped_clauses)
    assert set() == moved.dropped_queries
    assert CHUNK_ROWS == len(moved.pages[ClauseId(5), 0].page(0).rows(0))
    streams = [one.streams[STREAM] for one in (first, shaped, moved)]
    assert [(1, 0), (1, 4), (1, 5)] == [(one.queries, one.replaced_seq) for one in streams]
