"""What answering a query takes from its clause and shape, worked out once and kept with the bound query."""

from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.join_shape import JoinPlan
from psoup.engine.query.shape import Shape
from psoup.engine.query.values.expression import column_refs

Names = tuple[tuple[str, ...], ...]
"""For each source the columns that the shape reads of its rows, ascending by name."""


class Reading:
    """A clause and a shape, and what follows from them when it is first asked for.

    Shared by threads: each finds the same.
    """

    __slots__ = ("_names", "_plan", "clause", "shape")

    def __init__(self, clause: StandingQueryClause, shape: Shape) -> None:
        """Begin with these alone: a registration asks for nothing else."""
        self.clause = clause
        self.shape = shape
        self._names: Names | None = None
        self._plan: JoinPlan | None = None

    @property
    def names(self) -> Names:
        """Return the columns that the shape reads of rows."""
        if self._names is None:
            names: list[set[str]] = [set() for _ in self.clause.sources]
            for expression in self.shape.over_rows:
                for ref in column_refs(expression):
                    names[ref.source].add(ref.name)
            self._names = tuple(tuple(sorted(some)) for some in names)
        return self._names

    @property
    def plan(self) -> JoinPlan:
        """Return how to join the clause, which is over several sources."""
        if self._plan is None:
            self._plan = JoinPlan(self.clause)
        return self._plan
