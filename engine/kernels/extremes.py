"""The least and the largest value of each group, and the row of each group that stands first by several keys."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.compiled import compiled, of_finite

Integers = NDArray[np.int64]


@compiled
def least_of_groups(values: Any, labels: Integers, found: Any) -> None:
    """Write the least of the (n,) values of each group into (g,) `found`, which holds the largest value of all.

    Cost: 1.5 ns a value.
    """
    for row in range(len(values)):
        group, value = labels[row], values[row]
        found[group] = min(found[group], value)


@compiled
def largest_of_groups(values: Any, labels: Integers, found: Any) -> None:
    """Write the largest of the (n,) values of each group into (g,) `found`, which holds the least value of all.

    Cost: 1.5 ns a value.
    """
    for row in range(len(values)):
        group, value = labels[row], values[row]
        found[group] = max(found[group], value)


@of_finite
def least_of_runs(values: Any, edges: Integers, found: Any) -> None:
    """Do as `least_of_groups` where group i has the values `[edges[i], edges[i + 1])`. Cost: 0.3 ns a value."""
    for group in range(len(edges) - 1):
        least = found[group]
        for value in values[edges[group] : edges[group + 1]]:
            least = value if value < least else least
        found[group] = least


@of_finite
def largest_of_runs(values: Any, edges: Integers, found: Any) -> None:
    """Do as `largest_of_groups` where group i has the values `[edges[i], edges[i + 1])`. Cost: 0.3 ns a value."""
    for group in range(len(edges) - 1):
        largest = found[group]
        for value in values[edges[group] : edges[group + 1]]:
            largest = value if value > largest else largest
        found[group] = largest


@compiled
def first_rows(keys: Integers, labels: Integers, found: Integers) -> None:
    """Write the row of each group whose keys are the least, compared one after the other.

    Args:
        keys: (k, n); the least row number among rows that are equal in all.
        labels: (n,) the group of each row.
        found: (g,) filled with -1; a group without rows stays so.

    Cost: 3 ns a row.
    """
    for row in range(len(labels)):
        best = found[labels[row]]
        less = best < 0
        if not less:
            for key in range(len(keys)):
                if keys[key, row] != keys[key, best]:
                    less = keys[key, row] < keys[key, best]
                    break
        if less:
            found[labels[row]] = row
