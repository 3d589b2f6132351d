"""Errors of bulk data: of files, of Spark and its jobs. Their root is that of the client."""

from typing import Self

from psoup.client.errors import PsoupError


class DataFileError(PsoupError):
    """A file cannot be loaded with these options: names file, line and column, the reason, and what to pass."""

    code = "data-file"

    def __init__(
        self,
        reason: str,
        *,
        file: str,
        line: int | None = None,
        column: str | None = None,
        value: str | None = None,
        hint: str = "",
    ) -> None:
        """Keep the place beside the sentence. `line` counts from 1; in Parquet it counts rows."""
        self.reason = reason
        self.file = file
        self.line = line
        self.column = column
        self.value = value
        self.hint = hint
        place = file if line is None else f"{file}:{line}"
        where = "" if column is None else f" column {column!r}:"
        got = "" if value is None else f", got {_shortened(value)!r}"
        super().__init__(f"{place}:{where} {reason}{got}. {hint}".rstrip())

    def renamed(self, file: str, *, hint: str | None = None) -> Self:
        """Return the same error with the file's name replaced, and the hint if one is given."""
        return type(self)(
            self.reason,
            file=file,
            line=self.line,
            column=self.column,
            value=self.value,
            hint=self.hint if hint is None else hint,
        )


class NoRowsError(DataFileError):
    """A file has no rows from which to infer the types of its columns."""


class AlreadyLoadedError(PsoupError):
    """The stream has the rows of this file from a load with other options."""

    code = "already-loaded"

    def __init__(self, file: str, stream: str) -> None:
        """Name file and stream, and the ways out."""
        super().__init__(
            f"{file} was loaded into {stream} before, with other options (--batch-rows, --sort, or one that says how to"
            " read it). This load has stored no row of it. Repeat the command with the earlier options; or pass"
            f" --replace to drop all rows of {stream} first, or --producer NAME to store the rows of the file again."
        )


class JavaMissingError(PsoupError):
    """No Java that Spark supports was found; the message says where it was looked for and what to install."""

    code = "java-missing"


class OptionError(PsoupError):
    """An option of `format("psoup")` is unknown, missing or malformed, or excludes another."""

    code = "option"


class SchemaMismatchError(PsoupError):
    """A DataFrame's columns are not those of the stream; the message names each, and the cast it needs."""

    code = "schema-mismatch"


class WriteRefusedError(PsoupError):
    """The service refused a write from Spark for good: a repetition would be refused as well."""

    code = "write-refused"


class ReadRefusedError(PsoupError):
    """Rows or batches that Spark was to read are gone or have changed; the message says why, and what to do."""

    code = "read-refused"


class ArchiveAnswerRefusedError(PsoupError):
    """An archive answer cannot be computed at present; the message tells its reader why, and what to do."""

    code = "history-refused"


class SparkMissingError(PsoupError):
    """pyspark is not installed; the message says how to install it."""

    code = "spark-missing"


class JobFailedError(PsoupError):
    """A Spark job failed; the message is the last one of Spark or of a task."""

    code = "job-failed"


def _shortened(value: str, most: int = 80) -> str:
    return value if len(value) <= most else value[: most - 3] + "..."
