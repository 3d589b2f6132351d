"""A clause compared with stored rows: by a fresh query, and by an invocation in chunks whose hits are not kept.

Factors over single columns, and over functions of texts, are compared in one call, column by column within each
chunk, minima and maxima first; other factors are evaluated over the rows that are left.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.derived_places import Spans, spans_of
from psoup.engine.data.scannable import CHUNKS, ScanTable
from psoup.engine.kernels.bits import CHUNK_WORDS, Words, mask_of, popcount, positions
from psoup.engine.kernels.within import within
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.factor import AttributeFactor, DerivedFactor, ResidualFactor
from psoup.engine.query.values.evaluate import truth
from psoup.engine.query.values.expression import Expression, column_refs
from psoup.engine.query.values.factor_table import closed_intervals
from psoup.engine.query.values.value_set import INT64_MAX, INT64_MIN, ValueSet
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

Read = Callable[[int, str, NDArray[np.int64]], Column]
"""From a segment of the table, a column's name and offsets in that segment to the values there."""

_STRING: Final = ColumnType.STRING
_FLOAT64: Final = ColumnType.FLOAT64

NO_FACTORS = np.empty((0, 4), dtype=np.int64)
NO_SPANS: Mapping[DerivedFactor, list[Spans]] = {}
NO_ENDS = np.empty((1, 2, 0), dtype=np.int64)


