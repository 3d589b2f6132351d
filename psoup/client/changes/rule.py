"""The client's rule: what one answer does to what a client holds of one query. docs/coming_back.md explains it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Protocol

Row = dict[str, Any]
Position = tuple[int, int, str]

_NEVER: Final = "~"
"""Behind every instant, as texts are compared."""
_REPLACE: Final = "replace"
IDS: Final = ("_id", "_x")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Change:
    """What has changed in the answer of a query.

    A row is a dict of its columns, with `_id`, which names it as long as it is there, and `_x`, the instant at which it
    leaves the window, or None.

    Attributes:
        reset: forget every row: those of `entered` are all there are.
        entered: rows that were not there.
        changed: rows that were there with other values, as groups are.
        removed: rows that were there, and that retention or the query itself has taken out.
        expired: rows that were there, and whose time in the window is over.
        count: how many rows the answer has now.
        now: the instant of the answer; None: a query of streams with a time column and without a row.
        seq, gen: its position in the log, and the generation of the log.
        cursor: from which the next change is asked for; None between the pages of one answer.
        complete: nothing enters or leaves any more.
    """

    reset: bool
    entered: Sequence[Row]
    changed: Sequence[Row]
    removed: Sequence[Row]
    expired: Sequence[Row]
    count: int
    now: str | None
    seq: int
    gen: int
    cursor: str | None
    complete: bool

    def __bool__(self) -> bool:
        """Return whether any row has changed."""
        return self.reset or any((self.entered, self.changed, self.removed, self.expired))


@dataclass(slots=True)
class Held:
    """What a client holds of one query, as the service sent it. `apply` changes it; save rows and the rest at once.

    Attributes:
        rows: by `_id`.
        cursor: from which the next change is asked for; None: everything is.
        at: generation, position and instant of the last answer; None: there was none.
        given: those of the answer that gave the cursor, which may have come back since; None: as `at`.
        ahead_us: microseconds by which the local clock is ahead of the service's; None: rows alone move NOW.
        complete: nothing enters or leaves any more.
        window: of the last answer: its `begin` and `end`.
    """

    rows: dict[str, Row] = field(default_factory=dict)
    cursor: str | None = None
    at: Position | None = None
    ahead_us: int | None = None
    complete: bool = False
    window: Mapping[str, str | None] = field(default_factory=dict)
    given: Position | None = None
    _least: str = ""
    """No row leaves before this instant."""

    def apply(
        self, answer: Mapping[str, Any], asked: str | None, *, local_us: int
    ) -> Change | None:
        """Apply the answer to a request, or to a stream, that carried the cursor `asked`.

        Returns what has changed; None: the answer is late, and nothing has. The cursor is None afterwards where the
        rows do not add up to `count`: then everything is asked for anew.
        """
        now = answer["now"] or ""
        at = (answer["gen"], answer["seq"], now)
        is_late = self.at is not None and at < self.at
        given = self.given = self.given or self.at
        went_back = answer["reset"] and asked == self.cursor and (given is None or at < given)
        if is_late and not went_back:
            return None
        if answer["reset"]:
            self.rows, self.cursor, self.given = {}, None, at  # pages may follow, and be lost
            self._least = _NEVER
        fresh = {row["_id"]: row for row in answer["rows"] if not is_over(row, now)}
        keep = answer.get("keep")
        gone = set(answer.get("removed") or ())
        if keep is not None:
            gone |= self.rows.keys() - set(keep)
        removed = [self.rows.pop(name) for name in gone - fresh.keys() if name in self.rows]
        entered = [row for name, row in fresh.items() if name not in self.rows]
        changed = [row for name, row in fresh.items() if self.rows.get(name, row) != row]
        self.rows |= fresh
        self._least = min([self._least, *(row["_x"] or _NEVER for row in fresh.values())])
        expired = self._expired(now)
        self.at = at
        if answer["next"] is None:
            cursor = answer["cursor"] if len(self.rows) == answer["count"] else None
            if cursor != self.cursor:
                self.cursor, self.given = cursor, at
        self.complete = answer["complete"] and self.cursor is not None
        self.window = answer["window"]
        by_clock = answer["now"] is not None and answer["changes_at"] is not None
        self.ahead_us = local_us - microseconds(now) if by_clock else None
        return Change(
            reset=answer["reset"],
            entered=entered,
            changed=changed,
            removed=removed,
            expired=expired,
            count=answer["count"],
            now=answer["now"],
            seq=answer["seq"],
            gen=answer["gen"],
            cursor=self.cursor if answer["next"] is None else None,
            complete=self.complete,
        )

    def shown(self, local_us: int) -> list[Row]:
        """Return the rows that the query shows at an instant of the local clock.

        Where rows alone move NOW, these are all that are held. A clock that is wrong does not matter: its distance
        from the service's was measured when the last answer came. Rows are hidden here and never dropped.
        """
        now = "" if self.ahead_us is None else instant_text(local_us - self.ahead_us)
        return [row for row in self.rows.values() if not is_over(row, now)]

    def _expired(self, now: str) -> list[Row]:
        """Drop the rows whose time is over, and return them. Cost: nothing before the first of them."""
        if now < self._least:
            return []
        over = [row for row in self.rows.values() if is_over(row, now)]
        for row in over:
            del self.rows[row["_id"]]
        self._least = min((row["_x"] or _NEVER for row in self.rows.values()), default=_NEVER)
        return over


class Gathered:
    """The changes of several pages, or of several answers, as one."""

    def __init__(self) -> None:
        """Nothing has changed."""
        self._reset = False
        self._entered: dict[str, Row] = {}
        self._changed: dict[str, Row] = {}
        self._removed: dict[str, Row] = {}
        self._expired: dict[str, Row] = {}
        self._last: Change | None = None

    def add(self, change: Change) -> None:
        """Add what has changed since."""
        if change.reset:
            self._reset = True
            for known in (self._entered, self._changed, self._removed, self._expired):
                known.clear()
        for row in change.entered:
            self._add_fresh(row)
        for row in change.changed:
            target = self._entered if row["_id"] in self._entered else self._changed
            target[row["_id"]] = row
        for rows, gone in ((change.removed, self._removed), (change.expired, self._expired)):
            for row in rows:
                self._changed.pop(row["_id"], None)
                if self._entered.pop(row["_id"], None) is None:
                    gone[row["_id"]] = row
        self._last = change

    def whole(self) -> Change | None:
        """Return all of it as one change; None: nothing was added."""
        last = self._last
        return last and replace(
            last,
            reset=self._reset,
            entered=list(self._entered.values()),
            changed=list(self._changed.values()),
            removed=list(self._removed.values()),
            expired=list(self._expired.values()),
        )

    def _add_fresh(self, row: Row) -> None:
        was_there = [gone.pop(row["_id"], None) for gone in (self._removed, self._expired)]
        target = self._entered if was_there == [None, None] else self._changed
        target[row["_id"]] = row


class HasDescription(Protocol):
    """Something that holds the description of a query, as the service has answered it."""

    description: dict[str, Any]


def is_outdated(
    description: Mapping[str, Any], answer: Mapping[str, Any], cursor: str | None
) -> bool:
    """Return whether an answer may be of another definition of its query than a description.

    Such an answer is a reset. Queries whose changes are told by resets get another one with each change, so of these,
    and of first answers, the rows decide.

    Args:
        description: of the query.
        answer: the envelope.
        cursor: what is held before the answer is applied; None: nothing is.
    """
    if not answer["reset"]:
        return False
    is_unusual = cursor is not None and description["delta"] != _REPLACE
    return is_unusual or not are_described(answer["rows"], description["columns"])


def are_described(rows: Sequence[Row], columns: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether rows have the names of these columns, and texts in the place of instants."""
    names = {one["name"] for one in columns}
    instants = [one["name"] for one in columns if one["type"] == "timestamp"]
    return all(names == row.keys() - IDS for row in rows[:1]) and all(
        isinstance(row[name], str | None) for row in rows for name in instants
    )


