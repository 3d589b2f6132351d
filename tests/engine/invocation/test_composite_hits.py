"""A clause's composites picked out of pages, and the order of answers, against sorting tuples."""

import numpy as np
from hypothesis import given, strategies as st

from psoup.engine.invocation.composite_hits import grown, in_order, no_hits
from psoup.engine.results.hits import ClauseId
from tests.engine.invocation.several_streams.join_worlds import page_of

CLAUSE, OTHER = ClauseId(3), ClauseId(4)
TIMES = (np.arange(50) // 4 * 10, np.arange(50)[::-1] // 3 * 10)
composites = st.tuples(st.integers(0, 49), st.integers(0, 49))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)), max_size=40))
def test_in_order_of_any_composites_oracle_is_their_order_as_tuples(listed):
    """By the earliest time, then by the rows, source after source; None where they stand so."""
    listed = list(dict.fromkeys(listed))
    columns = np.array(listed, dtype=np.int64).reshape(-1, 3).T
    places = in_order(columns[0], columns[1:])
    assert (places is None) == (sorted(listed) == listed)
    if places is not None:
        assert sorted(listed) == [listed[place] for place in places.tolist()]


@given(st.lists(st.sets(composites, min_size=1, max_size=9), max_size=6), st.data())
def test_hits_grown_by_any_pages_oracle_are_those_of_the_clause_that_are_held(parts, data):
    """Page by page or at once: the clause's, in order, none with a part that is dropped."""
    seen: set[tuple[int, int]] = set()
    pages, expected = [], []
    for part in parts:
        fresh = sorted(part - seen)
        if not fresh:
            continue
        seen |= part
        own = data.draw(st.sets(st.sampled_from(fresh)))
        pages.append(
            page_of(fresh, TIMES, {CLAUSE: own, OTHER: set(fresh)} if own else {OTHER: set(fresh)})
        )
        expected += own
    dropped_rows = data.draw(st.tuples(st.sampled_from([0, 20]), st.sampled_from([0, 30])))
    expected = [
        (min(TIMES[0][a], TIMES[1][b]), a, b, max(TIMES[0][a], TIMES[1][b]))
        for a, b in expected
        if a >= dropped_rows[0] and b >= dropped_rows[1]
    ]
    cut = data.draw(st.integers(0, len(pages)))
    hits = no_hits(2)
    for some in (pages[:cut], pages[cut:]):
        hits = grown(hits, some, CLAUSE, dropped_rows=dropped_rows)
    found = zip(hits.earliest.tolist(), *hits.rows.tolist(), hits.latest.tolist(), strict=True)
    assert sorted(expected) == list(found)
    assert {page.bounds for page in pages} == hits.seen
    assert len(expected) == len(hits)
    assert hits.nbytes > 8 * 4 * len(expected)
