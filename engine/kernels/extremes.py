"""The least and the largest value of each group, and the row of each group that stands first by several keys."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.compiled import compiled
from psoup.engine.kernels.span import least_most

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


@compiled
def extremes_of_runs(values: Any, edges: Integers, least: Any, largest: Any) -> None:
    """Write the least and the largest of the values `[edges[i], edges[i + 1])` for each group i that has some.

    Cost: 0.5 ns a value.
    """
    for group in range(len(edges) - 1):
        if edges[group] < edges[group + 1]:
            least[group], largest[group] = least_most(values[edges[group] : edges[group + 1]])


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
