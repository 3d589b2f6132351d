"""A way to an answer as an object: made once, when its contest begins, and run in every round."""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from benchmarks.bench import Contender


class Way:
    """What a contender is. Subclasses are made with their inputs in place, untimed."""

    def setup(self) -> Any:  # noqa: ANN401 (what `run` takes is the way's own affair)
        """Return what the next run works on."""
        return None

    def run(self, state: Any) -> Any:  # noqa: ANN401
        """Do what is timed."""
        raise AssertionError(f"{type(self).__name__} does not run")

    def answer(self, outcome: Any) -> bytes:  # noqa: ANN401
        """Return what `run` found, in the form that all ways of the contest share."""
        raise AssertionError(f"{type(self).__name__} has no answer")


def contender(
    name: str, make: Callable[[], Way], *, count: int | None = None, needs: str = ""
) -> Contender:
    """Return the contender that runs the way which `make` makes, at its first turn."""
    one = functools.cache(make)
    return Contender(
        name,
        setup=lambda: one().setup(),
        run=lambda state: one().run(state),
        answer=lambda outcome: one().answer(outcome),
        count=count,
        needs=needs,
    )


def left_out(name: str, why: str) -> Contender:
    """Return the contender that takes no part at this size."""
    return Contender(name, setup=list, run=list, answer=bytes, beyond=why)


def counts_answer(counts: ArrayLike) -> bytes:
    """Return the answer of ways that count: int64, in the order of the queries."""
    return np.asarray(counts, dtype=np.int64).tobytes()


def rows_answer(found: Sequence[tuple[ArrayLike, Sequence[ArrayLike]]]) -> bytes:
    """Return the answer of ways that return rows: of each query its row numbers and its columns.

    Rows are put in order of their numbers here, untimed: not every way keeps it.
    """
    parts: list[bytes] = []
    for numbers, columns in found:
        rows = np.asarray(numbers, dtype=np.int64)
        order = np.argsort(rows, kind="stable")
        parts.append(rows[order].tobytes())
        parts += [np.asarray(column, dtype=np.float64)[order].tobytes() for column in columns]
    return b"".join(parts)


def pairs_answer(found: Sequence[tuple[ArrayLike, ArrayLike]]) -> bytes:
    """Return the answer of ways that join two tables: of each query its pairs of row numbers, put in order here."""
    parts = []
    for left, right in found:
        keys = np.asarray(left, dtype=np.int64) << 32 | np.asarray(right, dtype=np.int64)
        parts.append(np.sort(keys).tobytes())
    return b"".join(parts)
