"""A standing query by its handle, or by the name that it was registered with."""

import difflib
import re
from typing import Final

from psoup.client.calls import JsonObject, PsoupClient
from psoup.client.errors import DefinitionError

_HANDLE: Final = re.compile("q_[0-9A-Za-z]{22}")


def handle_of(service: PsoupClient, given: str) -> str:
    """Return the handle of the query with this handle or name: a handle as it is. Cost and errors: as `query_of`."""
    return given if _HANDLE.fullmatch(given) else str(query_of(service, given)["id"])


def query_of(service: PsoupClient, given: str) -> JsonObject:
    """Return the description of the query with this handle or name. Cost: for a name, one list of all queries.

    Raises:
        DefinitionError: no query has the name, and handles look otherwise.
        ServiceProblem: `not-found`: no query has the handle.
    """
    if _HANDLE.fullmatch(given):
        return service.query(given)
    named = {one["name"]: one for one in service.queries() if one.get("name")}
    if given in named:
        return named[given]
    near = difflib.get_close_matches(given, named, n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    raise DefinitionError(
        f"No query is called {given!r}, and it is not a handle, which is q_ and 22 letters and digits.{meant} `psoup queries` lists names"
        " and handles."
    )
