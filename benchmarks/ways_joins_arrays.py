"""NumPy's ways to joins."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.ways import Way, counts_answer, pairs_answer
from benchmarks.workloads_joins import Table

COMPARISONS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def read(condition: str) -> tuple[str, int]:
    """Return the operator and the constant of `r.a op s.b + c`."""
    _, compared, _, sign, constant = condition.split()
    return compared, int(sign + constant)


class Histograms(Way):
    """How often each value occurs on either side, and the sums of one side up to each value: no pair is looked at."""

    def __init__(self, tables: Sequence[Table], conditions: Sequence[str], *, values: int) -> None:
        """Take columns of whole numbers from 0 to less than `values`."""
        self._left, self._right = tables[0].columns["a"], tables[1].columns["b"]
        self._asked = [read(condition) for condition in conditions]
        self._values = values

    def run(self, state: None) -> list[int]:
        """Count for each query."""
        return [self._count(compared, constant) for compared, constant in self._asked]

    def answer(self, outcome: list[int]) -> bytes:
        """Return the counts."""
        return counts_answer(outcome)

    def _count(self, compared: str, constant: int) -> int:
        left = np.bincount(self._left, minlength=self._values)
        right = np.bincount(self._right, minlength=self._values)
        below = np.concatenate([[0], np.cumsum(left)])
        at = np.arange(self._values) + constant + (compared in ("<=", ">"))
        under = int((below[np.clip(at, 0, self._values)] * right).sum())
        return under if compared in ("<", "<=") else len(self._left) * len(self._right) - under


class Outer(Way):
    """Every value of one side compared with every one of the other, and the places at which that is true."""

    def __init__(self, tables: Sequence[Table], conditions: Sequence[str]) -> None:
        """Take the columns."""
        self._left = tables[0].columns["a"].astype(np.int16)
        self._right = tables[1].columns["b"].astype(np.int16)
        self._asked = [read(condition) for condition in conditions]

    def run(self, state: None) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Find the pairs of each query."""
        found = []
        for compared, constant in self._asked:
            true = COMPARISONS[compared](self._left[:, None], self._right + np.int16(constant))
            left, right = np.divmod(np.flatnonzero(true), len(self._right))
            found.append((left, right))
        return found

    def answer(self, outcome: list[tuple[NDArray[np.int64], NDArray[np.int64]]]) -> bytes:
        """Return the pairs."""
        return pairs_answer(outcome)
