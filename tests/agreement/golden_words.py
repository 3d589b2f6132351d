"""Golden queries in DuckDB's words: any shape, over what their windows show of each stream.

Texts are taken apart by sqlglot and by patterns, not by psoup's grammar. Beside what `oracle_duckdb.py` rewrites there
is what record 0005 says of functions without a value, of casts, of `ts - ts`, and of the order of an answer, which is
total here.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import sqlglot
from sqlglot import expressions as exp

from tests.oracle_duckdb import ID, TIME, Span, rewrite

_WINDOW: Final = re.compile(r"\s+BEGIN\s+['(N].*$", re.IGNORECASE | re.DOTALL)
_OWN_WINDOW: Final = re.compile(r"\s*\[(RANGE|ROWS|PARTITION)\b[^\]]*\]", re.IGNORECASE)
_WORDS: Final = {
    "ts - TIMESTAMP '2014-01-05' >": "epoch_us(ts) - epoch_us(TIMESTAMP '2014-01-05') >",
    "'2014-01-05' - ts <": "epoch_us(TIMESTAMP '2014-01-05') - epoch_us(ts) <",
    "ts + INTERVAL '1' HOUR - ts": "epoch_us(ts + INTERVAL '1' HOUR) - epoch_us(ts)",
    "ts - ts": "epoch_us(ts) - epoch_us(ts)",
    "t.ts - q.ts": "epoch_us(t.ts) - epoch_us(q.ts)",
    "t.ts - DATE '2014-01-05'": "epoch_us(t.ts) - epoch_us(DATE '2014-01-05')",
    "ts - TIMESTAMP '2014-01-05 00:00:00' AS": "epoch_us(ts) - epoch_us(TIMESTAMP '2014-01-05') AS",
    "SUBSTRING(sym FROM qty)": "SUBSTRING(sym FROM qty % 100)",
    "NULL + INTERVAL": "NULL::TIMESTAMP + INTERVAL",
    "sym::int": "sym::BIGINT",
    "ts::date": "ts::DATE",
    "ts::DATE": "ts::DATE::TIMESTAMP",
    "2014-01-05t12:00z": "2014-01-05 12:00:00",
    "2014-01-05T12:00:00+02:00": "2014-01-05 10:00:00",
    "2014-01-05 23:30-23:59": "2014-01-06 23:29:00",
    'ORDER BY sym, "SYM"': "ORDER BY 2, 1",
}
"""What is called otherwise there: a part of a text, and DuckDB's words for it."""
_WITHOUT_VALUE: Final = (exp.Ln, exp.Log, exp.Exp, exp.Pow, exp.Sqrt)


class Source(NamedTuple):
    """What a query shows of a stream of FROM: tuples dated in the span, or of each partition the newest of them."""

    columns: Sequence[str]
    span: Span
    keys: Sequence[str] = ()
    newest: int | None = None

    def rows(self, table: str) -> str:
        """Return them as a SELECT of DuckDB's."""
        ends = [f"{TIME} {op} {us}" for op, us in zip((">=", "<="), self.span, strict=True) if us is not None]  # fmt: skip
        select = f'SELECT * FROM "{table}"' + (f" WHERE {' AND '.join(ends)}" if ends else "")
        if self.newest is None:
            return select
        by = f"PARTITION BY {', '.join(self.keys)} " if self.keys else ""
        order = f"ORDER BY {TIME} DESC, {ID} DESC"
        return f"{select} QUALIFY ROW_NUMBER() OVER ({by}{order}) <= {self.newest}"


