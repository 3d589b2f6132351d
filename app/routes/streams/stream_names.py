"""A stream by the name in a path; where there is none, the declared name that may have been meant."""

from collections.abc import Callable
from typing import TypeVar

from psoup.app.http.access.keys import READ
from psoup.app.routes.endpoint import Call
from psoup.app.wire.control import nearest
from psoup.engine.errors import NotFoundError

Found = TypeVar("Found")


def found_stream(call: Call, find: Callable[[str], Found], name: str) -> Found:
    """Return what `find` finds under a stream's name. Blocks.

    Raises:
        NotFoundError: there is no such stream; extras `stream`, and `nearest` for callers that may list streams.
    """
    try:
        return find(name)
    except NotFoundError as error:
        # A key that only sends rows learns no names of other streams.
        records = call.service.results.streams() if call.caller.allows(READ) else ()
        declared = [one.schema.name for one in records]
        raise NotFoundError(error.detail, stream=name, nearest=nearest(name, declared)) from error
