"""Errors on the client's side of the service: of files, of connections, of answers, of Spark jobs.

Their root is not `EngineError`: the service never answers with one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import ClassVar, Self


class PipelineError(Exception):
    """Root of the errors of this package. `code` is stable; the message says what to do."""

    code: ClassVar[str] = "pipeline"


class DefinitionError(PipelineError):
    """Options about a stream or a file are malformed, or exclude each other."""

    code = "definition"


class AddressError(PipelineError):
    """The URL or the token of a service is malformed; nothing was sent."""

    code = "address"


class DataFileError(PipelineError):
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


class AlreadyLoadedError(PipelineError):
    """The stream has the rows of this file from a load with other options."""

    code = "already-loaded"

    def __init__(self, file: str, stream: str) -> None:
        """Name file and stream, and the ways out."""
        super().__init__(
            f"{file} was loaded into {stream} before, with other options (--batch-rows, --sort, or one that says how to"
            " read it). This load has stored no row of it. Repeat the command with the earlier options; or pass"
            f" --replace to drop all rows of {stream} first, or --producer NAME to store the rows of the file again."
        )


class JavaMissingError(PipelineError):
    """No Java that Spark supports was found; the message says where it was looked for and what to install."""

    code = "java-missing"


class OptionError(PipelineError):
    """An option of `format("psoup")` is unknown, missing or malformed, or excludes another."""

    code = "option"


class SchemaMismatchError(PipelineError):
    """A DataFrame's columns are not those of the stream; the message names each, and the cast it needs."""

    code = "schema-mismatch"


class WriteRefusedError(PipelineError):
    """The service refused a write from Spark for good: a repetition would be refused as well."""

    code = "write-refused"


class GenerationChangedError(PipelineError):
    """The generation of the service's log has changed: positions of the earlier generation mean nothing."""

    code = "history-changed"


class ReadRefusedError(PipelineError):
    """Rows or batches that Spark was to read are gone or have changed; the message says why, and what to do."""

    code = "read-refused"


class ArchiveAnswerRefusedError(PipelineError):
    """An archive answer cannot be computed at present; the message tells its reader why, and what to do."""

    code = "history-refused"


class SparkMissingError(PipelineError):
    """pyspark is not installed; the message says how to install it."""

    code = "spark-missing"


class JobFailedError(PipelineError):
    """A Spark job failed; the message is the last one of Spark or of a task."""

    code = "job-failed"


class ServiceUnreachableError(PipelineError):
    """The service does not answer, or not in time."""

    code = "service-unreachable"


class ForeignAddressError(ServiceUnreachableError):
    """The service linked to another scheme, host or port, to which the token must not go; nothing was sent."""

    code = "foreign-address"

    def __init__(self, url: str, named: str) -> None:
        """Name the service and the address."""
        super().__init__(
            f"The service at {url} named an address elsewhere, {named}: the token is not sent there."
            " What answers is not psoup; or a proxy in front of it writes addresses of its own: let it"
            " leave the answers as they are."
        )


@dataclass(frozen=True, slots=True)
class ProblemRequest:
    """The request that a problem answers: its path without escapes, its parameters, the members of a JSON body."""

    path: str = ""
    parameters: Mapping[str, str] = field(default_factory=dict)
    members: Mapping[str, object] = field(default_factory=dict)


class ServiceProblem(PipelineError):  # noqa: N818 - named after what it carries, a problem body
    """The service refused a request, or failed at it; carries the problem body of its answer."""

    code = "service-problem"

    def __init__(
        self, status: int, body: Mapping[str, object], *, request: ProblemRequest | None = None
    ) -> None:
        """Keep the HTTP status, the members of the problem body, and the request where it is known."""
        self.status = status
        self.body = body
        self.request = request or ProblemRequest()
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
"""Statuses after which the same request may succeed, unless the body says otherwise."""


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "unknown status"


def _shortened(value: str, most: int = 80) -> str:
    return value if len(value) <= most else value[: most - 3] + "..."
