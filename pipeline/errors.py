"""What can go wrong on a client's side of the service: the file, the way there, the answer.

A root of its own beside `EngineError`: none of these is ever an answer of the service.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import ClassVar, Self


class PipelineError(Exception):
    """Root of the errors of this package; `code` is stable, the text says what to do."""

    code: ClassVar[str] = "pipeline"


class DefinitionError(PipelineError):
    """What a user says about a stream or a file does not go together, or cannot be."""

    code = "definition"


class AddressError(PipelineError):
    """The URL of a service or the token for it cannot be: nothing was sent."""

    code = "address"


class DataFileError(PipelineError):
    """A file cannot be loaded as asked: says where (file, line, column), what, and what to pass."""

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
        """Return the same error with the file called `file`, and with another hint where one is given."""
        return type(self)(
            self.reason,
            file=file,
            line=self.line,
            column=self.column,
            value=self.value,
            hint=self.hint if hint is None else hint,
        )


class NoRowsError(DataFileError):
    """A file has no rows, and nothing else tells the types of its columns."""


class AlreadyLoadedError(PipelineError):
    """The stream has the rows of this file from another load, which read or cut it otherwise."""

    code = "already-loaded"

    def __init__(self, file: str, stream: str) -> None:
        """Name both, and what can be done."""
        super().__init__(
            f"{file} was loaded into {stream} before, with other options (--batch-rows, --sort, or one that says how it"
            " is read). Nothing of it is stored now. Repeat the command with the options of then; or pass --replace to"
            f" put this load in the place of all that {stream} holds, or --producer NAME to store the file once more."
        )


class JavaMissingError(PipelineError):
    """No Java that Spark runs on was found; the text says what was looked at and what to install."""

    code = "java-missing"


class OptionError(PipelineError):
    """An option given to `format("psoup")` is not one, is missing, or does not go with another."""

    code = "option"


class SchemaMismatchError(PipelineError):
    """A DataFrame's columns are not those of the stream; the text names each, and the cast it needs."""

    code = "schema-mismatch"


class WriteRefusedError(PipelineError):
    """A write from Spark was refused for what it is: the same once more would be refused as well."""

    code = "write-refused"


class GenerationChangedError(PipelineError):
    """The service has another history than the one that positions were given in: they name nothing any more."""

    code = "history-changed"


class ReadRefusedError(PipelineError):
    """What a read into Spark was to read is not there as planned; the text says why, and what to do."""

    code = "read-refused"


class ArchiveAnswerRefusedError(PipelineError):
    """A history cannot be computed as things are: the text says why, and what to do, to whoever has asked for it."""

    code = "history-refused"


class SparkMissingError(PipelineError):
    """pyspark is not installed; the text says how to install it."""

    code = "spark-missing"


class JobFailedError(PipelineError):
    """A Spark job ended before its end; the text is what Spark, or a part of the job, said last."""

    code = "job-failed"


class ServiceUnreachableError(PipelineError):
    """Nothing answers at the service's address, or not in time."""

    code = "service-unreachable"


class ForeignAddressError(ServiceUnreachableError):
    """The service named an address of another scheme, host or port: the token is not for that one. Nothing was sent."""

    code = "foreign-address"

    def __init__(self, url: str, named: str) -> None:
        """Say where the service is, and which address it named."""
        super().__init__(
            f"The service at {url} named an address elsewhere, {named}: the token is not sent there."
            " What answers is not psoup; or a proxy in front of it writes addresses of its own: let it"
            " leave the answers as they are."
        )


class ServiceProblem(PipelineError):  # noqa: N818 - named after what it carries, a problem body
    """The service refused a request, or gave up on it: carries the problem body it answered."""

    code = "service-problem"

    def __init__(self, status: int, body: Mapping[str, object]) -> None:
        """Keep the HTTP status and the members of the problem body."""
        self.status = status
        self.body = body
        super().__init__(f"{status} {self.problem}: {self.detail}")

    @property
    def problem(self) -> str:
        """Return the service's own stable code, such as `rows-rejected`."""
        return str(self.body.get("code", f"http-{self.status}"))

    @property
    def detail(self) -> str:
        """Return the sentence of the problem, or the name of its status."""
        return str(self.body.get("detail") or self.body.get("title") or _phrase(self.status))

    @property
    def retryable(self) -> bool:
        """Return whether the same request may succeed later."""
        declared = self.body.get("retryable")
        if isinstance(declared, bool):
            return declared
        return self.status in RETRYABLE_STATUSES


RETRYABLE_STATUSES = frozenset({408, 429, 500, 503, 507})
"""Statuses after which the same request may succeed, where the body does not say itself."""


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "unknown status"


def _shortened(value: str, most: int = 80) -> str:
    return value if len(value) <= most else value[: most - 3] + "..."
