"""What joins have done, in numbers: what routes are chosen by, and what `/v1/status` tells."""

from dataclasses import dataclass, field

from psoup.engine.query.join_shape import Step


@dataclass(slots=True)
class StepCounts:
    """Recent counts of one step: rows that looked up partners, and partners found."""

    lookups: float = 0.0
    partners: float = 0.0

    @property
    def fan_out(self) -> float:
        """Return the partners of a row on average; 1 before anything was seen."""
        return self.partners / self.lookups if self.lookups else 1.0

    def fade(self) -> None:
        """Let what was seen count half: streams change, and routes have to follow."""
        self.lookups /= 2
        self.partners /= 2


@dataclass(slots=True)
class JoinCounts:
    """What joins have done.

    Attributes:
        fresh_rows: rows that entered.
        candidates: their possible partners in other sources that some clause can still be satisfied by.
        semijoined: rows that were left out because they have no partner further on.
        intermediates: composites built of some of the sources, not of all.
        results: composites of all sources that satisfy some clause.
        steps: candidates and pairs come to, and conditions evaluated for them.
        by_step: what each step between two sources came to.
    """

    fresh_rows: int = 0
    candidates: int = 0
    semijoined: int = 0
    intermediates: int = 0
    results: int = 0
    steps: int = 0
    by_step: dict[Step, StepCounts] = field(default_factory=dict)

    def step(self, step: Step) -> StepCounts:
        """Return the counts of a step."""
        return self.by_step.setdefault(step, StepCounts())
