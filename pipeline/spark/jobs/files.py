"""The files of a backfill: which there are, what they hold, and how Spark is told to read them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from psoup.pipeline.errors import DefinitionError
from psoup.pipeline.spark.launch.checkpoints import file_name

READ_OPTIONS: Final[Mapping[str, Mapping[str, str]]] = {
    "csv": {"header": "true", "enforceSchema": "false", "escape": '"', "mode": "FAILFAST"},
    "json": {"mode": "FAILFAST"},
    "parquet": {},
}
"""By format: CSV as RFC 4180 has it. A value that does not fit ends the job, where Spark would make it NULL."""
LISTING_OPTIONS: Final = frozenset({"recursivefilelookup", "pathglobfilter"})
"""Options that say which files are meant, in lower case."""
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
    """Files by their `file_name`, with their bytes; in which format they are, and the options to read them."""

    path: str
    nbytes: Mapping[str, int]
    format: str
    options: Mapping[str, str]


def found_files(
    spark: SparkSession, path: str, *, format_given: str | None, options: Mapping[str, str]
) -> Files:
    """Return the files that there are under a path now, and how they are read.

    Raises:
        DefinitionError: there are none, or what they are does not go together or cannot be read by Spark.
    """
    listing = spark.read.format("binaryFile").options(
        **{name: value for name, value in options.items() if name.lower() in LISTING_OPTIONS}
    )
    rows = listing.load(path).select("path", "length").collect()
    nbytes = {file_name(row["path"]): int(row["length"]) for row in rows}
    if not nbytes:
        raise DefinitionError(f"There is no file under {path!r}.")
    chosen = format_given or _format_of(path, nbytes)
    if chosen not in READ_OPTIONS:
        raise DefinitionError(f"--format is {chosen!r}: expected one of {', '.join(READ_OPTIONS)}.")
    given = {name.lower() for name in options}
    defaults = {n: value for n, value in READ_OPTIONS[chosen].items() if n.lower() not in given}
    folder, alone = _folder_of(path, nbytes)
    return Files(folder, nbytes, chosen, {**defaults, **options, **alone})


def _folder_of(path: str, names: Mapping[str, int]) -> tuple[str, dict[str, str]]:
    """Return what Spark's file source is told to watch: it takes folders and patterns, and no single file."""
    folder, slash, name = path.rpartition("/")
    (first, *others) = names
    if others or not first.endswith(f"/{name}"):
        return path, {}
    pattern = re.sub(r"([\\*?\[\]{}])", r"\\\1", name)
    return (folder or slash or "."), {"pathGlobFilter": pattern}


def inferred(spark: SparkSession, files: Files) -> StructType:
    """Return the columns that Spark finds in the files. Cost: one pass over texts."""
    options = {"inferSchema": "true", **files.options}
    return spark.read.format(files.format).options(**options).load(files.path).schema


def _format_of(path: str, names: Mapping[str, int]) -> str:
    """Return the one format that the names tell."""
    formats = {_told(name) for name in names}
    if len(formats) > 1 or None in formats:
        told = ", ".join(sorted(str(one or "none") for one in formats))
        raise DefinitionError(
            f"The names under {path!r} do not tell one format (but {told}): pass --format, and"
            " --option pathGlobFilter='*.csv' where other files lie beside."
        )
    (found,) = formats
    return str(found)


def _told(name: str) -> str | None:
    """Return the format that a file's name tells, None where it tells none.

    Raises:
        DefinitionError: it tells of a compression that Spark does not undo.
    """
    suffixes = PurePosixPath(name).suffixes
    if suffixes and suffixes[-1] in _NOT_UNPACKED:
        raise DefinitionError(
            f"Spark does not unpack {suffixes[-1]} files such as {PurePosixPath(name).name}: unpack them, or"
            " load each with `psoup load`."
        )
    if suffixes and suffixes[-1] in _UNPACKED_BY_SPARK:
        suffixes = suffixes[:-1]
    return _FORMATS.get(suffixes[-1]) if suffixes else None
