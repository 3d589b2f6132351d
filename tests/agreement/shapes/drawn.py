"""Drawn shapes over one stream, in the words of psoup, of DuckDB and of Spark SQL."""

import re
from dataclasses import dataclass
from random import Random

from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from tests.oracle_duckdb import ID
from tests.reference_values import Row

SECOND_US = 1_000_000
STREAM = StreamSchema(
    "s",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("i", ColumnType.INT64),
        ColumnSchema("f", ColumnType.FLOAT64),
        ColumnSchema("t", ColumnType.STRING),
        ColumnSchema("b", ColumnType.BOOL),
    ),
    "ts",
    ClockKind.HIGH_WATER,
)
NUMBERS = ["i", "f", "i * 2", "ABS(i)", "ROUND(f)"]
KEYS = [
    "t",
    "b",
    "i",
    "i % 3",
    "UPPER(t)",
    "COALESCE(t, '-')",
    "DATE_TRUNC('minute', ts)",
    "CASE WHEN i > 0 THEN 'p' ELSE t END",
]
CONDITIONS = ["i > 0", "t = 'a'", "b", "f IS NOT NULL", "t IN ('a', 'B') OR i < 3", "LENGTH(t) = 1"]


@dataclass(frozen=True)
class Drawn:
    """A query: its text, its condition and its window, and what DuckDB is asked, `{where}` in place of both."""

    text: str
    oracle: str
    where: str
    length_s: int | None
    delay_s: int

    def duckdb(self, now_us: int | None) -> str:
        """Return the text for DuckDB, at an instant."""
        where = self.where
        if self.length_s is not None and now_us is not None:
            first, last = now_us - self.length_s * SECOND_US, now_us - self.delay_s * SECOND_US
            shown = f"epoch_us(ts) BETWEEN {first} AND {last}"
            where = f" WHERE {shown}" if not where else f" WHERE ({where[7:]}) AND {shown}"
        return self.oracle.format(where=where)

    def spark(self, now_us: int | None) -> str:
        """Return the text for Spark SQL, at an instant."""
        text = self.duckdb(now_us)
        for ours, theirs in _OF_SPARK.items():
            text = text.replace(ours, theirs)
        return text


_OF_SPARK = {
    "arg_min_null(": "min_by(",
    "arg_max_null(": "max_by(",
    "arg_min(": "min_by(",
    "arg_max(": "max_by(",
    "row(": "struct(",
    "epoch_us(": "unix_micros(",
    "QUANTILE_CONT(": "percentile(",
}
"""What Spark calls what DuckDB calls otherwise."""


