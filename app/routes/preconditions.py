"""If-Match: what a client has read of what it changes is compared, by its tag, with what stands."""

from psoup.app.errors import PreconditionFailedError
from psoup.app.http.entity_tags import is_listed
from psoup.app.routes.endpoint import Call


def if_match(what: str) -> dict[str, object]:
    """Return the header as an operation describes it; `what` is that which the tag is of."""
    return {
        "name": "If-Match",
        "in": "header",
        "required": False,
        "description": f"The `ETag` of {what} that is to be changed: 412 where it is another one by now.",
        "schema": {"type": "string"},
    }


def check_tag(call: Call, tag: str | None, otherwise: str) -> None:
    """Raise PreconditionFailedError where If-Match does not name a tag; None = there is nothing that has one.

    `otherwise` begins the sentence that says what differs.
    """
    named = call.header("if-match")
    if named is not None and (tag is None or not is_listed(tag, named)):
        raise PreconditionFailedError(
            f"{otherwise} than If-Match says. Read it again, and decide anew."
        )
