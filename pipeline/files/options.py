"""How a file is to be read: what the user says about it, beside what it says itself.

Loads nothing heavy: the command line reads its choices from here.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.errors import DataFileError

BATCH_ROWS_DEFAULT: Final = 20_000
"""Rows sent at once: small enough for progress, large enough that a request costs little."""
SKIPPED: Final = "-"
"""In a list of column names: this field is left out."""


class FileFormat(StrEnum):
    """How rows are written in a file."""

    CSV = "csv"
    NDJSON = "ndjson"
    JSON = "json"
    GEOJSON = "geojson"
    PARQUET = "parquet"
    ZEEK = "zeek"


class EpochUnit(StrEnum):
    """What a number in a timestamp column counts since 1970-01-01 UTC."""

    SECONDS = "s"
    MILLISECONDS = "ms"
    MICROSECONDS = "us"
    NANOSECONDS = "ns"

    @property
    def microseconds(self) -> float:
        """The unit's length in microseconds."""
        return {"s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}[self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """All of it decides which rows come out, so all of it belongs to a load's identity."""

    format: FileFormat | None = None
    """None = as the file's name tells."""
    delimiter: str | None = None
    """Between the fields of a CSV; None = as its first records tell."""
    charset: str | None = None
    """How text is encoded; None = UTF-8, or UTF-16 where a byte order mark says so."""
    comment: str | None = None
    """Records of a CSV that begin with it are left out."""
    quotes: bool = True
    """Whether a CSV may have fields in quotes."""
    decimal_comma: bool = False
    """Whether numbers of a CSV are written 2,5."""
    nulls: tuple[str, ...] = ()
    """Values that are NULL in columns of every type: unquoted cells of a CSV, strings of JSON; `nan` in Parquet."""
    header: bool = True
    """Whether the first record of a CSV names its columns."""
    columns: tuple[str, ...] | None = None
    """Names for the fields of a CSV, in order, instead of the header's; `-` leaves one out."""
    skip: frozenset[str] = frozenset()
    """Columns to leave out, by name."""
    flatten: bool = True
    """Whether the members of an object inside a JSON row become columns; else its text is one."""
    types: tuple[tuple[str, ColumnType], ...] = ()
    """Types of single columns, instead of those the file shows."""
    epoch: EpochUnit | None = None
    """What numbers in timestamp columns count."""
    time: str | None = None
    """The time column: a timestamp, whatever its values look like."""
    time_parts: tuple[str, ...] = ()
    """Columns that the time column is joined from, in order; empty where it is one of the file's."""
    time_formats: tuple[tuple[str, str], ...] = ()
    """Columns that are timestamps, each with its format as of strptime, or the unit it counts in."""
    limit: int | None = None
    """Rows read from the front of the file; None = all."""

    def check_columns(self, path: Path, names: Collection[str]) -> None:
        """Refuse options that name a column which is none of the file's: one to skip, spelt wrongly, would go in.

        Raises:
            DataFileError: names the first such column and those there are, or the joined column's name is taken.
        """
        asked: dict[str, Collection[str]] = {
            "--skip-columns": self.skip,
            "--types": {name for name, _ in self.types},
            "--time": set(self.time_parts),
            "--time-format": {name for name, _ in self.time_formats} - {self.time},
        }
        for option, wanted in asked.items():
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
