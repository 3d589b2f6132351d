"""The stream that a job reads or writes, checked before Spark starts: a wrong name is reported at once."""

from psoup.client.calls import JsonObject, PsoupClient
from psoup.client.errors import DefinitionError, ServiceProblem


def describe_target(
    service: PsoupClient, stream: str, *, created: bool = False
) -> JsonObject | None:
    """Return the stream's description; None: the key may not read it, or the job will declare the stream (`created`).

    Raises:
        DefinitionError: no such stream is declared.
        ServiceUnreachableError: nothing answers.
    """
    try:
        description = service.stream(stream)
    except ServiceProblem as problem:
        if problem.problem == "scope-missing":
            return None
        raise
    if description is None and not created:
        raise DefinitionError(
            f"There is no stream {stream!r} at {service.url}: declare it, or pass --create."
        )
    return description
