"""Partials of a stream that several invocations go on from, each in its own way."""

import numpy as np
import pytest

from psoup.engine.aggregates.grouping import Grouping, RowsToAggregate
from psoup.engine.aggregates.groups import placed
from psoup.engine.aggregates.partials import stream_partials
from psoup.engine.aggregates.partials.chunk_rows import all_rows
from psoup.engine.aggregates.partials.group_table import GroupTable
from psoup.engine.aggregates.partials.made_units import MadeUnits
from psoup.engine.aggregates.partials.partial import run_of
from psoup.engine.aggregates.partials.stream_partials import nothing_known
from psoup.engine.query.values.expression import AggregateFunction as Function, ColumnRef
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType as Type
from tests.engine.aggregates.reference import call_of

GROUPING = Grouping([ColumnRef(0, "key", Type.INT64)], [call_of(Function.COUNT, None)])
ROWS = 3
"""Of a chunk: each chunk has a group of its own, which comes before those of earlier chunks."""


class Making:
    """Makes partials of chunks of a few rows, and notes of which."""

    def __init__(self):
        self.made = []

    def chunks(self, first, past):
        return self._made(first, past, np.arange(past - first + 1) * ROWS, first)

    def segment(self, first, past):
        return self._made(first, past, np.array([0, past - first]) * ROWS, first // (past - first))

    def _made(self, first, past, edges, number):
        self.made.append((first, past))
        numbers = np.arange(first * ROWS, past * ROWS)
        key = Column(Type.INT64, -(numbers // ROWS))
        rows = RowsToAggregate(lambda _: key, len(numbers), numbers, numbers)
        groups = GROUPING.groups(rows)
        run = run_of(GROUPING, rows, edges, number, groups_max=999, groups=placed(groups))
        assert run is not None
        return MadeUnits(groups, run, all_rows(first, past, ROWS))


def reaching(known, first, past, **how):
    return known.reaching([(first, past)], lowest=0, make=Making(), **how)


def shown(known, past):
    """Return the keys of the groups that the chunks before `past` have."""
    return known.table.merged(known.of(0, past)).keys[0].to_list()


@pytest.mark.parametrize("asked_first", [0, 1])
def test_partials_that_go_on_from_the_same_ones_remember_unions_of_their_own(
    monkeypatch, asked_first
):
    """Each numbers the groups that came since in its own way; what was remembered before is right in both."""
    monkeypatch.setattr(stream_partials, "_UNION_GROUPS_MIN", 2)
    known = reaching(nothing_known(GroupTable.of_kinds([Type.INT64]), 0), 0, 3)
    (union,) = known.of(0, 3)
    both = [reaching(known, 0, 5), reaching(known, 0, 7)]
    for one in (both[asked_first], both[1 - asked_first]):
        assert [union] == one.of(0, 3)
        assert list(range(-4, 1)) == shown(one, 5)
