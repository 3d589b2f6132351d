"""The newest rows of an answer, kept up to date by its cursor: what has entered, and what has left."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from psoup.app.cli.actions.newest_rows import newest_rows
from psoup.client.calls import JsonObject, PsoupClient
from psoup.client.messages import json_object

PAGE_ROWS: Final = 10_000
_ALL_KEPT: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class Look:
    """One look at an answer: its envelope, and what has changed since the look before.

    Attributes:
        envelope: of the answer, or of the last page of what has changed.
        entered, left: rows with their `_id`, in the order in which they came. Of the first look all have entered.
        changed: groups that were there before, with other values.
    """

    envelope: JsonObject
    entered: list[JsonObject]
    left: list[JsonObject]
    changed: list[JsonObject]


class WatchedRows:
    """The newest rows of one query's answer, by `_id`, in the order in which they entered.

    Looks after the first ask what has changed since the cursor. Where the answer to that is a reset, or the rows held
    are not as many as the answer's count says, the answer is read anew.
    """

    def __init__(
        self, service: PsoupClient, query_id: str, *, most: int | None, **more: str
    ) -> None:
        """Ask nothing yet.

        Args:
            service: which is asked.
            query_id: of a standing query.
            most: how many of the newest rows are held; None = all.
            more: further parameters of each invocation. With `now` there is no cursor, and each look reads anew.
        """
        self._service = service
        self._query_id = query_id
        self._most = _ALL_KEPT if most is None else most
        self._parameters: dict[str, str | int] = {**more}
        self._cursor: str | None = None
        self.rows: dict[str, JsonObject] = {}

    def look(self, *, wait_s: float = 0.0) -> Look:
        """Ask what has changed, and hold that. Raises what the client raises; then nothing has changed here.

        A look after the first waits so long for a change, of rows that leave by the clock as well.
        """
        changed = None if self._cursor is None else self._changed(self._cursor, wait_s)
        envelope, held = changed or self._whole()
        before, self.rows = self.rows, dict(list(held.items())[-self._most :])
        self._cursor = envelope["cursor"]
        gone = {key: row for key, row in before.items() if key not in held}
        if changed is None and envelope["count"] > len(held):
            # Older rows than were read: of those alone whose time has come it is known that they have left.
            gone = {key: row for key, row in gone.items() if _is_over(row, envelope)}
        entered = [row for key, row in self.rows.items() if key not in before]
        others = [row for key, row in self.rows.items() if _differs(row, before.get(key, row))]
        return Look(envelope, entered=entered, left=list(gone.values()), changed=others)

    def _changed(
        self, cursor: str, wait_s: float
    ) -> tuple[JsonObject, dict[str, JsonObject]] | None:
        """Return the last envelope of what has changed since a cursor, and what is held then.

        None: the answer is to be read anew.
        """
        envelope: JsonObject = {}
        held = dict(self.rows)
        waiting = {"wait": f"{wait_s:g}", "on": "any"} if wait_s else {}
        for envelope in self._pages(cursor=cursor, **waiting):
            if envelope["reset"]:
                return None
            if envelope.get("keep") is not None:
                kept = set(envelope["keep"])
                held = {key: row for key, row in held.items() if key in kept}
            for key in envelope.get("removed") or ():
                held.pop(key, None)
            held.update((row["_id"], row) for row in envelope["rows"])
        held = {key: row for key, row in held.items() if not _is_over(row, envelope)}
        is_whole = min(len(held), self._most) == min(envelope["count"], self._most)
        return (envelope, held) if is_whole else None

    def _whole(self) -> tuple[JsonObject, dict[str, JsonObject]]:
        """Return an envelope, and the newest rows of the whole answer."""
        if self._most <= PAGE_ROWS:
            newest = newest_rows(self._service, self._query_id, self._most, self._parameters)
            return newest.envelope, {row["_id"]: row for row in newest.rows}
        envelope: JsonObject = {}
        held: dict[str, JsonObject] = {}
        for envelope in self._pages():
            held.update((row["_id"], row) for row in envelope["rows"])
        return envelope, held

    def _pages(self, **more: str) -> Iterator[JsonObject]:
        given = {**self._parameters, **more, "limit": PAGE_ROWS}
        for page in self._service.pages(self._query_id, **given):
            yield json_object(page)


def _differs(row: JsonObject, before: JsonObject) -> bool:
    """Return whether a row has other values than before; when it leaves is none of them."""
    return {**row, "_x": None} != {**before, "_x": None}


def _is_over(row: JsonObject, envelope: JsonObject) -> bool:
    """Return whether a row's time to leave has come at the instant of an answer."""
    return row["_x"] is not None and row["_x"] <= (envelope["now"] or "")