def drawn_rows(rng: Random, count: int, start_us: int) -> list[Row]:
    """Return rows with NULLs and extremes, in no order of time, several at one instant."""
    return [
        {
            "ts": start_us + rng.randrange(max(1, count // 2)) * SECOND_US,
            "i": rng.choice([None, 0, 1, -5, 7, rng.randrange(-100, 100)]),
            "f": rng.choice([None, 0.0, -0.0, 1e300, 1e-300, -1e16, rng.uniform(-50, 50)]),
            "t": rng.choice([None, "", "a", "B", "é", "zz", "A"]),
            "b": rng.choice([None, True, False]),
        }
        for _ in range(count)
    ]


def drawn_query(rng: Random) -> Drawn:
    """Return a query with groups, an order, a limit, or several of them."""
    where = f" WHERE {rng.choice(CONDITIONS)}" if rng.random() < 0.5 else ""
    length_s, delay_s = rng.choice([(None, 0), (0, 0), (10, 0), (200, 0), (200, 5)])
    begin = "" if length_s is None else f" BEGIN (NOW - {length_s}) END (NOW - {delay_s})"
    shown, then, oracle = (_groups if rng.random() < 0.75 else _rows)(rng)
    return Drawn(f"SELECT {shown} FROM s{where}{then}{begin}", oracle, where, length_s, delay_s)


def _groups(rng: Random) -> tuple[str, str, str]:
    """Return select list, what stands behind WHERE, and the whole of what DuckDB is asked."""
    keys = rng.sample(KEYS, rng.choice([0, 1, 1, 2, 3]))
    listed = [f"{key} AS k{place}" for place, key in enumerate(keys)]
    calls = [_aggregate(rng) for _ in range(rng.randrange(1, 5))]
    shown, asked = (
        ", ".join([*listed, *[f"{call[words]} AS a{place}" for place, call in enumerate(calls)]])
        for words in (0, 1)
    )
    names = [f"k{place}" for place in range(len(keys))]
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    having = rng.choice(["", "", "", " HAVING COUNT(*) > 2", " HAVING SUM(i) > 0"])
    limit = rng.choice(
        ["", "", f" LIMIT {rng.randrange(6)}", f" LIMIT 3 OFFSET {rng.randrange(4)}"]
    )
    head = f"{grouped}{having}"
    order, first = "", []
    if rng.random() < 0.5:
        order, first = f" ORDER BY {', '.join(['COUNT(*) DESC', *names])}", ["row_count DESC"]
    # Spark sorts by an aggregate where a subquery names it.
    answer = [*names, *[f"a{place}" for place in range(len(calls))]]
    groups = f"SELECT {asked}, COUNT(*) AS row_count FROM s{{where}}{head}"
    sorted_by = ", ".join([*first, *[f"{name} NULLS LAST" for name in names]]) or "row_count"
    oracle = f"SELECT {', '.join(answer)} FROM ({groups}) AS g ORDER BY {sorted_by}{limit}"
    return shown, f"{head}{order}{limit}", oracle


def _rows(rng: Random) -> tuple[str, str, str]:
    """The same over rows."""
    columns = rng.sample(["i", "f", "t", "b", "ts", "UPPER(t)", "i * 2"], 3)
    is_distinct = rng.random() < 0.3
    listed = ", ".join(f"{column} AS c{place}" for place, column in enumerate(columns))
    shown = f"DISTINCT {listed}" if is_distinct else listed
    order = rng.choice(["c0", "c1 DESC", "c2 NULLS FIRST, c0 DESC", "2"])
    last = re.sub(r"(c\d|2)( DESC)?(?! NULLS| DESC)", r"\g<0> NULLS LAST", order)
    ties = "c0 NULLS LAST, c1 NULLS LAST, c2 NULLS LAST" if is_distinct else f"ts, {ID}"
    limit = rng.choice(["", " LIMIT 7", " LIMIT 5 OFFSET 3"])
    oracle = f"SELECT {shown} FROM s{{where}} ORDER BY {last}, {ties}{limit}"
    return shown, f" ORDER BY {order}{limit}", oracle


def _aggregate(rng: Random) -> tuple[str, str]:
    """Return a call in both words."""
    only = rng.choice([None, None, None, *CONDITIONS])
    kept = "" if only is None else f" FILTER (WHERE {only})"
    number, any_column = rng.choice(NUMBERS), rng.choice(["i", "f", "t", "b", "ts"])
    kind = rng.randrange(6)
    if kind == 0:
        name = rng.choice(["FIRST", "LAST"])
        by = {"FIRST": "arg_min_null", "LAST": "arg_max_null"}[name]
        return f"{name}({any_column}){kept}", f"{by}({any_column}, row(ts, {ID})){kept}"
    if kind == 1:
        name = rng.choice(["ARG_MIN", "ARG_MAX"])
        earliest = f"i, ts, {ID}" if name == "ARG_MIN" else f"i, -epoch_us(ts), -{ID}"
        there = f"i IS NOT NULL AND {any_column} IS NOT NULL"
        there = there if only is None else f"({only}) AND {there}"
        return (
            f"{name}({any_column}, i){kept}",
            f"{name.lower()}({any_column}, row({earliest})) FILTER (WHERE {there})",
        )
    calls = {
        2: ["COUNT(*)", f"COUNT({any_column})", f"COUNT(DISTINCT {any_column})"],
        3: [f"SUM({number})", "SUM(DISTINCT i)", f"AVG({number})", "AVG(DISTINCT i)"],
        4: [f"MIN({any_column})", f"MAX({any_column})", f"BOOL_AND({only or 'b'})", "BOOL_OR(b)"],
        5: [
            *[f"{name}(i)" for name in ("VAR_SAMP", "VAR_POP", "STDDEV_SAMP", "STDDEV_POP")],
            "MEDIAN(i)",
            f"QUANTILE_CONT(i, {rng.choice(['0', '0.1', '0.25', '0.9', '1'])})",
        ],
    }
    call = rng.choice(calls[kind]) + kept
    return call, call
