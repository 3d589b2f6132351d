"""Boolean factors: the conjuncts of a WHERE, in the forms that SteMs take.

`AttributeFactor`: everything a query asks of one attribute, as the set of values for which it is TRUE.
All single-attribute conjuncts over that attribute are already intersected into it, so a grouped filter
never has to combine two factors of one query (combining them with OR is CACQ's defect, papers 5.1).
`DerivedFactor`: everything a query asks of one function of a text column, as the set of the function's values; where
no index takes it, it is a residual factor.
`EquiFactor`, `BandFactor`: what a pair of tuples of two sources is looked up by, in the key index of either side.
`ResidualFactor`: everything that cannot be indexed, evaluated column-wise over surviving tuples, or composites.
"""

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from psoup.engine.query.values.expression import (
    Call,
    ColumnRef,
    Compare,
    CompareOp,
    Constant,
    Expression,
    children,
    column_refs,
)
from psoup.engine.query.values.value_set import ValueSet
from psoup.engine.tuples.schema import ColumnType

if TYPE_CHECKING:  # they load kernels, which those who have a file's rows and no engine do without
    from psoup.engine.query.values.derived import DerivedAttribute
    from psoup.engine.tuples.chunk import Attribute

SAFE_MAX: Final = 2**62 - 1
"""Two numbers of up to this size have a sum and a difference."""


@dataclass(frozen=True, slots=True)
class AttributeFactor:
    """`column` lies in `values` (NULL included iff `values.null`)."""

    column: ColumnRef
    values: ValueSet

    @property
    def attribute(self) -> "Attribute":
        """Return what `values` are of."""
        return self.column.name

    @property
    def type(self) -> ColumnType:
        """Return the type of the attribute."""
        return self.column.type


@dataclass(frozen=True, slots=True)
class ResidualFactor:
    """`expression` is TRUE. A BOOLEAN expression over one or more columns, or over none."""

    expression: Expression


@dataclass(frozen=True, slots=True)
class DerivedFactor(ResidualFactor):
    """A residual factor that is TRUE iff `attribute` lies in `values`: an index may take it, and need not."""

    attribute: "DerivedAttribute"
    values: ValueSet

    @property
    def type(self) -> ColumnType:
        """Return the type of the attribute."""
        return self.attribute.type


@dataclass(frozen=True, slots=True)
class EquiFactor:
    """`left` = `right`, each over one source, `left` over the one that stands earlier in FROM.

    The sides are of one type, or both numbers. Never TRUE where a side is NULL.
    """

    left: Expression
    right: Expression


@dataclass(frozen=True)
class BandFactor:
    """What conjuncts say of the difference `left` - `right`, each over one source, `left` over the earlier.

    Attributes:
        left, right: INT64, FLOAT64 or TIMESTAMP; a TIMESTAMP only beside another one.
        conditions: the factor is TRUE where all of these are.
        low, high: the difference lies in `[low, high]` wherever the factor is TRUE; None = open. Integers but
            where a side is FLOAT64, whose difference is that of the sides as DOUBLEs, not rounded; microseconds
            between timestamps. Integers are at most 2**64 from 0; `low` > `high` where nothing is between.
        low_closed, high_closed: where `exact`, whether the ends themselves belong to it.
        exact: `left` and `right` compared with each other say all that the conditions do: every end is 0 or open.
            Else the bounds may let a few others through, which the conditions tell apart.
    """

    left: Expression
    right: Expression
    conditions: tuple[Expression, ...]
    low: int | float | None
    high: int | float | None
    low_closed: bool = True
    high_closed: bool = True
    exact: bool = False

    @property
    def is_bounded(self) -> bool:
        """Return whether a value of one side asks for a span of the other with two ends."""
        return self.low is not None and self.high is not None

    @functools.cached_property
    def constants_said(self) -> int | None:
        """Return the sum of the sizes of all constants in the conditions; None where the bounds do not say all.

        Worked out once: for a count it would take longer than counting.
        """
        if not all(_is_said(self, condition) for condition in self.conditions):
            return None
        return sum(_constants(condition) for condition in self.conditions)


JoinFactor = EquiFactor | BandFactor
IndexedFactor = AttributeFactor | DerivedFactor
"""What a grouped filter takes."""
BooleanFactor = AttributeFactor | ResidualFactor | EquiFactor | BandFactor


def columns_read(factor: BooleanFactor) -> frozenset[ColumnRef]:
    """Return the columns that a factor reads."""
    match factor:
        case AttributeFactor(column=column):
            return frozenset({column})
        case ResidualFactor(expression=expression):
            return column_refs(expression)
        case EquiFactor(left=left, right=right) | BandFactor(left=left, right=right):
            return column_refs(left) | column_refs(right)


def _is_said(band: BandFactor, condition: Expression) -> bool:
    """Return whether the bounds of a band that is not exact say all of one of its conditions.

    They do not of a size that equals something, or of the size of a size: the ends are those of the difference. Nor
    of `<` between the bare sides, whose end counts as inclusive in the band.
    """
    if not isinstance(condition, Compare) or _sizes(condition) > (condition.op is not CompareOp.EQ):
        return False
    bare = {condition.left, condition.right} == {band.left, band.right}
    return not (bare and condition.op in (CompareOp.LT, CompareOp.GT))


def _sizes(expression: Expression) -> int:
    """Return how many ABS there are in an expression."""
    is_size = isinstance(expression, Call) and expression.function == "ABS"
    return is_size + sum(map(_sizes, children(expression)))


def _constants(expression: Expression) -> int:
    """Return the sum of the sizes of all constants in an expression over whole numbers."""
    if isinstance(expression, Constant):
        return abs(int(expression.value)) if isinstance(expression.value, int) else SAFE_MAX + 1
    return sum(map(_constants, children(expression)))
