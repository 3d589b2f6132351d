"""A page of an answer, cut until it fits: the one place that decides how many rows the bytes of a page hold."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple, Protocol, TypeVar

from psoup.app.wire.answers.encoding import RowSet
from psoup.engine import limits
from psoup.engine.checkpoint import check_hold, checkpoint
from psoup.engine.invoke import Answer

_ROOM: Final = 0.9
"""Rows are cut to this share of what the bound would let through by their mean size."""
AT_ONCE_BYTES_MAX: Final = 128 * limits.KIB
"""A page estimated at more takes longer than a millisecond or so to be written and compressed."""
_ID_BYTES: Final = 24
_ESTIMATE_FACTOR: Final = 2
"""Rows are not written at all where their size is estimated at so many times the bound."""


class EncodedPage(NamedTuple):
    """A page as bytes, and the relative URL of the next one; None = it is the last."""

    body: bytes
    link: str | None


class _HasBody(Protocol):
    """A page as bytes, with what belongs to it: an EncodedPage, or more."""

    @property
    def body(self) -> bytes: ...


Encoded = TypeVar("Encoded", bound=_HasBody)


def fit_page(
    answer: Answer,
    *,
    rows_of: Callable[[Answer], RowSet],
    encode: Callable[[Answer, RowSet], Encoded],
    bytes_max: int,
    rows_min: int,
) -> Encoded:
    """Return a page of `bytes_max` bytes at most; one of `rows_min` rows may have more.

    Args:
        answer: the page with as many rows as it may have.
        rows_of: returns an answer's rows as they are to be shown.
        encode: writes an answer with these rows.
        bytes_max: of the body.
        rows_min: the page is not cut to fewer rows: 1 for a page that others follow, so that they come to an end.

    Cost: rows are written once, or a few times where many do not fit. What ends it at a checkpoint passes through, and
    what `check_hold` raises for a large page.
    """
    while True:
        checkpoint()
        rows = rows_of(answer)
        size = rows.estimate_bytes()
        if size + _ids_bytes(answer) > AT_ONCE_BYTES_MAX:
            check_hold()
        if size <= _ESTIMATE_FACTOR * bytes_max or rows.length <= rows_min:
            page = encode(answer, rows)
            size = len(page.body)
            if size <= bytes_max or rows.length <= rows_min:
                return page
        fitting = int(_ROOM * rows.length * bytes_max / size)
        answer = _first_rows(answer, max(rows_min, min(fitting, rows.length - 1)))


def _ids_bytes(answer: Answer) -> int:
    """Return about how many bytes the ids take of rows that the client is to forget, or to keep."""
    told = [ids for ids in (answer.removed, answer.keep) if ids is not None]
    return _ID_BYTES * sum(int(ids.shape[-1]) for ids in told)


def _first_rows(answer: Answer, rows: int) -> Answer:
    """Return the page with its first `rows` rows, fewer than it has; `next` goes on behind them. Columns are views.

    The client stands behind the last page, which this one is not any more.
    """
    some = slice(rows)
    at = answer.at
    return replace(
        answer,
        columns=tuple((name, column.part(some)) for name, column in answer.columns),
        tuple_ids=answer.tuple_ids[..., some],
        leaves_us=None if answer.leaves_us is None else answer.leaves_us[some],
        row_ids=None if answer.row_ids is None else answer.row_ids[some],
        stands=None,
        next=None if at is None else at.behind(at.offset + rows, at.oldest_rows),
    )
