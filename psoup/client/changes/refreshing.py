"""Brings what is held of a query up to date, once."""

from typing import Final

from psoup.client.changes.following import PAGE_EXPIRED, PAGE_ROWS, Save
from psoup.client.changes.rule import Change, Gathered, HasDescription, Held, is_outdated
from psoup.client.connections.messages import Operation, get, json_object
from psoup.client.connections.operations import query_path
from psoup.client.errors import ServiceProblem, ServiceUnreachableError
from psoup.engine.clock import Clock

TRIES: Final = 3


def refreshed(
    query_id: str, held: Held, *, of: HasDescription, save: Save | None, wall: Clock
) -> Operation[Change | None]:
    """Ask what has changed since the cursor, page by page, apply and save each, and return the change.

    `of` is given the description of a query that was replaced since.

    None: the answer is a late one, of before the last one, and nothing has changed.

    Raises:
        ServiceProblem, ServiceUnreachableError: no answer came; what is held stays right.
    """
    news = Gathered()
    for _ in range(TRIES):
        asked = held.cursor
        following: str | None = f"{query_path(query_id)}/results"
        params: dict[str, str | int] | None = {"cursor": asked or "", "limit": PAGE_ROWS}
        while following is not None:
            try:
                envelope = json_object((yield get(following, params)))
            except ServiceProblem as problem:
                if problem.problem != PAGE_EXPIRED:
                    raise
                break
            if is_outdated(of.description, envelope, held.cursor):
                of.description = json_object((yield get(query_path(query_id))))
            change = held.apply(envelope, asked, local_us=wall.now_us())
            if change is None:
                return news.whole()
            if save is not None:
                save(held, change)
            news.add(change)
            following, params = envelope["next"], None
        if following is None and held.cursor is not None:
            return news.whole()
    raise ServiceUnreachableError(
        f"{TRIES} answers of query {query_id} did not add up to their count, or lost their pages: ask again later."
    )
