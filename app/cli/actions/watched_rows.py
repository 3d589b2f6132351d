"""The newest rows of an answer, kept up to date by its cursor: what has entered, and what has left."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from psoup.app.cli.actions.newest_rows import newest_rows
from psoup.client.calls import JsonObject, PsoupClient
from psoup.client.changes.rule import Held, is_over
from psoup.client.connections.messages import json_object

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

    Looks after the first ask what has changed since the cursor, and apply it by the client's rule. Where the answer to
    that is a reset, or the rows held are not as many as the answer's count says, the answer is read anew. Past `most`
    rows the count says nothing: the answer has others, which are not held.
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
        self._held = Held()

    @property
    def rows(self) -> Mapping[str, JsonObject]:
        """The rows that are held."""
        return self._held.rows

    def look(self, wait_s: float = 0.0) -> Look:
        """Ask what has changed, and hold that. Raises what the client raises; then nothing has changed here.

        A look after the first waits so long for a change, of rows that leave by the clock as well.
        """
        changed = None if self._held.cursor is None else self._changed(self._held.cursor, wait_s)
        envelope, held = changed or self._whole()
        before = self.rows
        gone = {key: row for key, row in before.items() if key not in held.rows}
        if changed is None and envelope["count"] > len(held.rows):
            # Older rows than were read: of those alone whose time has come it is known that they have left.
            now = envelope["now"] or ""
            gone = {key: row for key, row in gone.items() if is_over(row, now)}
        newest = dict(list(held.rows.items())[-self._most :])
        self._held = replace(held, rows=newest, cursor=envelope["cursor"])
        entered = [row for key, row in self.rows.items() if key not in before]
        others = [row for key, row in self.rows.items() if _differs(row, before.get(key, row))]
        return Look(envelope, entered=entered, left=list(gone.values()), changed=others)

    def _changed(self, cursor: str, wait_s: float) -> tuple[JsonObject, Held] | None:
        """Return the last envelope of what has changed since a cursor, and what is held then.

        None: the answer is to be read anew.
        """
        envelope: JsonObject = {}
        held = replace(self._held, rows=dict(self.rows))
        waiting = {"wait": f"{wait_s:g}", "on": "any"} if wait_s else {}
        for envelope in self._pages(cursor=cursor, **waiting):
            if envelope["reset"]:
                return None
            if held.apply(envelope, cursor, local_us=0) is None:  # late: another worker was further
                return {**envelope, "cursor": cursor}, self._held
        is_whole = min(len(held.rows), self._most) == min(envelope["count"], self._most)
        return (envelope, held) if is_whole else None

    def _whole(self) -> tuple[JsonObject, Held]:
        """Return an envelope, and the newest rows of the whole answer."""
        envelope: JsonObject = {}
        held = Held()
        if self._most <= PAGE_ROWS:
            newest = newest_rows(self._service, self._query_id, self._most, self._parameters)
            envelope = newest.envelope
            held.apply({**envelope, "rows": newest.rows, "next": None}, None, local_us=0)
            return envelope, held
        for envelope in self._pages():
            held.apply(envelope, None, local_us=0)
        return envelope, held

    def _pages(self, **more: str) -> Iterator[JsonObject]:
        given = {**self._parameters, **more, "limit": PAGE_ROWS}
        for page in self._service.pages(self._query_id, **given):
            yield json_object(page)


def _differs(row: JsonObject, before: JsonObject) -> bool:
    """Return whether a row has other values than before; when it leaves is none of them."""
    return {**row, "_x": None} != {**before, "_x": None}
