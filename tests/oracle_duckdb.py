"""The second oracle: a query of psoup rewritten for DuckDB, and answered by it.

The text is taken apart by sqlglot, not by psoup's binder. What is rewritten are the differences on
record (docs/decisions/0005-sql-semantics.md), and nothing else:

- arithmetic without a finite result is NULL here, an error or an infinity there;
- `/` is DOUBLE; a decimal literal is DOUBLE here, DECIMAL there; an integer literal is BIGINT here,
  INTEGER or HUGEINT there, also after a minus;
- DuckDB brings all options of IN and both ends of BETWEEN to one type first: they become comparisons.
"""

import functools
import itertools
from collections.abc import Sequence
from typing import Self

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import expressions as exp

from psoup.engine.query.values.expression import Value
from psoup.engine.tuples.schema import ColumnType, StreamSchema
from tests.reference_values import Row

ID, TIME = "_tuple_id", "_time_us"
"""Columns the oracle adds to each stream: what psoup knows of a tuple beside its values."""

ARROW = {
    ColumnType.INT64: pa.int64(),
    ColumnType.FLOAT64: pa.float64(),
    ColumnType.BOOL: pa.bool_(),
    ColumnType.STRING: pa.string(),
    ColumnType.TIMESTAMP: pa.timestamp("us"),
}

MACROS = """
CREATE MACRO finite(x) AS CASE WHEN isfinite(CAST(x AS DOUBLE)) THEN x END;
CREATE MACRO modulo(a, b) AS CASE
    WHEN typeof(a) = 'BIGINT' AND typeof(b) = 'BIGINT' AND b = -1 AND a IS NOT NULL THEN 0 ELSE a % b END;
"""

Found = tuple[int, int, tuple[Value | None, ...]]
"""(tuple id, tuple time, values); times and timestamps in microseconds."""


Joined = tuple[tuple[int, ...], int, tuple[Value | None, ...]]
"""(tuple ids in FROM order, earliest tuple time, values)"""

Span = tuple[int | None, int | None]
"""First and last tuple time, both inclusive; None = open."""


_NUMBERS = itertools.count()


@functools.cache
def _instance() -> duckdb.DuckDBPyConnection:
    """Return what all databases of this process are attached to: opening one takes ten times as long."""
    connection = duckdb.connect()
    connection.execute(MACROS)
    return connection


