"""The files of a backfill: their names and sizes, their format, and Spark's options to read them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from psoup.client.errors import DefinitionError
from psoup.pipeline.spark.launch.checkpoints import file_name

READ_OPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "csv": {"header": "true", "enforceSchema": "false", "escape": '"', "mode": "FAILFAST"},
    "json": {"mode": "FAILFAST"},
    "parquet": {},
}
"""Spark's options by format. CSV is read as RFC 4180 says; a value that does not fit ends the job (Spark: NULL)."""
LISTING_OPTIONS: Final = frozenset({"recursivefilelookup", "pathglobfilter"})
"""Options that select files, in lower case."""
_FORMATS: Final[Mapping[str, str]] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
}
_UNPACKED_BY_SPARK: Final = frozenset({".gz", ".bz2", ".lz4", ".snappy", ".deflate"})
_NOT_UNPACKED: Final = frozenset({".xz", ".zip", ".zst", ".7z"})


@dataclass(frozen=True, slots=True)
class Files:
    """Files to read: their sizes in bytes by `file_name`, their format, and Spark's options to read them."""

    path: str
    nbytes: Mapping[str, int]
    format: str
    options: Mapping[str, str]


def list_files(
    spark: SparkSession, path: str, *, format_given: str | None, options: Mapping[str, str]
) -> Files:
    """Return the files that exist under a path now.

    Raises:
        DefinitionError: there are none, their formats differ, or Spark cannot read them.
    """
    listing = spark.read.format("binaryFile").options(
        **{name: value for name, value in options.items() if name.lower() in LISTING_OPTIONS}
    )
    rows = listing.load(path).select("path", "length").collect()
    nbytes = {file_name(row["path"]): int(row["length"]) for row in rows}
    if not nbytes:
        raise DefinitionError(
            f"There is no file under {path!r}: pass a file, a folder, or a pattern such as 'in/*.csv'."
        )
    chosen = format_given or _format_of(path, nbytes)
    if chosen not in READ_OPTIONS:
        raise DefinitionError(f"--format is {chosen!r}: expected one of {', '.join(READ_OPTIONS)}.")
    given = {name.lower() for name in options}
    defaults = {n: value for n, value in READ_OPTIONS[chosen].items() if n.lower() not in given}
    folder, alone = _folder_of(path, nbytes)
    return Files(folder, nbytes, chosen, {**defaults, **options, **alone})


def _folder_of(path: str, names: Mapping[str, int]) -> tuple[str, dict[str, str]]:
    """Return the path and options with which Spark's file source reads `path`: it takes no single file."""
    folder, slash, name = path.rpartition("/")
    (first, *others) = names
    if others or not first.endswith(f"/{name}"):
        return path, {}
    pattern = re.sub(r"([\\*?\[\]{}])", r"\\\1", name)
    return (folder or slash or "."), {"pathGlobFilter": pattern}


def infer_schema(spark: SparkSession, files: Files) -> StructType:
    """Return the columns that Spark infers. Cost: one pass over text files."""
    options = {"inferSchema": "true", **files.options}
    return spark.read.format(files.format).options(**options).load(files.path).schema


def _format_of(path: str, names: Mapping[str, int]) -> str:
    """Return the format that all names have."""
    formats = {_format_named(name) for name in names}
    if len(formats) > 1 or None in formats:
        listed = ", ".join(sorted(format_ or "none" for format_ in formats))
        raise DefinitionError(
            f"The file names under {path!r} have several formats ({listed}): pass --format, and"
            " --option pathGlobFilter='*.csv' to leave other files out."
        )
    (only,) = formats
    return str(only)


def _format_named(name: str) -> str | None:
    """Return the format that the suffix of a file's name stands for; None: no known suffix.

    Raises:
        DefinitionError: the file is compressed in a way that Spark cannot read.
    """
    suffixes = PurePosixPath(name).suffixes
    if suffixes and suffixes[-1] in _NOT_UNPACKED:
        raise DefinitionError(
            f"Spark does not unpack {suffixes[-1]} files such as {PurePosixPath(name).name}: unpack them, or"
            " load each of them with `psoup load`."
        )
    if suffixes and suffixes[-1] in _UNPACKED_BY_SPARK:
        suffixes = suffixes[:-1]
    return _FORMATS.get(suffixes[-1]) if suffixes else None
