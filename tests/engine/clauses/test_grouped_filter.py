"""Grouped filters: what they find, what they derive for it, and what they let go."""

import numpy as np
import pytest

from psoup.engine.clauses import grouped_filter, table_probe
from psoup.engine.clauses.grouped_filter import GroupedFilters
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.values.expression import CompareOp
from psoup.engine.query.values.value_set import (
    EVERY_VALUE,
    EVERYTHING,
    NO_VALUE,
    NULL_ALONE,
    intersection,
    values_among,
    values_where,
)
from psoup.engine.results.match_block import Harvest, Keeping
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.chunk import Chunk
from psoup.engine.tuples.lineage import Slot
from tests.engine.clauses.filter_worlds import (
    CHUNKS,
    LISTS,
    SLOTS,
    chunk_of,
    factors_of,
    probed,
)


def built(*asked, open_slots=frozenset()):
    """Return filters with a clause for each of what is asked, in slots from 0 on."""
    made = GroupedFilters()
    for slot, one in enumerate(asked):
        made.build(Slot(slot), factors_of(one), is_open=slot in open_slots)
    return made


def rows_found(made, chunk, **arguments):
    """Return the rows of each slot that a probe finds some of, settled or left."""
    settled, left = probed(made, chunk, **arguments)
    return {slot: set(rows) for slot, (_, rows) in settled.items()} | left


def chunk_with(**values):
    return chunk_of(1, 0.1, **values)


def test_grouped_filters_conjuncts_on_one_attribute_must_both_hold():
    """`a > 3 AND a < 6` is one interval: 1 satisfies one conjunct and is not let through."""
    made = built(
        {"INT64": intersection((values_where(CompareOp.GT, 3), values_where(CompareOp.LT, 6)))}
    )
    values = [i % 10 for i in range(CHUNK_ROWS)]
    expected = {i for i, value in enumerate(values) if value in {4, 5}}
    assert {0: expected} == rows_found(made, chunk_with(INT64=values))


