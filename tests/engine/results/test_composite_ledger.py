"""The ledger of composites: which pages are kept, what they name, how many each clause has."""

from random import Random

import pytest

from psoup.engine.results.composite_ledger import CompositeLedger
from psoup.engine.results.hits import ClauseId
from tests.engine.invocation.several_streams.join_worlds import page_of

GROUP, OTHER = ClauseId(5), ClauseId(8)
TIMES = [range(100), range(100)]


def page(hits):
    """Return a page of the composites that clauses have, by clause id."""
    return page_of(sorted(set().union(*hits.values())), TIMES, hits)


def ledger():
    """Return a ledger of two groups: two chunks' pages of two clauses, one clause's own, another group's."""
    held = CompositeLedger()
    held.note((GROUP, 0, 3, 0), page({5: {(1, 2), (3, 9)}, 6: {(3, 9)}}))
    held.note((GROUP, 1, 4, 0), page({6: {(7, 1), (8, 1), (9, 1)}}))
    held.note((GROUP, 2, 6, 0), page({6: {(0, 0)}}))
    held.note((OTHER, 1, 4, 0), page({8: {(50, 60)}}))
    return held


STANDING = {ClauseId(5): GROUP, ClauseId(6): GROUP, ClauseId(8): OTHER}


def counts(held):
    found = held.held(GROUP) | held.held(OTHER)
    return [found.get(ClauseId(clause_id), 0) for clause_id in (5, 6, 8, 9)]


def test_ledger_counts_the_composites_of_each_clause():
    """Over all pages, its own and the group's; of one that has none, none."""
    held = ledger()
    held.check(STANDING)
    assert (4, [2, 5, 1, 0]) == (len(held), counts(held))
    with pytest.raises(AssertionError):
        held.note((GROUP, 0, 3, 0), page({5: {(1, 2)}}))


def test_ledger_forgets_pages_all_of_whose_composites_have_lost_a_part():
    """One row of one source that is held, and of the others, keeps a page."""
    held = ledger()
    assert [] == held.below(GROUP, [0, 0])
    assert [(GROUP, 2, 6, 0)] == held.below(GROUP, [1, 0])
    assert [] == held.below(GROUP, [3, 1])
    assert [(GROUP, 1, 4, 0)] == held.below(GROUP, [3, 2])
    assert [2, 1, 1, 0] == counts(held)
    assert [(GROUP, 0, 3, 0)] == held.below(GROUP, [0, 10])
    assert [] == held.below(GROUP, [99, 99])
    held.check(STANDING)
    assert (1, [0, 0, 1, 0]) == (len(held), counts(held))


def test_ledger_forgets_what_one_clause_has_for_itself():
    """Its pages go; what it shared stays for the others."""
    held = ledger()
    assert [(GROUP, 2, 6, 0)] == held.own(GROUP, ClauseId(6), 2)
    assert [] == held.own(GROUP, ClauseId(6), 2)
    assert (3, [2, 4, 1, 0]) == (len(held), counts(held))
    left = {clause_id: group for clause_id, group in STANDING.items() if clause_id != 6}
    held.check(left)
    assert 2 == len(held.below(GROUP, [99, 99]))
    assert {} == held.held(GROUP)
    held.check(left)


def test_ledger_forgets_a_group_as_a_whole():
    """And no other."""
    held = ledger()
    assert [(GROUP, 0, 3, 0), (GROUP, 1, 4, 0), (GROUP, 2, 6, 0)] == held.all(GROUP)
    assert [] == held.all(GROUP)
    held.check({ClauseId(8): OTHER})
    assert (1, [0, 0, 1, 0]) == (len(held), counts(held))


@pytest.mark.parametrize("seed", range(20))
def test_ledger_under_any_changes_oracle_counts_what_is_there(seed):
    """Pages come, and go by rows, by clause, by group: counts are those of the pages that are left."""
    rng, held = Random(seed), CompositeLedger()
    pages: dict[tuple[int, int, int, int], dict[int, set[tuple[int, int]]]] = {}
    numbers, gone = iter(range(10_000)), set()
    for _ in range(60):
        what = rng.randrange(5)
        standing = [number for number in range(6) if number not in gone]
        if what < 3 and standing:
            hits = {
                number: {(rng.randrange(100), rng.randrange(100)) for _ in range(3)}
                for number in rng.sample(standing, rng.randrange(1, min(3, len(standing)) + 1))
            }
            own = rng.random() < 0.3
            first = min(hits)
            key = (
                GROUP,
                2 if own else rng.randrange(2),
                first if own else rng.randrange(9),
                next(numbers),
            )
            pages[key] = {first: hits[first]} if own else hits
            held.note(key, page(pages[key]))
        elif what == 3:
            dropped = [rng.randrange(60), rng.randrange(60)]
            expected = {
                key
                for key, hits in pages.items()
                if any(
                    max(one[k] for some in hits.values() for one in some) < dropped[k]
                    for k in (0, 1)
                )
            }
            assert expected == set(held.below(GROUP, dropped))
            pages = {key: hits for key, hits in pages.items() if key not in expected}
        elif rng.random() < 0.3 and len(standing) > 1:
            number = rng.choice(standing)
            gone.add(number)
            expected = {key for key in pages if key[1:3] == (2, number)}
            assert expected == set(held.own(GROUP, ClauseId(number), 2))
            pages = {key: hits for key, hits in pages.items() if key not in expected}
        for number in set(range(6)) - gone:
            count = sum(len(hits.get(number, ())) for hits in pages.values())
            assert count == held.held(GROUP).get(ClauseId(number), 0)
            assert (count > 4) == (ClauseId(number) in held.over(GROUP, 4))
        held.check({ClauseId(number): GROUP for number in range(6) if number not in gone})
        assert len(pages) == len(held)


def test_ledger_check_notices_pages_of_groups_that_do_not_stand_and_wrong_counts():
    """Pages go with the group; counts are those of the pages."""
    held = ledger()
    with pytest.raises(AssertionError):
        held.check({ClauseId(8): OTHER})
    held._composites[GROUP] += 1
    with pytest.raises(AssertionError):
        held.check(STANDING)
