"""Ways to the aggregates of a window: psoup's partials, and SQL and expressions over all of its rows."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.ways import Way
from psoup.engine.aggregates.grouping import AggregatedGroups, Grouping, RowsToAggregate
from psoup.engine.aggregates.partials.partial import PartialRun, run_of
from psoup.engine.data.source import RowSpan
from psoup.engine.invocation.one_stream.stream_aggregates import StreamAggregates, aggregates_of
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.values.expression import AggregateCall, AggregateFunction, ColumnRef
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

PRICE = ColumnRef(0, "px", ColumnType.FLOAT64)
SYMBOL = ColumnRef(0, "sym", ColumnType.STRING)
COUNT = AggregateCall(AggregateFunction.COUNT, (), False, None, ColumnType.INT64)  # noqa: FBT003 (its fields)
SUM, MIN, MAX = (
    AggregateCall(function, (PRICE,), False, None, ColumnType.FLOAT64)  # noqa: FBT003
    for function in (AggregateFunction.SUM, AggregateFunction.MIN, AggregateFunction.MAX)
)
Found = list[tuple[Any, ...]]
"""Rows of an answer: in order of their keys, of which there may be none."""


class Trades(NamedTuple):
    """Rows of a stream. Sums of its prices are whole quarters: nobody rounds them, in whatever order."""

    prices: NDArray[np.float64]
    codes: NDArray[np.int32]
    symbols: tuple[str, ...]


def trades(rows: int, symbols: int) -> Trades:
    """Return rows of a fixed seed."""
    rng = np.random.default_rng(31)
    prices = np.round(rng.normal(400, 80, rows)) / 4
    codes = rng.integers(0, symbols, rows).astype(np.int32)
    return Trades(prices, codes, tuple(f"S{number:05}" for number in range(symbols)))


def found_answer(found: Found) -> bytes:
    """Return the answer of ways that aggregate."""
    return repr([tuple(row) for row in found]).encode()


class Partials(Way):
    """psoup's: partials of whole chunks, as the first invocation of a condition finds them or those after it."""

    def __init__(
        self,
        some: Trades,
        *,
        grouped: bool = False,
        cut: int = 0,
        again: int = 0,
        calls: Sequence[AggregateCall] = (),
    ) -> None:
        """Take the rows; the window leaves out `cut` of them at its begin. A run asks `again` so often, 0 = first."""
        calls = calls or ([COUNT, SUM] if grouped else [COUNT, SUM, MAX])
        self._grouping = Grouping([SYMBOL] if grouped else [], calls)
        self._some = some
        rows = len(some.prices)
        self._spans = [(cut, rows, True)]
        self._times = np.arange(rows)
        self._whole_row = rows // CHUNK_ROWS * CHUNK_ROWS
        self._known = self._asked(None).partials if again else None
        self._answers = again or 1

    @property
    def every(self) -> bool:
        """Return True, as the condition is."""
        return True

    def hits(self, first_row: int, past_row: int) -> NDArray[np.int64]:
        """Return all rows."""
        return self._times[first_row:past_row]

    def dated(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return all rows: a span says where the window begins."""
        return rows

    def narrowed(self, span: RowSpan) -> RowSpan:
        """Return a span as it is: all of its rows are visible."""
        return span

    def read(self, rows: NDArray[np.int64]) -> RowsToAggregate:
        """Return some rows: as views, where they follow each other."""
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
            return self.read_between(int(rows[0]), int(rows[-1]) + 1)
        return rows_of(self._some, rows, self._times)

    def read_between(self, first_row: int, past_row: int) -> RowsToAggregate:
        """Return these rows, as views."""
        return rows_of(self._some, slice(first_row, past_row), self._times)

    def run(self, state: None) -> AggregatedGroups:
        """Merge what is kept, and read the rest."""
        del state
        found = [self._asked(self._known).groups for _ in range(self._answers)]
        return found[-1]

    def answer(self, outcome: AggregatedGroups) -> bytes:
        """Return keys and results, row by row."""
        columns = [*outcome.keys, *(one.column for one in outcome.results)]
        return found_answer(list(zip(*(column.to_list() for column in columns), strict=True)))

    def _asked(self, known: Any) -> StreamAggregates:  # noqa: ANN401 (as another invocation has left it)
        return aggregates_of(
            self._spans,
            self._grouping,
            self,
            known=known,
            lowest_row=0,
            whole_row=self._whole_row,
        )


def rows_of(
    some: Trades, rows: slice | NDArray[np.int64], times: NDArray[np.int64]
) -> RowsToAggregate:
    """Return some of the rows, as psoup reads them."""
    columns = {
        "px": Column(ColumnType.FLOAT64, some.prices[rows]),
        "sym": Column(ColumnType.STRING, some.codes[rows], None, some.symbols),
    }
    count = len(some.prices[rows])
    return RowsToAggregate(lambda ref: columns[ref.name], count, times[rows], times[rows])


class Sql(Way):
    """DuckDB's: one prepared statement over a table in memory."""

    def __init__(self, some: Trades, *, grouped: bool, cut: int = 0) -> None:
        """Fill the table."""
        import duckdb
        import pyarrow as pa

        symbols = pa.DictionaryArray.from_arrays(some.codes, list(some.symbols))
        self._database = duckdb.connect()
        given = pa.table({"n": np.arange(len(some.codes)), "px": some.prices, "sym": symbols})
        self._database.register("given", given)
        self._database.execute("CREATE TABLE trades AS SELECT * FROM given")
        self._database.unregister("given")
        where = f"WHERE n >= {cut}" if cut else ""
        self._sql = (
            f"SELECT CAST(sym AS VARCHAR), count(*), sum(px) FROM trades {where} GROUP BY sym ORDER BY 1"
            if grouped
            else f"SELECT count(*), sum(px), max(px) FROM trades {where}"
        )

    def run(self, state: None) -> Found:
        """Execute the statement."""
        del state
        return self._database.execute(self._sql).fetchall()

    def answer(self, outcome: Found) -> bytes:
        """Return the rows."""
        return found_answer(outcome)


class Frames(Way):
    """Polars': expressions over a frame."""

    def __init__(self, some: Trades, *, grouped: bool, cut: int = 0) -> None:
        """Make the frame, symbols as categories."""
        import polars as pl  # type: ignore[import-not-found,unused-ignore]

        symbols = pl.Series("sym", list(some.symbols))[some.codes].cast(pl.Categorical)
        self._frame = pl.DataFrame({"px": some.prices}).with_columns(symbols.alias("sym"))[cut:]
        price = pl.col("px")
        self._grouped = grouped
        self._expressions = [pl.len().alias("count"), price.sum().alias("sum")]
        if not grouped:
            self._expressions.append(price.max().alias("max"))

    def run(self, state: None) -> Found:
        """Collect the rows."""
        del state
        frame = self._frame.group_by("sym").agg if self._grouped else self._frame.select
        found: Found = frame(self._expressions).rows()
        return found

    def answer(self, outcome: Found) -> bytes:
        """Return the rows, put in order here."""
        return found_answer(sorted(outcome))


class ConditionsAtOnce(Way):
    """psoup's: the partials of a chunk for all conditions, in one pass over the hits of one after the other."""

    def __init__(self, some: Trades, hits: NDArray[np.int64], edges: NDArray[np.int64]) -> None:
        """Take the hits of each condition."""
        self._some, self._hits, self._edges = some, hits, edges
        self._grouping = Grouping([], [COUNT, SUM, MIN, MAX])
        self._columns = {PRICE: Column(ColumnType.FLOAT64, some.prices)}

    def run(self, state: None) -> PartialRun:
        """Make the partials."""
        del state
        prices = self._columns[PRICE].take(self._hits)
        rows = RowsToAggregate(lambda _: prices, len(self._hits), self._hits, self._hits)
        made = run_of(self._grouping, rows, self._edges, 0, groups_max=len(self._edges))
        assert made is not None, "one group for each condition"
        return made

    def answer(self, outcome: PartialRun) -> bytes:
        """Return the results of all conditions."""
        made = outcome.partial
        found = self._grouping.results(made.tallies, made.states)
        return b"".join(one.column.values.tobytes() for one in found)


class ConditionsGrouped(Way):
    """Polars': hits as a frame of conditions and rows, whose values are gathered and grouped."""

    def __init__(self, some: Trades, hits: NDArray[np.int64], edges: NDArray[np.int64]) -> None:
        """Make the frame."""
        import polars as pl

        conditions = np.repeat(np.arange(len(edges) - 1), np.diff(edges))
        self._hits = pl.DataFrame({"condition": conditions, "row": hits})
        price = pl.Series("px", some.prices)
        self._price = pl.lit(price).gather(pl.col("row")).alias("px")
        found = pl.col("px")
        self._expressions = [
            pl.len().cast(pl.Int64).alias("count"),
            found.sum().alias("sum"),
            found.min().alias("least"),
            found.max().alias("largest"),
        ]

    def run(self, state: None) -> Any:  # noqa: ANN401 (a frame)
        """Gather and group."""
        del state
        return self._hits.with_columns(self._price).group_by("condition").agg(self._expressions)

    def answer(self, outcome: Any) -> bytes:  # noqa: ANN401
        """Return the results of all conditions, put in order here."""
        _, *columns = outcome.sort("condition").get_columns()
        return b"".join(column.to_numpy().tobytes() for column in columns)


class ConditionsReduced(Way):
    """NumPy's: each aggregate of all conditions at once, in floats that add up as they come."""

    def __init__(self, some: Trades, hits: NDArray[np.int64], edges: NDArray[np.int64]) -> None:
        """Take the hits of each condition; each has some."""
        self._some, self._hits, self._edges = some, hits, edges

    def run(self, state: None) -> list[NDArray[Any]]:
        """Reduce the hits of each condition."""
        del state
        prices, begins = self._some.prices[self._hits], self._edges[:-1]
        reduced = [one.reduceat(prices, begins) for one in (np.add, np.minimum, np.maximum)]
        return [np.diff(self._edges), *reduced]

    def answer(self, outcome: list[NDArray[Any]]) -> bytes:
        """Return the results of all conditions."""
        return b"".join(column.tobytes() for column in outcome)
