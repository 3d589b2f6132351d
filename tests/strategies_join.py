"""Hypothesis strategies: queries over two to four streams that have something in common.

Every drawn text is one that psoup takes: each source but the first is held to an earlier one by an equality,
an inequality or a band. As in `strategies_sql.py` a query carries the tree it was printed from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from hypothesis import strategies as st

from psoup.engine.limits import SECOND_US
from psoup.engine.query.values.expression import (
    And,
    Arithmetic,
    ArithmeticOp,
    Call,
    Compare,
    CompareOp,
    Constant,
    Expression,
    Negate,
    Or,
)
from psoup.engine.query.window import Window
from psoup.engine.tuples.schema import ColumnType, StreamSchema
from tests import strategies_sql as sql
from tests.strategies_calls import Drawn
from tests.strategies_sql import NUMBERS, DrawnQuery, Scope, columns
from tests.strategies_windows import DrawnWindow, windows

TIMES = (ColumnType.TIMESTAMP,)


@dataclass(frozen=True, slots=True)
class DrawnJoin:
    """A query over several streams and what it was printed from.

    `select` is the text without windows and with its outputs written out, for another database; `entries` and
    `conditions` are what stands in its FROM, windows included, and in its ON and WHERE.
    """

    sql: str
    select: str
    entries: tuple[str, ...]
    conditions: tuple[str, ...]
    streams: tuple[str, ...]
    where: Expression
    outputs: tuple[Expression, ...]
    distinct: bool
    window: DrawnWindow
    ranges: tuple[int | None, ...]


# --- Join factors ---------------------------------------------------------------------------------


@st.composite
def numbers(draw: st.DrawFn, scope: Scope, source: int) -> Drawn:
    """Draw a number that depends on one source: a column, or one shifted, stretched or mirrored."""
    column = draw(st.sampled_from(columns(scope.only(source), *NUMBERS)))
    match draw(st.integers(0, 11)):
        case 11:
            return Drawn(f"(- {column.text})", Negate(column.tree, column.tree.type))
        case 10:
            return Drawn(f"ABS({column.text})", Call("ABS", (column.tree,), column.tree.type))
        case 8 | 9:
            op = draw(st.sampled_from(list(ArithmeticOp)))
            right = draw(sql.constants(draw(st.sampled_from(NUMBERS)), edges=False))
            return arithmetic(op, column, right)
        case _:
            return column


def arithmetic(op: ArithmeticOp, left: Drawn, right: Drawn) -> Drawn:
    """Return `left op right` of numbers."""
    both = {left.tree.type, right.tree.type} == {ColumnType.INT64}
    kind = ColumnType.FLOAT64
    if both and op is not ArithmeticOp.DIVIDE:
        kind = ColumnType.INT64
    return Drawn(
        f"({left.text} {op.value} {right.text})", Arithmetic(op, left.tree, right.tree, kind)
    )


def moved(column: Drawn, op: ArithmeticOp, by: int) -> Drawn:
    """Return a number moved by a whole number, or an instant moved by so many seconds."""
    if column.tree.type is not ColumnType.TIMESTAMP:
        return arithmetic(op, column, Drawn(str(by), Constant(by, ColumnType.INT64)))
    us = Constant(by * SECOND_US, ColumnType.INT64)
    tree = Arithmetic(op, column.tree, us, ColumnType.TIMESTAMP)
    return Drawn(f"({column.text} {op.value} INTERVAL '{by}' SECOND)", tree)


def compared(op: CompareOp, left: Drawn, right: Drawn) -> Drawn:
    """Return a comparison."""
    return Drawn(f"{left.text} {op.value} {right.text}", Compare(op, left.tree, right.tree))


@st.composite
def sides(draw: st.DrawFn, scope: Scope, pair: tuple[int, int]) -> tuple[Drawn, Drawn]:
    """Draw what of two sources is compared: columns of one type, or numbers of either."""
    if draw(st.booleans()):
        kind = draw(st.sampled_from(list(ColumnType)))
        one, other = (draw(st.sampled_from(columns(scope.only(at), kind))) for at in pair)
    else:
        one, other = (draw(numbers(scope, at)) for at in pair)
    return (one, other) if draw(st.booleans()) else (other, one)


@st.composite
def bands(
    draw: st.DrawFn,
    scope: Scope,
    pair: tuple[int, int],
    of: Sequence[Sequence[ColumnType]] = (NUMBERS, TIMES),
) -> Drawn:
    """Draw a condition that holds a number or an instant of one source near that of another."""
    kinds = draw(st.sampled_from(of))
    one, other = (
        draw(st.sampled_from(columns(scope.only(at), *kinds)))
        for at in draw(st.sampled_from([pair, pair[::-1]]))
    )
    low, high = draw(st.integers(0, 2)), draw(st.integers(0, 4))
    if kinds != NUMBERS or draw(st.booleans()):
        begin, end = (
            moved(other, ArithmeticOp.SUBTRACT, low),
            moved(other, ArithmeticOp.ADD, high),
        )
        if draw(st.booleans()):
            begin = other
        above = Compare(CompareOp.GE, one.tree, begin.tree)
        below = Compare(CompareOp.LE, one.tree, end.tree)
        return Drawn(f"{one.text} BETWEEN {begin.text} AND {end.text}", And((above, below)))
    apart = arithmetic(ArithmeticOp.SUBTRACT, one, other)
    distance = Drawn(f"ABS({apart.text})", Call("ABS", (apart.tree,), apart.tree.type))
    op = draw(st.sampled_from([CompareOp.LT, CompareOp.LE]))
    return compared(op, distance, Drawn(str(high), Constant(high, ColumnType.INT64)))


@st.composite
def join_factors(draw: st.DrawFn, scope: Scope, pair: tuple[int, int]) -> Drawn:
    """Draw a condition that holds two sources together."""
    match draw(st.integers(0, 5)):
        case 0 | 1 | 2:
            return compared(CompareOp.EQ, *draw(sides(scope, pair)))
        case 3:
            ops = [CompareOp.LT, CompareOp.LE, CompareOp.GT, CompareOp.GE]
            return compared(draw(st.sampled_from(ops)), *draw(sides(scope, pair)))
        case _:
            return draw(bands(scope, pair))


# --- Queries --------------------------------------------------------------------------------------


@st.composite
def further(draw: st.DrawFn, scope: Scope) -> list[Drawn]:
    """Draw conditions beside those that hold the sources together: few, and loose."""
    found = []
    count = len(scope.sources)
    if draw(st.integers(0, 3)) == 3:
        one = draw(sql.factors(scope.only(draw(st.integers(0, count - 1)))))
        other = draw(sql.factors(scope.only(draw(st.integers(0, count - 1)))))
        found.append(Drawn(f"({one.text} OR {other.text})", Or((one.tree, other.tree))))
    if draw(st.integers(0, 3)) == 3:
        found.append(draw(sql.factors(scope.only(draw(st.integers(0, count - 1))))))
    match draw(st.integers(0, 9)):
        case 9:
            pair = draw(st.permutations(range(count)).map(lambda places: (places[0], places[1])))
            found.append(compared(CompareOp.NE, *draw(sides(scope, pair))))
        case 8:
            found.append(draw(sql.conditions(scope, 1)))
        case _:
            pass
    return found


@st.composite
def shown(draw: st.DrawFn, scope: Scope) -> tuple[bool, list[Drawn]]:
    """Draw a select list: whether it is `*`, and its outputs."""
    everything = columns(scope, *ColumnType)
    if draw(st.integers(0, 3)) == 3:
        return True, everything
    items = st.one_of(st.sampled_from(everything), sql.numbers(scope, 1), sql.conditions(scope, 0))
    return False, draw(st.lists(items, min_size=1, max_size=3))


@dataclass(frozen=True, slots=True)
class DrawnFrom:
    """FROM: streams, the names they go by, and how far back each one's own window reaches."""

    streams: tuple[str, ...]
    aliases: tuple[str, ...]
    ranges: tuple[int | None, ...]

    def entries(self, *, timed: bool) -> list[str]:
        """Return its entries, with their own windows or without."""
        reaches = self.ranges if timed and self.ranges else (None,) * len(self.streams)
        return [
            name
            + ("" if us is None else f" [RANGE INTERVAL '{us // SECOND_US}' SECOND]")
            + ("" if alias == name else f" AS {alias}")
            for name, alias, us in zip(self.streams, self.aliases, reaches, strict=True)
        ]


