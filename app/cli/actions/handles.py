"""A standing query by its handle, or by the name that it was registered with."""

import difflib

from psoup.pipeline.client import JsonObject, PsoupClient
from psoup.pipeline.errors import DefinitionError


def query_of(service: PsoupClient, given: str) -> JsonObject:
    """Return the description of the query with this handle or name. Cost: for a name, one list of all queries.

    Raises:
        DefinitionError: no query has the name, and no handle looks so.
        ServiceProblem: `not-found`: no query has the handle.
    """
    if given.startswith("q_"):
        return service.query(given)
    named = {one["name"]: one for one in service.queries() if one.get("name")}
    if given in named:
        return named[given]
    near = difflib.get_close_matches(given, named, n=1)
    meant = f" Did you mean {near[0]}?" if near else ""
    raise DefinitionError(
        f"No query is called {given!r}, and it is not a handle, which begins with q_.{meant} `psoup queries` lists names"
        " and handles."
    )
