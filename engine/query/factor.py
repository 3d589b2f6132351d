"""Boolean factors: the conjuncts of a WHERE, in the two forms the Query SteM takes.

`AttributeFactor`: everything a query asks of one attribute, as the set of values for which it is TRUE.
All single-attribute conjuncts over that attribute are already intersected into it, so a grouped filter
never has to combine two factors of one query (combining them with OR is CACQ's defect, papers 5.1).
`ResidualFactor`: everything that cannot be indexed, evaluated column-wise over surviving tuples.
"""

from dataclasses import dataclass

from engine.query.expression import ColumnRef, Expression
from engine.query.value_set import ValueSet


@dataclass(frozen=True, slots=True)
class AttributeFactor:
    """`column` lies in `values` (NULL included iff `values.null`)."""

    column: ColumnRef
    values: ValueSet


@dataclass(frozen=True, slots=True)
class ResidualFactor:
    """`expression` is TRUE. A BOOLEAN expression over one or more columns, or over none."""

    expression: Expression


BooleanFactor = AttributeFactor | ResidualFactor