@st.composite
def froms(draw: st.DrawFn, names: Sequence[str], count: int) -> DrawnFrom:
    """Draw a FROM list of so many streams, the same one twice allowed."""
    streams = draw(st.lists(st.sampled_from(names), min_size=count, max_size=count))
    bare = len(set(streams)) == count and draw(st.booleans())
    aliases = streams if bare else [f"x{place}" for place in range(count)]
    ranges: tuple[int | None, ...] = ()
    if draw(st.integers(0, 3)) == 3:
        some = st.sampled_from([None, 20, 40, 60, 5, 0])
        seconds = draw(st.lists(some, min_size=count, max_size=count))
        if any(one is not None for one in seconds):
            ranges = tuple(None if one is None else one * SECOND_US for one in seconds)
    return DrawnFrom(tuple(streams), tuple(aliases), ranges)


def windows_for(ranges: Sequence[int | None]) -> st.SearchStrategy[DrawnWindow]:
    """Draw a window of a query; none where each of its streams has its own, which is refused."""
    nothing = st.just(DrawnWindow("", Window()))
    return nothing if ranges and None not in ranges else st.one_of(nothing, windows())


@st.composite
def queries(
    draw: st.DrawFn,
    schemas: Mapping[str, StreamSchema],
    *,
    sources: Sequence[int] = (2, 2, 2, 3, 3, 4),
    by_time: bool = False,
) -> DrawnJoin:
    """Draw a whole query over some of the streams; with `by_time` bands of time are all that holds them together."""
    factors = partial(bands, of=(TIMES,)) if by_time else join_factors
    count = draw(st.sampled_from(sources))
    origin = draw(froms(sorted(schemas), count))
    named = zip(origin.aliases, origin.streams, strict=True)
    scope = Scope(tuple((alias, schemas[name]) for alias, name in named))
    held: list[list[Drawn]] = [[]]
    for place in range(1, count):
        pair = (draw(st.integers(0, place - 1)), place)
        held.append([draw(factors(scope, pair))])
        if draw(st.integers(0, 5)) == 5:
            held[-1].append(draw(factors(scope, pair)))
    rest = draw(further(scope))
    starred, listed = draw(shown(scope))
    distinct = draw(st.integers(0, 5)) == 5
    window = draw(windows_for(origin.ranges))
    head = f"SELECT {'DISTINCT ' if distinct else ''}"
    listing = ", ".join(f"{one.text} AS o{i}" for i, one in enumerate(listed))
    joined = draw(st.booleans())
    whole, bare = (
        from_where(origin.entries(timed=timed), held, rest, joined=joined)
        for timed in (True, False)
    )
    conjuncts = [one for factors in [*held, rest] for one in factors]
    trees = tuple(one.tree for one in conjuncts)
    return DrawnJoin(
        sql=f"{head}{'*' if starred else listing} {whole} {window.text}".strip(),
        select=f"{head}{listing} {bare}",
        entries=tuple(origin.entries(timed=True)),
        conditions=tuple(f"({one.text})" for one in conjuncts),
        streams=origin.streams,
        where=trees[0] if len(trees) == 1 else And(trees),
        outputs=tuple(one.tree for one in listed),
        distinct=distinct,
        window=window,
        ranges=origin.ranges,
    )


