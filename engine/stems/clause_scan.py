"""A clause over stored rows: what a fresh query does with old data, and an invocation with what is not kept.

Factors over one attribute are compared column by column, a chunk's minima and maxima first; what cannot be
indexed is evaluated over the rows that are left.
"""

from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.kernels.bits import CHUNK_WORDS, Words, full, mask_of, packed, positions
from engine.kernels.within import within
from engine.limits import CHUNK_ROWS
from engine.query.clause import StandingQueryClause
from engine.query.evaluate import truth
from engine.query.expression import Expression
from engine.query.factor import AttributeFactor
from engine.query.value_set import ValueSet
from engine.stems.factor_table import closed_intervals, interval_dtype
from engine.stems.segment import Scannable, Segment
from engine.tuples.schema import ColumnType


def scan(clause: StandingQueryClause, segment: Segment, first: int, past: int) -> Words:
    """Return which rows of a segment satisfy the clause.

    Args:
        clause: over the segment's stream.
        segment: where the rows lie.
        first: offset of the first row asked about.
        past: offset past the last one; those rows are written.

    Returns:
        (CHUNK_WORDS x chunks,) words; bit 0 of word 0 is the first row of the chunk that `first` lies in.

    Cost: a pass over the columns of its single-attribute factors, less the chunks that minima and maxima
        decide; the others are evaluated over what these leave.
    """
    first_chunk = first // CHUNK_ROWS
    base = first_chunk * CHUNK_ROWS
    words = full(past - base, CHUNK_WORDS * -(-(past - base) // CHUNK_ROWS))
    words &= ~full(first - base, len(words))
    for factor in clause.factors:
        if isinstance(factor, AttributeFactor):
            column = segment.scannable(factor.column.name, first_chunk, past)
            keep_satisfied(words, column, factor.column.type, factor.values)
        else:
            keep_true(words, segment, base, factor.expression)
        if not words.any():
            break
    return words


def keep_satisfied(words: Words, column: Scannable, kind: ColumnType, values: ValueSet) -> None:
    """Clear the bits of rows whose value does not lie in the set."""
    nulls: Words | None = None
    if column.valid is not None:
        is_null = np.zeros(len(words), dtype=words.dtype)
        packed_nulls = packed(~column.valid)
        is_null[: len(packed_nulls)] = packed_nulls
        nulls = words & is_null
        words &= ~is_null
    lows, highs = interval_ends(column, kind, values)
    flags = column.values.view(np.uint8) if kind is ColumnType.BOOL else column.values
    spans = (column.least, column.most)
    least, most = (s.view(np.uint8) if kind is ColumnType.BOOL else s for s in spans)
    within(flags, lows, highs, least, most, words)
    if nulls is not None and values.null:
        words |= nulls


def interval_ends(
    column: Scannable, kind: ColumnType, values: ValueSet
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the set as closed intervals [low, high] of the column's scanned values, ascending."""
    ends = list(closed_intervals(kind, values))
    lows: list[Any] = [low for low, _ in ends]
    highs: list[Any] = [high for _, high in ends]
    if column.texts is not None:
        texts = column.texts
        lows = [bisect_left(texts, low) for low in lows]
        highs = [(len(texts) if high is None else bisect_left(texts, high)) - 1 for high in highs]
    dtype = np.int64 if column.texts is not None else interval_dtype(kind)
    return np.array(lows, dtype=dtype), np.array(highs, dtype=dtype)


def keep_true(words: Words, segment: Segment, base: int, expression: Expression) -> None:
    """Clear the bits of rows for which the expression is not TRUE; it is evaluated for the others alone."""
    rows = positions(words)
    offsets = rows + base
    true = truth(expression, lambda ref: segment.column(ref.name, offsets), len(rows))
    words[:] = mask_of(rows[true], len(words))