class Typing:
    """Puts instants in the place of the texts that stand for them, those of `_x` as well."""

    def __init__(self, columns: Iterable[Mapping[str, Any]]) -> None:
        """Take the columns of a query's description."""
        self._instants = [one["name"] for one in columns if one["type"] == "timestamp"] + ["_x"]

    def rows(self, rows: Iterable[Row]) -> list[Row]:
        """Return rows with instants."""
        return [
            row | {name: _instant(row[name]) for name in self._instants if name in row}
            for row in rows
        ]

    def change(self, change: Change) -> Change:
        """Return a change with instants."""
        return replace(
            change,
            entered=self.rows(change.entered),
            changed=self.rows(change.changed),
            removed=self.rows(change.removed),
            expired=self.rows(change.expired),
        )


def microseconds(text: str) -> int:
    """Return the microseconds since the epoch of an instant as the service writes it."""
    return (datetime.fromisoformat(text) - _EPOCH) // timedelta(microseconds=1)


def instant_text(us: int) -> str:
    """Return an instant as the service writes it, so that comparing the texts compares the instants."""
    return utc_text(_EPOCH + timedelta(microseconds=us))


def utc_text(when: datetime) -> str:
    """Return an instant of UTC as the service writes it, its year with four digits."""
    return when.isoformat(timespec="microseconds").removesuffix("+00:00") + "Z"


def _instant(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def is_over(row: Row, now: str) -> bool:
    """Return whether a row's time in the window is over at an instant; "": no instant yet."""
    return row["_x"] is not None and row["_x"] <= now
