"""CACQ's figures 11 and 12: many queries that select of one stream and join it with another.

`stocks s JOIN articles a ON symbol WHERE s.price > x`. NiagaraCQ's plans are the rivals: push-down selects for each
query and then joins; pull-up joins once and then selects for each query. The first figure has up to 200 queries and one
article for each stock; the second an expensive condition and 1, 10 or 100 articles, of ten queries, where the paper
has a hundred: the rivals would take minutes. Matching a text with a pattern stands for the paper's function of the
user's.
"""

import functools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from benchmarks.bench import Contender, Contest, Size
from benchmarks.ways import Way, contender
from benchmarks.workloads_joins import Table, generator, table
from psoup.engine.limits import CHUNK_ROWS

QUERIES: Final = (1, 10, 50, 200)
FAN_OUTS: Final = (1, 10, 100)
EXPENSIVE: Final = 10
LETTERS: Final = np.array(list("abcdefghijklmnopqrstuvwxyz"))
NOTE_LENGTH: Final = 48
ASKED: Final = 10
"""Queries that the answer is of: to ask all takes longer than what is timed."""
PSOUP: Final = "psoup, one join for all"
PUSH_DOWN: Final = "DuckDB, push-down: select, then join"
PULL_UP: Final = "DuckDB, pull-up: join, then select"


def contests(size: Size) -> Iterator[Contest]:
    """Yield both figures."""
    stocks = drawn_stocks()
    articles = drawn_articles(1)
    for queries in (3,) if size is Size.SMOKE else QUERIES:
        yield figure_11(stocks, articles, prices(queries))
    patterns = drawn_patterns(size.pick(smoke=3, full=EXPENSIVE))
    for fan_out in (2,) if size is Size.SMOKE else FAN_OUTS:
        yield figure_12(stocks, drawn_articles(fan_out), patterns, fan_out=fan_out)


def drawn_stocks() -> Table:
    """Return one chunk of stocks, no two of one symbol: a price in (0, 100] and a note each."""
    rng = generator(7)
    letters = LETTERS[rng.integers(0, len(LETTERS), (CHUNK_ROWS, NOTE_LENGTH))]
    notes = letters.view(f"<U{NOTE_LENGTH}")[:, 0]
    price = 100.0 * (1.0 - rng.random(CHUNK_ROWS))
    return table("stocks", symbol=_symbols(np.arange(CHUNK_ROWS)), price=price, note=notes)


def drawn_articles(fan_out: int) -> Table:
    """Return so many articles for each stock, mixed."""
    numbers = generator(8, fan_out).permutation(np.repeat(np.arange(CHUNK_ROWS), fan_out))
    return table("articles", symbol=_symbols(numbers))


def prices(queries: int) -> list[str]:
    """Return conditions on the price, which together cover everything."""
    bounds = [0.0, *(100.0 * generator(9).random(queries - 1)).round(4).tolist()]
    return [f"s.price > {bound}" for bound in bounds]


def drawn_patterns(queries: int) -> list[str]:
    """Return conditions that look all of a note over: three letters in order, which some 30 % have."""
    drawn = LETTERS[
        generator(11).permutation(len(LETTERS) ** 3)[:queries, None] // 26 ** np.arange(3) % 26
    ]
    return [f"s.note LIKE '%{first}%{second}%{third}%'" for first, second, third in drawn]


def figure_11(stocks: Table, articles: Table, conditions: Sequence[str]) -> Contest:
    """The join of all stocks with their articles, for each query."""
    return Contest(
        f"joins-figure11-stocks-{len(conditions)}",
        f"stocks joined with articles, price > x, {len(conditions)} queries",
        "stocks",
        len(stocks),
        _contenders(stocks, articles, conditions),
    )


def figure_12(
    stocks: Table, articles: Table, conditions: Sequence[str], *, fan_out: int
) -> Contest:
    """The same where conditions are expensive and stocks have several articles."""
    return Contest(
        f"joins-figure12-stocks-{fan_out}",
        f"stocks joined with {fan_out} articles each, note LIKE, {len(conditions)} queries",
        "stocks",
        len(stocks),
        _contenders(stocks, articles, conditions),
    )


def _contenders(stocks: Table, articles: Table, conditions: Sequence[str]) -> list[Contender]:
    def psoup() -> Way:
        from benchmarks.ways_joins import Arriving

        return Arriving(
            stocks,
            [articles],
            [
                f"SELECT s.n AS s_n, a.n AS a_n FROM stocks s, articles a WHERE s.symbol = a.symbol AND {one}"
                for one in conditions
            ],
            asked=ASKED,
        )

    def duckdb(statements: Sequence[str]) -> Way:
        from benchmarks.ways_joins_duckdb import Kept

        return Kept(
            [stocks, articles],
            statements,
            f"SELECT q FROM hits WHERE q < {ASKED}",
            before=["CREATE OR REPLACE TABLE hits (q BIGINT, s_n BIGINT, a_n BIGINT)"],
            queries=min(ASKED, len(conditions)),
        )

    joined = "articles a ON s.symbol = a.symbol"
    push_down = [
        f"INSERT INTO hits SELECT {query}, s.n, a.n FROM (SELECT n, symbol FROM stocks s WHERE {one}) s"
        f" JOIN {joined}"
        for query, one in enumerate(conditions)
    ]
    pull_up = [
        f"CREATE OR REPLACE TEMP TABLE joined AS SELECT s.*, a.n AS a_n FROM stocks s JOIN {joined}",
        *(
            f"INSERT INTO hits SELECT {query}, n, a_n FROM joined s WHERE {one}"
            for query, one in enumerate(conditions)
        ),
    ]
    return [
        contender(PSOUP, psoup),
        contender(PUSH_DOWN, functools.partial(duckdb, push_down), needs="duckdb"),
        contender(PULL_UP, functools.partial(duckdb, pull_up), needs="duckdb"),
    ]


def _symbols(numbers: NDArray[np.int64]) -> NDArray[np.str_]:
    return np.char.mod("S%05d", numbers)
