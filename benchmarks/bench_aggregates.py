"""Aggregates of a window: asked first, asked again, grouped, and kept for thousands of conditions."""

import functools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from benchmarks import ways_aggregates as ways
from benchmarks.bench import Contest, Size
from benchmarks.ways import contender
from psoup.engine.limits import CHUNK_ROWS

FIRST = "psoup: partials are made"
AGAIN = "psoup: partials are merged"
DUCKDB = "DuckDB over the rows"
POLARS = "Polars over the rows"
AT_ONCE = "psoup, all conditions at once, exactly"
REDUCED = "NumPy, all conditions at once, rounding"
SYMBOLS = 256
ANSWERS_AGAIN = 64
"""Answers of a run from what is kept: one alone would measure a cold cache."""
SHARE = 128
"""A condition is satisfied by one row in so many."""


def contests(size: Size) -> Iterator[Contest]:
    """Yield one contest for each kind of window, and one over conditions."""
    rows = size.pick(smoke=CHUNK_ROWS + 10, full=1 << 20)
    for first in (True, False):
        yield window("aggregates", rows, grouped=False, first=first)
        yield window("aggregates-groups", rows, grouped=True, first=first)
    yield window("aggregates-ragged", rows, grouped=False, first=False, cut=CHUNK_ROWS // 2)
    long = size.pick(smoke=3 * CHUNK_ROWS, full=1 << 24)
    yield window("aggregates-long", long, grouped=False, first=False)
    yield conditions(size.pick(smoke=8, full=4_096))


def window(key: str, rows: int, *, grouped: bool, first: bool, cut: int = 0) -> Contest:
    """Return count, sum and max of the rows from `cut` on, or count and sum of each symbol."""
    some = functools.cache(lambda: ways.trades(rows, SYMBOLS))
    how = f"count and sum of {SYMBOLS} groups" if grouped else "count, sum, max"
    behind = f", the first {cut:,} left out" if cut else ""
    asked, again = ("first", 0) if first else ("again", ANSWERS_AGAIN)
    return Contest(
        f"{key}-{asked}",
        f"{how} over {rows:,} rows{behind}, asked {asked}",
        "answers",
        1,
        [
            contender(
                FIRST if first else AGAIN,
                lambda: ways.Partials(some(), grouped=grouped, cut=cut, again=again),
                count=again or 1,
            ),
            contender(DUCKDB, lambda: ways.Sql(some(), grouped=grouped, cut=cut), needs="duckdb"),
            contender(
                POLARS, lambda: ways.Frames(some(), grouped=grouped, cut=cut), needs="polars"
            ),
        ],
    )


def conditions(count: int) -> Contest:
    """Return what it takes to keep count, sum, min and max of conditions as a chunk of tuples comes."""
    some = ways.trades(CHUNK_ROWS, SYMBOLS)
    rows, edges = drawn_hits(count)
    return Contest(
        "aggregates-conditions",
        f"count, sum, min, max of {count:,} conditions, one row in {SHARE} each, over {CHUNK_ROWS:,} tuples",
        "tuples",
        CHUNK_ROWS,
        [
            contender(AT_ONCE, lambda: ways.ConditionsAtOnce(some, rows, edges)),
            contender(REDUCED, lambda: ways.ConditionsReduced(some, rows, edges)),
            contender(
                f"{POLARS}, grouped by condition",
                lambda: ways.ConditionsGrouped(some, rows, edges),
                needs="polars",
            ),
        ],
    )


def drawn_hits(count: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of a chunk that satisfy each condition, one behind the other, and where each one's begin."""
    rng, each = np.random.default_rng(32), CHUNK_ROWS // SHARE
    hits = [np.sort(rng.choice(CHUNK_ROWS, each, replace=False)) for _ in range(count)]
    return np.concatenate(hits), np.arange(count + 1) * each
