"""What the benchmarks of joins work on: tables that are streams to psoup and tables to its peers."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from benchmarks.workloads import SEED, Values
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    Retention,
    StreamSchema,
)

TIME = "ts"
NUMBER = "n"
"""A row's number in its table: what an answer names rows by."""
_TYPES = {
    "i": ColumnType.INT64,
    "u": ColumnType.INT64,
    "f": ColumnType.FLOAT64,
    "U": ColumnType.STRING,
}


@dataclass(frozen=True)
class Table:
    """Rows under a name. Row i is dated i seconds past the epoch of all workloads.

    Attributes:
        name: of the stream, or the table.
        columns: attribute to (n,) values; a masked array has NULL where it is masked.
    """

    name: str
    columns: Mapping[str, Values]

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values())))

    @cached_property
    def schema(self) -> StreamSchema:
        """The declaration of the stream, its kinds those of the values."""
        time = ColumnSchema(TIME, ColumnType.TIMESTAMP, nullable=False)
        attributes = [
            ColumnSchema(name, _TYPES[values.dtype.kind]) for name, values in self.columns.items()
        ]
        return StreamSchema(self.name, (time, *attributes), TIME, ClockKind.HIGH_WATER)

    def retaining(self, rows: int) -> StreamSchema:
        """Return the declaration with a bound on its rows."""
        return replace(self.schema, retention=Retention(rows=rows))


def table(name: str, **columns: Values) -> Table:
    """Return a table of these columns, and the number of each row."""
    rows = len(next(iter(columns.values())))
    return Table(name, {NUMBER: np.arange(rows), **columns})


def generator(*place: int) -> np.random.Generator:
    """Return the random numbers of one place in the workloads of joins: always the same."""
    return np.random.default_rng([SEED, 10, *place])


def first_rows(values: Values, count: int, *, of: int) -> Values:
    """Return `of` values that begin with `count` of these; the others are NULL."""
    padded = np.zeros(of, dtype=values.dtype)
    padded[:count] = values[:count]
    masked: Values = np.ma.masked_array(padded, mask=np.arange(of) >= count)
    return masked


def within(values: NDArray[np.int64], low: int, high: int) -> int:
    """Return how many values lie in `[low, high]`."""
    return int(np.count_nonzero((values >= low) & (values <= high)))


def whole(values: Values, *, absent: int) -> Values:
    """Return values up to whole chunks: what is missing has the value `absent`, which joins nothing."""
    missing = -len(values) % CHUNK_ROWS
    return np.append(values, np.full(missing, absent))
