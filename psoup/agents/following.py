"""`invoke` and `changes`: what a standing query answers, and what has changed since a cursor."""

from typing import Final

from psoup.agents.answers import ChangesAnswer, InvokeAnswer
from psoup.agents.arguments import ChangesArguments, InvokeArguments
from psoup.agents.fitting import Part
from psoup.agents.tool import Found
from psoup.client.connections import operations
from psoup.client.connections.messages import (
    Answer,
    JsonObject,
    Operation,
    Request,
    following_page,
    get,
    json_object,
)
from psoup.client.connections.operations import HANDLE, query_path
from psoup.client.errors import DefinitionError

PAGE_ROWS_MAX: Final = 10_000
FOLLOWED_ROWS_MAX: Final = 100_000
"""Who holds more rows than these is no model."""
SILENCE_S: Final = 30.0
"""An answer comes so long after its wait, at the latest."""

_NARROWER: Final = (
    "To see others: a narrower WHERE, ORDER BY with LIMIT, or an aggregate (COUNT, AVG ... GROUP BY) in a query of its own;"
    " or a larger limit and max_tokens."
)


def handle_of(query: str) -> Operation[str]:
    """Return the handle of the query with this handle or name. Cost: of a handle none, of a name a request."""
    if HANDLE.fullmatch(query):
        return query
    described = yield from operations.looked_up(query)
    return str(described["id"])


def invoke(arguments: InvokeArguments) -> Operation[Found]:
    """Find what a query answers."""
    path = f"{query_path((yield from handle_of(arguments.query)))}/results"
    params: dict[str, str | int] = {"shape": "columns"}
    params |= {"limit": arguments.limit} if arguments.limit else {"count": "only"}
    params |= {} if arguments.now is None else {"now": arguments.now}
    envelope = json_object((yield get(path, params)))
    if arguments.limit:
        return answered(envelope)
    return Found(InvokeAnswer.of(envelope, columns=[], rows=[]))


def answered(envelope: JsonObject) -> Found:
    """Return what the first page of an answer says to an agent."""
    listed = Part("rows", "rows", _NARROWER, total=int(envelope["count"]))
    return Found(InvokeAnswer.of(envelope), (listed,))


def changes(arguments: ChangesArguments) -> Operation[Found]:
    """Find what has changed in a query."""
    path = f"{query_path((yield from handle_of(arguments.query)))}/results"
    cursor = arguments.cursor or ""
    params: dict[str, str | int] = {"shape": "columns", "limit": PAGE_ROWS_MAX, "cursor": cursor}
    if cursor and arguments.wait:
        params["wait"] = f"{arguments.wait:g}"
    request = Request(method="GET", path=path, params=params, silence_s=arguments.wait + SILENCE_S)
    envelope = yield from _all_pages(request)
    again = f"The same cursor again{'' if cursor else ' (none)'}, with a larger max_tokens, brings them too; invoke shows"
    rows = Part("rows", "rows that entered", f"{again} the answer as it is now.")
    ids = "Forget the rows you hold, and go on with invoke and its cursor."
    parts = (
        rows,
        Part("removed", "ids of rows that are gone", ids, is_whole=True),
        Part("keep", "ids of rows that are still there", ids, is_whole=True),
    )
    return Found(ChangesAnswer.of(envelope), parts)


def _all_pages(request: Request) -> Operation[JsonObject]:
    """Return an answer with the rows of all its pages: only the last one has a cursor."""
    answer: Answer = yield request
    envelope = json_object(answer)
    if envelope["count"] > FOLLOWED_ROWS_MAX and envelope["next"] is not None:
        raise DefinitionError(
            f"The answer has {envelope['count']} rows: too many to be followed one by one. Register a query that counts or"
            " groups them, or one with a narrower WHERE, and follow that."
        )
    while (following := following_page(answer)) is not None:
        answer = yield get(following)
        page = json_object(answer)
        envelope = {
            **page,
            "reset": envelope["reset"],
            "keep": envelope["keep"],
            "rows": envelope["rows"] + page["rows"],
            "removed": envelope["removed"] + page["removed"],
        }
    return envelope
