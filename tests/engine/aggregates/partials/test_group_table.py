"""Groups with numbers: whatever came first, merged they are what a comparison of their keys gives."""

from sys import getsizeof

import numpy as np
import pytest

from psoup.engine.aggregates.grouping import Grouping, RowsToAggregate
from psoup.engine.aggregates.groups import placed
from psoup.engine.aggregates.partials import group_table
from psoup.engine.aggregates.partials.group_table import GroupTable
from psoup.engine.aggregates.partials.partial import finished, merged, partial_of
from psoup.engine.query.values.expression import AggregateFunction as Function, ColumnRef
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType as Type
from tests.engine.aggregates.reference import bits, call_of
from tests.engine.columns import chunk_values, column_of

CALLS = [call_of(Function.COUNT, None), call_of(Function.SUM, Type.INT64)]


def grouping_of(*kinds):
    return Grouping([ColumnRef(0, f"k{place}", kind) for place, kind in enumerate(kinds)], CALLS)


def rows_of(grouping, columns):
    """Return rows with these keys; each counts its place."""
    count = len(columns[0])
    named = {key.name: column for key, column in zip(grouping.keys, columns, strict=True)}
    named["x"] = Column(Type.INT64, np.arange(count))
    return RowsToAggregate(lambda ref: named[ref.name], count, np.arange(count), np.arange(count))


def numbered(table, grouping, rows):
    """Return the table that has the groups of rows, and their partial."""
    table, groups = table.grouped(grouping, rows)
    return table, partial_of(grouping, rows, groups)


def shown(groups):
    results = [bits(one.column.to_list()) for one in groups.results]
    return groups.count, [bits(key.to_list()) for key in groups.keys], results


@pytest.mark.parametrize("kinds", [[kind] for kind in Type] + [[Type.STRING, Type.INT64]], ids=str)
@pytest.mark.parametrize("nulls", [0.0, 0.3])
def test_merged_differential_compares_numbers_as_it_would_keys(kinds, nulls):
    """Groups that come in any order, again, and never again; few of a table, and all of it."""
    grouping = grouping_of(*kinds)
    for seed in range(3):
        table = GroupTable.of_kinds(kinds)
        parts, plain = [], []
        for piece, count in enumerate((30, 0, 50, 4, 30)):
            columns = [
                column_of(
                    kind,
                    chunk_values(kind, seed=seed + piece + place, count=count, nulls=nulls),
                )
                for place, kind in enumerate(kinds)
            ]
            rows = rows_of(grouping, columns)
            plain.append(partial_of(grouping, rows))
            if piece % 2:
                table, part = numbered(table, grouping, rows)
            else:
                groups = grouping.groups(rows)
                placed_part = partial_of(grouping, rows, placed(groups))
                table, (part,) = table.numbered([(groups, placed_part)])
            parts.append(part)
        for some in (slice(None), slice(3, 4), slice(1, 2), slice(2, 5)):
            expected = shown(finished(grouping, merged(plain[some])))
            assert expected == shown(finished(grouping, table.merged(parts[some])))


def test_codes_of_a_dictionary_that_grows_are_told_apart():
    """Numbers of its texts are remembered; those behind them are looked up when they come."""
    grouping, texts = grouping_of(Type.STRING), ["b", "a"]

    def rows(*codes):
        return rows_of(grouping, [Column(Type.STRING, np.array(codes, np.int32), None, texts)])

    table, first = numbered(GroupTable.of_kinds([Type.STRING]), grouping, rows(0, 1))
    texts += ["c", "Z"]
    for codes in ((3, 0), (1, 0), (2, 1)):
        table, part = numbered(table, grouping, rows(*codes))
        expected = merged([partial_of(grouping, rows(0, 1)), partial_of(grouping, rows(*codes))])
        found = finished(grouping, table.merged([first, part]))
        assert shown(finished(grouping, expected)) == shown(found)
    again, _ = table.grouped(grouping, rows(0, 1, 2, 3))
    assert again is table
    held = sum(map(getsizeof, ("a", "b", "c", "Z"))) + 4 * (8 + 4)
    assert table.nbytes > held


def test_groups_that_no_partial_has_any_more_are_let_go(monkeypatch):
    """Most of a table is unused: those that are used get numbers of their own."""
    monkeypatch.setattr(group_table, "_WASTED_MIN", 3)
    grouping = grouping_of(Type.INT64)
    table = GroupTable.of_kinds([Type.INT64])
    parts = []
    for begin in (0, 10, 5):
        rows = rows_of(grouping, [Column(Type.INT64, np.arange(begin, begin + 10))])
        table, part = numbered(table, grouping, rows)
        parts.append(part)
    assert not table.wastes(parts[2:])
    few = parts[0].take(np.array([7, 2]))
    assert table.wastes([few, few])
    smaller, (renamed, _) = table.compacted([few, few])
    assert 2 == smaller.count
    expected = shown(finished(grouping, table.merged([few])))
    assert expected == shown(finished(grouping, smaller.merged([renamed])))
