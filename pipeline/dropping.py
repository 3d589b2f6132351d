"""Streams that are dropped only if nobody has declared them anew, or put rows or queries to them, meanwhile."""

import contextlib
from collections.abc import Mapping
from typing import Any

from psoup.client.calls import PsoupClient
from psoup.client.errors import DefinitionError, PsoupError


def drop_as_seen(service: PsoupClient, seen: Mapping[str, Any]) -> None:
    """Drop a described stream, with its queries if the description has any.

    Raises:
        DefinitionError: the stream was declared anew since; it is not dropped.
        ServiceProblem: `has-queries`: queries were registered since; or the service refused.
    """
    name = str(seen["name"])
    present = service.stream(name)
    if present is None:
        return
    if present["declared"] != seen["declared"]:
        raise DefinitionError(
            f"Stream {name} was declared anew in the meantime, and is not dropped: repeat the command."
        )
    service.drop(name, cascade=bool(seen["queries"]))


def undo_declaration(service: PsoupClient, declared: Mapping[str, Any]) -> None:
    """Drop a stream that was declared in vain, unless it was declared anew, or has rows or queries.

    The service has no conditional removal: rows that somebody sends between the check and the removal are dropped too.
    Errors are suppressed, because the caller reports why the declaration was in vain.
    """
    with contextlib.suppress(PsoupError):
        present = service.stream(str(declared["name"]))
        if present is None or present["declared"] != declared["declared"]:
            return
        if not (present["rows"] or present["dropped"] or present["queries"]):
            service.drop(str(present["name"]))
