"""The smallest and the largest of some values, in one pass: every chunk of every column is asked for them once."""

from typing import Any

from numpy.typing import NDArray

from psoup.engine.kernels.compiled import compiled


@compiled
def least_most(values: NDArray[Any]) -> tuple[Any, Any]:
    """Return the smallest and the largest of (n,) int64 or finite float64 values, of which there is one at least.

    Four at a time: comparing with one running value, each step would wait for the one before.

    Cost: O(n), 2.5 µs for 4,096 whole numbers and 4 µs for floats: half of what NumPy's two passes take.
    """
    low0 = low1 = low2 = low3 = values[0]
    high0 = high1 = high2 = high3 = values[0]
    paced = len(values) // 4 * 4
    for at in range(0, paced, 4):
        one, two, three, four = values[at], values[at + 1], values[at + 2], values[at + 3]
        low0 = one if one < low0 else low0
        high0 = one if one > high0 else high0
        low1 = two if two < low1 else low1
        high1 = two if two > high1 else high1
        low2 = three if three < low2 else low2
        high2 = three if three > high2 else high2
        low3 = four if four < low3 else low3
        high3 = four if four > high3 else high3
    for at in range(paced, len(values)):
        low0, high0 = min(low0, values[at]), max(high0, values[at])
    return min(low0, low1, low2, low3), max(high0, high1, high2, high3)
