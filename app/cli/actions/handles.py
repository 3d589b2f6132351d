"""A standing query by its handle, or by the name that it was registered with."""

from psoup.client.calls import JsonObject, PsoupClient
from psoup.client.connections.operations import HANDLE, looked_up


def handle_of(service: PsoupClient, given: str) -> str:
    """Return the handle of the query with this handle or name: a handle as it is. Cost and errors: as `looked_up`."""
    return given if HANDLE.fullmatch(given) else str(query_of(service, given)["id"])


def query_of(service: PsoupClient, given: str) -> JsonObject:
    """Return the description of the query with this handle or name. Cost and errors: as `looked_up`."""
    return service.run(looked_up(given))
