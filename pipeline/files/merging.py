"""Merges the columns of several files: each gets the narrowest type that holds its values in all files."""

import dataclasses
import functools
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from psoup.engine.limits import FLOAT64_EXACT_INT_MAX
from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.errors import DataFileError
from psoup.pipeline.files.columns.counted_times import CountedTimes
from psoup.pipeline.files.columns.decisions import read_as, written_as
from psoup.pipeline.files.columns.kinds import TYPES, InferredColumn, Kind, widened
from psoup.pipeline.files.data_file import DataFile
from psoup.pipeline.files.times.forms import TimeForm

_NAMED_MAX: Final = 8

Survey = tuple[str, DataFile, Sequence[InferredColumn]]
"""The file's name in messages, the file, and its inferred columns."""


def agree_on_dates(surveys: Sequence[Sequence[InferredColumn]]) -> list[list[InferredColumn]]:
    """Return the columns of each file; ambiguous dates are read in the format of the other files.

    Only if the values of other files allow exactly one of the formats; all other columns stay unchanged.
    """
    decided: dict[str, set[TimeForm]] = {}
    for columns in surveys:
        for column in columns:
            if column.type is ColumnType.TIMESTAMP and not column.ambiguous:
                decided.setdefault(column.name, set()).add(column.reading.form)
    return [
        [_agreed(column, decided.get(column.name, set())) for column in columns]
        for columns in surveys
    ]


def merge_columns(surveys: Sequence[Survey]) -> tuple[InferredColumn, ...]:
    """Return the columns of all files, in the order of their first appearance.

    A file in which a column has no value does not influence the column's type.
    """
    names = dict.fromkeys(column.name for _, _, columns in surveys for column in columns)
    return tuple(_column(name, surveys) for name in names)


def shared_notes(files: Sequence[tuple[str, DataFile]]) -> tuple[str, ...]:
    """Return the notes on whole files: each once, with the names of its files unless it holds for all."""
    places: dict[str, list[str]] = {}
    for name, data in files:
        for note in data.notes:
            places.setdefault(note, []).append(name)
    return tuple(
        note if len(names) == len(files) else f"{_listed(names)}: {note}"
        for note, names in places.items()
    )


def check_headers(files: Sequence[tuple[str, DataFile]]) -> None:
    """Refuse files whose heads name other columns than the first file's; the order may differ.

    Raises:
        DataFileError: names two files and the columns that only one of them has.
    """
    headed = [(name, data) for name, data in files if data.names]
    for name, data in headed[1:]:
        first_name, first = headed[0]
        own = [column for column in data.names if column not in first.names]
        lacking = [column for column in first.names if column not in data.names]
        if own or lacking:
            parts = [
                f"{name} alone has {_listed(own)}" if own else "",
                f"{first_name} alone has {_listed(lacking)}" if lacking else "",
            ]
            raise DataFileError(
                f"its columns are not those of {first_name}: {'; '.join(filter(None, parts))}",
                file=name,
                hint="Load them one by one, or pass --skip-columns or --columns so that they agree.",
            )


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED_MAX
    return ", ".join(names[:_NAMED_MAX]) + (f" and {more} more" if more > 0 else "")


def _agreed(column: InferredColumn, decided: set[TimeForm]) -> InferredColumn:
    ways = [form for form in column.ambiguous if form in decided]
    return read_as(column, ways[0]) if len(ways) == 1 else column


def _column(name: str, surveys: Sequence[Survey]) -> InferredColumn:
    found = [
        (file, data, column)
        for file, data, columns in surveys
        for column in columns
        if column.name == name
    ]
    nulls = sum(column.nulls for _, _, column in found)
    nulls += sum(data.rows or 0 for _, data, _ in surveys) - sum(d.rows or 0 for _, d, _ in found)
    markers: Counter[str] = Counter()
    for _, _, column in found:
        markers.update(column.markers)
    telling = [(file, column) for file, _, column in found if column.kind is not Kind.NOTHING]
    telling = telling or [(found[0][0], found[0][2])]
    kind = _type([column for _, column in telling])
    note, witness = _why(kind, telling)
    return dataclasses.replace(
        telling[0][1],
        type=kind,
        nulls=nulls,
        note=note,
        witness=witness,
        markers=dict(markers),
        warning=_warning(kind, telling),
        empty_texts=any(column.empty_texts for _, _, column in found),
        counted=_counted([column.counted for _, _, column in found]),
    )


def _counted(parts: Iterable[CountedTimes | None]) -> CountedTimes | None:
    """Return the times of a column in all files that write them as numbers; None: no file does."""
    some = [part for part in parts if part is not None]
    return functools.reduce(CountedTimes.joined, some) if some else None


def _type(columns: Sequence[InferredColumn]) -> ColumnType:
    """Return the narrowest type that holds the column's values in all files."""
    if len({column.type for column in columns}) == 1:
        return columns[0].type
    kind = Kind.NOTHING
    for column in columns:
        # Dates like 20180101 are integers if another file has integers that are no dates.
        kind = widened(kind, Kind.TEXT if column.type is ColumnType.STRING else column.kind)
    if kind is Kind.FLOAT and max(c.largest for c in columns) > FLOAT64_EXACT_INT_MAX:
        kind = Kind.TEXT
    return TYPES[kind]


def _why(kind: ColumnType, telling: Sequence[tuple[str, InferredColumn]]) -> tuple[str, str]:
    """Return the note on a column of times or of text, and the value that made it text; both empty for others."""
    if kind is ColumnType.TIMESTAMP:
        ways = dict.fromkeys(column.note for _, column in telling)
        return ("each file is read as it writes them" if len(ways) > 1 else next(iter(ways))), ""
    if kind is not ColumnType.STRING:
        return "", ""
    for file, column in telling:
        if column.note and column.type is ColumnType.STRING:
            note = column.note if len(telling) == 1 else f"{column.note} ({file})"
            return note, column.witness
    first_file, first = telling[0]
    other = next(((f, c) for f, c in telling if c.type is not first.type), None)
    if other is None:
        return "", ""
    return f"{first.type} in {first_file}, {other[1].type} in {other[0]}", ""


def _warning(kind: ColumnType, telling: Sequence[tuple[str, InferredColumn]]) -> str:
    """Return a warning: which file writes times in another format than the first, or what is undecided."""
    first = telling[0][1]
    if kind is ColumnType.TIMESTAMP:
        for file, column in telling:
            if column.reading.form != first.reading.form and column.sample:
                form = written_as(column.reading.form, column.sample)
                return f"{column.name} is read as {form} in {file}, such as {column.sample!r}"
        return first.warning
    undecided = kind is ColumnType.STRING and all(column.warning for _, column in telling)
    return first.warning if undecided else ""
