"""BEGIN-END and the windows of single sources: from syntax to what they are, and what to say about their reach."""

from collections.abc import Sequence
from typing import NamedTuple

from psoup.engine.errors import UnsupportedSqlError, WindowEmptyError
from psoup.engine.query.bind.expressions.coercion import constant_instant
from psoup.engine.query.clause import QueryWarning
from psoup.engine.query.hops import Hops
from psoup.engine.query.text.refusal import Refused
from psoup.engine.query.text.syntax import (
    BoundSyntax,
    HopsSyntax,
    QuerySyntax,
    StringSyntax,
    WindowSyntax,
)
from psoup.engine.query.time_literals import spoken_duration
from psoup.engine.query.window import Bound, Window, windows_of
from psoup.engine.tuples.schema import StreamSchema


class Windows(NamedTuple):
    """BEGIN-END, and how far back the window of each source reaches: as in `BoundQuery`."""

    query: Window
    ranges: tuple[int | None, ...] = ()


def bind_windows(syntax: QuerySyntax) -> Windows:
    """Return the windows; without BEGIN-END the one that shows everything retained.

    The `[RANGE r]` of a source that is alone is the query's window `BEGIN (NOW - r) END (NOW)`.

    Raises:
        Refused: `window-empty` for reversed ends, `unsupported-sql` for a moving BEGIN with a constant
            END, or for BEGIN-END where every source has its own; `type-mismatch` for a constant that is no time.
    """
    ranges = tuple([None if one.range is None else one.range.us for one in syntax.sources])
    if syntax.window is not None and None not in ranges:
        raise Refused(
            UnsupportedSqlError,
            "BEGIN-END holds for no stream: each has a window of its own.",
            syntax.window.span,
            "leave BEGIN and END out, or one [RANGE ...]",
        )
    window = _window(syntax.window)
    if len(ranges) > 1:
        return Windows(window, () if ranges.count(None) == len(ranges) else ranges)
    return Windows(window if None in ranges else windows_of(window, ranges, 1)[0])


def _window(syntax: WindowSyntax | None) -> Window:
    if syntax is None:
        return Window()
    begin, end = _bound(syntax.begin), _bound(syntax.end)
    if begin.moving and not end.moving:
        raise Refused(
            UnsupportedSqlError,
            "A moving BEGIN with a constant END is not offered.",
            syntax.begin.span,
            "write a constant BEGIN, or NOW as END",
        )
    if begin.moving == end.moving and (begin.us < end.us if begin.moving else begin.us > end.us):
        raise Refused(
            WindowEmptyError,
            "BEGIN lies after END: no tuple is ever between them.",
            syntax.span,
            "write the earlier bound first; of two offsets the larger is the earlier",
        )
    return Window(begin, end, None if syntax.hops is None else _hops(syntax.hops))


def _hops(syntax: HopsSyntax) -> Hops:
    align_us = 0 if syntax.align is None else _constant_us(syntax.align)
    return Hops(syntax.every_us, align_us % syntax.every_us)


def retention_warnings(windows: Windows, schemas: Sequence[StreamSchema]) -> list[QueryWarning]:
    """Return a warning for each moving window that reaches past what its stream keeps, each once."""
    if windows.query.begin is None and not windows.ranges:
        return []
    each = windows_of(windows.query, windows.ranges, len(schemas))
    own = windows.ranges or (None,) * len(schemas)
    found = [
        _retention_warning("BEGIN" if us is None else "RANGE", window, schema)
        for us, window, schema in zip(own, each, schemas, strict=True)
    ]
    return list(dict.fromkeys([warning for warning in found if warning is not None]))


def _retention_warning(what: str, window: Window, schema: StreamSchema) -> QueryWarning | None:
    kept_us = schema.retention.time_us
    begin, hops = window.begin, window.hops
    if begin is None or not begin.moving or kept_us is None:
        return None
    reach_us = begin.us if hops is None else begin.us + hops.every_us - 1
    if reach_us <= kept_us:
        return None
    hopping = (
        "" if hops is None else f" from a hop that lies up to {spoken_duration(hops.every_us)} back"
    )
    return QueryWarning(
        "window-exceeds-retention",
        f"{what} reaches {spoken_duration(begin.us)} back{hopping}, {schema.name} keeps "
        f"{spoken_duration(kept_us)}: answers say from when on they are complete",
    )


def _bound(syntax: BoundSyntax) -> Bound:
    if syntax.constant is None:
        return Bound(syntax.offset_us, moving=True)
    return Bound(_constant_us(syntax.constant), moving=False)


def _constant_us(syntax: StringSyntax) -> int:
    constant = constant_instant(syntax.value, syntax.span)
    assert isinstance(constant.value, int), "a TIMESTAMP counts microseconds"
    return constant.value