def scan(
    clause: StandingQueryClause,
    table: ScanTable,
    first: int,
    past: int,
    *,
    words: Words,
    counts: NDArray[np.int32],
    read: Read,
) -> None:
    """Write which rows satisfy the clause, and how many of each chunk.

    Args:
        clause: over the stream of the table's segments.
        table: of the columns of its AttributeFactors, at least; of those of its DerivedFactors where it has them.
        first: the first row compared, from the table's first segment on.
        past: past the last one; those rows are written.
        words: (CHUNK_WORDS x chunks,); bit 0 of word 0 is the first row of the chunk that `first` lies in.
        counts: (chunks,).
        read: where values of the other factors come from.

    Cost: a pass over the columns of the factors that are compared, less the chunks that minima and maxima
        decide; the others are evaluated over what these leave.
    """
    indexed = [factor for factor in clause.factors if isinstance(factor, AttributeFactor)]
    derived = _derived(clause, table, first, past)
    factors, ends = arguments(indexed, table, derived)
    within(table.rows, factors, ends, first, past, words, counts)
    if len(indexed) + len(derived) == len(clause.factors):
        return
    rest = [
        one.expression
        for one in clause.factors
        if isinstance(one, ResidualFactor) and one not in derived
    ]
    first_chunk = first // CHUNK_ROWS
    for segment in range(first_chunk // CHUNKS, len(table)):
        begin = max(0, segment * CHUNKS - first_chunk)
        end = min(len(counts), (segment + 1) * CHUNKS - first_chunk)
        base = (first_chunk + begin - segment * CHUNKS) * CHUNK_ROWS
        part = words[begin * CHUNK_WORDS : end * CHUNK_WORDS]
        for expression in rest:
            if counts[begin:end].any():
                keep_true(part, segment, base, expression, read)
                for chunk in range(begin, end):
                    own = words[chunk * CHUNK_WORDS : (chunk + 1) * CHUNK_WORDS]
                    counts[chunk] = popcount(own)


def compared(clause: StandingQueryClause) -> set[str]:
    """Return the columns of its AttributeFactors: `scan` needs them in a table."""
    return {one.column.name for one in clause.factors if isinstance(one, AttributeFactor)}


def scanned(clause: StandingQueryClause) -> set[str]:
    """Return the columns of all its factors: those that `scan` reads."""
    rest = [one.expression for one in clause.factors if isinstance(one, ResidualFactor)]
    return compared(clause).union(*({ref.name for ref in column_refs(one)} for one in rest))


def _derived(
    clause: StandingQueryClause, table: ScanTable, first: int, past: int
) -> Mapping[DerivedFactor, list[Spans]]:
    """Return where the texts are that satisfy derived factors, by segment; none in segments without rows to compare.

    Without the factors that are evaluated: those, too, whose column the table of a growing segment does not have.
    """
    asked = range(first // SEGMENT_ROWS, -(-past // SEGMENT_ROWS))
    found = {}
    for factor in clause.factors:
        if isinstance(factor, DerivedFactor) and factor.attribute.column in table.places:
            place = table.places[factor.attribute.column]
            texts = [table.texts(segment, place) for segment in asked]
            spans = spans_of(factor, texts, past - first)
            if spans is not None:
                before: list[Spans] = [[]] * asked.start
                found[factor] = before + spans + [[]] * (len(table) - asked.stop)
    return found


def arguments(
    factors: Sequence[AttributeFactor],
    table: ScanTable,
    derived: Mapping[DerivedFactor, list[Spans]] = NO_SPANS,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the factors, and the ends of their intervals, as `within` takes them; `derived` are places of texts.

    Cost: O(intervals); where there are texts, O(log d) for each of them and each segment with d texts.
    """
    if not factors and not derived:
        return NO_FACTORS, NO_ENDS
    rows: list[tuple[int, int, int, bool]] = []
    lows: list[Any] = []
    highs: list[Any] = []
    texts: list[tuple[int, int, int]] = []
    for factor in factors:
        column, begin = factor.column, len(lows)
        own_lows, own_highs = _ends(column.type, factor.values)
        lows += own_lows
        highs += own_highs
        place = table.places[column.name]
        rows.append((place, begin, len(lows), factor.values.null))
        if column.type is _STRING:
            texts.append((place, begin, len(lows)))
    spans: list[tuple[int, int, list[Spans]]] = []
    for one, by_segment in derived.items():
        begin, most = len(lows), max(map(len, by_segment), default=0)
        lows += [0] * most
        highs += [0] * most
        rows.append((table.places[one.attribute.column], begin, len(lows), one.values.null))
        spans.append((begin, len(lows), by_segment))
    if not texts and not derived:
        return np.array(rows, dtype=np.int64), np.array([[lows, highs]], dtype=np.int64)
    placed = []
    for segment in range(len(table)):
        in_segment = lows.copy(), highs.copy()
        for place, begin, past in texts:
            own = slice(begin, past)
            known = table.texts(segment, place)
            in_segment[0][own] = [bisect_left(known, low) for low in lows[own]]
            in_segment[1][own] = [
                (len(known) if high is None else bisect_left(known, high)) - 1
                for high in highs[own]
            ]
        for begin, past, by_segment in spans:
            # Those that a segment has less than another lie behind its last one, and hold nothing.
            own_spans = by_segment[segment]
            last = own_spans[-1][1] if own_spans else -1
            own_spans = own_spans + [(last + 1, last)] * (past - begin - len(own_spans))
            in_segment[0][begin:past] = [low for low, _ in own_spans]
            in_segment[1][begin:past] = [high for _, high in own_spans]
        placed.append(in_segment)
    return np.array(rows, dtype=np.int64), np.array(placed, dtype=np.int64)


def _ends(kind: ColumnType, values: ValueSet) -> tuple[list[Any], list[Any]]:
    """Return lows and highs: int64, the bits of float64, texts and the first text behind (None = no end)."""
    if kind is _STRING or kind is _FLOAT64:
        ends = list(closed_intervals(kind, values))
        lows, highs = [low for low, _ in ends], [high for _, high in ends]
        if kind is _STRING:
            return lows, highs
        doubles = np.array([lows, highs], dtype=np.float64).view(np.int64).tolist()
        return doubles[0], doubles[1]
    return (
        [INT64_MIN if one.low is None else one.low for one in values.intervals],
        [INT64_MAX if one.high is None else one.high for one in values.intervals],
    )


def keep_true(words: Words, segment: int, base: int, expression: Expression, read: Read) -> None:
    """Clear the bits of rows for which the expression is not TRUE; it is evaluated for the others alone.

    `base` is the offset of the first bit in the segment.
    """
    rows = positions(words)
    offsets = rows + base
    true = truth(expression, lambda ref: read(segment, ref.name, offsets), len(rows))
    words[:] = mask_of(rows[true], len(words))
