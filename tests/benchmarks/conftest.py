"""Benchmarks look for garbage before each round: what the process of the tests holds stays out of these looks.

There is so much of it that each look takes a second, of which there are hundreds.
"""

import gc

import pytest


@pytest.fixture(scope="module", autouse=True)
def held_by_others() -> None:
    """Freeze what tests before have left."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def frozen_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a benchmark that undoes its own freezing from undoing that of the tests."""
    monkeypatch.setattr(gc, "unfreeze", lambda: None)
