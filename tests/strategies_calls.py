"""Hypothesis strategies: calls of functions over a drawn schema, each with the tree that it was printed from.

Only functions that no other engine words otherwise: what each function means at its edges is asked elsewhere
(`tests/engine/query/functions`). Here they stand where columns stand.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from psoup.engine.query.values.expression import (
    Call,
    Compare,
    CompareOp,
    Constant,
    Expression,
    IsNull,
    IsTrue,
    Not,
)
from psoup.engine.tuples.schema import ColumnType

_INT64, _STRING, _TIMESTAMP = ColumnType.INT64, ColumnType.STRING, ColumnType.TIMESTAMP
_UNITS = ("second", "minute", "hour", "day", "week", "month", "quarter", "year")


@dataclass(frozen=True, slots=True)
class Drawn:
    """An expression and one way to write it."""

    text: str
    tree: Expression


Leaf = Callable[[ColumnType], st.SearchStrategy[Drawn]]
"""Draws a constant of a type."""


@st.composite
def calls(
    draw: st.DrawFn, columns: Sequence[Drawn], kind: ColumnType, constant: Leaf, depth: int = 1
) -> Drawn:
    """Draw a value of this type, computed of columns, at least one of which has the type."""
    some = [column for column in columns if column.tree.type is kind]

    def value() -> Drawn:
        if depth and draw(st.integers(0, 2)) == 0:
            return draw(calls(columns, kind, constant, depth - 1))
        return draw(st.sampled_from(some))

    own = {_STRING: _of_texts, _TIMESTAMP: _of_instants}.get(kind)
    if own is not None and draw(st.booleans()):
        return draw(own(value))
    texts = [column for column in columns if column.tree.type is _STRING]
    if kind is _INT64 and texts and draw(st.booleans()):
        text = draw(st.sampled_from(texts))
        return Drawn(f"LENGTH({text.text})", Call("LENGTH", (text.tree,), _INT64))
    return draw(_choices(columns, kind, value, constant))


@st.composite
def _choices(
    draw: st.DrawFn,
    columns: Sequence[Drawn],
    kind: ColumnType,
    value: Callable[[], Drawn],
    constant: Leaf,
) -> Drawn:
    one, other = value(), draw(constant(kind))
    match draw(st.integers(0, 2)):
        case 0:
            tree = Call("COALESCE", (one.tree, other.tree), kind)
            return Drawn(f"COALESCE({one.text}, {other.text})", tree)
        case 1:
            name = draw(st.sampled_from(["GREATEST", "LEAST"]))
            tree = Call(name, (one.tree, other.tree), kind)
            return Drawn(f"{name}({one.text}, {other.text})", tree)
        case _:
            tested = draw(st.sampled_from(columns))
            found = value()
            tree = Call("CASE", (IsNull(tested.tree), found.tree, one.tree), kind)
            text = f"CASE WHEN {tested.text} IS NULL THEN {found.text} ELSE {one.text} END"
            return Drawn(text, tree)


@st.composite
def _of_texts(draw: st.DrawFn, value: Callable[[], Drawn]) -> Drawn:
    text = value()
    match draw(st.integers(0, 3)):
        case 0:
            other = value()
            return Drawn(
                f"({text.text} || {other.text})", Call("||", (text.tree, other.tree), _STRING)
            )
        case 1:
            count = draw(st.integers(1, 3))
            tree = Call("LEFT", (text.tree, Constant(count, _INT64)), _STRING)
            return Drawn(f"LEFT({text.text}, {count})", tree)
        case _:
            name = draw(st.sampled_from(["LOWER", "UPPER"]))
            return Drawn(f"{name}({text.text})", Call(name, (text.tree,), _STRING))


@st.composite
def _of_instants(draw: st.DrawFn, value: Callable[[], Drawn]) -> Drawn:
    instant, unit = value(), draw(st.sampled_from(_UNITS))
    tree = Call("DATE_TRUNC", (Constant(unit, _STRING), instant.tree), _TIMESTAMP)
    return Drawn(f"DATE_TRUNC('{unit}', {instant.text})", tree)


@st.composite
def distinct_tests(draw: st.DrawFn, column: Drawn, constant: Drawn) -> Drawn:
    """Draw `x IS [NOT] DISTINCT FROM constant`, in words of SQL without it in the tree."""
    equal = IsTrue(Compare(CompareOp.EQ, column.tree, constant.tree))
    if draw(st.booleans()):
        return Drawn(f"{column.text} IS DISTINCT FROM {constant.text}", Not(equal))
    return Drawn(f"{column.text} IS NOT DISTINCT FROM {constant.text}", equal)
