"""Values that occur in columns, each once: what is computed of texts is computed for these, not for rows."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.checkpoint import check_hold, checkpoint, is_checked
from psoup.engine.limits import KIB, STRING_BYTES_MAX
from psoup.engine.query.functions.valid import all_valid
from psoup.engine.tuples.batch import DTYPES, Column
from psoup.engine.tuples.schema import ColumnType

TEXTS_AT_ONCE: Final = 1_024
"""Texts that are decided between two checkpoints: 8 MiB where each is as long as a text may be, a tenth of a second."""
LENGTH_AT_ONCE_MAX: Final = 128 * KIB
"""Characters of these texts that are decided in about a millisecond."""
CALLS_AT_ONCE: Final = 128
"""Calls with texts between two checkpoints: a search may take a tenth of a microsecond for a character."""
_BYTES_OF_CHARACTER_MAX: Final = 4
_COMBINATIONS_MAX: Final = 2**62

Rows = NDArray[np.intp]
"""For each row the place of its value among the distinct ones; anything under NULL."""


def used_texts(column: Column) -> tuple[list[str], Rows]:
    """Return the distinct texts that occur, and for each row which of them it holds (0 under NULL)."""
    assert column.dictionary is not None
    codes = column.values if column.valid is None else column.values[column.valid]
    texts, positions = _occurring(column.dictionary, codes)
    if column.valid is None:
        return texts, positions
    all_rows = np.zeros(len(column), np.intp)
    all_rows[column.valid] = positions
    return texts, all_rows


def _occurring(
    dictionary: Sequence[str], codes: NDArray[np.int32]
) -> tuple[list[str], NDArray[np.intp]]:
    """Return the texts that codes stand for, in order of these, and for each code the place of its text."""
    if len(dictionary) > 4 * len(codes):
        distinct, positions = np.unique(codes, return_inverse=True)
        return [dictionary[code] for code in distinct.tolist()], positions
    occurs = np.zeros(len(dictionary), np.bool_)
    occurs[codes] = True
    used = np.flatnonzero(occurs)
    if len(used) and used[-1] - used[0] < len(used):  # as where texts are new to a stream
        return list(dictionary[used[0] : used[-1] + 1]), codes - used[0]
    return [dictionary[code] for code in used.tolist()], (np.cumsum(occurs) - 1)[codes]


def per_text(
    column: Column, predicate: Callable[[Sequence[str]], NDArray[np.bool_]]
) -> NDArray[np.bool_]:
    """Return the predicate for every row, asked once for each distinct text, many together; anything under NULL."""
    texts, rows = used_texts(column)
    if not texts:
        return np.zeros(len(column), np.bool_)
    decided = []
    for first in range(0, len(texts), TEXTS_AT_ONCE):
        checkpoint()
        some = texts[first : first + TEXTS_AT_ONCE]
        if is_checked() and sum(map(len, some)) > LENGTH_AT_ONCE_MAX:
            check_hold()
        decided.append(predicate(some))
    found: NDArray[np.bool_] = np.concatenate(decided)[rows]
    return found


def ranked(columns: Sequence[Column]) -> tuple[list[NDArray[np.int32]], list[str]]:
    """Return columns of texts as codes of one dictionary in the order of its texts; anything under NULL.

    So codes compare as texts do. The dictionary has one text at least.
    """
    used = [used_texts(column) for column in columns]
    dictionary = sorted(set[str]().union(*[texts for texts, _ in used])) or [""]
    ranks = {text: rank for rank, text in enumerate(dictionary)}
    codes = [
        np.array([ranks[text] for text in texts] or [0], np.int32)[rows] for texts, rows in used
    ]
    return codes, dictionary


def computed(columns: Sequence[Column], kind: ColumnType, function: Callable[..., Any]) -> Column:
    """Return a function of each row's values, called once for each combination that occurs; NULL of a NULL.

    A text of more than STRING_BYTES_MAX becomes NULL: what a stream could not hold, no call makes.

    Args:
        columns: the arguments, at least one.
        kind: the type of the function's values.
        function: of Python values, one of each column; None = NULL.
    """
    valid = all_valid(columns)
    if valid is not None:
        columns = [column.take(valid) for column in columns]
    calls, rows = _combinations(columns)
    results = []
    for first in range(0, len(calls), CALLS_AT_ONCE):
        checkpoint()
        some = calls[first : first + CALLS_AT_ONCE]
        if is_checked() and _length(some) > LENGTH_AT_ONCE_MAX:
            check_hold()
        for arguments in some:
            result = function(*arguments)
            results.append(None if _is_too_long(result) else result)
    found = column_of(results, kind).take(rows)
    if valid is None:
        return found
    values = np.zeros(len(valid), DTYPES[kind])
    values[valid] = found.values
    known = valid.copy()
    if found.valid is not None:
        known[valid] = found.valid
    return Column(kind, values, known, found.dictionary)


def column_of(cells: Sequence[Any], kind: ColumnType) -> Column:
    """Return Python values as a column, None as NULL; equal texts become one of its dictionary."""
    known = np.fromiter((cell is not None for cell in cells), np.bool_, len(cells))
    valid = None if known.all() else known
    if kind is ColumnType.STRING:
        places: dict[str, int] = {}
        codes = [places.setdefault(cell, len(places)) if cell is not None else 0 for cell in cells]
        return Column(kind, np.array(codes, DTYPES[kind]), valid, list(places) or [""])
    filled = [0 if cell is None else cell for cell in cells]
    return Column(kind, np.array(filled, DTYPES[kind]), valid)


def _length(calls: Sequence[tuple[Any, ...]]) -> int:
    """Return the characters of all arguments."""
    return sum(len(one) for arguments in calls for one in arguments if isinstance(one, str))


def _is_too_long(result: object) -> bool:
    """Return whether a call gave a text that is longer than one may be."""
    return (
        isinstance(result, str)
        and len(result) * _BYTES_OF_CHARACTER_MAX > STRING_BYTES_MAX
        and len(result.encode()) > STRING_BYTES_MAX
    )


def _combinations(columns: Sequence[Column]) -> tuple[list[tuple[Any, ...]], Rows]:
    """Return the combinations of values that occur, and for each row which of them it has. No value is NULL."""
    values: list[list[Any]] = []
    places: list[Rows] = []
    for column in columns:
        found, rows = _values_of(column)
        values.append(found)
        places.append(rows)
    varying = [i for i, found in enumerate(values) if len(found) > 1]
    count = len(columns[0])
    if not varying:
        once = [tuple(found[0] for found in values)] if count else []
        return once, np.zeros(count, np.intp)
    if len(varying) == 1:
        (only,) = varying
        calls = [
            tuple(value if i == only else found[0] for i, found in enumerate(values))
            for value in values[only]
        ]
        return calls, places[only]
    keys, sizes = places[varying[0]].astype(np.int64), len(values[varying[0]])
    for i in varying[1:]:
        if sizes * len(values[i]) > _COMBINATIONS_MAX:
            known, keys = np.unique(keys, return_inverse=True)
            sizes = len(known)
        keys, sizes = keys * len(values[i]) + places[i], sizes * len(values[i])
    _, firsts, rows = np.unique(keys, return_index=True, return_inverse=True)
    cells = [
        [found[place] for place in rows_of[firsts].tolist()]
        for found, rows_of in zip(values, places, strict=True)
    ]
    return list(zip(*cells, strict=True)), rows


def _values_of(column: Column) -> tuple[list[Any], Rows]:
    """Return the distinct values of a column without NULLs, and for each row which of them it holds."""
    if column.dictionary is not None:
        return used_texts(column)
    if len(column) and _is_constant(column.values):
        return column.values[:1].tolist(), np.zeros(len(column), np.intp)
    kind = column.values.dtype
    bits = column.values.view(np.int64) if kind == np.float64 else column.values
    found, rows = np.unique(bits, return_inverse=True)  # by bits -0.0 and 0.0 are two
    return found.view(kind).tolist(), rows


def _is_constant(values: NDArray[Any]) -> bool:
    same: bool = (values == values[0]).all()
    return same and (values.dtype != np.float64 or bool(values[0]))
