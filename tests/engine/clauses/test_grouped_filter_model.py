"""Grouped filters under any changes against their naive twin, over every type."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from psoup.engine.clauses import grouped_filter, locator, table_probe
from psoup.engine.clauses.grouped_filter import GROWTH, RECENT_SLOTS_MAX, GroupedFilters
from psoup.engine.kernels import hits, match, order, pivot
from psoup.engine.query.values.expression import CompareOp
from psoup.engine.query.values.value_set import values_among, values_where
from psoup.engine.results.match_block import Keeping
from psoup.engine.tuples.lineage import TILE_SLOTS, Slot
from psoup.engine.tuples.schema import ColumnType
from tests.engine.clauses.filter_worlds import (
    CHUNKS,
    KINDS,
    SLOTS,
    factors_of,
    probed,
)
from tests.engine.clauses.plain_index import PlainIndex
from tests.engine.columns import pool, value_sets
from tests.engine.kernels import twins


@st.composite
def asked_drawn(draw):
    """Draw what a clause asks of up to three attributes; often one value of one."""
    names = draw(st.lists(st.sampled_from(sorted(KINDS)), unique=True, max_size=3))
    asked = {}
    for name in names:
        one = st.sampled_from(pool(KINDS[name])).map(lambda value: values_among([value]))
        ranges = st.builds(
            values_where,
            st.sampled_from([CompareOp.LE, CompareOp.GT]),
            st.sampled_from(pool(KINDS[name])),
        )
        asked[name] = draw(one | ranges | value_sets(KINDS[name]))
    return asked


class Filters(RuleBasedStateMachine):
    """Clauses come, go and come again in reused slots, settled, recent and by value, among probes."""

    def __init__(self):
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.real, self.plain = GroupedFilters(), PlainIndex()
        self.open_slots = set()

    def teardown(self):
        self.patch.undo()

    @initialize(
        recent=st.sampled_from([0, 1, 3, RECENT_SLOTS_MAX]),
        growth=st.sampled_from([1, 2, GROWTH]),
        pivot_min=st.sampled_from([1, 2, 100]),
        tile=st.sampled_from([1, 2, TILE_SLOTS]),
        compared=st.sampled_from([0, locator.COMPARED_BOUNDS_MAX]),
    )
    def limit(self, *, recent, growth, pivot_min, tile, compared):
        self.patch.setattr(grouped_filter, "RECENT_SLOTS_MAX", recent)
        self.patch.setattr(grouped_filter, "GROWTH", growth)
        self.patch.setattr(grouped_filter, "PIVOT_VALUES_MIN", pivot_min)
        self.patch.setattr(table_probe, "TILE_SLOTS", tile)
        self.patch.setattr(locator, "COMPARED_BOUNDS_MAX", compared)

    @precondition(lambda self: len(self.plain) < SLOTS)
    @rule(asked=asked_drawn(), open_at=st.integers(0, 3), data=st.data())
    def build(self, asked, open_at, data):
        free = sorted(set(range(SLOTS)) - set(self.plain.clauses))
        slot = Slot(data.draw(st.sampled_from(free)))
        is_open = open_at == 0
        for index in (self.real, self.plain):
            index.build(slot, factors_of(asked), is_open=is_open)
        if is_open:
            self.open_slots.add(slot)

    @precondition(lambda self: self.plain.clauses)
    @rule(data=st.data())
    def evict(self, data):
        slot = data.draw(st.sampled_from(sorted(self.plain.clauses)))
        self.real.evict(slot)
        self.plain.evict(slot)
        self.open_slots.discard(slot)
        self.agree()

    @rule(
        number=st.sampled_from(range(len(CHUNKS))),
        wanted=st.lists(st.sampled_from(list(Keeping)), min_size=SLOTS, max_size=SLOTS),
    )
    def probe(self, number, wanted):
        arguments = {"wanted": np.array(wanted, np.uint8), "open_slots": self.open_slots}
        expected = probed(self.plain, CHUNKS[number], **arguments)
        assert expected == probed(self.real, CHUNKS[number], **arguments)
        self.agree()

    def agree(self):
        self.real.check()
        assert len(self.plain) == len(self.real) == self.real.statistics().slots


TestFilters = Filters.TestCase
TestFilters.settings = settings(stateful_step_count=25)


@pytest.mark.parametrize("kind", ColumnType)
@settings(max_examples=10)
@given(data=st.data())
def test_grouped_filters_of_any_sets_differential_agree_with_plain(kind, data):
    """Every clause at once over one attribute, whatever the sets; and once more with plain kernels."""
    sets = data.draw(st.lists(value_sets(kind), max_size=SLOTS))
    real, twin = GroupedFilters(), PlainIndex()
    for slot, values in enumerate(sets):
        for index in (real, twin):
            index.build(Slot(slot), factors_of({kind.name: values}), is_open=slot % 5 == 4)
    chunk = data.draw(st.sampled_from(CHUNKS))
    open_slots = set(range(4, SLOTS, 5))
    expected = probed(twin, chunk, open_slots=open_slots)
    assert expected == probed(real, chunk, open_slots=open_slots)
    with twins.all_plain(order, hits, match, pivot, table_probe):
        assert expected == probed(real, chunk, open_slots=open_slots)
