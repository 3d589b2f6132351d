"""Functions of one text column as attributes: clauses are found by a value of `LOWER(sym)` as by one of `sym`.

A condition over such a function says of its values what the same condition over a column says of the column's. So where
it is TRUE comes from `truth_set.py`, with a column in the place of the function.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeGuard

import numpy as np

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.query.values.expression import (
    Call,
    ColumnRef,
    Constant,
    Expression,
    children,
    column_refs,
    with_children,
)
from psoup.engine.query.values.truth_set import true_set
from psoup.engine.query.values.value_set import ValueSet
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

DERIVING: Final = frozenset(
    {"LOWER", "UPPER", "LENGTH", "TRIM", "LTRIM", "RTRIM", "SUBSTRING", "LEFT", "RIGHT"}
)
"""Functions that take some nanoseconds a character, and more where letters are changed one by one, as in a text with a
sharp s. Those that search (REPLACE, STRPOS) are left to be computed for the rows that other conditions leave."""


@value_type
class DerivedAttribute:
    """A function of one text column, `DERIVING` ones of each other, all other arguments being constants."""

    function: Call

    @property
    def type(self) -> ColumnType:
        """Return the type of its values."""
        return self.function.type

    @property
    def column(self) -> str:
        """Return the name of the column that it is of."""
        (ref,) = column_refs(self.function)
        return ref.name

    def values(self, column: Callable[[str], Column]) -> Column:
        """Return its values for the rows of a chunk, given its columns. Cost: one call for each text that occurs."""
        return evaluate(self.function, lambda ref: column(ref.name), CHUNK_ROWS)

    def of_texts(self, texts: Sequence[str]) -> list[Any]:
        """Return its value for each of some texts, None = NULL. Of NULL it is NULL."""
        column = Column(ColumnType.STRING, np.arange(len(texts), dtype=np.int32), None, texts)
        return evaluate(self.function, lambda _: column, len(texts)).to_list()


def derived_set(condition: Expression) -> tuple[DerivedAttribute, ValueSet] | None:
    """Return the derived attribute that alone a condition is over, and for which values of it the condition is TRUE.

    None where it is over something else besides, or where `true_set` finds no set.
    """
    leaves = set(_leaves(condition))
    function = leaves.pop() if len(leaves) == 1 else None
    if not isinstance(function, Call):
        return None
    values = true_set(_with_column(condition, function))
    return None if values is None else (DerivedAttribute(function), values)


def _leaves(expression: Expression) -> Iterator[Call | ColumnRef]:
    """Yield the largest derived attributes in an expression, and the columns that stand outside of these."""
    if isinstance(expression, ColumnRef) or _is_derived(expression):
        yield expression
        return
    for one in children(expression):
        yield from _leaves(one)


def _is_derived(expression: Expression) -> TypeGuard[Call]:
    """Return whether an expression is a call that a derived attribute may be."""
    if not isinstance(expression, Call) or expression.function not in DERIVING:
        return False
    of, *others = expression.arguments
    if not all(isinstance(one, Constant) for one in others):
        return False
    is_column = isinstance(of, ColumnRef) and of.type is ColumnType.STRING
    return is_column or _is_derived(of)


def _with_column(expression: Expression, function: Call) -> Expression:
    """Return the expression with a column of the same type in the place of a call."""
    if expression == function:
        return ColumnRef(0, "", function.type)
    return with_children(expression, lambda one: _with_column(one, function))
