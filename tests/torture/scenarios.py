"""The scenarios of the catalogue (decision 0013): what is broken, under whom, and for what part of a run."""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from tests.torture.deployment import Shape
from tests.torture.lost import lost_store, lost_tail
from tests.torture.nemesis import Faults
from tests.torture.overload import far_store, overload
from tests.torture.run import Plan, Report, Show, torture

SETTINGS: Final = {"PSOUP_INGEST_DEADLINE_S": "3", "PSOUP_REGISTER_DEADLINE_S": "5"}
"""Short deadlines, so that some operations are answered 202."""


class Scenario(Protocol):
    """Runs in an empty folder for about so many seconds."""

    def __call__(self, folder: Path, *, seed: int, seconds: float, show: Show) -> Awaitable[Report]:
        """Return what it did and found."""
        ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A scenario, what it says of itself, and its share of a run in parts of all shares."""

    run: Scenario
    says: str
    share: float
    needs_redis: bool = False


def planned(plan: Plan) -> Scenario:
    """Return the scenario that is one run of a plan."""

    async def run(folder: Path, *, seed: int, seconds: float, show: Show) -> Report:
        return await torture(plan, folder, seed=seed, seconds=seconds, show=show)

    return run


def _serve(**given: object) -> Shape:
    return Shape(engines=0, workers=0, settings=SETTINGS, **given)  # type: ignore[arg-type]


def _apart(**given: object) -> Shape:
    return Shape(settings=SETTINGS, **given)  # type: ignore[arg-type]


_REDIS_KILLS: Final = Faults(weights={"kill redis": 1}, every_s=(0.01, 0.2), settled=True)

PLANS: Final[Mapping[str, tuple[Plan, str, float]]] = {
    "embedded": (
        Plan(
            name="embedded",
            shape=_serve(server=None),
            faults=Faults(
                weights={"kill redis": 2, "kill api": 1}, every_s=(0.01, 0.5), settled=True
            ),
            cuts=0.05,
        ),
        "R-01: psoup serve and its embedded server are killed under appends and publishes",
        1.5,
    ),
    "redis": (
        Plan(name="redis", shape=_apart(server="redis", engines=1), faults=_REDIS_KILLS, cuts=0.05),
        "R-01: Redis 7 is killed under appends and publishes, processes apart",
        1.5,
    ),
    "valkey": (
        Plan(name="valkey", shape=_apart(engines=1), faults=_REDIS_KILLS, cuts=0.05),
        "R-01: the same with Valkey",
        1.0,
    ),
    "memory": (
        Plan(
            name="memory",
            shape=_apart(engines=1),
            faults=Faults(weights={"fill memory": 1}, every_s=(0.5, 3)),
        ),
        "R-05: the store is full for a while; reads and removals go on",
        1.0,
    ),
    "staging": (
        Plan(
            name="staging",
            shape=_apart(),
            faults=Faults(weights={"kill staging": 1}, every_s=(0.1, 1.0), settled=True),
            crowds=1,
            phones=2,
            rows_max=40_000,
            large=0.3,
            retained=75_000,
            pace_s=0.5,
            joins=False,
        ),
        "R-07: engines are killed between the slices of a large delta",
        2.0,
    ),
    "writers": (
        Plan(
            name="writers",
            shape=_apart(engines=3, workers=1, lease_s=0.3),
            faults=Faults(weights={"pause engine": 1}, every_s=(0.05, 0.3), pause_s=(0.7, 2.7)),
            producers=2,
            phones=3,
            readers=1,
            takeovers=15,
        ),
        "F-01: three engines with a lease of 0.3 s, stopped for 0.2 to 0.8 s at random",
        2.0,
    ),
    "workers": (
        Plan(
            name="workers",
            shape=_apart(engines=1, workers=4),
            faults=Faults(weights={"kill worker": 1}, every_s=(1.0, 1.0)),
            phones=50,
            pace_s=1.0,
        ),
        "W-01: one of four workers is killed each second under fifty phones",
        2.0,
    ),
    "cuts": (
        Plan(name="cuts", shape=_apart(engines=1), cuts=0.5, phones=20),
        "W-02: half of the connections are cut at some byte",
        1.0,
    ),
    "together": (
        Plan(
            name="together",
            shape=_apart(workers=1),
            faults=Faults(
                weights={"kill redis": 3, "kill worker": 2, "kill engine": 2, "kill api": 1},
                every_s=(0.05, 0.5),
                settled=True,
            ),
            producers=32,
            pace_s=0.01,
            rows_max=20,
            large=0.0,
            phones=4,
            readers=1,
            cuts=0.02,
            together=1.2,
        ),
        "appends of one worker travel in groups; whatever carries them is killed under way",
        1.5,
    ),
    "each": (
        Plan(
            name="each",
            shape=_apart(),
            faults=Faults(
                weights={
                    "kill engine": 1,
                    "kill worker": 1,
                    "kill api": 1,
                    "kill redis": 1,
                    "pause engine": 1,
                    "fill memory": 1,
                },
                every_s=(0.1, 0.5),
                settled=True,
                at_least=6,
            ),
            cuts=0.1,
        ),
        "one fault of each kind, one after the other",
        0.7,
    ),
    "mixed": (
        Plan(
            name="mixed",
            shape=_apart(),
            faults=Faults(
                weights={
                    "kill engine": 4,
                    "kill standby": 1,
                    "kill worker": 3,
                    "kill api": 1,
                    "kill redis": 3,
                    "pause engine": 2,
                    "fill memory": 1,
                },
                every_s=(1.0, 5.0),
                together=0.2,
            ),
            phones=50,
            pace_s=1.0,
            cuts=0.03,
        ),
        "engine, standby, two workers and Redis under fifty phones: a fault every few seconds",
        15.0,
    ),
}

SCENARIOS: Final[Mapping[str, Entry]] = {
    **{
        name: Entry(planned(plan), says, share, needs_redis=plan.shape.server == "redis")
        for name, (plan, says, share) in PLANS.items()
    },
    "lost-store": Entry(lost_store, "R-09: the store is emptied, or another's", 0.8),
    "lost-tail": Entry(lost_tail, "R-07: the log lost its end, another batch stands there", 0.7),
    "overload": Entry(
        overload,
        "L-01: once, twice and five times what the service can do, and a store that stands still",
        1.5,
    ),
    "far-store": Entry(far_store, "L-01: the same where the store's answers take 50 ms more", 1.5),
}


def durations(names: list[str], minutes: float) -> dict[str, float]:
    """Return for how many seconds each of the scenarios is to run, `minutes` in all."""
    whole = sum(SCENARIOS[name].share for name in names)
    return {name: minutes * 60 * SCENARIOS[name].share / whole for name in names}
