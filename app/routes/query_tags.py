"""The entity tag of a query: of what a client can change, not of what else its description tells."""

import hashlib
from collections.abc import Mapping
from typing import Final

import orjson

from psoup.app.errors import PreconditionFailedError
from psoup.app.http.entity_tags import is_listed
from psoup.app.routes.endpoint import Call

TAG_DIGITS: Final = 16
_MEMBERS: Final = (
    "id",
    "version",
    "name",
    "labels",
    "ttl",
    "canonical",
    "materialize",
    "sql",
    "params",
)
IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "The `ETag` of the query that is to be changed: 412 where it is another one by now.",
    "schema": {"type": "string"},
}


def query_tag(description: Mapping[str, object]) -> str:
    """Return the `ETag` of a query. It is weak: what else a description tells changes by itself."""
    made_of = orjson.dumps(
        [description.get(name) for name in _MEMBERS], option=orjson.OPT_SORT_KEYS
    )
    return f'W/"{hashlib.sha256(made_of).hexdigest()[:TAG_DIGITS]}"'


def check_match(call: Call, description: Mapping[str, object] | None) -> None:
    """Raise PreconditionFailedError where If-Match names another query than is described; None = there is none."""
    if_match = call.header("if-match")
    if if_match is None:
        return
    if description is None or not is_listed(query_tag(description), if_match):
        raise PreconditionFailedError(
            "The query is another one than If-Match says. Read it again, and decide anew."
        )
