"""Composite tuples in a Results Structure, the same cases over every store."""

from collections import Counter
from dataclasses import replace

import pytest

from psoup.engine import limits
from psoup.engine.limits import SEGMENT_ROWS
from psoup.engine.log.operation import Drop, Materialize, Remove
from psoup.engine.results.delta import ClauseRecord
from psoup.engine.results.hits import ClauseId
from psoup.engine.tuples.schema import StreamId
from tests.storage.driver import assert_shows, do
from tests.storage.fold import Fold
from tests.storage.samples import declare, join, query_id, register, rows


@pytest.fixture
def fold() -> Fold:
    return Fold()


def fill_joins(store, fold: Fold) -> None:
    """Two streams, three groups, one of them of a stream with itself; a clause of which nothing is kept."""
    do(store, fold, [declare("a"), declare("b"), rows(1, count=50_000), rows(2, "b", count=50_000)])
    both = {"a": 1, "b": 2}
    do(store, fold, [join(1, both, "join x p"), join(2, both, "join x q")])
    do(store, fold, [join(3, both, "join x r", Materialize.NONE), register(4, 1, sql="one")])
    do(store, fold, [rows(1, count=30_000), rows(2, "b", count=30_000)])
    do(store, fold, [join(5, {"a": 1}, "self x p"), join(6, both, "join x s")])
    do(store, fold, [join(7, both, "join y p"), rows(2, "b", count=50_000)])


def clauses_of(store, *numbers: int) -> list[ClauseRecord]:
    """Return the clauses of handles."""
    return [store.results.snapshot(query_id(number)).clause for number in numbers]


def entrants(fold: Fold, group: int) -> Counter[int]:
    """Return how many pages there are by who entered."""
    return Counter(key[1] for key in fold.composites if key[0] == group)


def test_composites_are_those_of_the_group_and_ones_own(store, fold):
    """Clauses of one group share what chunks have entered, and nobody gets what another has alone."""
    fill_joins(store, fold)
    assert_shows(store, fold)
    first, second, unkept, single, _, last, other = clauses_of(store, 1, 2, 3, 4, 5, 6, 7)
    assert {first.clause_id} == {c.join.group for c in (first, second, last) if c.join}
    assert other.join
    assert (other.clause_id, None, None) == (other.join.group, unkept.join, single.join)
    assert all(entrants(fold, first.clause_id)[entrant] for entrant in range(3))
    shared = len(fold.composites_of(first))
    assert len({shared, len(fold.composites_of(second)), len(fold.composites_of(last))}) > 1
    for clause in (unkept, single):
        assert [] == list(store.results.composites(clause))
    unknown = replace(first, clause_id=ClauseId(999))
    assert [] == list(store.results.composites(unknown))


def test_remove_takes_ones_own_composites_and_the_last_of_a_group_all(store, fold):
    """A group outlives the clause that began it, and goes with its last one."""
    fill_joins(store, fold)
    first, second, last = clauses_of(store, 1, 2, 6)
    pages = len(fold.composites)
    do(store, fold, [Remove(query_id(2)), Remove(query_id(1))])
    assert_shows(store, fold)
    assert pages > len(fold.composites)
    assert [[], []] == [list(store.results.composites(clause)) for clause in (first, second)]
    assert store.results.composites(last)
    do(store, fold, [Remove(query_id(6)), rows(1, count=9_000)])
    assert not entrants(fold, first.clause_id)
    assert_shows(store, fold)


def test_drop_takes_the_composites_of_its_joins(store, fold):
    """Those of a stream with itself stay where another one goes."""
    fill_joins(store, fold)
    do(store, fold, [Drop(StreamId(2), "b", tuple(map(query_id, (1, 2, 3, 6, 7))))])
    (own,) = clauses_of(store, 5)
    assert {own.clause_id} == {key[0] for key in store.results.checkpoint().composites}
    assert_shows(store, fold)


def test_expiry_takes_composites_all_of_which_have_lost_a_part(store):
    """Page by page, whoever has entered, in the order in which rows go."""
    fold = Fold(rows_kept=SEGMENT_ROWS)
    fill_joins(store, fold)
    held = set(fold.composites)
    for _ in range(4):
        do(store, fold, [rows(1, count=40_000), rows(2, "b", count=20_000)])
        assert_shows(store, fold)
    assert {0, 1, 2} <= {key[1] for key in held - set(fold.composites)}
    assert set(fold.composites) - held


@pytest.mark.parametrize("writes_max", [1, 7])
def test_composites_in_slices_and_pieces_show_the_same(store, monkeypatch, writes_max):
    """A page in several values, a publish in several calls, a reader who asks for a page at a time."""
    monkeypatch.setattr(limits, "PUBLISH_WRITES_MAX", writes_max)
    monkeypatch.setattr("psoup.storage.encoding.composites.PIECE_CLAUSES", 1)
    monkeypatch.setattr("psoup.storage.redis.calls.composites.PAGES_PER_FETCH", 1)
    monkeypatch.setattr("psoup.storage.redis.calls.composites.GROUPS_PER_FETCH", 1)
    fold = Fold(rows_kept=SEGMENT_ROWS)
    fill_joins(store, fold)
    assert any(len(page.block) > 1 for page in fold.composites.values())
    assert_shows(store, fold)
    do(store, fold, [rows(1, count=70_000), Remove(query_id(2)), rows(2, "b", count=70_000)])
    assert_shows(store, fold)


def test_clause_that_is_suspended_keeps_what_it_has(store, fold):
    """Since when and why is told by its record; what it had found stays until its rows go."""
    fill_joins(store, fold)
    do(store, fold, [rows(2, "b", count=50_000)])
    suspended = [c for c in fold.clauses.values() if c.join and c.join.suspended]
    assert suspended
    assert_shows(store, fold)
    handles = {q.clause_id: q.query_id for q in store.results.queries()}
    found = [store.results.snapshot(handles[c.clause_id]).clause for c in suspended]
    assert suspended == found
    kept = [list(store.results.composites(clause)) for clause in suspended]
    assert any(kept)


def test_statistics_count_pages_of_composites(store, fold):
    """As pages, with the bytes of their arrays."""
    fill_joins(store, fold)
    found = store.results.statistics()
    assert found.pages_written > len(fold.composites) > 0
    assert found.page_bytes_written > sum(page.nbytes for page in fold.composites.values())
