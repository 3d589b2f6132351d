"""Cuts rows that are too large for one commit into pieces of bounded size, along their time.

The cut depends only on the rows, not on their order or partitions. A batch that Spark repeats after a crash is cut into
the same pieces, so the number of a piece identifies it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from pyspark.sql import Column, DataFrame, functions, types

from psoup.pipeline.spark.transforms.mapping import column

PIECE: Final = "_psoup_piece"
"""The column that `cut` adds: the number of the row's piece, from 0."""
SPANS: Final = 1_024
"""Equal spans of time whose bytes are counted; a piece is some of them together."""
_WORD_BYTES: Final = 8
"""Of a value in Arrow that is no text: the widest of them."""
_OFFSET_BYTES: Final = 4
"""Of a text in Arrow, beside its characters."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Size of some rows: their number, bytes in Arrow, and first and last time in microseconds."""

    rows: int
    nbytes: int
    first_us: int
    last_us: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A cut: for each span of time, the number of its first piece, and how many pieces share it."""

    extent: Extent
    first: tuple[int, ...]
    shares: tuple[int, ...]

    @property
    def pieces(self) -> int:
        """Return the number of pieces; some may have no row."""
        return max(first + shares for first, shares in zip(self.first, self.shares, strict=True))


def extent_of(rows: DataFrame, time: str | None) -> Extent:
    """Return the size of the rows. Cost: one pass."""
    us = _time_us(rows, time)
    found = rows.agg(
        functions.count("*"),
        functions.coalesce(functions.sum(_row_bytes(rows)), functions.lit(0)),
        functions.coalesce(functions.min(us), functions.lit(0)),
        functions.coalesce(functions.max(us), functions.lit(0)),
    ).first()
    return Extent(*(found or (0, 0, 0, 0)))


def planned(rows: DataFrame, time: str | None, *, extent: Extent, piece_bytes: int) -> Cut:
    """Return a cut into pieces of about `piece_bytes`, in time order.

    Rows of one span of time that exceed a piece are distributed over several pieces by their content, which loses their
    order. Cost: one pass if there is more than one piece.
    """
    if extent.nbytes <= piece_bytes:
        return Cut(extent, (0,) * SPANS, (1,) * SPANS)
    counted = (
        rows.groupBy(_span(rows, time, extent).alias("span"))
        .agg(functions.sum(_row_bytes(rows)).alias("nbytes"))
        .collect()
    )
    nbytes = dict.fromkeys(range(SPANS), 0) | {row["span"]: row["nbytes"] for row in counted}
    first, shares = _packed(nbytes.values(), piece_bytes)
    return Cut(extent, tuple(first), tuple(shares))


def cut(rows: DataFrame, time: str | None, plan: Cut) -> DataFrame:
    """Return the columns of the rows, then `PIECE`: the number of the row's piece in this cut."""
    span = _span(rows, time, plan.extent)
    share = functions.pmod(
        functions.xxhash64(*(column(name) for name in rows.columns)), _of(plan.shares, span)
    )
    piece = (_of(plan.first, span) + share).cast(types.IntegerType()).alias(PIECE)
    return rows.select(*(column(name) for name in rows.columns), piece)


def _packed(nbytes: Iterable[int], piece_bytes: int) -> tuple[list[int], list[int]]:
    """Return the first piece of each span and its number of pieces; pieces are filled in time order."""
    first: list[int] = []
    shares: list[int] = []
    piece, filled = 0, 0
    for span_bytes in nbytes:
        if filled and filled + span_bytes > piece_bytes:
            piece, filled = piece + 1, 0
        first.append(piece)
        shares.append(max(1, -(-span_bytes // piece_bytes)))
        filled += span_bytes
        if shares[-1] > 1:  # whoever comes next begins a piece of its own
            piece, filled = piece + shares[-1], 0
    return first, shares


def _span(rows: DataFrame, time: str | None, extent: Extent) -> Column:
    """Return the number of each row's span of time; 0 for a row without time."""
    width_us = (extent.last_us - extent.first_us) // SPANS + 1
    offset = _time_us(rows, time) - functions.lit(extent.first_us)
    span = functions.floor(offset / functions.lit(width_us)).cast(types.IntegerType())
    # Division is of floats: the last instant may come out one span too far.
    return functions.coalesce(functions.least(span, functions.lit(SPANS - 1)), functions.lit(0))


def _time_us(rows: DataFrame, time: str | None) -> Column:
    """Return the tuple time in whole microseconds; NULL without a time column, or if the column is no instant."""
    if time is None or not isinstance(rows.schema[time].dataType, types.TimestampType):
        return functions.lit(None).cast(types.LongType())
    return functions.unix_micros(column(time))


def _row_bytes(rows: DataFrame) -> Column:
    """Return the approximate size of each row in Arrow, in bytes."""
    texts = [f.name for f in rows.schema.fields if isinstance(f.dataType, types.StringType)]
    fixed = _WORD_BYTES * (len(rows.columns) - len(texts)) + _OFFSET_BYTES * len(texts)
    written = (
        functions.coalesce(functions.octet_length(column(name)), functions.lit(0)) for name in texts
    )
    return sum(written, start=functions.lit(fixed).cast(types.LongType()))


def _of(numbers: Sequence[int], span: Column) -> Column:
    """Return the number of each row's span."""
    listed = functions.expr(
        f"array({', '.join(map(str, numbers))})"
    )  # one call to the JVM, not SPANS
    return functions.element_at(listed, span + 1)
