"""Joins by inequality: PSoup's figure 8, and what counting and listing all pairs costs.

Two streams of one attribute each, integers 0..255, and queries `R.a op S.b + c`. Nearly every pair of tuples is in the
answer of some query, so counts are to be had without pairs, and pairs only where somebody asks for them: of such joins
the default policy, `auto`, keeps nothing, like `none`.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Final

from benchmarks.bench import Contender, Contest, Size
from benchmarks.ways import Way, contender
from benchmarks.workloads_joins import Table, generator, table
from psoup.engine.log.operation import Materialize

VALUES: Final = 256
FIGURE_WINDOWS: Final = (128, 576, 1_024, 4_096)
COUNTED_ROWS: Final = (4_096, 16_384, 65_536)
LISTED_ROWS: Final = 4_096
PSOUP: Final = {
    Materialize.PARTIAL: "psoup, partial",
    Materialize.COMPLETE: "psoup, complete",
    Materialize.NONE: "psoup, none",
}
COUNT: Final = "psoup, count"
PAIRS: Final = "psoup, pairs"
SELECT: Final = "DuckDB, join"
COUNT_STAR: Final = "DuckDB, join, count(*)"
BY_VALUE: Final = "DuckDB, grouped by value, then joined"
HISTOGRAM: Final = "NumPy, histograms"
JOIN_WHERE: Final = "Polars, join_where"
OUTER: Final = "NumPy, outer comparison"


def contests(size: Size) -> Iterator[Contest]:
    """Yield the figure, the counts and the list of pairs."""
    rows = size.pick(smoke=4_096, full=max(FIGURE_WINDOWS))
    texts = rare(size.pick(smoke=2, full=4))
    for window in (64,) if size is Size.SMOKE else FIGURE_WINDOWS:
        yield figure_8(drawn(rows), texts, window=window)
    texts = any_of(2)
    for rows in (1_000,) if size is Size.SMOKE else COUNTED_ROWS:
        yield counted(drawn(rows), texts)
    yield listed(drawn(size.pick(smoke=200, full=LISTED_ROWS)), texts)


def drawn(rows: int) -> list[Table]:
    """Return both tables."""
    left, right = (generator(1, place).integers(0, VALUES, rows) for place in (0, 1))
    return [table("r", a=left), table("s", b=right)]


def any_of(count: int) -> list[str]:
    """Return conditions with constants as in the papers.

    Of the first two the one is satisfied by a pair in sixteen, the other by one in thirty.
    """
    rng = generator(22)
    signs = "<>"
    return [
        f"r.a {signs[number % 2]} s.b {'-+'[number % 2]} {int(rng.integers(0, VALUES))}"
        for number in range(count)
    ]


def rare(count: int) -> list[str]:
    """Return conditions of which each is satisfied by one pair in twenty at most.

    More than a million matches of one chunk suspend a query; of 4,096 by 4,096 pairs that is one in sixteen.
    """
    rng = generator(3)
    operators = ("<", ">", "<=", ">=")
    return [
        f"r.a {operators[number % 4]} s.b {'-+'[number % 2]} {int(rng.integers(176, VALUES))}"
        for number in range(count)
    ]


def figure_8(tables: Sequence[Table], conditions: Sequence[str], *, window: int) -> Contest:
    """All rows of each query in a window of both streams."""
    past = len(tables[0])
    texts = [f"SELECT r.n AS r_n, s.n AS s_n FROM r, s WHERE {one}" for one in conditions]
    inside = f"r.n >= {past - window} AND s.n >= {past - window}"

    def psoup(materialize: Materialize) -> Way:
        from benchmarks.ways_joins import AskedJoins

        return AskedJoins(tables, texts, window_rows=window, materialize=materialize)

    def duckdb() -> Way:
        from benchmarks.ways_joins_duckdb import Fetched

        return Fetched(tables, [f"{text} AND {inside}" for text in texts])

    return Contest(
        f"joins-figure8-{window}",
        f"rows of an inequality join, windows of {window:,}",
        "invocations",
        len(texts),
        [
            *(
                contender(name, functools.partial(psoup, materialize))
                for materialize, name in PSOUP.items()
            ),
            contender(SELECT, duckdb, needs="duckdb"),
        ],
    )


def counted(tables: Sequence[Table], conditions: Sequence[str]) -> Contest:
    """The number of rows of each query, all tuples being in the window."""
    rows = len(tables[0])

    def psoup() -> Way:
        from benchmarks.ways_joins import AskedJoins

        texts = [f"SELECT r.a FROM r, s WHERE {one}" for one in conditions]
        return AskedJoins(tables, texts, materialize=Materialize.NONE, count_only=True)

    def fetched(form: str) -> Way:
        from benchmarks.ways_joins_duckdb import Fetched

        statements = [form.format(condition=one) for one in conditions]
        return Fetched(tables, statements, count_only=True)

    def histograms() -> Way:
        from benchmarks.ways_joins_arrays import Histograms

        return Histograms(tables, conditions, values=VALUES)

    by_value = (
        "SELECT coalesce(sum(r.many * s.many), 0)::BIGINT"
        " FROM (SELECT a, count(*) AS many FROM r GROUP BY a) r"
        " JOIN (SELECT b, count(*) AS many FROM s GROUP BY b) s ON {condition}"
    )
    plain = functools.partial(fetched, "SELECT count(*) FROM r JOIN s ON {condition}")
    return Contest(
        f"joins-count-{rows}",
        f"count of an inequality join, {rows:,} by {rows:,}",
        "invocations",
        len(conditions),
        [
            contender(COUNT, psoup),
            contender(COUNT_STAR, plain, needs="duckdb"),
            contender(BY_VALUE, functools.partial(fetched, by_value), needs="duckdb"),
            contender(HISTOGRAM, histograms),
        ],
    )


def listed(tables: Sequence[Table], conditions: Sequence[str]) -> Contest:
    """All pairs of each query, in any order: of psoup what an invocation puts in order and cuts pages from."""
    rows = len(tables[0])
    texts = [f"SELECT r.n AS r_n, s.n AS s_n FROM r, s WHERE {one}" for one in conditions]

    def psoup() -> Way:
        from benchmarks.ways_joins import Pairs

        return Pairs(tables, texts)

    def duckdb() -> Way:
        from benchmarks.ways_joins_duckdb import Fetched

        return Fetched(tables, texts)

    def polars() -> Way:
        from benchmarks.ways_joins_polars import JoinWhere

        return JoinWhere(tables, conditions)

    def outer() -> Way:
        from benchmarks.ways_joins_arrays import Outer

        return Outer(tables, conditions)

    contenders: list[Contender] = [
        contender(PAIRS, psoup),
        contender(SELECT, duckdb, needs="duckdb"),
        contender(JOIN_WHERE, polars, needs="polars"),
        contender(OUTER, outer),
    ]
    return Contest(
        "joins-pairs",
        f"all pairs of an inequality join, {rows:,} by {rows:,}",
        "joins",
        len(texts),
        contenders,
    )
