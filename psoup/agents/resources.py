"""Each standing query as a resource, `psoup://queries/{id}`: its answer, and how long the clock leaves it as it is."""

import re
from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from mcp.types import (
    ListResourcesResult,
    ListResourceTemplatesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from psoup.agents.answers import URI
from psoup.agents.arguments import ROWS_ASKED_MAX, TOKENS_DEFAULT
from psoup.agents.fitting import CELL_CHARACTERS_MAX, as_text, fit
from psoup.agents.following import answered, handle_of
from psoup.client.connections.messages import JsonObject, Operation, get, json_object
from psoup.client.connections.operations import QUERIES, query_path
from psoup.client.errors import DefinitionError

PAGE: Final = 100
"""Queries in one list."""
MIME_TYPE: Final = "application/json"
COMPLETE_TTL_MS: Final = 86_400_000
"""How long an answer to which nothing happens any more is used: a day, the longest that clients keep anything."""
_URI: Final = re.compile(r"psoup://queries/([^/?#]+)")
_TEMPLATE: Final = ResourceTemplate(
    uri_template=URI,
    name="query",
    title="The answer of a standing query",
    description="By handle or name: what `invoke` answers, as JSON. Its ttlMs ends when the clock alone changes the answer;"
    " rows that arrive meanwhile are in what `invoke` and `changes` answer.",
    mime_type=MIME_TYPE,
)


def templates() -> ListResourceTemplatesResult:
    """Return how the address of a query is written."""
    return ListResourceTemplatesResult(resource_templates=[_TEMPLATE])


def listed(cursor: str | None) -> Operation[ListResourcesResult]:
    """Return the standing queries, a page at a time; `cursor` is that of the page before."""
    params: dict[str, str | int] = {"limit": PAGE} | ({} if cursor is None else {"page": cursor})
    found = json_object((yield get(QUERIES, params)))
    return ListResourcesResult(
        resources=[_resource(one) for one in found["queries"]], next_cursor=_page(found["next"])
    )


def read(uri: str) -> Operation[ReadResourceResult]:
    """Return the answer of the query that a resource is.

    Raises:
        DefinitionError: the address is not that of a query, or no query has the name.
        BudgetError: the answer is too long even without its rows.
    """
    match = _URI.fullmatch(uri)
    if match is None:
        raise DefinitionError(f"{uri!r} is no resource here: expected {URI}, a handle or a name.")
    query_id = yield from handle_of(unquote(match[1]))
    params: dict[str, str | int] = {"shape": "columns", "limit": ROWS_ASKED_MAX}
    envelope = json_object((yield get(f"{query_path(query_id)}/results", params)))
    found = answered(envelope)
    text = as_text(fit(found.answer, found.parts, TOKENS_DEFAULT))
    return ReadResourceResult(
        contents=[TextResourceContents(uri=uri, mime_type=MIME_TYPE, text=text)],
        ttl_ms=ttl_ms(envelope),
        cache_scope="private",
    )


def ttl_ms(envelope: Mapping[str, Any]) -> int:
    """Return the milliseconds after which the clock changes an answer; 0: only rows do, and nobody knows when."""
    if envelope["complete"]:
        return COMPLETE_TTL_MS
    now, changes_at = envelope["now"], envelope["changes_at"]
    if now is None or changes_at is None:
        return 0
    left = datetime.fromisoformat(changes_at) - datetime.fromisoformat(now)
    return max(0, left // timedelta(milliseconds=1))


def _resource(described: JsonObject) -> Resource:
    sql = str(described["canonical"])
    return Resource(
        uri=URI.format(id=described["id"]),
        name=described["name"] or described["id"],
        description=sql if len(sql) <= CELL_CHARACTERS_MAX else f"{sql[:CELL_CHARACTERS_MAX]}…",
        mime_type=MIME_TYPE,
    )


def _page(following: str | None) -> str | None:
    """Return the token in the address of the next page."""
    return None if following is None else parse_qs(urlsplit(following).query)["page"][0]