def from_where(
    entries: Sequence[str],
    held: Sequence[Sequence[Drawn]],
    rest: Sequence[Drawn],
    *,
    joined: bool,
) -> str:
    """Return FROM and WHERE: what holds a source to an earlier one stands under ON, or in WHERE."""
    conditions = [f"({one.text})" for one in rest]
    if joined:
        text = entries[0]
        for entry, factors in zip(entries[1:], held[1:], strict=True):
            text += f" JOIN {entry} ON {' AND '.join(one.text for one in factors)}"
    else:
        text = ", ".join(entries)
        conditions = [one.text for factors in held for one in factors] + conditions
    return f"FROM {text}" + (f" WHERE {' AND '.join(conditions)}" if conditions else "")


def without_ids(query: DrawnJoin) -> DrawnJoin:
    """Return the query without DISTINCT, whose rows name the earliest of equal ones."""
    return replace(
        query,
        sql=query.sql.replace("SELECT DISTINCT ", "SELECT ", 1),
        select=query.select.replace("SELECT DISTINCT ", "SELECT ", 1),
        distinct=False,
    )


@st.composite
def pairs(draw: st.DrawFn, first: StreamSchema, second: StreamSchema) -> DrawnQuery:
    """Draw a join of two streams of any columns: held together where they can be, or each one by itself."""
    scope = Scope((("x0", first), ("x1", second)))
    kinds = [
        kind for kind in ColumnType if all(columns(scope.only(place), kind) for place in (0, 1))
    ]
    alone = draw(st.integers(0, 2)) == 0
    if kinds and not alone:
        kind = draw(st.sampled_from(kinds))
        one, other = (draw(st.sampled_from(columns(scope.only(at), kind))) for at in (0, 1))
        op = draw(st.sampled_from([CompareOp.EQ, CompareOp.EQ, CompareOp.LE, CompareOp.NE]))
        factors = [compared(op, one, other)]
    else:
        own = [draw(st.sampled_from(columns(scope.only(at), *ColumnType))) for at in (0, 1)]
        ops = st.sampled_from([CompareOp.NE, CompareOp.GE, CompareOp.LE])
        factors = [
            compared(draw(ops), one, draw(sql.constants(one.tree.type, edges=False))) for one in own
        ]
    listed = draw(st.lists(st.sampled_from(columns(scope, *ColumnType)), min_size=1, max_size=3))
    text = ", ".join(f"{one.text} AS o{i}" for i, one in enumerate(listed))
    trees = tuple(one.tree for one in factors)
    where = " AND ".join(one.text for one in factors)
    return DrawnQuery(
        f"SELECT {text} FROM {first.name} AS x0, {second.name} AS x1 WHERE {where}",
        trees[0] if len(trees) == 1 else And(trees),
        tuple(one.tree for one in listed),
        distinct=False,
        window=draw(windows()),
    )