class DuckDbOracle:
    """A database in memory that holds some streams' tuples. Use it in a `with`."""

    def __init__(self) -> None:
        """Open an empty database."""
        self._name = f"oracle_{next(_NUMBERS)}"
        self._connection = _instance().cursor()
        self._connection.execute(f"ATTACH ':memory:' AS {self._name}")
        self._connection.execute(f"SET search_path = '{self._name},memory'")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.execute("SET search_path = 'memory'")
        self._connection.execute(f"DETACH {self._name}")
        self._connection.close()

    def load(
        self,
        schema: StreamSchema,
        rows: Sequence[Row],
        *,
        tuple_ids: Sequence[int],
        times_us: Sequence[int],
    ) -> None:
        """Make the stream's table hold exactly these tuples."""
        arrays = {
            column.name: pa.array(
                [row[column.name] for row in rows],
                pa.int64() if column.type is ColumnType.TIMESTAMP else ARROW[column.type],
            ).cast(ARROW[column.type])
            for column in schema.columns
        }
        arrays[ID] = pa.array(tuple_ids, pa.int64())
        arrays[TIME] = pa.array(times_us, pa.int64())
        self.load_table(schema.name, pa.table(arrays))

    def load_table(self, name: str, table: pa.Table) -> None:
        """Make the table `name` hold exactly these rows, `ID` and `TIME` among the columns."""
        for number, field in enumerate(table.schema):
            if pa.types.is_timestamp(field.type):  # UTC without saying so, as psoup's TIMESTAMP
                naive = table.column(number).cast(pa.timestamp("us"))
                table = table.set_column(number, field.name, naive)
        self._connection.register("loading", table)
        self._connection.execute(f'CREATE OR REPLACE TABLE "{name}" AS SELECT * FROM loading')
        self._connection.unregister("loading")

    def keep_newest(
        self, name: str, count: int, keys: Sequence[str], *, end_us: int, begin_us: int | None
    ) -> None:
        """Take from a stream's table all but the newest `count` tuples of each partition dated so; keys are SQL."""
        by = f"PARTITION BY {', '.join(keys)} " if keys else ""
        since = "" if begin_us is None else f"AND {TIME} >= {begin_us}"
        self._connection.execute(
            f'CREATE OR REPLACE TABLE "{name}" AS SELECT * FROM "{name}" WHERE {TIME} <= {end_us} {since} '
            f"QUALIFY ROW_NUMBER() OVER ({by}ORDER BY {TIME} DESC, {ID} DESC) <= {count}"
        )

    def answer(
        self, select: str, *, begin_us: int | None = None, end_us: int | None = None
    ) -> list[Found]:
        """Return the matches dated in `[begin_us, end_us]`, by tuple time, then id. No DISTINCT."""
        tree = _rewritten(select)
        assert not tree.args.get("distinct"), "DISTINCT forgets ids: ask `distinct_values`"
        _limit_times(tree, begin_us, end_us)
        _micros(tree, self._connection)
        tree.select(exp.column(ID, quoted=True), exp.column(TIME, quoted=True), copy=False)
        tree.order_by(exp.column(TIME, quoted=True), exp.column(ID, quoted=True), copy=False)
        rows = self._connection.execute(tree.sql("duckdb")).fetchall()
        return [(row[-2], row[-1], row[:-2]) for row in rows]

    def distinct_values(
        self, select: str, *, begin_us: int | None = None, end_us: int | None = None
    ) -> list[tuple[Value | None, ...]]:
        """Return the rows of a SELECT DISTINCT, in no order."""
        tree = _rewritten(select)
        _limit_times(tree, begin_us, end_us)
        _micros(tree, self._connection)
        return self._connection.execute(tree.sql("duckdb")).fetchall()

    def join(self, select: str, spans: Sequence[Span]) -> list[Joined]:
        """Return the matches of a query over several streams, by earliest time, then ids. No DISTINCT.

        Each stream's tuples are dated inside its span; the select list names its columns.
        """
        tree = _rewritten(select)
        assert not tree.args.get("distinct"), "DISTINCT forgets ids: ask `distinct_join`"
        aliases = _limit_each(tree, spans)
        _micros(tree, self._connection)
        ids = [exp.column(ID, alias, quoted=True) for alias in aliases]
        times = [exp.column(TIME, alias, quoted=True) for alias in aliases]
        earliest = exp.Least(this=times[0], expressions=times[1:])
        tree.select(*(column.copy() for column in ids), earliest.copy(), copy=False)
        tree.order_by(earliest, *ids, copy=False)
        rows = self._connection.execute(tree.sql("duckdb")).fetchall()
        shown = -1 - len(ids)
        return [(row[shown:-1], row[-1], row[:shown]) for row in rows]

    def distinct_join(self, select: str, spans: Sequence[Span]) -> list[tuple[Value | None, ...]]:
        """Return the rows of a SELECT DISTINCT over several streams, in no order."""
        tree = _rewritten(select)
        _limit_each(tree, spans)
        _micros(tree, self._connection)
        return self._connection.execute(tree.sql("duckdb")).fetchall()

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """Return the rows of a query in DuckDB's own words."""
        return self._connection.execute(sql).fetchall()

    def scalar(self, sql: str) -> object:
        """Return the one value of a query in DuckDB's own words."""
        row = self._connection.execute(sql).fetchone()
        assert row is not None
        return row[0]


def _rewritten(select: str) -> exp.Select:
    tree = sqlglot.parse_one(select)
    assert isinstance(tree, exp.Select)
    rewrite(tree)
    return tree


def rewrite(tree: exp.Expr) -> None:
    """Rewrite a tree that was parsed, the differences on record and nothing else."""
    for node in reversed(list(tree.bfs())):  # the parts before the whole
        if (instead := _rewrite(node)) is not None:
            node.replace(instead)


