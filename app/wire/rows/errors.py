"""What was wrong with which row: collected column by column, shown in the order of the rows."""

import difflib
import heapq
import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import orjson

from psoup.engine import limits
from psoup.engine.errors import RowsRejectedError
from psoup.engine.tuples.schema import ColumnSchema, ColumnType

TYPE_MISMATCH: Final = "type-mismatch"
OUT_OF_RANGE: Final = "out-of-range"
MISSING: Final = "missing"
UNKNOWN_COLUMN: Final = "unknown-column"
INVALID_TEXT: Final = "invalid-text"
TOO_LONG: Final = "too-long"
TOO_FAR_IN_FUTURE: Final = "too-far-in-future"
ROW_CODES: Final = (
    TYPE_MISMATCH,
    OUT_OF_RANGE,
    MISSING,
    UNKNOWN_COLUMN,
    INVALID_TEXT,
    TOO_LONG,
    TOO_FAR_IN_FUTURE,
)
GOT_LENGTH_MAX: Final = 64
Found = TypeVar("Found")
WrongValue = tuple[int, str, object]
"""The index of a row, a row code, and the value that it says of."""

_COMPARED_LENGTH_MAX: Final = 32
"""Characters of a name of which it is asked which column may be meant."""
_RFC3339: Final = "timestamp: RFC 3339 with offset (add Z for UTC), at most six decimals"
EXPECTED: Final = {
    ColumnType.INT64: "int64",
    ColumnType.FLOAT64: "float64, finite; an integer only up to 2^53",
    ColumnType.BOOL: "bool",
    ColumnType.STRING: f"string without NUL, at most {limits.STRING_BYTES_MAX} bytes",
    ColumnType.TIMESTAMP: f"{_RFC3339}, or integer microseconds",
}

LinesOf = Callable[[Sequence[int]], Sequence[int]]
"""Row indices, ascending, to the lines the rows begin in, from 1."""


@dataclass(frozen=True, slots=True)
class RowError:
    """One value that does not fit. `index` counts rows from 0; None = the whole body (a header)."""

    index: int | None
    pointer: str
    code: str
    expected: str | None
    got: str | None


class RowErrors:
    """What is wrong with a batch: the first ROW_ERRORS_SHOWN_MAX are kept, some ROW_ERRORS_COUNTED_MAX counted."""

    def __init__(self) -> None:
        """Begin with nothing wrong."""
        self._kept: list[tuple[int, int, int, RowError]] = []
        self._total = 0

    def __bool__(self) -> bool:
        """Whether anything is wrong."""
        return self._total > 0

    def add(self, error: RowError, *, place: int) -> None:
        """Count one error; `place` is its column's, to order errors within a row."""
        self._total += 1
        # Negated, so that the heap's top is the last one shown: it makes way for an earlier one.
        entry = (1 if error.index is None else -error.index, -place, -self._total, error)
        if len(self._kept) < limits.ROW_ERRORS_SHOWN_MAX:
            heapq.heappush(self._kept, entry)
        elif entry > self._kept[0]:
            heapq.heapreplace(self._kept, entry)

    def add_each(
        self, found: Iterable[Found], make: Callable[[Found], RowError], *, place: int
    ) -> None:
        """Count an error for each of `found`, which are in the order of rows.

        `make` turns the first of them into errors: no more than that can be shown. The rest are only counted, and
        looked for until ROW_ERRORS_COUNTED_MAX errors are: a body of millions of them takes minutes to judge.
        """
        rest = iter(found)
        for one in itertools.islice(rest, limits.ROW_ERRORS_SHOWN_MAX):
            self.add(make(one), place=place)
        left = max(0, limits.ROW_ERRORS_COUNTED_MAX - self._total)
        self._total += sum(1 for _ in itertools.islice(rest, left))

    def raise_if_any(self, lines_of: LinesOf | None) -> None:
        """Refuse the batch if anything is wrong; `lines_of` is None where the format has no lines.

        Raises:
            RowsRejectedError: the first errors in the order of rows and columns, and their total.
        """
        if not self._total:
            return
        ordered = [entry[-1] for entry in sorted(self._kept, reverse=True)]
        lines: dict[int | None, int] = {}
        if lines_of is not None:
            rows = sorted({error.index for error in ordered if error.index is not None})
            lines = {None: 1, **dict(zip(rows, lines_of(rows), strict=True))}
        first = ordered[0]
        where = (
            "the names of columns" if first.index is None else f"row {first.index}, counted from 0"
        )
        raise RowsRejectedError(
            "Rows do not fit the stream; nothing is stored. Correct them and send the batch again. "
            f"Errors: {self._total}, the first {first.code} in {where}.",
            errors=[_members(error, lines.get(error.index)) for error in ordered],
            errors_total=self._total,
        )


