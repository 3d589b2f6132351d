"""Whole numbers put into groups of equal ones, and rows put in order of their groups."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.compiled import compiled, inlined

Integers = NDArray[np.int64]

TOO_MANY_STEPS: Final = -1
_SLOTS_MIN: Final = 1_024
_STEPS_A_ROW_MAX: Final = 16
"""Numbers that meet in a hash table more often than this were chosen to."""


@compiled
def mark(values: Any, least: int, seen: NDArray[np.bool_]) -> None:
    """Set `seen[value - least]` for each of (n,) values. Cost: 0.5 ns a value."""
    for value in values:
        seen[value - least] = True


@compiled
def look_up(values: Any, least: int, numbers: Integers, found: Integers) -> None:
    """Write `numbers[value - least]` for each of (n,) values. Cost: 0.7 ns a value."""
    for row in range(len(values)):
        found[row] = numbers[values[row] - least]


@inlined
def _mixed(word: Any) -> Any:
    """Return a hash of 64 bits. Source: splitmix64."""
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58_476D_1CE4_E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D0_49BB_1331_11EB)
    return word ^ (word >> np.uint64(31))


@compiled
def number_distinct(values: Integers, labels: Integers, distinct: Integers) -> int:
    """Number the distinct among (n,) values from 0 on, in order of their first rows.

    Args:
        values: (n,).
        labels: (n,) written: the number of each.
        distinct: (n,) written: the value of each number.

    Returns:
        How many there are; TOO_MANY_STEPS where values collide so often that sorting them is faster.

    Cost: 3 ns a value while the table fits a cache, 20 ns past that.
    """
    slots = np.full(_SLOTS_MIN, -1, dtype=np.int32)
    words = values.view(np.uint64)
    count, steps = 0, 0
    for row in range(len(values)):
        mask = np.uint64(len(slots) - 1)
        at = _mixed(words[row]) & mask
        while slots[at] >= 0 and distinct[slots[at]] != values[row]:
            at = (at + np.uint64(1)) & mask
            steps += 1
        if slots[at] >= 0:
            labels[row] = slots[at]
            continue
        slots[at] = labels[row] = count
        distinct[count] = values[row]
        count += 1
        if steps > _STEPS_A_ROW_MAX * (row + _SLOTS_MIN):
            return TOO_MANY_STEPS
        if 2 * count > len(slots):
            slots = np.full(4 * len(slots), -1, dtype=np.int32)
            mask = np.uint64(len(slots) - 1)
            for number in range(count):
                at = _mixed(np.uint64(distinct[number])) & mask
                while slots[at] >= 0:
                    at = (at + np.uint64(1)) & mask
                slots[at] = number
    return count


@compiled
def renumber(labels: Integers, numbers: Integers) -> None:
    """Replace each of (n,) labels by `numbers[label]`."""
    for row in range(len(labels)):
        labels[row] = numbers[labels[row]]


@compiled
def divide(
    labels: NDArray[Any], edges: Integers, groups: int, found: Integers, counts: Integers
) -> None:
    """Number the groups of each unit by themselves: group g of unit u is number `u * groups + g`.

    Args:
        labels: (n,) the group of each row, int32 or int64.
        edges: (u + 1,) where the rows of each unit begin, and the last ones end, at n.
        groups: how many groups there are.
        found: (n,) written: the number of each row.
        counts: (u * groups,) added to: how many rows have each number.

    Cost: 0.7 ns a row.
    """
    for unit in range(len(edges) - 1):
        for row in range(edges[unit], edges[unit + 1]):
            number = unit * groups + labels[row]
            found[row] = number
            counts[np.uint64(number)] += 1


@compiled
def first_of_groups(labels: NDArray[Any], found: Integers) -> None:
    """Write the first row of each group.

    Args:
        labels: (n,) the group of each row, int32 or int64.
        found: (g,) filled with -1; a group without rows keeps it.

    Cost: 0.3 ns a row, up to the one by which each group has one.
    """
    left = len(found)
    for row in range(len(labels)):
        group = np.uint64(labels[row])
        if found[group] < 0:
            found[group] = row
            left -= 1
            if left == 0:
                return


@compiled
def rows_by_group(labels: Integers, edges: Integers, rows: Integers) -> None:
    """Write the rows of each group, group after group, ascending in each.

    Args:
        labels: (n,) the group of each row.
        edges: (g + 1,) zeros; written: where the rows of each group begin, and the last ones end.
        rows: (n,) written.
    """
    for label in labels:
        edges[label + 1] += 1
    for group in range(1, len(edges)):
        edges[group] += edges[group - 1]
    places = edges.copy()
    for row in range(len(labels)):
        rows[places[labels[row]]] = row
        places[labels[row]] += 1


@compiled
def sort_runs(values: Integers, edges: Integers, length_max: int) -> None:
    """Sort the values `[edges[i], edges[i + 1])` for each i, but for runs longer than `length_max`."""
    for run in range(len(edges) - 1):
        if 1 < edges[run + 1] - edges[run] <= length_max:
            values[edges[run] : edges[run + 1]].sort()
