"""Histories as they travel: what a job is told and tells, and what an asker sees of one that is not done."""

import re
import secrets
from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from psoup.app.wire.handles import Bits, draw_handle, handle_pattern, is_handle
from psoup.app.wire.models.results.invocations import WindowAt, window_member
from psoup.app.wire.parameters import instant
from psoup.app.wire.scalars import format_instant
from psoup.engine import limits
from psoup.engine.errors import InvalidFieldError
from psoup.engine.store.archive_answers import History, HistoryId, HistoryState

PREFIX: Final = "h_"
HISTORY_PATTERN: Final = handle_pattern(PREFIX)
WORKER_HEADER: Final = "Psoup-Worker"
WORKER_FORM: Final = "8 to 64 letters, digits, - or _"
_WORKER: Final = r"^[A-Za-z0-9_-]{8,64}$"
_PART: Final = re.compile(r"[0-9]{1,9}")
_MEMBERS: Final = {
    "running": ("done", "of"),
    "done": ("parts", "rows", "complete_from", "overflowed"),
    "failed": ("detail",),
}
"""Which members go with a state."""
_NEEDED: Final = {"running": ("done",), "done": ("parts", "rows"), "failed": ("detail",)}
"""Those of them that have to be there."""

Count = Annotated[int, Field(ge=0, lt=2**53)]


class HistoryBody(BaseModel):
    """The body of POST /v1/histories/{id}: a worker claims a history, renews its claim, or ends it."""

    model_config = ConfigDict(extra="forbid", strict=True)

    worker: str = Field(
        pattern=_WORKER, description="Who computes: a name that no other worker draws."
    )
    state: Literal["running", "done", "failed"]
    done: Count | None = Field(default=None, description="With running: steps that are done.")
    of: Count | None = Field(default=None, description="With running: of how many, if known.")
    parts: Annotated[int, Field(ge=0, le=limits.HISTORY_PARTS_MAX)] | None = Field(
        default=None, description="With done: how many parts the answer has, from 0 on."
    )
    rows: Count | None = Field(default=None, description="With done: rows of all parts.")
    complete_from: str | int | None = Field(
        default=None,
        description="With done: the time from which the answer is complete, null = it is complete."
        " RFC 3339 or integer microseconds.",
    )
    overflowed: Annotated[list[str], Field(max_length=limits.QUERY_AGGREGATES_MAX)] = Field(
        default=[],
        description="With done: aggregates that are NULL somewhere because their value is none of their type, as the"
        " query's canonical text writes them.",
    )
    detail: (
        Annotated[str, Field(min_length=1, max_length=limits.HISTORY_DETAIL_LENGTH_MAX)] | None
    ) = Field(default=None, description="With failed: why, and what to do. Its asker reads it.")

    @field_validator("complete_from")
    @classmethod
    def read_complete_from(cls, given: str | int | None) -> int | None:
        """Return the instant in microseconds since the epoch."""
        return None if given is None else instant(str(given))

    @property
    def complete_from_us(self) -> int | None:
        """The time from which the answer is complete; None = it is."""
        return self.complete_from if isinstance(self.complete_from, int) else None

    def check_members(self) -> None:
        """Refuse members that do not go with the state.

        Raises:
            InvalidFieldError: one is missing or too many, or more is done than there is to do.
        """
        given = self.model_fields_set - {"worker", "state"}
        wrong = [
            (f"/{name}", f"is needed with the state {self.state}")
            for name in _NEEDED[self.state]
            if getattr(self, name) is None
        ]
        wrong += [
            (f"/{name}", f"does not go with the state {self.state}")
            for name in sorted(given - set(_MEMBERS[self.state]))
        ]
        if self.of is not None and (self.done or 0) > self.of:
            wrong.append(("/done", "is more than there is to do"))
        if wrong:
            raise InvalidFieldError("Members do not go with the state.", errors=wrong)


