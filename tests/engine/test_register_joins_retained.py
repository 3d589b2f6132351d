"""A join registered late meets what its streams retain, and nothing that they have let go and still hold."""

from random import Random

from psoup.engine import limits
from psoup.engine.eddy import join_entrants as joins
from psoup.engine.limits import CHUNK_ROWS
from tests.engine.joins.folds import JoinFold, row, rows_drawn, sparse

SELF = "SELECT x.i FROM r AS x, r AS y WHERE x.i = y.i"
KEPT = CHUNK_ROWS + 10


def test_join_registered_late_finds_composites_of_retained_rows_alone():
    """Rows below the floor are held for pages handed out earlier, of which this query has none."""
    fold = JoinFold("r", rows_kept=KEPT)
    for seed in range(3):
        fold.send("r", sparse(Random(seed), CHUNK_ROWS, rows_drawn(Random(seed), 40)))
    (record,) = fold.records["streams"].values()
    assert (0, 2 * CHUNK_ROWS - 10) == (record.dropped_row, record.floor_row)
    clause_id = fold.register(SELF)
    every = fold.expected(clause_id)
    shown = [one for one in every if min(one) >= record.floor_row]
    assert shown == fold.kept(clause_id) != []
    assert len(shown) < len(every)


def test_join_registered_late_is_not_suspended_for_what_is_let_go(monkeypatch):
    """Its bound counts what can be shown: 10 matches, though the rows let go have more than it allows."""
    monkeypatch.setattr(joins, "JOIN_MATCHES_MAX", 100)
    assert limits.JOIN_MATCHES_MAX > 100
    fold = JoinFold("r", rows_kept=CHUNK_ROWS)
    fold.send("r", [row(i=1)] * CHUNK_ROWS)
    fold.send("r", sparse(Random(1), CHUNK_ROWS, [row(i=number) for number in range(10)]))
    clause_id = fold.register(SELF)
    join = fold.join(clause_id)
    assert None is join.suspended
    assert 10 == len(fold.kept(clause_id))
