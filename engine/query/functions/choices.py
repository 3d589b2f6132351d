"""Functions that give one of their arguments: which one depends on the row. Arguments are of one type."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from psoup.engine.query.functions.distinct import ranked
from psoup.engine.query.functions.function import Kernel
from psoup.engine.query.functions.valid import is_valid, where_true
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType


def case(columns: Sequence[Column], kind: ColumnType) -> Column:
    """Return the result behind the first condition that is TRUE, else the last argument."""
    *branches, default = columns
    conditions, results = branches[::2], branches[1::2]
    values, dictionary = _values([*results, default])
    chosen, valid = values[-1], is_valid(default)
    for condition, result, found in reversed(
        list(zip(conditions, results, values[:-1], strict=True))
    ):
        true = where_true(condition)
        chosen = np.where(true, found, chosen)
        valid = np.where(true, is_valid(result), valid)
    return _column(kind, chosen, valid, dictionary)


def coalesce(columns: Sequence[Column], kind: ColumnType) -> Column:
    """Return the first argument that is not NULL."""
    values, dictionary = _values(columns)
    chosen, valid = values[-1], is_valid(columns[-1])
    for column, found in reversed(list(zip(columns[:-1], values[:-1], strict=True))):
        known = is_valid(column)
        chosen = np.where(known, found, chosen)
        valid = valid | known
    return _column(kind, chosen, valid, dictionary)


def extreme(is_better: Callable[[Any, Any], Any]) -> Kernel:
    """Return the kernel of GREATEST or LEAST: NULLs are passed over, of equal values the first stays."""

    def kernel(columns: Sequence[Column], kind: ColumnType) -> Column:
        values, dictionary = _values(columns)
        chosen, valid = values[0], is_valid(columns[0])
        for column, found in zip(columns[1:], values[1:], strict=True):
            known = is_valid(column)
            better = known & (~valid | is_better(found, chosen))
            chosen = np.where(better, found, chosen)
            valid = valid | known
        return _column(kind, chosen, valid, dictionary)

    return kernel


def _values(columns: Sequence[Column]) -> tuple[list[NDArray[Any]], list[str] | None]:
    """Return the values of columns of one type, ordered as they are, texts as codes of one dictionary."""
    if columns[0].type is ColumnType.STRING:
        codes, dictionary = ranked(columns)
        return list(codes), dictionary
    return [column.values for column in columns], None


def _column(
    kind: ColumnType,
    values: NDArray[Any],
    valid: NDArray[np.bool_],
    dictionary: list[str] | None,
) -> Column:
    return Column(kind, values, None if valid.all() else valid, dictionary)
