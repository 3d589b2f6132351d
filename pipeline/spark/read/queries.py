"""The query of a read: a standing one, or a SQL text that is registered while it is read.

Spark does not tell a reader when its last task has ended or failed. So one task registers, reads and removes a text,
under labels by which a later read finds and removes the queries of killed tasks.
"""

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from psoup.client.calls import JsonObject, PsoupClient
from psoup.client.errors import PsoupError, ServiceProblem
from psoup.engine.clock import SystemClock
from psoup.engine.limits import SECOND_US
from psoup.engine.query.parameters import NO_PARAMETERS, Parameters
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.errors import ReadRefusedError

META_COLUMNS: Final = (
    ColumnSchema("_id", ColumnType.STRING),
    ColumnSchema("_x", ColumnType.TIMESTAMP),
)
"""Tuple ids of a row, and the instant when it leaves its window; they precede the columns of the query."""
LABEL: Final = ("spark", "read")
"""Label of the queries that reads register."""
SINCE_LABEL: Final = "spark-since"
"""Label with the time of the registration: seconds since the epoch, by the clock of the task."""
LEFT_BEHIND_S: Final = 6 * 3_600
"""Age from which on the query of a read is abandoned: a task that reads for longer has failed."""
_HANDLE: Final = re.compile(r"q_[0-9A-Za-z]{22}")


def standing(service: PsoupClient, given: str) -> JsonObject:
    """Return the description of the standing query with this handle, or with this name.

    Raises:
        ReadRefusedError: there is no such query.

    Cost: one request; for a name one for every 1,000 queries.
    """
    if _HANDLE.fullmatch(given):
        with suppress_not_found():
            return service.query(given)
    for description in service.queries():
        if description["name"] == given:
            return description
    raise ReadRefusedError(
        f"The service at {service.url} has no standing query with the handle or the name {given!r}:"
        " GET /v1/queries lists those that it has."
    )


@contextmanager
def registered(
    service: PsoupClient, text: str, params: Parameters = NO_PARAMETERS
) -> Iterator[JsonObject]:
    """Register a query while the context is open, with the values of its parameters; yield its description.

    The query is not materialized, because it is invoked once. Removes the queries of killed reads first.

    Raises:
        ReadRefusedError: the service refuses the text.
        ServiceProblem, ServiceUnreachableError: it failed, or does not answer.
    """
    now_s = SystemClock().now_us() // SECOND_US
    remove_left_behind(service, now_s=now_s)
    labels = dict([LABEL]) | {SINCE_LABEL: str(now_s)}
    name = f"spark-read-{uuid.uuid4().hex}"  # an answer that was lost can be asked for again
    try:
        description = service.register(
            text, params=params, name=name, labels=labels, materialize="none"
        )
    except ServiceProblem as problem:
        raise _explained(problem) from problem
    try:
        yield description
    finally:
        with suppress(PsoupError):  # a later read removes it
            service.remove(description["id"])


def remove_left_behind(service: PsoupClient, *, now_s: int) -> None:
    """Remove the queries of reads that began more than LEFT_BEHIND_S before `now_s`."""
    for one in service.queries(":".join(LABEL)):
        since = one["labels"].get(SINCE_LABEL, "")
        if since.isdecimal() and int(since) < now_s - LEFT_BEHIND_S:
            with suppress_not_found():
                service.remove(one["id"])


def columns_shown(description: JsonObject, *, meta: bool) -> tuple[ColumnSchema, ...]:
    """Return the columns of a query's answer; with `meta`, `META_COLUMNS` first."""
    own = [ColumnSchema(one["name"], ColumnType(one["type"])) for one in description["columns"]]
    return (*(META_COLUMNS if meta else ()), *own)


@contextmanager
def suppress_not_found() -> Iterator[None]:
    """Suppress the problem `not-found` inside the context."""
    try:
        yield
    except ServiceProblem as problem:
        if problem.problem != "not-found":
            raise


def _explained(problem: ServiceProblem) -> PsoupError:
    """Return the refusal of a text as an error with position and hint; any other problem unchanged."""
    excerpt, hint = problem.body.get("excerpt"), problem.body.get("hint")
    if excerpt is None:
        return problem
    return ReadRefusedError(f"The service refuses the query ({problem.problem}): {hint}\n{excerpt}")