def _members(error: RowError, line: int | None) -> dict[str, object]:
    return {
        "index": error.index,
        **({} if line is None else {"line": line}),
        "pointer": error.pointer,
        "code": error.code,
        "expected": error.expected,
        "got": error.got,
    }


def value_error(column: ColumnSchema, found: WrongValue) -> RowError:
    """Return the error of one value of one column."""
    index, code, got = found
    expected = EXPECTED[column.type]
    if column.unit is not None:
        expected = f"{_RFC3339}, or integer {column.unit.spoken}"
    if code == MISSING:
        expected = f"{column.type.value}, not null"
    return RowError(index, pointer(column.name), code, expected, shown(got))


def pointer(name: str) -> str:
    """Return the JSON pointer of a member; a name longer than any column's is cut."""
    if len(name) > limits.COLUMN_NAME_LENGTH_MAX:
        name = name[: limits.COLUMN_NAME_LENGTH_MAX] + "…"
    return "/" + name.replace("~", "~0").replace("/", "~1")


def shown(got: object) -> str:
    """Return a sender's value as JSON text, cut to GOT_LENGTH_MAX characters."""
    if isinstance(got, str):
        got = got[: GOT_LENGTH_MAX + 1]
    elif isinstance(got, int) and not isinstance(got, bool):
        return _cut(str(got))
    try:
        text = orjson.dumps(got).decode()
    except (TypeError, orjson.JSONEncodeError):
        text = f"<{type(got).__name__}>"
    return _cut(text)


def _cut(text: str) -> str:
    return text if len(text) <= GOT_LENGTH_MAX else text[: GOT_LENGTH_MAX - 1] + "…"


def reject_columns(names: Sequence[str], code: str, expected: Sequence[str]) -> RowErrors:
    """Return the errors of a header or schema: one for each of `names`, which are unknown or missing."""

    def error(name: str) -> RowError:
        listed = known_columns(name, expected) if code == UNKNOWN_COLUMN else ", ".join(expected)
        return RowError(None, pointer(name), code, listed, shown(name))

    errors = RowErrors()
    errors.add_each(names, error, place=0)
    return errors


def _is_compared(name: str) -> bool:
    return len(name) <= _COMPARED_LENGTH_MAX


def known_columns(name: str, columns: Sequence[str]) -> str:
    """Return what is expected in place of a name that is no column: the closest one, and all of them.

    Cost: 1 ms where many columns are like it; a longer name is compared with none, for that takes the square of it.
    """
    listed = ", ".join(columns)
    folded = {column.casefold(): column for column in columns}
    given = name[: limits.COLUMN_NAME_LENGTH_MAX].casefold()
    if set(given) & set(";\t|") and any(one in given for one in folded):
        return f"columns separated by commas: {listed}"
    near = []
    if _is_compared(given):
        near = difflib.get_close_matches(given, filter(_is_compared, folded), n=1)
    if near:
        return f"did you mean {folded[near[0]]}? The columns are {listed}"
    return f"one of the columns {listed}"
