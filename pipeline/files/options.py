"""How a file is to be read: what the user says about it, beside what it says itself.

Loads nothing heavy: the command line reads its choices from here.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from pipeline.errors import DataFileError

BATCH_ROWS_DEFAULT: Final = 20_000
"""Rows sent at once: small enough for progress, large enough that a request costs little."""
SKIPPED: Final = "-"
"""In a list of column names: this field is left out."""


class FileFormat(StrEnum):
    """How rows are written in a file."""

    CSV = "csv"
    NDJSON = "ndjson"
    JSON = "json"
    PARQUET = "parquet"


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
    """Between the fields of a CSV; None = a tab in .tsv, else a comma."""
    nulls: tuple[str, ...] = ()
    """Unquoted cells of a CSV that are NULL, beside the empty one; `nan` does so in Parquet too."""
    header: bool = True
    """Whether the first record of a CSV names its columns."""
    columns: tuple[str, ...] | None = None
    """Names for the fields of a CSV, in order, instead of the header's; `-` leaves one out."""
    skip: frozenset[str] = frozenset()
    """Columns to leave out, by name."""
    epoch: EpochUnit | None = None
    """What numbers in timestamp columns count."""
    time: str | None = None
    """The time column: a timestamp, whatever its values look like."""

    def check_skipped(self, path: Path, names: Collection[str]) -> None:
        """Refuse a column to leave out that is none of the file's: a name spelt wrongly would go in.

        Raises:
            DataFileError: names the first such column and those there are.
        """
        unknown = sorted(self.skip.difference(names))
        if unknown:
            raise DataFileError(
                f"there is no such column to leave out; there are {', '.join(names)}",
                file=str(path),
                column=unknown[0],
                hint="Correct --skip-columns.",
            )
