"""Streams dropped only as they were seen: not another one of the name, and none that has come to hold something."""

import contextlib
from collections.abc import Mapping
from typing import Any

from psoup.pipeline.client import PsoupClient
from psoup.pipeline.errors import DefinitionError, PipelineError


def drop_as_seen(service: PsoupClient, seen: Mapping[str, Any]) -> None:
    """Drop the stream of a description, with the queries that read it if it had any then.

    Raises:
        DefinitionError: it was declared anew since; nothing is dropped.
        ServiceProblem: `has-queries` where some were registered since, or the service refused otherwise.
    """
    name = str(seen["name"])
    found = service.stream(name)
    if found is None:
        return
    if found["declared"] != seen["declared"]:
        raise DefinitionError(f"{name} was declared anew in the meantime: look at it again.")
    service.drop(name, cascade=bool(seen["queries"]))


def take_back(service: PsoupClient, declared: Mapping[str, Any]) -> None:
    """Drop a stream that was declared for nothing, if it is that one, and nobody has put rows or queries to it.

    The service has no removal under a condition: rows that somebody sends between the look and the removal go with
    the stream. What goes wrong here is not told: why the declaration was for nothing is.
    """
    with contextlib.suppress(PipelineError):
        found = service.stream(str(declared["name"]))
        if found is None or found["declared"] != declared["declared"]:
            return
        if not (found["rows"] or found["dropped"] or found["queries"]):
            service.drop(str(found["name"]))
