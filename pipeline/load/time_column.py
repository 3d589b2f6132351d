"""The time column of a load: as --time names it, as the files write it, as the stream declares it."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from psoup.client.errors import DefinitionError
from psoup.engine.tuples.schema import ColumnSchema
from psoup.pipeline.definition import column_named
from psoup.pipeline.files.data_file import DataFile
from psoup.pipeline.files.options import ReadOptions


def time_as_written(read: ReadOptions, files: Sequence[DataFile]) -> str:
    """Return the column of --time as the files write it. JSON names its columns row by row: there it stays as given.

    Raises:
        DefinitionError: the files have no such column.
    """
    names = dict.fromkeys(name for data in files for name in data.names)
    if read.time_parts or not names:
        return str(read.time)
    return column_named(str(read.time), names, option="--time")


def with_time_renamed(read: ReadOptions, time: str | None) -> ReadOptions:
    """Return the options with another spelling of the time column."""
    formats = tuple(
        (time or "" if name == read.time else name, text) for name, text in read.time_formats
    )
    return dataclasses.replace(read, time=time, time_formats=formats)


def check_time(time: str, stream: str, existing: Mapping[str, Any]) -> None:
    """Refuse --time if the stream is dated otherwise.

    Raises:
        DefinitionError: names both columns.
    """
    dated = existing.get("time")
    if dated == time:
        return
    by = "the arrival of its rows" if dated is None else repr(dated)
    raise DefinitionError(
        f"{stream} is dated by {by}, and --time names {time!r}. Leave --time out; or pass --replace, which drops"
        f" all rows of {stream} first."
    )


def with_time(columns: tuple[ColumnSchema, ...], time: str | None) -> tuple[ColumnSchema, ...]:
    """Return the columns with the time column not nullable, as every stream declares it."""
    if time is None:
        return columns
    named = column_named(time, [column.name for column in columns], option="--time")
    return tuple(
        dataclasses.replace(column, nullable=False) if column.name == named else column
        for column in columns
    )
