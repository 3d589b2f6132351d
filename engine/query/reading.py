"""What answering a query takes from its clause and shape, worked out once and kept with the bound query."""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.join_shape import JoinPlan
from psoup.engine.query.shape import Shape
from psoup.engine.query.values.expression import Expression, column_refs

Made = TypeVar("Made")
Names = tuple[tuple[str, ...], ...]
"""For each source the columns that some expressions read, ascending by name."""


class Reading:
    """A clause and a shape, and what follows from them when it is first asked for.

    Shared by threads: each finds the same.
    """

    __slots__ = (
        "_group_names",
        "_key_names",
        "_left",
        "_made",
        "_names",
        "_order_names",
        "_partition_names",
        "_plan",
        "clause",
        "selects_only",
        "shape",
    )

    def __init__(self, clause: StandingQueryClause, shape: Shape) -> None:
        """Begin with these alone: a registration asks for nothing else."""
        self.clause = clause
        self.shape = shape
        self.selects_only = shape.selects_only
        self._names: Names | None = None
        self._key_names: Names | None = None
        self._group_names: Names | None = None
        self._order_names: Names | None = None
        self._partition_names: Names | None = None
        self._plan: JoinPlan | None = None
        self._made: dict[Callable[[Shape], Any], Any] = {}
        self._left: Reading | None = None

    @property
    def names(self) -> Names:
        """Return the columns that the select list reads, which is over rows."""
        if self._names is None:
            self._names = self._read_by(output.expression for output in self.shape.outputs)
        return self._names

    @property
    def order_names(self) -> Names:
        """Return the columns that ORDER BY reads, which is over rows."""
        if self._order_names is None:
            self._order_names = self._read_by(entry.expression for entry in self.shape.order)
        return self._order_names

    @property
    def key_names(self) -> Names:
        """Return the columns that GROUP BY reads."""
        if self._key_names is None:
            self._key_names = self._read_by(self.shape.keys or ())
        return self._key_names

    @property
    def group_names(self) -> Names:
        """Return the columns that GROUP BY and aggregates read."""
        if self._group_names is None:
            read = list(self.shape.keys or ())
            for call in self.shape.aggregates:
                read += call.arguments
                if call.filter is not None:
                    read.append(call.filter)
            self._group_names = self._read_by(read)
        return self._group_names

    @property
    def left(self) -> "Reading":
        """Return the same of the sources before that of a LEFT JOIN, and of what is asked of these alone."""
        if self._left is None:
            left_join = self.shape.left_join
            assert left_join is not None, "the query has a LEFT JOIN"
            clause = StandingQueryClause("", self.clause.sources[:-1], left_join.alone)
            windows = self.shape.row_windows[:-1]
            self._left = Reading(clause, Shape((), row_windows=windows if any(windows) else ()))
        return self._left

    @property
    def left_names(self) -> Names:
        """Return the columns that WHERE reads after a LEFT JOIN."""
        left_join = self.shape.left_join
        assert left_join is not None, "the query has a LEFT JOIN"
        return self._read_by(() if left_join.rest is None else (left_join.rest,))

    @property
    def partition_names(self) -> Names:
        """Return the columns that the row windows of sources partition by."""
        if self._partition_names is None:
            windows = [one for one in self.shape.row_windows if one is not None]
            self._partition_names = self._read_by(key for one in windows for key in one.keys)
        return self._partition_names

    @property
    def plan(self) -> JoinPlan:
        """Return how to join the clause, which is over several sources."""
        if self._plan is None:
            self._plan = JoinPlan(self.clause)
        return self._plan

    def of_shape(self, make: Callable[[Shape], Made]) -> Made:
        """Return what `make` makes of the shape, made once; `make` is a function of a module."""
        found: Made | None = self._made.get(make)
        if found is None:
            found = self._made[make] = make(self.shape)
        return found

    def _read_by(self, expressions: Iterable[Expression]) -> Names:
        names: list[set[str]] = [set() for _ in self.clause.sources]
        for expression in expressions:
            for ref in column_refs(expression):
                names[ref.source].add(ref.name)
        return tuple(tuple(sorted(some)) for some in names)