def _limit_times(
    tree: exp.Select, begin_us: int | None, end_us: int | None, alias: str | None = None
) -> None:
    time = exp.column(TIME, alias, quoted=True)
    if begin_us is not None:
        tree.where(exp.GTE(this=time.copy(), expression=exp.Literal.number(begin_us)), copy=False)
    if end_us is not None:
        tree.where(exp.LTE(this=time.copy(), expression=exp.Literal.number(end_us)), copy=False)


def _limit_each(tree: exp.Select, spans: Sequence[Span]) -> list[str]:
    """Limit the times of each stream in FROM; return their aliases."""
    aliases = [table.alias_or_name for table in tree.find_all(exp.Table, bfs=False)]
    for alias, (begin_us, end_us) in zip(aliases, spans, strict=True):
        _limit_times(tree, begin_us, end_us, alias)
    return aliases


def _micros(tree: exp.Select, connection: duckdb.DuckDBPyConnection) -> None:
    """Show timestamps as psoup holds them: describe the select list, then wrap what is a TIMESTAMP."""
    described = connection.execute(f"DESCRIBE {tree.sql('duckdb')}").fetchall()
    if any(isinstance(item, exp.Star) for item in tree.expressions):
        names = [name for name, *_ in described if name not in {ID, TIME}]
        tree.set("expressions", [exp.column(name, quoted=True) for name in names])
        described = [row for row in described if row[0] in names]
    shown = [
        exp.Anonymous(this="epoch_us", expressions=[item.unalias()])
        if kind == "TIMESTAMP"
        else item.unalias()
        for item, (_, kind, *_) in zip(tree.expressions, described, strict=True)
    ]
    tree.set("expressions", shown)


def _rewrite(node: exp.Expr) -> exp.Expr | None:
    """Return what stands for the node, its parts rewritten already; None = it may stay."""
    match node:
        case exp.Literal() if not node.is_string and not isinstance(
            node.parent, exp.Neg | exp.Interval
        ):
            return _number(node.name)
        case exp.Between() | exp.In():
            return _compared(node)
        case exp.Add() | exp.Sub() if node.find(exp.Interval):
            return None
        case exp.Neg() | exp.Abs() | exp.Add() | exp.Sub() | exp.Mul() | exp.Mod() | exp.Div():
            return _computed(node)
        case _:
            return None


def _compared(node: exp.Between | exp.In) -> exp.Expression:
    operand = exp.paren(node.this)
    if isinstance(node, exp.In):
        tests = [exp.EQ(this=operand.copy(), expression=option) for option in node.expressions]
        return exp.paren(exp.or_(*tests, copy=False))
    above = exp.GTE(this=operand, expression=exp.paren(node.args["low"]))
    below = exp.LTE(this=operand.copy(), expression=exp.paren(node.args["high"]))
    return exp.paren(exp.And(this=above, expression=below))


def _computed(node: exp.Expr) -> exp.Expr:
    """Return arithmetic that is NULL where it has no finite result."""
    match node:
        case exp.Neg(this=exp.Literal()):
            return _number("-" + node.this.name)
        case exp.Neg():
            # A minus turns BIGINT into HUGEINT; a subtraction does not.
            node = exp.Sub(this=_number("0"), expression=exp.paren(node.this))
        case exp.Mod(this=left, expression=right):
            sides = [left.unnest(), right.unnest()]
            node = exp.Anonymous(this="modulo", expressions=sides)
        case exp.Div(this=left, expression=right):
            doubles = {"this": exp.cast(left, "DOUBLE"), "expression": exp.cast(right, "DOUBLE")}
            node = exp.Div(**doubles)
        case _:
            pass
    tried = exp.Anonymous(this="TRY", expressions=[node.copy()])
    return exp.Anonymous(this="finite", expressions=[tried])


def _number(text: str) -> exp.Expression:
    kind = "BIGINT" if text.lstrip("-").isdigit() else "DOUBLE"
    return exp.cast(exp.Literal.string(text), kind)
