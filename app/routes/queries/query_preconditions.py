"""What a client has read of a query that it changes: compared with the query as it stands."""

from collections.abc import Mapping
from typing import Final

from psoup.app.routes.endpoint import Call
from psoup.app.routes.preconditions import check_tag, if_match
from psoup.app.wire.models.queries import query_tag

IF_MATCH: Final = if_match("the query")


def check_match(call: Call, description: Mapping[str, object] | None) -> None:
    """Raise PreconditionFailedError where If-Match names another query than is described; None = there is none."""
    tag = None if description is None else query_tag(description)
    check_tag(call, tag, "The query is another one")
