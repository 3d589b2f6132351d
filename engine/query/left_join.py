"""LEFT JOIN: what it adds to the inner join whose hits it shares.

`FROM a LEFT JOIN b ON on WHERE where` shows the pairs of a and b for which `on` is TRUE, and each tuple of a without
any, beside NULLs; then WHERE is applied. Both are what the windows show at an instant: a tuple of a whose partners are
not visible stands beside NULLs. The condition that stands in the Query SteM is that of the pairs, with what WHERE asks
of a alone: `SELECT 1 FROM a, b WHERE on AND alone`. In place of a may stand an inner join, whose conditions are
conjuncts of WHERE.
"""

from dataclasses import dataclass

from psoup.engine.query.factor import BooleanFactor
from psoup.engine.query.values.expression import Expression


@dataclass(frozen=True, slots=True)
class LeftJoin:
    """A LEFT JOIN of the last source of FROM to those before it.

    Attributes:
        on: the condition behind ON, in normal form.
        alone: the factors of those conjuncts of WHERE that read no column of the last source.
        rest: the other conjuncts of WHERE, which are asked of composites and of rows beside NULLs; None = there are
            none.
    """

    on: Expression
    alone: tuple[BooleanFactor, ...]
    rest: Expression | None
