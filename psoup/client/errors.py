"""Errors of a program that uses a service: of addresses, connections, answers, rows and files.

Their root is not `EngineError`: the service never answers with one of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import ClassVar


class PsoupError(Exception):
    """Root of the errors on the client's side of a service. `code` is stable; the message says what to do."""

    code: ClassVar[str] = "psoup"


class DefinitionError(PsoupError):
    """What was given for a stream, its columns or its rows is malformed, or excludes each other; nothing was sent."""

    code = "definition"


class AddressError(PsoupError):
    """The URL or the token of a service is malformed; nothing was sent."""

    code = "address"


class MissingPackageError(PsoupError):
    """A package that psoup does not bring is not installed; the message says how to install it."""

    code = "missing-package"

    def __init__(self, package: str) -> None:
        """Name the package."""
        super().__init__(
            f"{package} is not installed: `pip install {package}`, or take the answer by .arrow() or .rows()."
        )


class MirrorError(PsoupError):
    """A mirror's file is none, or is that of another query; the message says which."""

    code = "mirror"


class ServiceUnreachableError(PsoupError):
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


class ServiceProblem(PsoupError):  # noqa: N818 - named after what it carries, a problem body
    """The service refused a request, or failed at it; carries the problem body of its answer."""

    code = "service-problem"

    def __init__(
        self,
        status: int,
        body: Mapping[str, object],
        *,
        request: ProblemRequest | None = None,
        retry_after: str | None = None,
    ) -> None:
        """Keep status, members of the problem body, and where they are known the request and the header."""
        self.status = status
        self.body = body
        self.request = request or ProblemRequest()
        self.retry_after = retry_after
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
    def retry_after_s(self) -> float:
        """Return the seconds for which the service asks to wait; 0: it asks for none."""
        is_seconds = self.retry_after is not None and self.retry_after.isdecimal()
        return float(self.retry_after or 0) if is_seconds else 0.0

    @property
    def retryable(self) -> bool:
        """Return whether the same request may succeed later."""
        declared = self.body.get("retryable")
        if isinstance(declared, bool):
            return declared
        return self.status in RETRYABLE_STATUSES


class QueryExpiredError(ServiceProblem):
    """The query was not used for its time to live, and is gone: register it again. `expired_at` says since when."""

    @property
    def expired_at(self) -> str | None:
        """Return when it expired, as the service wrote it."""
        expired_at = self.body.get("expired_at")
        return expired_at if isinstance(expired_at, str) else None


def problem_of(
    status: int,
    body: Mapping[str, object],
    *,
    request: ProblemRequest | None = None,
    retry_after: str | None = None,
) -> ServiceProblem:
    """Return the error of a problem body, of the class of its code."""
    made = QueryExpiredError if body.get("code") == "query-expired" else ServiceProblem
    return made(status, body, request=request, retry_after=retry_after)


class GenerationChangedError(PsoupError):
    """The generation of the service's log has changed: positions of the earlier generation mean nothing."""

    code = "history-changed"


RETRYABLE_STATUSES = frozenset({408, 429, 500, 502, 503, 504, 507})
"""Statuses after which the same request may succeed, unless the body says otherwise."""


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "unknown status"
