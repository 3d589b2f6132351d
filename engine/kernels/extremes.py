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
def least_of_spans(
    keys: Integers, low: Integers, high: Integers, tree: Integers, found: Integers
) -> None:
    """Write the least of the keys `[low[i], high[i])` for each span i, none of which is empty.

    Args:
        keys: (n,).
        low: (k,) where spans begin.
        high: (k,) where they end.
        tree: (2 n,) written: keys, and above each two of them the lesser.
        found: (k,) written.

    Cost: 2 ns a key, O(log n) for each span, nothing where it is that of the span before.
    """
    count = len(keys)
    tree[count:] = keys
    for node in range(count - 1, 0, -1):
        tree[node] = min(tree[2 * node], tree[2 * node + 1])
    for span in range(len(low)):
        if span and low[span] == low[span - 1] and high[span] == high[span - 1]:
            found[span] = found[span - 1]
            continue
        least = keys[low[span]]
        begin, past = low[span] + count, high[span] + count
        while begin < past:
            if begin & 1:
                least = min(least, tree[begin])
                begin += 1
            if past & 1:
                past -= 1
                least = min(least, tree[past])
            begin >>= 1
            past >>= 1
        found[span] = least


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
