"""Pages of composites held by group, against a plain dict."""

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.log.operation import QueryId
from psoup.engine.query.window import Window
from psoup.engine.results.composites import CompositePage
from psoup.engine.results.delta import ClauseRecord, JoinRecord, QueryRecord, StreamRecord
from psoup.engine.results.draft import Draft
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.live_composites import LiveComposites
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from tests.engine.batches import schema_keeping
from tests.engine.results.blocks import block_of
from tests.engine.results.deltas import applied_to, composites_drawn
from tests.engine.results.test_live import results

STREAMS = (StreamId(1), StreamId(2))
GROUPS = {ClauseId(3): ClauseId(3), ClauseId(4): ClauseId(3), ClauseId(6): ClauseId(6)}
CLAUSES = [
    ClauseRecord(clause_id, "", STREAMS, join=JoinRecord(group, (0, 0)))
    for clause_id, group in GROUPS.items()
]


def key_drawn(rng):
    clause_id = rng.choice(list(GROUPS))
    entrant = rng.randrange(3)
    number = clause_id if entrant == 2 else rng.randrange(4)
    return GROUPS[clause_id], entrant, number, rng.randrange(2)


@given(st.integers(0, 2**32), st.integers(0, 60))
def test_composites_after_any_writes_and_drops_oracle_are_those_of_a_dict(seed, steps):
    """Held, counted and given to each clause: pages of its group's chunks, and its own, by key."""
    rng, expected = Random(seed), {}
    held = LiveComposites({})
    for _ in range(steps):
        key = key_drawn(rng)
        if rng.random() < 0.6:
            expected[key] = composites_drawn(rng, 2, [ClauseId(3)])
            held.write({key: expected[key]})
        else:
            expected.pop(key, None)
            held.drop([key])
        held.check(CLAUSES)
    assert sorted(expected) == list(held.every())
    assert expected == held.every()
    assert sum(page.nbytes for page in expected.values()) == held.nbytes
    for clause in CLAUSES:
        group = GROUPS[clause.clause_id]
        own = [
            page
            for (of, entrant, number, _), page in sorted(expected.items(), key=lambda one: one[0])
            if of == group and (entrant < 2 or number == clause.clause_id)
        ]
        assert own == held.of(clause)
        assert [] == held.of(replace(clause, join=None))
    again = LiveComposites(held.every())
    assert (held.every(), held.nbytes) == (again.every(), again.nbytes)


def page(rows=((4, 5), (6, 7)), earliest=(1, 2), latest=(3, 3), hits=None):
    """Return a page of two composites."""
    return CompositePage(
        np.array(rows),
        np.array(earliest),
        np.array(latest),
        block_of(hits or {ClauseId(3): {0, 1}}),
    )


WRONG: dict[str, dict[str, Any]] = {
    "latest times descend": {"latest": (4, 3)},
    "earliest behind latest": {"earliest": (1, 5)},
    "nobody asked for the second": {"hits": {ClauseId(3): {0}}},
    "a hit past the end": {"hits": {ClauseId(3): {0, 1, 2}}},
    "rows of one composite": {"rows": ((4,), (6,))},
    "a row below 0": {"rows": ((4, 5), (6, -1))},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_check_of_a_page_finds_what_is_wrong(wrong):
    """A page is sound as it is made here, and with each fault it is not."""
    page().check()
    with pytest.raises(AssertionError):
        page(**WRONG[wrong]).check()


def test_page_tells_what_it_lies_between():
    """Bounds of both times, rows past the largest, bytes of all arrays, the places of a clause."""
    made = page(earliest=(2, 1), hits={ClauseId(3): {0}, ClauseId(4): {0, 1}})
    bounds = made.bounds
    assert (1, 2) == (bounds.least_earliest, bounds.most_earliest)
    assert (3, 3) == (bounds.least_latest, bounds.most_latest)
    assert ((6, 8), 2) == (made.past_rows, len(made))
    assert 8 * 8 + made.block.nbytes == made.nbytes
    assert [[0], [0, 1], []] == [made.places(ClauseId(one)).tolist() for one in (3, 4, 5)]


UNOWNED = {
    "of no group": (ClauseId(7), 0, 0, 0),
    "of an entrant that is no source": (ClauseId(3), 3, 0, 0),
    "of a clause that does not stand": (ClauseId(3), 2, 5, 0),
    "of a clause of another group": (ClauseId(3), 2, 6, 0),
}


@pytest.mark.parametrize("unowned", UNOWNED)
def test_check_finds_pages_that_are_nobodys(unowned):
    """Each page has a clause standing that it may be of."""
    held = LiveComposites({UNOWNED[unowned]: page()})
    with pytest.raises(AssertionError):
        held.check(CLAUSES)


def test_check_finds_pages_of_other_streams_and_bytes_that_are_not_counted():
    """A composite has a part of each stream; groups have one FROM list."""
    key = (ClauseId(3), 0, 0, 0)
    held = LiveComposites({key: page(rows=((4, 5), (6, 7), (8, 9)))})
    with pytest.raises(AssertionError):
        held.check(CLAUSES)
    held = LiveComposites({key: page()})
    held.check(CLAUSES)
    with pytest.raises(AssertionError):
        held.check([*CLAUSES, replace(CLAUSES[0], streams=(StreamId(1),) * 3)])
    held.nbytes += 1
    with pytest.raises(AssertionError):
        held.check(CLAUSES)


def test_composites_of_a_dropped_clause_are_shown_to_nobody():
    """Asked for with its record it has none, while others of its group keep theirs. All pages count as written."""
    first = Draft(Seq(0), Seq(7), 10)
    for stream_id in STREAMS:
        first.streams[stream_id] = StreamRecord(stream_id, schema_keeping(name=f"s{stream_id}"))
    for clause in CLAUSES:
        query_id = QueryId(f"q{clause.clause_id}")
        first.clauses[clause.clause_id] = clause
        first.queries[query_id] = QueryRecord(query_id, Seq(7), clause.clause_id, "", Window())
    shared, own = (ClauseId(3), 0, 0, 0), (ClauseId(3), 2, 4, 0)
    first.composites = {shared: page(), own: page(hits={ClauseId(4): {0, 1}})}
    live = applied_to(results(), [first.delta()])
    assert list(first.composites.values()) == live.composites(CLAUSES[1])
    nbytes = sum(one.nbytes for one in first.composites.values())
    counted = live.statistics()
    assert (2, nbytes, nbytes) == (
        counted.pages_written,
        counted.page_bytes_written,
        live.held.hits,
    )
    gone = Draft(Seq(7), Seq(8), 20)
    gone.dropped_clauses.add(ClauseId(4))
    gone.dropped_queries.add(QueryId("q4"))
    gone.dropped_composites.add(own)
    applied_to(live, [gone.delta()])
    assert () == live.composites(CLAUSES[1])
    assert [first.composites[shared]] == live.composites(CLAUSES[0])
    assert [] == live.composites(CLAUSES[2])
