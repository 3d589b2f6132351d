"""The newest rows of an answer, which are its last, and the cursor of the whole answer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from psoup.client.calls import JsonObject, PsoupClient
from psoup.client.connections.messages import get, json_object

PAGES_ASKED_MAX: Final = 1_000
"""An answer of very many rows is asked for in larger pages: their addresses are a part of the answer."""


@dataclass(frozen=True, slots=True)
class NewestRows:
    """An answer's envelope (without its `rows`, with the cursor of the whole) and its last rows, oldest first."""

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
    cursor = envelope["cursor"]
    for number, address in enumerate(reversed(envelope.get("pages") or [])):
        more, cursor_of_page = _page(service, address)
        rows = more + rows
        if not number:
            cursor = cursor_of_page  # the last page has the cursor
        if len(rows) >= count:
            break
    return NewestRows({**envelope, "cursor": cursor}, rows[-count:])


def _page(service: PsoupClient, address: str) -> tuple[list[JsonObject], str | None]:
    """Return the rows and the cursor of one page, which comes in parts where its bytes are too many for one."""
    rows: list[JsonObject] = []
    following: Any = address
    cursor: str | None = None
    while following is not None:
        part = json_object(service.request(get(following)))
        rows += part["rows"]
        following, cursor = part["next"], part["cursor"]
    return rows, cursor
