"""The harness: contests between ways to one answer, measured in turn, with a hash of the answer.

A module `bench_<name>.py` offers `contests(size)`. Contenders of one contest take turns, round after
round, so that whatever slows the machine down slows all of them. Every run's answer is hashed and all
hashes of a contest have to be equal: nobody wins by computing something else.
"""

import gc
import hashlib
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

ROUNDS_COUNT_MIN = 5


class Size(StrEnum):
    """How large the inputs are: small enough for a test, or large enough to mean something."""

    SMOKE = "smoke"
    FULL = "full"

    def pick(self, *, smoke: int, full: int) -> int:
        """Return the value of a parameter at this size."""
        return smoke if self is Size.SMOKE else full


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to the answer: `run` is timed, `setup` makes what it works on and is not.

    `answer` turns what `run` returned into bytes that are equal for equal answers; it is not timed.
    """

    name: str
    setup: Callable[[], Any]
    run: Callable[[Any], Any]
    answer: Callable[[Any], bytes]


@dataclass(frozen=True, slots=True)
class Contest:
    """Ways to one answer. One run handles `count` things called `unit`; ours stands first."""

    title: str
    unit: str
    count: int
    contenders: Sequence[Contender]


@dataclass(frozen=True, slots=True)
class Result:
    """What one contender of one contest took, in seconds per run, and the hash of its answer."""

    contest: Contest
    contender: Contender
    seconds: tuple[float, ...]
    digest: str

    @property
    def best_s(self) -> float:
        """Return the shortest run: what the code costs when nothing disturbs it."""
        return min(self.seconds)

    @property
    def median_s(self) -> float:
        """Return the median run: what a user sees."""
        return statistics.median(self.seconds)

    @property
    def per_unit_ns(self) -> float:
        """Return nanoseconds per unit, of the median run."""
        return self.median_s / self.contest.count * 1e9


def measure(contest: Contest, *, rounds: int = ROUNDS_COUNT_MIN) -> list[Result]:
    """Return one result per contender: a warm-up each, then `rounds` rounds in turn.

    Raises:
        ValueError: fewer rounds than a median wants.
        AssertionError: two runs, of one contender or of two, gave different answers.
    """
    if rounds < ROUNDS_COUNT_MIN:
        message = f"{rounds} rounds: a median of fewer than {ROUNDS_COUNT_MIN} says nothing"
        raise ValueError(message)
    digests = {_run(contender)[1] for contender in contest.contenders}
    seconds: list[list[float]] = [[] for _ in contest.contenders]
    for _ in range(rounds):
        for taken, contender in zip(seconds, contest.contenders, strict=True):
            elapsed, digest = _run(contender)
            taken.append(elapsed)
            digests.add(digest)
    assert len(digests) == 1, f"{contest.title}: answers differ, hashes {sorted(digests)}"
    return [
        Result(contest, contender, tuple(taken), min(digests))
        for contender, taken in zip(contest.contenders, seconds, strict=True)
    ]


def _run(contender: Contender) -> tuple[float, str]:
    """Return how long one run took, without collecting garbage meanwhile, and its answer's hash."""
    state = contender.setup()
    gc.collect()
    gc.disable()
    try:
        start = time.perf_counter()
        outcome = contender.run(state)
        elapsed = time.perf_counter() - start
    finally:
        gc.enable()
    return elapsed, hashlib.sha256(contender.answer(outcome)).hexdigest()[:16]
