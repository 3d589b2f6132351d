"""The newest rows of an answer, which are its last: `--watch` shows them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from psoup.pipeline.calling import json_object
from psoup.pipeline.client import JsonObject, PsoupClient

PAGES_ASKED_MAX: Final = 1_000
"""An answer of very many rows is asked for in larger pages: their addresses are a part of the answer."""


@dataclass(frozen=True, slots=True)
class NewestRows:
    """An answer's envelope (without its `rows`) and its last rows, oldest first."""

    envelope: JsonObject
    rows: list[JsonObject]


def newest_rows(
    service: PsoupClient, query_id: str, count: int, parameters: Mapping[str, str | int]
) -> NewestRows:
    """Return the last `count` rows of a query's answer, or all where they are fewer; all of one seq and instant.

    Args:
        service: which is asked.
        query_id: of a standing query.
        count: at least 1.
        parameters: of the invocation, but for its limit.

    Cost: one request where the whole answer is not more than `count` rows, else about four.
    """
    envelope = service.invoke(query_id, **{**parameters, "limit": count})
    if envelope["next"] is None:
        return NewestRows(envelope, envelope["rows"])
    page_rows = max(count, -(-int(envelope["count"]) // PAGES_ASKED_MAX))
    envelope = service.answer_pages(query_id, **{**parameters, "limit": page_rows})
    rows: list[JsonObject] = []
    for address in reversed(envelope.get("pages") or []):
        rows = _page(service, address) + rows
        if len(rows) >= count:
            break
    return NewestRows(envelope, rows[-count:])


def _page(service: PsoupClient, address: str) -> list[JsonObject]:
    """Return the rows of one page, which comes in several parts where its bytes are too many for one."""
    rows: list[JsonObject] = []
    following: Any = address
    while following is not None:
        part = json_object(service.request("GET", following))
        rows += part["rows"]
        following = part["next"]
    return rows
