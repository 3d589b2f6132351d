"""Values of any type as int64 that are ordered as they are: what groups, extremes and quantiles compare."""

from collections.abc import Sequence
from operator import lt
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from psoup.engine.checkpoint import checkpoint
from psoup.engine.kernels.exact_sums import count_rows
from psoup.engine.kernels.grouping import (
    TOO_MANY_STEPS,
    look_up,
    mark,
    number_distinct,
    renumber,
)
from psoup.engine.kernels.order import sortable
from psoup.engine.kernels.span import least_most
from psoup.engine.tuples.batch import DTYPES, AscendingTexts, Column
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Integers = NDArray[np.int64]

TABLE_SPAN_MIN: Final = 65_536
"""Values of a span up to this are looked up in a table, however few they are."""
_TEXTS_MANY: Final = 16_384
"""From so many texts on they are sorted without holding other threads up: fewer are sorted in some milliseconds."""


@value_type
class Ordinals:
    """Values without NULLs as int64 in the same order: equal iff the values are, and -0.0 equals 0.0.

    Attributes:
        keys: (n,) int64.
        texts: of strings the distinct ones, ascending: a key is a place among them; None for other types.
    """

    keys: Integers
    texts: Sequence[str] | None = None


@value_type
class CodedTexts:
    """The texts of a column without NULLs, by their codes.

    Attributes:
        texts: those that occur, ascending.
        counts: (d,) how many rows have each code.
        places: (d,) the place of each code among the texts, anything where it does not occur; None = it is the code.
    """

    texts: Sequence[str]
    counts: Integers
    places: Integers | None


def coded_texts(codes: NDArray[np.int32], dictionary: Sequence[str]) -> CodedTexts | None:
    """Return the texts of (n,) codes; None where the dictionary has far more of them than there are rows.

    Cost: 0.5 ns a row; O(d log d) of the d texts that occur where they are not in order.
    """
    if len(dictionary) > max(TABLE_SPAN_MIN, 2 * len(codes)):
        return None
    counts = np.zeros(len(dictionary), dtype=np.int64)
    count_rows(codes, counts)
    used = np.flatnonzero(counts)
    if len(used) == len(counts):
        if isinstance(dictionary, AscendingTexts):
            return CodedTexts(dictionary, counts, None)
        texts, ranks = _ranked(list(dictionary[: len(counts)]))  # it may have grown meanwhile
        return CodedTexts(texts, counts, ranks)
    texts, ranks = _ranked([dictionary[code] for code in used.tolist()])
    places = np.zeros(len(counts), dtype=np.int64)
    places[used] = np.arange(len(used)) if ranks is None else ranks
    return CodedTexts(texts, counts, places)


def ordinals(column: Column) -> Ordinals:
    """Return the values of a column that holds no NULL.

    Cost: O(n), nothing for whole numbers; for strings O(d log d) of the d distinct ones too.
    """
    match column.type:
        case ColumnType.STRING:
            assert column.dictionary is not None, "a string column has its dictionary"
            return _of_texts(column.values, column.dictionary)
        case ColumnType.FLOAT64:
            return Ordinals(sortable(column.values))
        case _:
            return Ordinals(column.values.astype(np.int64, copy=False))


def column_of(
    kind: ColumnType, keys: Integers, texts: Sequence[str] | None, valid: NDArray[np.bool_] | None
) -> Column:
    """Return the values that ordinals stand for; a zero is 0.0. Under NULL any key may stand.

    Args:
        kind: the type of the values.
        keys: (n,).
        texts: as in `Ordinals`; none where all values are NULL.
        valid: (n,) False = NULL; None or all True = no NULL.
    """
    if valid is not None and valid.all():
        valid = None
    if kind is ColumnType.FLOAT64:
        # Taking the sign out of the order of bits is its own inverse.
        values = (keys ^ ((keys >> 63) & np.int64(2**63 - 1))).view(np.float64)
        return Column(kind, values if valid is None else np.where(valid, values, 0.0), valid)
    if kind is ColumnType.STRING:
        texts = texts or ("",)  # NULLs have a code as well
    return Column(kind, keys.astype(DTYPES[kind]), valid, texts)


def numbered(keys: Integers) -> tuple[Integers, Integers]:
    """Return for each of (n,) keys its number among the distinct ones in ascending order, and these.

    Cost: 2 ns a key where their span is narrow, 4 to 20 ns by hashing else.
    """
    if not len(keys):
        return keys, keys
    labels = np.empty(len(keys), dtype=np.int64)
    least, most = (int(one) for one in least_most(keys))
    if most - least < max(TABLE_SPAN_MIN, 2 * len(keys)):
        seen = np.zeros(most - least + 1, dtype=np.bool_)
        mark(keys, least, seen)
        look_up(keys, least, np.cumsum(seen) - 1, labels)
        return labels, np.flatnonzero(seen) + least
    distinct = np.empty(len(keys), dtype=np.int64)
    count = number_distinct(keys, labels, distinct)
    if count == TOO_MANY_STEPS:
        distinct, labels = np.unique(keys, return_inverse=True)
        return labels, distinct
    order = np.argsort(distinct[:count])
    numbers = np.empty(count, dtype=np.int64)
    numbers[order] = np.arange(count)
    renumber(labels, numbers)
    return labels, distinct[:count][order]


def _of_texts(codes: NDArray[np.int32], dictionary: Sequence[str]) -> Ordinals:
    """Return the places of texts among those that occur."""
    found = coded_texts(codes, dictionary)
    if found is None:
        keys, used = numbered(codes.astype(np.int64))
        texts, ranks = _ranked([dictionary[code] for code in used.tolist()])
        if ranks is not None:
            renumber(keys, ranks)
        return Ordinals(keys, texts)
    if found.places is None:
        return Ordinals(codes.astype(np.int64), found.texts)
    keys = np.empty(len(codes), dtype=np.int64)
    look_up(codes, 0, found.places, keys)
    return Ordinals(keys, found.texts)


def _ranked(texts: list[str]) -> tuple[list[str], Integers | None]:
    """Return texts in order of their code points, and the place of each among them; None = they were in order."""
    if all(map(lt, texts, texts[1:])):  # as those of a full segment do
        return texts, None
    places = _order_of(texts)
    ranks = np.empty(len(texts), dtype=np.int64)
    ranks[places] = np.arange(len(texts))
    return [texts[place] for place in places.tolist()], ranks


def _order_of(texts: list[str]) -> Integers:
    """Return the places of texts in order of their code points, which is that of their UTF-8.

    Other threads go on while many are sorted.
    """
    if len(texts) < _TEXTS_MANY:
        return np.array(sorted(range(len(texts)), key=texts.__getitem__), dtype=np.int64)
    checkpoint()
    arrow = pa.array(texts, pa.large_string())
    checkpoint()
    order: Integers = pc.sort_indices(arrow).to_numpy().astype(np.int64)
    return order
