"""What each query costs: matches and their bytes by clause, invocations by query."""

from psoup.app.figures import clause_tally
from psoup.app.figures.clause_tally import ClauseCount, ClauseTally
from psoup.app.figures.invocation_counts import InvocationCounts
from psoup.engine import limits
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import QueryId
from psoup.engine.results.delta import Delta
from psoup.engine.results.hits import ClauseId
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from tests.engine.results.blocks import block_of


def found(rows_by_clause, dropped=()):
    """Return a delta with one block, and clauses that are dropped."""
    blocks = {(StreamId(1), 0): block_of(rows_by_clause)}
    gone = frozenset(map(ClauseId, dropped))
    return Delta(Seq(0), Seq(1), 0, blocks=blocks, dropped_clauses=gone)


def test_matches_and_bytes_add_up_by_clause():
    """A list takes two bytes a match, a bitmap one bit a row; a clause that is dropped is forgotten."""
    tally = ClauseTally()
    tally.note(found({3: range(5), 7: range(2_000)}))
    tally.note(found({1: [9], 3: range(2)}))
    assert () == tally.largest
    tally.sum_up()
    tally.check()
    expected = [ClauseCount(1, 1, 2), ClauseCount(3, 7, 14), ClauseCount(7, 2_000, CHUNK_ROWS // 8)]
    assert expected == list(tally.largest)
    tally.note(found({1: [1]}, dropped=[3]))
    tally.sum_up()
    assert [ClauseCount(1, 2, 4), expected[2]] == list(tally.largest)


def test_largest_are_bounded(monkeypatch):
    """Those with the most matches and those with the most bytes are told, and no others."""
    monkeypatch.setattr(clause_tally, "TOP_QUERIES_MAX", 1)
    tally = ClauseTally()
    tally.note(found({1: [1], 2: range(200), 3: range(CHUNK_ROWS)}))
    tally.note(found({2: range(240)}))
    tally.note(found({2: range(240)}))
    tally.sum_up()
    assert [2, 3] == [one.clause_id for one in tally.largest]


def test_what_is_noted_between_two_sums_is_bounded(monkeypatch):
    """Past a number of blocks they are added up at once, and nothing is lost."""
    monkeypatch.setattr(clause_tally, "_PIECES_MAX", 3)
    tally = ClauseTally()
    for _ in range(10):
        tally.note(found({1: [1, 2]}))
        tally.check()
    tally.sum_up()
    assert (ClauseCount(1, 20, 40),) == tally.largest


def test_invocations_are_counted_by_query(monkeypatch):
    """Of too many queries those invoked least are forgotten, but for the sum."""
    monkeypatch.setattr(limits, "QUERIES_COUNT_MAX", 4)
    counts = InvocationCounts()
    ids = [QueryId(f"q_{number}") for number in range(5)]
    for query_id in (ids[0], ids[0], *ids[1:4], ids[1]):
        counts.note(query_id)
    assert [2, 2, 1, 1, 0] == list(counts.of(ids).values())
    counts.note(ids[4])
    assert [2, 2, 0, 0, 0] == list(counts.of(ids).values())
    assert 7 == counts.count
