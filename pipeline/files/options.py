"""The options with which a file is read.

Imports nothing heavy: `psoup --help` reads the choices from here.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.errors import DataFileError

BATCH_ROWS_DEFAULT: Final = 20_000
"""Rows of a batch: few enough for smooth progress, and enough to make the cost of a request small."""
SKIPPED: Final = "-"
"""In a list of column names: leave this field out."""


class FileFormat(StrEnum):
    """The format of a file of rows."""

    CSV = "csv"
    NDJSON = "ndjson"
    JSON = "json"
    GEOJSON = "geojson"
    PARQUET = "parquet"
    ZEEK = "zeek"


class EpochUnit(StrEnum):
    """The unit of numbers in a timestamp column, counted from 1970-01-01 UTC."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"

    @property
    def microseconds(self) -> float:
        """Return the unit's length in microseconds."""
        return {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """Options that decide which rows a file has."""

    format: FileFormat | None = None
    """None: by the file's name."""
    delimiter: str | None = None
    """The delimiter of a CSV; None: by its first records."""
    charset: str | None = None
    """Encoding of text; None: that of a byte order mark, else UTF-8."""
    comment: str | None = None
    """Records of a CSV that begin with this text are ignored."""
    quotes: bool = True
    """Whether fields of a CSV may be quoted."""
    decimal_comma: bool = False
    """Whether numbers of a CSV are written 2,5."""
    nulls: tuple[str, ...] = ()
    """Texts that mean NULL in columns of every type: unquoted cells of a CSV, strings of JSON; `nan` in Parquet."""
    header: bool = True
    """Whether the first record of a CSV names its columns."""
    columns: tuple[str, ...] | None = None
    """Names for the fields of a CSV, in order, instead of the header's; `-` leaves one out."""
    skip: frozenset[str] = frozenset()
    """Names of columns to leave out."""
    flatten: bool = True
    """Whether members of an object inside a JSON row become columns; otherwise the object's text is one column."""
    types: tuple[tuple[str, ColumnType], ...] = ()
    """Types of single columns, instead of inferred ones."""
    epoch: EpochUnit | None = None
    """Unit of numbers in timestamp columns."""
    time: str | None = None
    """The time column, which is read as a timestamp in any case."""
    time_parts: tuple[str, ...] = ()
    """Columns from which the time column is joined, in order; empty: it is a column of the file."""
    time_formats: tuple[tuple[str, str], ...] = ()
    """Timestamp columns, each with its strptime format or the unit of its numbers."""
    limit: int | None = None
    """Number of rows to read from the front of the file; None: all."""

    def check_columns(self, path: Path, names: Collection[str]) -> None:
        """Refuse options that name an unknown column: a column to skip would be loaded if its name is misspelt.

        Raises:
            DataFileError: names the unknown column and the known ones; or the name of the joined time is taken.
        """
        named: dict[str, Collection[str]] = {
            "--skip-columns": self.skip,
            "--types": {name for name, _ in self.types},
            "--time": set(self.time_parts),
            "--time-format": {name for name, _ in self.time_formats} - {self.time},
        }
        for option, wanted in named.items():
            if unknown := sorted(set(wanted).difference(names)):
                raise DataFileError(
                    f"there is no such column for {option}; there are {', '.join(names)}",
                    file=str(path),
                    column=unknown[0],
                    hint=f"Correct {option}.",
                )
        if self.time_parts and self.time in names:
            raise DataFileError(
                "the file has a column of the name that the joined time would get",
                file=str(path),
                column=self.time,
                hint=f"Pass --time NAME={'+'.join(self.time_parts)} with another name.",
            )
