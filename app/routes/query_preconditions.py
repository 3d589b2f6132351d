"""What a client has read of a query that it changes: compared with the query as it stands."""

from collections.abc import Mapping
from typing import Final

from psoup.app.errors import PreconditionFailedError
from psoup.app.http.entity_tags import is_listed
from psoup.app.routes.endpoint import Call
from psoup.app.wire.models.queries import query_tag

IF_MATCH: Final = {
    "name": "If-Match",
    "in": "header",
    "required": False,
    "description": "The `ETag` of the query that is to be changed: 412 where it is another one by now.",
    "schema": {"type": "string"},
}


def check_match(call: Call, description: Mapping[str, object] | None) -> None:
    """Raise PreconditionFailedError where If-Match names another query than is described; None = there is none."""
    if_match = call.header("if-match")
    if if_match is None:
        return
    if description is None or not is_listed(query_tag(description), if_match):
        raise PreconditionFailedError(
            "The query is another one than If-Match says. Read it again, and decide anew."
        )
