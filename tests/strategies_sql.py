"""Hypothesis strategies: query texts over a drawn schema, biased so that most answers hold rows.

A drawn query carries its text *and* the expression tree it was printed from, so that the twin can be
asked without the binder in between.
"""

import datetime as dt
from dataclasses import dataclass, replace

from hypothesis import strategies as st

from psoup.engine.limits import SECOND_US
from psoup.engine.query.values.expression import (
    And,
    Arithmetic,
    ArithmeticOp,
    Call,
    ColumnRef,
    Compare,
    CompareOp,
    Constant,
    Expression,
    InList,
    IsNull,
    IsTrue,
    Like,
    Negate,
    Not,
    Or,
    Value,
)
from psoup.engine.query.window import Window
from psoup.engine.tuples.schema import ColumnSchema, ColumnType, StreamSchema
from tests.strategies import values
from tests.strategies_calls import Drawn, calls, distinct_tests
from tests.strategies_windows import DrawnWindow, windows

NUMBERS = (ColumnType.INT64, ColumnType.FLOAT64)


@dataclass(frozen=True, slots=True)
class Scope:
    """What FROM brings: streams by their alias, in its order. A stream alone needs no alias."""

    sources: tuple[tuple[str, StreamSchema], ...]

    @property
    def columns(self) -> tuple[ColumnSchema, ...]:
        """The columns of all."""
        return tuple(column for _, schema in self.sources for column in schema.columns)

    def only(self, source: int) -> "Scope":
        """Return the scope in which one source alone has columns."""
        hidden = [(alias, replace(schema, columns=())) for alias, schema in self.sources]
        hidden[source] = self.sources[source]
        return Scope(tuple(hidden))


Named = StreamSchema | Scope
"""What the names of an expression come from."""


@dataclass(frozen=True, slots=True)
class DrawnQuery:
    """A query and what it was printed from. `select` is the text without its window."""

    select: str
    where: Expression | None
    outputs: tuple[Expression, ...]
    distinct: bool
    window: DrawnWindow

    @property
    def sql(self) -> str:
        """The whole text."""
        return f"{self.select} {self.window.text}".strip()


# --- Text -----------------------------------------------------------------------------------------


