"""Parses options of the command line: a joined time, formats of times, types, lists, an encoding, a delimiter."""

import codecs
from collections.abc import Sequence
from typing import Any, Final

from psoup.client.errors import DefinitionError
from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.definition import parse_columns
from psoup.pipeline.files.options import EpochUnit
from psoup.pipeline.files.times.formats import TimeFormat

JOINED_NAME: Final = "ts"
"""Name of a joined time column that is given none."""


def time_options(time: str | None, formats: Sequence[str] | None) -> dict[str, Any]:
    """Return the options `time`, `time_parts` and `time_formats`, given --time and --time-format.

    Raises:
        DefinitionError: one is malformed, or they contradict each other.
    """
    column, parts = time_of(time)
    return {
        "time": column,
        "time_parts": parts,
        "time_formats": time_formats_of(formats or (), time=column),
    }


def time_of(given: str | None) -> tuple[str | None, tuple[str, ...]]:
    """Parse `date`, `year+month+day` or `at=date+clock`; return the time column, and the columns it is joined from.

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
    """Parse `FORMAT` (of the time column) or `COLUMN=FORMAT`; return the formats by column.

    Raises:
        DefinitionError: a format is malformed, its column is not named, or a column has two formats.
    """
    formats: dict[str, str] = {}
    for option in given:
        column, equals, text = option.partition("=")
        if not equals or "%" in column:
            column, text = time or "", option
        if not column:
            raise DefinitionError(
                f"--time-format is {option!r} for no column: name the time column with --time,"
                " or write COLUMN=FORMAT."
            )
        if column in formats:
            raise DefinitionError(f"--time-format is given twice for {column!r}: pass one.")
        if text not in set(EpochUnit):
            TimeFormat(text)
        formats[column] = text
    return tuple(formats.items())


def types_of(given: str | None) -> tuple[tuple[str, ColumnType], ...]:
    """Parse the types of single columns, which are written as in a schema.

    Raises:
        DefinitionError: names the first piece that is not a column.
    """
    return tuple((column.name, column.type) for column in parse_columns(given)) if given else ()


def charset_of(given: str | None) -> str | None:
    """Return Python's name of a text encoding.

    Raises:
        DefinitionError: there is no such encoding.
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
    """Return the character between fields, given itself or the word `tab`.

    Raises:
        DefinitionError: it is not one ASCII character, or is a quote or line end.
    """
    delimiter = {"tab": "\t", "\\t": "\t"}.get(given or "", given)
    if delimiter is not None and (
        len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n'
    ):
        raise DefinitionError(
            f"--delimiter is {given!r}: expected one character of ASCII that is no quote and no line end, or tab."
        )
    return delimiter