class HistoryProgress(BaseModel):
    """How far a history is: what its asker sees of it."""

    id: str = Field(pattern=HISTORY_PATTERN)
    state: Literal["queued", "running", "done"]
    done: int
    of: int | None
    asked_at: str


class HistoryPending(BaseModel):
    """An answer that a job is still computing: ask again at the same URL."""

    query: str
    gen: int
    seq: int
    now: str
    window: WindowAt
    history: HistoryProgress


class HistoryAnswer(BaseModel):
    """A history as the computing side sees it."""

    id: str = Field(pattern=HISTORY_PATTERN)
    query: str
    sql: str = Field(description="The query's canonical text, with its window.")
    gen: int
    seq: int
    now: str
    window: WindowAt
    asked_at: str
    state: Literal["queued", "running", "done", "failed"]
    done: int
    of: int | None
    rows: int | None = Field(description="Of the answer, once it is done.")
    complete_from: str | None
    detail: str | None = Field(description="Why it failed.")
    expires_at: str


class HistoryList(BaseModel):
    """All histories, those asked for first in front."""

    histories: list[HistoryAnswer]


def new_history_id(bits: Bits = secrets.randbits) -> HistoryId:
    """Return a fresh handle of a history."""
    return HistoryId(draw_handle(PREFIX, bits))


def read_history_id(text: str) -> HistoryId | None:
    """Return the handle that `text` is; None where it has another shape, and so was never one."""
    return HistoryId(text) if is_handle(PREFIX, text) else None


def read_worker(header: str | None) -> str:
    """Return the worker that a header names. Raises InvalidFieldError where it names none."""
    if header is None or not re.fullmatch(_WORKER, header):
        wrong = [(WORKER_HEADER, f"expected {WORKER_FORM}: who has claimed the history")]
        raise InvalidFieldError("A header of the request has a wrong value.", errors=wrong)
    return header


def read_part_number(text: str) -> int:
    """Return the number of a part, from a path. Raises InvalidFieldError where it is none."""
    if not _PART.fullmatch(text) or int(text) >= limits.HISTORY_PARTS_MAX:
        wrong = [("{n}", f"expected a number from 0 to {limits.HISTORY_PARTS_MAX - 1}")]
        raise InvalidFieldError("A part of the path has a wrong value.", errors=wrong)
    return int(text)


def described(history: History) -> dict[str, Any]:
    """Return the members of `HistoryAnswer`."""
    asked, rows = history.asked, history.rows
    return {
        "id": asked.history_id,
        "query": asked.query_id,
        "sql": asked.sql,
        **_instant_of(history),
        "asked_at": format_instant(history.asked_us),
        "state": history.state,
        "done": history.done,
        "of": history.of,
        "rows": rows,
        "complete_from": format_instant(history.complete_from_us),
        "detail": history.detail or None,
        "expires_at": format_instant(history.expires_us),
    }


def progress(history: History) -> dict[str, Any]:
    """Return the members of `HistoryProgress`."""
    return {
        "id": history.asked.history_id,
        "state": history.state,
        "done": history.done,
        "of": history.of,
        "asked_at": format_instant(history.asked_us),
    }


def pending(history: History) -> dict[str, Any]:
    """Return the members of `HistoryPending`."""
    return {
        "query": history.asked.query_id,
        **_instant_of(history),
        "history": progress(history),
    }


def selected(histories: Sequence[History], state: str | None) -> list[History]:
    """Return the histories in a state, None = all; those that are free for any worker count as queued."""
    if state is None:
        return list(histories)
    if state == HistoryState.QUEUED:
        return [one for one in histories if one.is_free]
    return [one for one in histories if one.state == state]


def _instant_of(history: History) -> dict[str, Any]:
    asked = history.asked
    begin_us, end_us = asked.window_us
    return {
        "gen": asked.gen,
        "seq": asked.seq,
        "now": format_instant(asked.now_us),
        "window": window_member(begin_us, end_us),
    }
