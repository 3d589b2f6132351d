"""The harness: contests between ways to one answer, measured in turn, with a hash of the answer.

A module `bench_<name>.py` offers `contests(size)`. Contenders of one contest take turns, round after
round, so that whatever slows the machine down slows all of them, and are compared round by round. Every
run's answer is hashed and all hashes of a contest have to be equal: nobody wins by computing something else.
What is no contest (a rate beside another one, a size, what a service does) is a survey: figures.
"""

import gc
import hashlib
import importlib.util
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

ROUNDS_COUNT_MIN = 5
"""A median of fewer says nothing; smoke size, which says nothing anyway, takes one."""


ROUNDS_COUNT_MAX = 31
"""Of contests that are over quickly."""


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

    Attributes:
        name: what it does; ours begins with psoup.
        setup: called before every run.
        run: takes what `setup` returned.
        answer: turns what `run` returned into bytes that are equal for equal answers; not timed.
        count: things it handles in a run; None = the contest's. A slow one may do fewer of the same.
        needs: the package without which it cannot take part.
        lacking: names what else is missing for it to take part, "" = nothing.
        beyond: says why it takes no part at this size, "" = it does: it would need too much time or memory.
    """

    name: str
    setup: Callable[[], Any]
    run: Callable[[Any], Any]
    answer: Callable[[Any], bytes]
    count: int | None = None
    needs: str = ""
    lacking: Callable[[], str] = str
    beyond: str = ""


def again(one: Contender, times: int) -> Contender:
    """Return the contender that does the same `times` times in a run, and answers what it found last."""

    def run(state: Any) -> Any:  # noqa: ANN401 (what `setup` returned, and what the last run does)
        outcome = None
        for _ in range(times):
            outcome = one.run(state)
        return outcome

    return replace(one, run=run)


@dataclass(frozen=True, slots=True)
class Contest:
    """Ways to one answer. One run handles `count` things called `unit`; ours stands first."""

    key: str
    title: str
    unit: str
    count: int
    contenders: Sequence[Contender]


@dataclass(frozen=True, slots=True)
class Figure:
    """One number that a survey found; `key` is unique, `group` the title of the survey."""

    key: str
    title: str
    value: float
    unit: str
    group: str = ""

    def of(self, group: str) -> "Figure":
        """Return the figure as one of a survey's."""
        return replace(self, group=group)


@dataclass(frozen=True, slots=True)
class Survey:
    """Numbers that have no contender. `key` begins the keys of its figures."""

    key: str
    title: str
    run: Callable[[], Sequence[Figure]]


Measurement = Contest | Survey


@dataclass(frozen=True, slots=True)
class Result:
    """What one contender of one contest took, in seconds per run, and the hash of its answer.

    It holds names and numbers only: what contenders worked on can go. `cpu_seconds` are those of all threads of this
    process, and of no other one: of a service, PostgreSQL or Spark they are the asking alone.
    """

    key: str
    title: str
    unit: str
    contender: str
    count: int
    seconds: tuple[float, ...]
    cpu_seconds: tuple[float, ...]
    digest: str

    @property
    def best_s(self) -> float:
        """Return the shortest run per unit: what the code costs when nothing disturbs it."""
        return min(self.seconds) / self.count

    @property
    def median_s(self) -> float:
        """Return the median run per unit: what a user sees."""
        return statistics.median(self.seconds) / self.count

    @property
    def cpu_s(self) -> float:
        """Return the median run per unit in CPU time: on a busy machine less moved than what a user sees."""
        return statistics.median(self.cpu_seconds) / self.count

    def times(self, ours: "Result") -> float:
        """Return how often `ours` could have run meanwhile: the median over the rounds, per unit."""
        pairs = zip(self.seconds, ours.seconds, strict=True)
        ratios = [(theirs_s / self.count) / (ours_s / ours.count) for theirs_s, ours_s in pairs]
        return statistics.median(ratios)


@dataclass(slots=True)
class Findings:
    """All that was measured; `absent` says who could not take part."""

    results: list[Result] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    def add(self, others: "Findings") -> None:
        """Take over what others have found."""
        self.results += others.results
        self.figures += others.figures
        self.absent += others.absent

    def result(self, key: str, contender: str = "") -> Result | None:
        """Return what a contender of a contest took, the first one without a name; None = not there."""
        found = (one for one in self.results if one.key == key)
        return next((one for one in found if contender in ("", one.contender)), None)

    def figure(self, key: str) -> Figure | None:
        """Return the figure of this key, or None."""
        return next((one for one in self.figures if one.key == key), None)


def measure(
    contest: Contest, *, rounds: int = ROUNDS_COUNT_MIN, seconds: float = 0.0
) -> list[Result]:
    """Return one result per contender that can take part: a warm-up each, then rounds in turn.

    Args:
        contest: what is measured.
        rounds: at least so many.
        seconds: further rounds begin until so much time has passed, up to ROUNDS_COUNT_MAX.

    Raises:
        AssertionError: two runs, of one contender or of two, gave different answers.
    """
    contenders = [one for one in contest.contenders if not (one.beyond or missing(one))]
    seen: dict[str, str] = {}
    for contender in contenders:
        _, _, digest = _run(contender)
        seen.setdefault(digest, contender.name)
    turns = [(list[tuple[float, float]](), contender) for contender in contenders]
    begun = time.perf_counter()
    for number in range(max(rounds, ROUNDS_COUNT_MAX)):
        if number >= rounds and time.perf_counter() - begun >= seconds:
            break
        gc.collect()
        first = number % len(turns)  # nobody is always the one that finds the caches cold
        for taken, contender in turns[first:] + turns[:first]:
            elapsed_s, cpu_s, digest = _run(contender)
            taken.append((elapsed_s, cpu_s))
            seen.setdefault(digest, contender.name)
    assert len(seen) <= 1, f"{contest.title}: answers differ, hashes {seen}"
    return [
        Result(
            key=contest.key,
            title=contest.title,
            unit=contest.unit,
            contender=contender.name,
            count=contender.count or contest.count,
            seconds=tuple(elapsed_s for elapsed_s, _ in taken),
            cpu_seconds=tuple(cpu_s for _, cpu_s in taken),
            digest=min(seen),
        )
        for taken, contender in turns
    ]


def missing(contender: Contender) -> str:
    """Return what has to be installed for a contender to take part, "" = nothing."""
    if contender.needs and importlib.util.find_spec(contender.needs) is None:
        return contender.needs
    return contender.lacking()


def absences(contest: Contest) -> list[str]:
    """Return one sentence for each contender that cannot take part."""
    reasons = [
        (one.name, one.beyond or (f"{lacks} is not installed" if (lacks := missing(one)) else ""))
        for one in contest.contenders
    ]
    return [f"{contest.title}: {name} is left out, {why}" for name, why in reasons if why]


def _run(contender: Contender) -> tuple[float, float, str]:
    """Return how long one run took and its CPU time, without collecting garbage meanwhile, and its answer's hash."""
    state = contender.setup()
    gc.disable()
    try:
        start_cpu_s, start_s = time.process_time(), time.perf_counter()
        outcome = contender.run(state)
        elapsed_s = time.perf_counter() - start_s
        cpu_s = time.process_time() - start_cpu_s
    finally:
        gc.enable()
    return elapsed_s, cpu_s, hashlib.sha256(contender.answer(outcome)).hexdigest()[:16]