def quoted(name: str) -> str:
    """Return a name as SQL, quoted, so that every name can be written."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: Value | None, kind: ColumnType) -> str:
    """Return a value as a SQL literal of the dialect."""
    if value is None:
        return "NULL"
    if kind is ColumnType.STRING:
        return "'" + str(value).replace("'", "''") + "'"
    if kind is ColumnType.TIMESTAMP:
        assert isinstance(value, int)
        return f"TIMESTAMP '{instant(value)}'"
    if kind is ColumnType.BOOL:
        return "TRUE" if value else "FALSE"
    return repr(value)


def instant(time_us: int) -> str:
    """Return `YYYY-MM-DD HH:MM:SS.ffffff`, UTC."""
    at = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=time_us)
    return at.replace(tzinfo=None).isoformat(" ", "microseconds")


# --- Values ---------------------------------------------------------------------------------------


def columns(schema: Named, *kinds: ColumnType) -> list[Drawn]:
    """Return the columns of these types as expressions."""
    if isinstance(schema, StreamSchema):
        return _columns(schema, 0, "", kinds)
    return [
        column
        for source, (alias, stream) in enumerate(schema.sources)
        for column in _columns(stream, source, f"{alias}.", kinds)
    ]


def _columns(
    schema: StreamSchema, source: int, prefix: str, kinds: tuple[ColumnType, ...]
) -> list[Drawn]:
    return [
        Drawn(prefix + quoted(column.name), ColumnRef(source, column.name, column.type))
        for column in schema.columns
        if column.type in kinds
    ]


@st.composite
def constants(draw: st.DrawFn, kind: ColumnType, *, edges: bool = True) -> Drawn:
    """Draw a literal from the same pool as the values."""
    value = draw(values(kind, edges=edges))
    return Drawn(literal(value, kind), Constant(value, kind))


@st.composite
def numbers(draw: st.DrawFn, schema: Named, depth: int = 2) -> Drawn:
    """Draw an expression over numbers: columns, literals, arithmetic."""
    leaves = columns(schema, *NUMBERS)
    if depth == 0 or draw(st.booleans()):
        if leaves and draw(st.integers(0, 3)) > 0:
            return draw(st.sampled_from(leaves))
        # An integer literal that no DOUBLE holds exactly is refused beside one.
        return draw(constants(draw(st.sampled_from(NUMBERS)), edges=False))
    left = draw(numbers(schema, depth - 1))
    match draw(st.integers(0, 6)):
        case 0:
            return Drawn(f"(- {left.text})", Negate(left.tree, left.tree.type))
        case 1:
            return Drawn(f"ABS({left.text})", Call("ABS", (left.tree,), left.tree.type))
        case _:
            right = draw(numbers(schema, depth - 1))
            op = draw(st.sampled_from(list(ArithmeticOp)))
            both = {left.tree.type, right.tree.type} == {ColumnType.INT64}
            whole = both and op is not ArithmeticOp.DIVIDE
            kind = ColumnType.INT64 if whole else ColumnType.FLOAT64
            tree = Arithmetic(op, left.tree, right.tree, kind)
            return Drawn(f"({left.text} {op.value} {right.text})", tree)


@st.composite
def shifted(draw: st.DrawFn, schema: Named) -> Drawn:
    """Draw a timestamp column, or one moved by an interval."""
    column = draw(st.sampled_from(columns(schema, ColumnType.TIMESTAMP)))
    if draw(st.booleans()):
        return column
    seconds = draw(st.integers(0, 40))
    op = draw(st.sampled_from([ArithmeticOp.ADD, ArithmeticOp.SUBTRACT]))
    offset = Constant(seconds * SECOND_US, ColumnType.INT64)
    tree = Arithmetic(op, column.tree, offset, ColumnType.TIMESTAMP)
    return Drawn(f"({column.text} {op.value} INTERVAL '{seconds}' SECOND)", tree)


# --- Conditions -----------------------------------------------------------------------------------


@st.composite
def comparisons(draw: st.DrawFn, schema: Named) -> Drawn:
    """Draw `left op right`: a column and a literal most often, on either side, or two expressions."""
    kinds = sorted({column.type for column in schema.columns})
    kind = draw(st.sampled_from(kinds))
    left = draw(st.sampled_from(columns(schema, kind)))
    match draw(st.integers(0, 9)):
        case 0 if kind in NUMBERS:
            left, right = draw(numbers(schema)), draw(numbers(schema, 1))
        case 1 if kind is ColumnType.TIMESTAMP:
            left, right = draw(shifted(schema)), draw(constants(kind))
        case 2:
            right = draw(st.sampled_from(columns(schema, kind)))
        case 3 if kind in NUMBERS:
            right = draw(constants(draw(st.sampled_from(NUMBERS)), edges=False))
        case 4:
            left, right = (
                draw(calls(columns(schema, *ColumnType), kind, constants)),
                draw(constants(kind)),
            )
        case 5:
            return draw(distinct_tests(left, draw(constants(kind))))
        case _:
            right = draw(constants(kind))
    if draw(st.booleans()):
        left, right = right, left
    loose = [CompareOp.NE, CompareOp.LE, CompareOp.GE] * 2
    op = draw(st.sampled_from([*CompareOp, *loose]))
    tree = Compare(op, left.tree, right.tree)
    return Drawn(f"{left.text} {op.value} {right.text}", tree)


@st.composite
def betweens(draw: st.DrawFn, schema: Named) -> Drawn:
    """Draw `x [NOT] BETWEEN low AND high`; a reversed one is allowed, and holds for nothing."""
    column = draw(st.sampled_from(columns(schema, *ColumnType)))
    ends = [draw(constants(column.tree.type)) for _ in range(2)]
    if draw(st.integers(0, 7)):
        ends.sort(key=_sort_key)
    low, high = ends
    above = Compare(CompareOp.GE, column.tree, low.tree)
    below = Compare(CompareOp.LE, column.tree, high.tree)
    return draw(
        maybe_not(f"{column.text} {{}}BETWEEN {low.text} AND {high.text}", And((above, below)))
    )


def _sort_key(constant: Drawn) -> tuple[str, Value]:
    assert isinstance(constant.tree, Constant)
    assert constant.tree.value is not None
    return constant.tree.type, constant.tree.value


@st.composite
def in_lists(draw: st.DrawFn, schema: Named) -> Drawn:
    """Draw `x [NOT] IN (...)`, now and then with a NULL among the options."""
    column = draw(st.sampled_from(columns(schema, *ColumnType)))
    kind = column.tree.type
    options = draw(st.lists(constants(kind), min_size=1, max_size=4))
    if draw(st.integers(0, 5)) == 0:
        options.append(Drawn("NULL", Constant(None, kind)))
    picked = tuple(Constant(o.tree.value, kind) for o in options if isinstance(o.tree, Constant))
    texts = ", ".join(option.text for option in options)
    return draw(maybe_not(f"{column.text} {{}}IN ({texts})", InList(column.tree, picked)))


@st.composite
def likes(draw: st.DrawFn, schema: Named) -> Drawn:
    """Draw `x [NOT] LIKE pattern [ESCAPE c]` over a string column."""
    column = draw(st.sampled_from(columns(schema, ColumnType.STRING)))
    pieces = st.sampled_from(["%", "%", "_", "a", "b", "ü", "A"])
    pattern = draw(st.lists(pieces, max_size=4).map("".join))
    escape = None
    if draw(st.integers(0, 3)) == 0:
        escape = "!"
        pattern += draw(st.sampled_from(["!%", "!_", "!!", "%!%"]))
    suffix = "" if escape is None else f" ESCAPE '{escape}'"
    text = f"{column.text} {{}}LIKE '{pattern}'{suffix}"
    return draw(maybe_not(text, Like(column.tree, pattern, escape)))


@st.composite
def null_tests(draw: st.DrawFn, schema: Named) -> Drawn:
    """Draw `x IS [NOT] NULL` over a column or an arithmetic expression."""
    operand = draw(st.sampled_from(columns(schema, *ColumnType)))
    if draw(st.booleans()):
        operand = draw(numbers(schema))
    never = isinstance(operand.tree, ColumnRef) and not _nullable(schema, operand.tree)
    if never or draw(st.booleans()):
        return Drawn(f"{operand.text} IS NOT NULL", Not(IsNull(operand.tree)))
    return Drawn(f"{operand.text} IS NULL", IsNull(operand.tree))


def _nullable(schema: Named, ref: ColumnRef) -> bool:
    stream = schema if isinstance(schema, StreamSchema) else schema.sources[ref.source][1]
    return next(column.nullable for column in stream.columns if column.name == ref.name)


@st.composite
def maybe_not(draw: st.DrawFn, text: str, tree: Expression) -> Drawn:
    """Fill the place `{}` with NOT or nothing."""
    if draw(st.booleans()):
        return Drawn(text.replace("{}", "NOT ", 1), Not(tree))
    return Drawn(text.replace("{}", "", 1), tree)


def factors(schema: Named) -> st.SearchStrategy[Drawn]:
    """Draw one condition without AND, OR and NOT above it."""
    some = [comparisons(schema)] * 3 + [betweens(schema), in_lists(schema), null_tests(schema)]
    if columns(schema, ColumnType.STRING):
        some.append(likes(schema))
    if flags := columns(schema, ColumnType.BOOL):
        some.append(st.sampled_from(flags))
    return st.one_of(some)


SHAPES = ("and", "and", "or", "or", "or", "not", "true", "factor", "factor", "factor")
"""More OR than AND, or nothing would be found."""


@st.composite
def conditions(draw: st.DrawFn, schema: Named, depth: int = 2) -> Drawn:
    """Draw a WHERE: a tree of AND, OR and NOT over factors."""
    shape = draw(st.sampled_from(SHAPES)) if depth else "factor"
    if shape == "factor":
        return draw(factors(schema))
    if shape == "true":
        inner = draw(conditions(schema, depth - 1))
        return Drawn(f"({inner.text}) IS TRUE", IsTrue(inner.tree))
    if shape == "not":
        inner = draw(conditions(schema, depth - 1))
        return Drawn(f"NOT ({inner.text})", Not(inner.tree))
    parts = draw(st.lists(conditions(schema, depth - 1), min_size=2, max_size=3))
    word = " AND " if shape == "and" else " OR "
    text = word.join(f"({part.text})" for part in parts)
    trees = tuple(part.tree for part in parts)
    return Drawn(text, And(trees) if shape == "and" else Or(trees))


# --- Queries --------------------------------------------------------------------------------------


@st.composite
def outputs(draw: st.DrawFn, schema: StreamSchema) -> tuple[str, tuple[Expression, ...]]:
    """Draw a select list: `*`, or a few columns and expressions under names."""
    everything = columns(schema, *ColumnType)
    if draw(st.booleans()):
        return "*", tuple(column.tree for column in everything)
    called = calls(everything, draw(st.sampled_from(everything)).tree.type, constants)
    items = st.one_of(st.sampled_from(everything), numbers(schema), conditions(schema, 1), called)
    chosen = draw(st.lists(items, min_size=1, max_size=3))
    text = ", ".join(f"{item.text} AS o{i}" for i, item in enumerate(chosen))
    return text, tuple(item.tree for item in chosen)


@st.composite
def queries(draw: st.DrawFn, schema: StreamSchema) -> DrawnQuery:
    """Draw a whole query over one stream."""
    listed, shown = draw(outputs(schema))
    distinct = draw(st.integers(0, 4)) == 0
    where = draw(conditions(schema)) if draw(st.integers(0, 9)) else None
    if where is not None and draw(st.integers(0, 2)) == 0:  # the looser, the more it finds
        looser = draw(factors(schema))
        where = Drawn(f"({where.text}) OR ({looser.text})", Or((where.tree, looser.tree)))
    select = f"SELECT {'DISTINCT ' if distinct else ''}{listed} FROM {schema.name}"
    if where is not None:
        select += f" WHERE {where.text}"
    tree = None if where is None else where.tree
    return DrawnQuery(select, tree, shown, distinct, draw(windows()))


def with_window(query: DrawnQuery, window: DrawnWindow) -> DrawnQuery:
    """Return the same clause under another window."""
    return replace(query, window=window)


def everything(schema: StreamSchema) -> DrawnQuery:
    """Return the query that shows a stream as it is."""
    shown = tuple(column.tree for column in columns(schema, *ColumnType))
    select = f"SELECT * FROM {schema.name}"
    return DrawnQuery(select, None, shown, distinct=False, window=DrawnWindow("", Window()))
