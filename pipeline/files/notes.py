"""Notes for the user before the first row is sent: which words are read as NULL, and in which format times are read."""

import re
from collections.abc import Sequence
from typing import Final

from psoup.engine.query.canonical import sql_name
from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.files.columns.decisions import written_as
from psoup.pipeline.files.columns.kinds import InferredColumn
from psoup.pipeline.files.times.forms import ISO

_NAMES_SHOWN: Final = 8
_WORD: Final = re.compile(r"\w+")


def notes_on(columns: Sequence[InferredColumn]) -> tuple[str, ...]:
    """Return sentences about decisions for columns; a marker is named once, with all its columns."""
    return (
        *_markers(columns),
        *_times(columns),
        *(c.warning for c in columns if c.warning),
        *_quoted(columns),
    )


def _quoted(columns: Sequence[InferredColumn]) -> list[str]:
    """Return a sentence about names with dots, blanks or signs, which SQL reads in double quotes alone."""
    names = [sql_name(c.name) for c in columns if not _WORD.fullmatch(c.name)]
    listed = ", ".join(names[:_NAMES_SHOWN]) + (", ..." if len(names) > _NAMES_SHOWN else "")
    return [f"in SQL these names stand in double quotes: {listed}"] if names else []


def ambiguity(column: InferredColumn, *, time: str | None) -> str:
    """Return why the times of a column are ambiguous, and the options that decide. `time` is the column of --time."""
    name = "" if column.name == time else f"{column.name}="
    ways = " or ".join(f"'{name}{written_as(form, column.sample)}'" for form in column.ambiguous)
    return (
        f"no value tells the day from the month, as in {column.sample!r}: pass --time-format {ways}"
    )


def _markers(columns: Sequence[InferredColumn]) -> list[str]:
    """Return a sentence for each marker: the columns in which it is NULL, and text columns in which it is not."""
    empty: dict[str, list[str]] = {}
    kept: dict[str, list[str]] = {}
    for column in columns:
        where = kept if column.type is ColumnType.STRING else empty
        for marker, count in column.markers.items():
            where.setdefault(marker, []).append(f"{sql_name(column.name)} ({count:,})")
    sentences = []
    for marker, places in sorted(empty.items()):
        sentence = (
            f'{marker} is NULL in {", ".join(places)}; --types "COLUMN string" keeps it as text'
        )
        if marker in kept:
            sentence += (
                f"; it stays text in {', '.join(kept[marker])}, unless --null {marker} is passed"
            )
        sentences.append(sentence)
    return sentences


def _times(columns: Sequence[InferredColumn]) -> list[str]:
    return [
        f"{column.name} is read as {written_as(column.reading.form, column.sample)}, such as {column.sample!r}"
        for column in columns
        if column.type is ColumnType.TIMESTAMP and column.reading.form is not ISO and column.sample
    ]
