"""Options as they are written on the command line: a joined time, formats of columns, lists, an encoding."""

import codecs
from collections.abc import Sequence
from typing import Any, Final

from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.definition import parse_columns
from psoup.pipeline.errors import DefinitionError
from psoup.pipeline.files.options import EpochUnit
from psoup.pipeline.files.times.formats import TimeFormat

JOINED_NAME: Final = "ts"
"""Of a joined time that is given none."""


def time_options(time: str | None, formats: Sequence[str] | None) -> dict[str, Any]:
    """Return the options `time`, `time_parts` and `time_formats` of what is asked with --time and --time-format.

    Raises:
        DefinitionError: they cannot be, or do not go together.
    """
    column, parts = time_of(time)
    return {
        "time": column,
        "time_parts": parts,
        "time_formats": time_formats_of(formats or (), time=column),
    }


def time_of(given: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Return the time column, and the columns it is joined from: of `date`, `year+month+day` or `at=date+clock`.

    Raises:
        DefinitionError: a name is empty.
    """
    if given is None or "+" not in given:
        return given, ()
    name, equals, joined = given.partition("=")
    parts = tuple(part.strip() for part in (joined if equals else given).split("+"))
    name = name.strip() if equals else JOINED_NAME
    if not name or not all(parts):
        raise DefinitionError(
            f"--time is {given!r}: expected a column, PART+PART, or NAME=PART+PART."
        )
    return name, parts


def time_formats_of(given: Sequence[str], *, time: str | None) -> tuple[tuple[str, str], ...]:
    """Return the columns that are timestamps with their formats: of `FORMAT`, for the time column, or `COLUMN=FORMAT`.

    Raises:
        DefinitionError: a format cannot be, no time column is named for it, or a column has two.
    """
    found: dict[str, str] = {}
    for one in given:
        column, equals, text = one.partition("=")
        if not equals or "%" in column:
            column, text = time or "", one
        if not column:
            raise DefinitionError(
                f"--time-format is {one!r} for no column: name the time column with --time,"
                " or write COLUMN=FORMAT."
            )
        if column in found:
            raise DefinitionError(f"--time-format is given twice for {column!r}.")
        if text not in set(EpochUnit):
            TimeFormat(text)
        found[column] = text
    return tuple(found.items())


def types_of(given: str | None) -> tuple[tuple[str, ColumnType], ...]:
    """Return the types of single columns, written as those of a schema.

    Raises:
        DefinitionError: names the first piece that is not a column.
    """
    return tuple((one.name, one.type) for one in parse_columns(given)) if given else ()


def charset_of(given: str | None) -> str | None:
    """Return the name of an encoding of text.

    Raises:
        DefinitionError: there is none of this name.
    """
    if given is None:
        return None
    try:
        "".encode(given)
    except (LookupError, ValueError):
        raise DefinitionError(
            f"--charset is {given!r}: expected an encoding such as utf-8, utf-16, latin-1 or cp1252."
        ) from None
    return codecs.lookup(given).name


def names_of(given: str | None) -> tuple[str, ...]:
    """Return the names of a comma-separated list, without the blanks around them."""
    return tuple(name.strip() for name in given.split(",")) if given else ()


def delimiter_of(given: str | None) -> str | None:
    """Return the character between fields, of itself or of the word `tab`.

    Raises:
        DefinitionError: it is not one character, or one that stands for something else.
    """
    found = {"tab": "\t", "\\t": "\t"}.get(given or "", given)
    if found is not None and (len(found) != 1 or not found.isascii() or found in '"\r\n'):
        raise DefinitionError(
            f"--delimiter is {given!r}: expected one character of ASCII that is no quote and no line end, or tab."
        )
    return found
