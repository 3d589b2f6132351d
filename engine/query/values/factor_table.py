"""Standing factors over one attribute, as arrays: what clause tables are made of.

A factor is a union of closed intervals `[low, high]`: an open end of a DOUBLE becomes its neighbour, that of a
text the text with U+0000 behind it, which nothing lies between. So its arrays are as long as its intervals are
many, whatever their constants: nothing grows with constants times slots.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.order import sortable
from psoup.engine.query.values.value_set import INT64_MAX, INT64_MIN, Interval, ValueSet
from psoup.engine.tuples.lineage import Slot
from psoup.engine.tuples.schema import ColumnType

Ends = tuple[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Factors:
    """The factors of some slots over one attribute, each slot once.

    Attributes:
        slots: (f,) int32.
        sizes: (f,) int32, how many intervals each has, one factor's after the other's.
        nulls: (f,) bool, whether NULL satisfies it.
        lows: (k,) int64, ordered as the attribute's values are, or object (texts): where each interval begins.
        highs: (k,) where it ends; for texts the first text behind it.
        bounded: (k,) bool, False where there is no end above; always True but for texts.
    """

    slots: NDArray[np.int32]
    sizes: NDArray[np.int32]
    nulls: NDArray[np.bool_]
    lows: NDArray[Any]
    highs: NDArray[Any]
    bounded: NDArray[np.bool_]

    @classmethod
    def of(cls, kind: ColumnType, factors: Mapping[Slot, ValueSet]) -> "Factors":
        """Return normal value sets of an attribute of type `kind`, by slot, as arrays."""
        ends = [pair for values in factors.values() for pair in closed_intervals(kind, values)]
        highs = [high for _, high in ends]
        return cls(
            slots=np.fromiter(factors, np.int32, len(factors)),
            sizes=np.array([len(values.intervals) for values in factors.values()], dtype=np.int32),
            nulls=np.array([values.null for values in factors.values()], dtype=np.bool_),
            lows=keys_of(kind, [low for low, _ in ends]),
            highs=keys_of(kind, ["" if high is None else high for high in highs]),
            bounded=np.array([high is not None for high in highs], dtype=np.bool_),
        )


def joined(parts: Sequence[Factors]) -> Factors:
    """Return the factors of all parts, at least one, no slot of which is in two."""
    return Factors(
        slots=np.concatenate([part.slots for part in parts]),
        sizes=np.concatenate([part.sizes for part in parts]),
        nulls=np.concatenate([part.nulls for part in parts]),
        lows=np.concatenate([part.lows for part in parts]),
        highs=np.concatenate([part.highs for part in parts]),
        bounded=np.concatenate([part.bounded for part in parts]),
    )


def keys_of(kind: ColumnType, values: Sequence[Any]) -> NDArray[Any]:
    """Return values as whole numbers that are ordered as they are; texts as objects."""
    made = np.empty(len(values), dtype=interval_dtype(kind))
    made[:] = values
    return sortable(made) if kind is ColumnType.FLOAT64 else made


def interval_dtype(kind: ColumnType) -> type[np.generic]:
    """Return the dtype in which intervals over an attribute of this type are written."""
    if kind is ColumnType.FLOAT64:
        return np.float64
    return np.object_ if kind is ColumnType.STRING else np.int64


def closed_intervals(kind: ColumnType, values: ValueSet) -> Iterator[Ends]:
    """Yield (low, high) of each interval, both ends inside; for texts (low, the first text behind or None)."""
    for interval in values.intervals:
        if kind is ColumnType.STRING:
            yield _text_ends(interval)
        elif kind is ColumnType.FLOAT64:
            yield _float_ends(interval)
        else:
            low, high = interval.low, interval.high
            yield (
                INT64_MIN if low is None else int(low),
                INT64_MAX if high is None else int(high),
            )


def _float_ends(interval: Interval) -> Ends:
    low = -math.inf if interval.low is None else float(interval.low)
    high = math.inf if interval.high is None else float(interval.high)
    if not interval.low_closed:
        low = math.nextafter(low, math.inf)
    if not interval.high_closed:
        high = math.nextafter(high, -math.inf)
    return low, high


def _text_ends(interval: Interval) -> Ends:
    low = "" if interval.low is None else str(interval.low)
    if interval.low is not None and not interval.low_closed:
        low += "\0"
    if interval.high is None:
        return low, None
    return low, str(interval.high) + ("\0" if interval.high_closed else "")
