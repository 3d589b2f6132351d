"""Structures for sliding windows answer as if all values of the window were read again."""

import numpy as np
import pytest

from benchmarks.sliding import Kind, Windows

CONDITIONS, VALUES = 3, 400


@pytest.mark.parametrize("length", [1, 2, 8, 64])
@pytest.mark.parametrize("kind", Kind, ids=lambda kind: kind.name)
def test_structure_answers_what_its_last_values_are(kind, length):
    """After every value, while windows fill up and when they have slid on for long, whatever the others took."""
    rng = np.random.default_rng(length)
    conditions = rng.integers(0, CONDITIONS, VALUES)
    values = np.round(rng.normal(0, 9, VALUES)) / 4  # sums of quarters are exact in any order
    windows, found = Windows(kind, CONDITIONS, length), np.empty((VALUES, 4))
    windows.slide(conditions, values, found)
    taken: list[list[float]] = [[] for _ in range(CONDITIONS)]
    for condition, value, answer in zip(conditions, values, found.tolist(), strict=True):
        taken[condition].append(value)
        last = taken[condition][-length:]
        assert [len(last), sum(last), min(last), max(last)] == answer
    ends = [[len(one[-length:]), sum(one[-length:])] for one in taken]
    assert ends == windows.answers()[:, :2].tolist()


def test_structure_is_asked_as_often_as_there_is_room():
    """Every third value, or never."""
    conditions, values = np.zeros(6, np.int64), np.arange(6.0)
    windows, found = Windows(Kind.DABA, 1, 4), np.empty((2, 4))
    windows.slide(conditions, values, found)
    assert [3.0, 14.0] == found[:, 1].tolist()
    windows.slide(conditions, values, np.empty((0, 4)))
    assert [[4.0, 14.0, 2.0, 5.0]] == windows.answers().tolist()
