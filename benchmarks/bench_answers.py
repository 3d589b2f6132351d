"""Aggregates as they are invoked: the whole way of an answer in process, and what standing ones cost at ingest.

And their kernels beside structures that were published for sliding windows (`answers_sliding.py`).
"""

import functools
from collections.abc import Callable, Iterator, Sequence

from benchmarks import answers_sliding, ways_aggregates, ways_answers as ways
from benchmarks.bench import Contest, Size
from benchmarks.bench_aggregates import ANSWERS_AGAIN, DUCKDB, POLARS, SYMBOLS
from benchmarks.node import Node
from benchmarks.ways import contender
from benchmarks.workloads import INTEGER, Query, interval_queries, tuples
from psoup.engine.limits import CHUNK_ROWS

INVOKED = "psoup, invoked"
SELECTIONS = "psoup, a selection for each condition"
MOMENTS = "COUNT(*), SUM(px), MAX(px) FROM trades"
BY_SYMBOL = "sym, COUNT(*), SUM(px) FROM trades GROUP BY sym"
SHAPES = [
    f"SELECT {listed} {{where}} {behind}"
    for listed, behind in (
        ("COUNT(*)", ""),
        ("SUM(a)", ""),
        ("AVG(b), MIN(b)", ""),
        ("MAX(c), COUNT(d)", ""),
        ("a, COUNT(*)", "GROUP BY a"),
        ("b, SUM(c)", "GROUP BY b HAVING COUNT(*) > 2"),
        ("c, MAX(d)", "GROUP BY c ORDER BY 2 DESC LIMIT 10"),
        ("STDDEV_SAMP(d)", ""),
        ("LAST(a), FIRST(b)", ""),
        ("SUM(a) FILTER (WHERE b > 100)", ""),
    )
]
"""Ten aggregates of one condition, each over a window of its own."""


def contests(size: Size) -> Iterator[Contest]:
    """Yield answers asked first and again, and tuples past standing aggregates."""
    rows = size.pick(smoke=2 * CHUNK_ROWS + 10, full=1 << 20)
    node, some = _stored(rows)
    for key, listed in (("answers", MOMENTS), ("answers-groups", BY_SYMBOL)):
        for again in (0, ANSWERS_AGAIN):
            yield invoked(key, listed, node, some, rows - CHUNK_ROWS // 2, again=again)
    long = size.pick(smoke=3 * CHUNK_ROWS, full=1 << 24)
    node, some = _stored(long)
    yield invoked("answers-long", MOMENTS, node, some, long, again=ANSWERS_AGAIN)
    batch = size.pick(smoke=500, full=8_192)
    queries = interval_queries(INTEGER, size.pick(smoke=4, full=1_000))
    yield standing("answers-standing", queries, SHAPES, rows=batch)
    shapes = [
        f"SELECT a + {number}, b {{where}}" for number in range(size.pick(smoke=3, full=1_000))
    ]
    yield standing("answers-shapes", queries[:1], shapes, rows=batch)
    yield from answers_sliding.contests(size)


def invoked(
    key: str,
    listed: str,
    node: Callable[[], Node],
    some: Callable[[], ways_aggregates.Trades],
    window: int,
    *,
    again: int,
) -> Contest:
    """Return the contest of a query over the last rows."""
    grouped, how = listed is BY_SYMBOL, "again" if again else "first"

    def ours() -> ways.Invoked:
        return ways.Invoked(node(), listed, window, again=again)

    def theirs() -> ways_aggregates.Sql:
        return ways_aggregates.Sql(some(), grouped=grouped, cut=len(some().prices) - window)

    def frames() -> ways_aggregates.Frames:
        return ways_aggregates.Frames(some(), grouped=grouped, cut=len(some().prices) - window)

    return Contest(
        f"{key}-{how}",
        f"SELECT {listed}, window of {window:,}, asked {how}",
        "answers",
        1,
        [
            contender(INVOKED, ours, count=again or 1),
            contender(DUCKDB, theirs, needs="duckdb"),
            contender(POLARS, frames, needs="polars"),
        ],
    )


def standing(key: str, queries: Sequence[Query], shapes: Sequence[str], *, rows: int) -> Contest:
    """Return ingest past all shapes of some conditions, beside that past one query of each."""
    columns = tuples(INTEGER, rows)
    windows_s = [rows * (place % 10 + 1) // 10 for place in range(len(shapes))]
    alone = ["SELECT a, b, c, d {where}"]
    return Contest(
        key,
        f"ingest {rows:,} past {len(queries) * len(shapes):,} shapes of {len(queries):,} conditions",
        "tuples",
        rows,
        [
            contender(
                f"psoup, {len(shapes):,} of each condition",
                lambda: ways.standing(queries, columns, shapes=shapes, windows_s=windows_s),
            ),
            contender(
                SELECTIONS,
                lambda: ways.standing(queries, columns, shapes=alone, windows_s=[rows]),
            ),
        ],
    )


def _stored(
    rows: int,
) -> tuple[Callable[[], Node], Callable[[], ways_aggregates.Trades]]:
    """Return what makes a node that holds rows, and these: each once, when it is first asked for."""
    some = functools.cache(lambda: ways_aggregates.trades(rows, SYMBOLS))
    return functools.cache(lambda: ways.trading(some())), some
