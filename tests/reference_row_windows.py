"""Row windows of the naive twin: which tuples are among the newest, looked at at every instant at which one enters."""

from collections.abc import Sequence
from typing import Protocol

from psoup.engine.query.row_window import RowWindow
from psoup.engine.query.values.expression import Value
from psoup.engine.query.window import Window
from tests.reference_values import Row, value_of
from tests.reference_windows import interval

Stretch = tuple[int, int | None]
"""The instants `[in, out)` of NOW; `out` None = for ever."""


class Dated(Protocol):
    """A tuple."""

    @property
    def tuple_id(self) -> int: ...
    @property
    def time_us(self) -> int: ...
    @property
    def values(self) -> Row: ...


def stretches(
    tuples: Sequence[Dated], window: Window, row_window: RowWindow | None, place: int
) -> dict[int, Stretch]:
    """Return by tuple id when the windows of the source at `place` of FROM show its tuples."""
    dated = {one.tuple_id: interval(window, one.time_us) for one in tuples}
    found = {tuple_id: span for tuple_id, span in dated.items() if span is not None}
    if row_window is None:
        return found
    inside = sorted(
        (one for one in tuples if one.tuple_id in found),
        key=lambda one: (one.time_us, one.tuple_id),
        reverse=True,
    )
    instants = sorted({begin for begin, _ in found.values()})
    newest = {
        now: _newest([one for one in inside if holds(found[one.tuple_id], now)], row_window, place)
        for now in instants
    }
    for tuple_id, (begin, out) in list(found.items()):
        gone = [now for now in instants if now >= begin and tuple_id not in newest[now]]
        until = min([*gone[:1], *([] if out is None else [out])], default=None)
        if until == begin:
            del found[tuple_id]
        else:
            found[tuple_id] = begin, until
    return found


def holds(stretch: Stretch, now_us: int) -> bool:
    """Return whether an instant lies in a stretch."""
    begin, out = stretch
    return begin <= now_us and (out is None or now_us < out)


def _newest(inside: Sequence[Dated], row_window: RowWindow, place: int) -> set[int]:
    """Return the ids of the newest tuples of each partition, of tuples from the newest on."""
    counts: dict[tuple[Value | None, ...], int] = {}
    found = set()
    for one in inside:
        values: list[Row] = [{}] * place + [one.values]
        key = tuple(_plain(value_of(key, values)) for key in row_window.keys)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] <= row_window.count:
            found.add(one.tuple_id)
    return found


def _plain(value: Value | None) -> Value | None:
    """Return a zero without a sign."""
    return value + 0.0 if isinstance(value, float) else value
