"""The stream that a job is about, looked at before Spark is: a wrong name is told at once."""

from psoup.pipeline.client import JsonObject, PsoupClient
from psoup.pipeline.errors import DefinitionError, ServiceProblem


def described(service: PsoupClient, stream: str, *, created: bool = False) -> JsonObject | None:
    """Return the stream's description; None where the key may not read it, or where it is still to be declared.

    Raises:
        DefinitionError: there is no such stream, and nobody will declare it.
        ServiceUnreachableError: nothing answers.
    """
    try:
        found = service.stream(stream)
    except ServiceProblem as problem:
        if problem.problem == "scope-missing":
            return None
        raise
    if found is None and not created:
        raise DefinitionError(
            f"There is no stream {stream!r} at {service.url}: declare it, or pass --create."
        )
    return found