def duckdb_text(text: str, sources: Sequence[Source]) -> str:
    """Return a query for DuckDB; its answer is in psoup's order, but of DISTINCT without ORDER BY."""
    text = _WINDOW.sub("", _OWN_WINDOW.sub("", text)).rstrip("; \n")
    for ours, theirs in _WORDS.items():
        text = text.replace(ours, theirs)
    tree = sqlglot.parse_one(text, read="duckdb")
    assert isinstance(tree, exp.Select)
    tables = list(tree.find_all(exp.Table, bfs=False))
    columns = {
        one.alias_or_name: source.columns for one, source in zip(tables, sources, strict=True)
    }
    _expand_stars(tree, columns)
    _put(tree, exp.Literal, lambda node: exp.var(node.name) if _is_place(node) else None)
    _put(tree, exp.Cast, lambda node: exp.TryCast(**node.args))
    rewrite(tree)
    ties = _ties(tree, columns)
    _put(tree, (exp.First, exp.Last, exp.ArgMin, exp.ArgMax), _by_time)
    _put(tree, _WITHOUT_VALUE, lambda node: _parsed(f"finite(TRY({node.sql('duckdb')}))"))
    _put(tree, exp.Anonymous, _untried)
    for table, source in zip(tables, sources, strict=True):
        alias = exp.TableAlias(this=exp.to_identifier(table.alias_or_name, quoted=True))
        table.replace(exp.Subquery(this=_parsed(source.rows(table.name)), alias=alias))
    if ties:
        tree.order_by(*ties, dialect="duckdb", copy=False)
    return tree.sql("duckdb")


def _parsed(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, read="duckdb")


def _put(tree: exp.Expr, kinds: Any, instead: Callable[[Any], exp.Expr | None]) -> None:
    """Put something else in the place of each node of some kinds, the parts before the whole; None: it stays."""
    kinds = kinds if isinstance(kinds, tuple) else (kinds,)
    for node in reversed(list(tree.find_all(*kinds))):
        other = instead(node)
        if other is not None:
            node.replace(other)


def _is_place(node: exp.Literal) -> bool:
    """Return whether a number is a place of an output, a limit, or the digits of ROUND: no BIGINT there."""
    above = node.parent
    of_rounding = isinstance(above, exp.Round) and above.args.get("decimals") is node
    return of_rounding or isinstance(above, exp.Group | exp.Ordered | exp.Limit | exp.Offset)


def _by_time(node: exp.First | exp.Last | exp.ArgMin | exp.ArgMax) -> exp.Expr | None:
    """Return FIRST and LAST by tuple time, then id. ARG_MIN and ARG_MAX have no ties among the golden tuples."""
    if isinstance(node, exp.ArgMin | exp.ArgMax):
        return None
    name = "arg_min_null" if isinstance(node, exp.First) else "arg_max_null"
    return _parsed(f"{name}({node.this.sql('duckdb')}, row({TIME}, {ID}))")


def _untried(node: exp.Anonymous) -> exp.Expr | None:
    """Return what stands in TRY where that is an aggregate: DuckDB tries none."""
    (tried,) = node.expressions[:1] or [node]
    return tried if node.name == "TRY" and tried.find(exp.AggFunc) else None


def _expand_stars(tree: exp.Select, columns: Mapping[str, Sequence[str]]) -> None:
    """Name the columns of `*` and `alias.*`: the tables have two more."""
    listed: list[exp.Expr] = []
    for item in tree.expressions:
        if not item.is_star or item.find(exp.AggFunc):
            listed.append(item)
            continue
        shown = [item.table] if isinstance(item, exp.Column) else columns
        listed += [exp.column(name, one, quoted=True) for one in shown for name in columns[one]]
    tree.set("expressions", listed)


def _ties(tree: exp.Select, columns: Mapping[str, Sequence[str]]) -> list[str]:
    """Return what comes last in ORDER BY: the keys of groups, the outputs of DISTINCT, else tuple times, then ids."""
    if tree.args.get("distinct"):
        places = range(1, len(tree.expressions) + 1)
        return [str(one) for one in places] if tree.args.get("order") else []
    if tree.args.get("group"):
        keys = [key.copy() for key in tree.args["group"].expressions]
        names = {name for listed in columns.values() for name in listed}
        alone = next(iter(columns)) if len(columns) == 1 else None
        for key in keys:  # a column, though an output may have its name
            if isinstance(key, exp.Column) and not key.table and key.name in names and alone:
                key.set("table", exp.to_identifier(alone, quoted=True))
        return [key.sql("duckdb") for key in keys]
    if tree.args.get("having") or any(one.find(exp.AggFunc) for one in tree.expressions):
        return []
    times = ", ".join(f'"{one}".{TIME}' for one in columns)
    return [f"LEAST({times})", *(f'"{one}".{ID} NULLS FIRST' for one in columns)]