def test_grouped_filters_conjuncts_on_several_attributes_must_all_hold():
    """A row has to lie in an interval of each attribute that a clause names."""
    below = values_where(CompareOp.LT, 5)
    made = built({"INT64": below, "other": below}, {"INT64": below}, {"other": below})
    values = [i % 10 for i in range(CHUNK_ROWS)]
    others = [i // 10 % 10 for i in range(CHUNK_ROWS)]
    first = {i for i, value in enumerate(values) if value < 5}
    second = {i for i, value in enumerate(others) if value < 5}
    found = rows_found(made, chunk_with(INT64=values, other=others))
    assert {0: first & second, 1: first, 2: second} == found


def test_grouped_filters_of_everything_and_of_nothing_find_that():
    """What every value satisfies, NULL too, is as good as no factor; what none satisfies finds nothing."""
    asked = [{"INT64": one} for one in (EVERYTHING, EVERY_VALUE, NO_VALUE, NULL_ALONE)]
    made = built(*asked, {})
    values = [None if i % 3 == 0 else i for i in range(CHUNK_ROWS)]
    nulls = set(range(0, CHUNK_ROWS, 3))
    every = set(range(CHUNK_ROWS))
    found = rows_found(made, chunk_with(INT64=values))
    assert {0: every, 1: every - nulls, 3: nulls, 4: every} == found


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 11])
def test_grouped_filters_of_more_open_clauses_than_a_lineage_holds_leave_them_all(
    count, monkeypatch
):
    """Open clauses come out in lineages of two at most, none empty, each clause once, none settled."""
    monkeypatch.setattr(table_probe, "TILE_SLOTS", 2)
    asked = [{"INT64": values_where(CompareOp.GE, slot)} for slot in range(count)]
    made = built(*asked, open_slots=range(count))
    chunk = chunk_with(INT64=[i % SLOTS for i in range(CHUNK_ROWS)])
    harvest = Harvest()
    sizes = [len(one) for one in made.probe(chunk, LISTS, harvest)]
    assert [2] * (count // 2) + [1] * (count % 2) == sizes
    assert 0 == len(harvest.block(np.arange(SLOTS)))
    expected = {slot: {i for i in range(CHUNK_ROWS) if i % SLOTS >= slot} for slot in range(count)}
    assert expected == rows_found(made, chunk, open_slots=range(count))


def test_grouped_filters_leave_no_open_clause_without_a_row():
    """A clause that no row satisfies any more is not routed further."""
    asked = [{"INT64": values_where(CompareOp.GT, 5)}, {"INT64": values_where(CompareOp.LT, 5)}]
    made = built(*asked, open_slots={0, 1})
    (lineage,) = made.probe(chunk_with(INT64=[1] * CHUNK_ROWS), LISTS, Harvest())
    assert ([1], [True]) == (lineage.slots.tolist(), lineage.alive.tolist())


def test_grouped_filters_without_clauses_find_nothing():
    """Before the first clause and after the last there is nothing to meet, and nothing is read."""
    nothing: dict[str, Column] = {}
    unread = Chunk(0, nothing.__getitem__)
    made = GroupedFilters()
    assert ({}, {}) == probed(made, unread)
    made.build(Slot(3), factors_of({"INT64": EVERY_VALUE}), is_open=False)
    made.evict(Slot(3))
    assert ({}, {}) == probed(made, unread)
    made.check()


def test_grouped_filters_find_by_value_only_what_few_ask_for():
    """Clauses of a value that every other one asks for stay beside the pivot: each would meet each of its rows."""
    often = values_among([7])
    asked = [{"INT64": values_among([1_000 + i]) if i % 2 else often} for i in range(1_200)]
    made = built(*asked)
    chunk = chunk_with(INT64=[7 if i % 3 else 1_001 for i in range(CHUNK_ROWS)])
    by_value = set(range(0, CHUNK_ROWS, 3))
    others = dict.fromkeys(range(0, 1_200, 2), set(range(CHUNK_ROWS)) - by_value)
    wanted = np.full(1_200, Keeping.LISTS, dtype=np.uint8)
    assert {1: by_value} | others == rows_found(made, chunk, wanted=wanted)
    assert [set(range(1, 1_200, 2))] == [table.slots for table in made._pivoted["INT64"]]
    assert [set(range(0, 1_200, 2))] == [table.slots for table in made._settled]
    made.check()


def test_grouped_filters_that_forget_a_recent_clause_make_no_table_for_it():
    """The table forgets it, as settled ones do: the next chunk waits for nothing; a new clause in its slot is found."""
    made = built({"INT64": EVERY_VALUE}, {"INT64": EVERY_VALUE}, {"INT64": NO_VALUE})
    chunk = chunk_with(INT64=[1] * CHUNK_ROWS)
    every = set(range(CHUNK_ROWS))
    assert {0: every, 1: every} == rows_found(made, chunk)
    made.evict(Slot(0))
    assert {1: every} == rows_found(made, chunk)
    assert 1 == made.statistics().derived
    made.build(Slot(0), factors_of({"INT64": EVERY_VALUE}), is_open=False)
    assert {0: every, 1: every} == rows_found(made, chunk)
    for slot in range(3):
        made.evict(Slot(slot))
    assert ({}, 0) == (rows_found(made, chunk), made.statistics().tables)
    made.check()


@pytest.mark.parametrize("settled", [False, True])
def test_grouped_filters_built_or_evicted_twice_are_refused(settled, monkeypatch):
    """A slot has one clause, and one that has none has none to forget: anything else is a caller's bug."""
    monkeypatch.setattr(grouped_filter, "RECENT_SLOTS_MAX", 0 if settled else 9)
    made = built({"INT64": EVERY_VALUE}, {"INT64": EVERY_VALUE})
    if settled:
        probed(made, CHUNKS[0])
    else:
        with pytest.raises(AssertionError):
            made.build(Slot(1), [], is_open=False)
    made.evict(Slot(1))
    with pytest.raises(AssertionError):
        made.evict(Slot(1))
