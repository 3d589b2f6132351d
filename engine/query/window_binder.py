"""BEGIN-END: from syntax to a `Window`, and what there is to say about its reach."""

from engine.errors import UnsupportedSqlError, WindowEmptyError
from engine.query.clause import QueryWarning
from engine.query.coercion import constant_instant
from engine.query.instant import spoken_duration
from engine.query.refusal import Refused
from engine.query.syntax import BoundSyntax, WindowSyntax
from engine.query.window import Bound, Window
from engine.tuples.schema import StreamSchema


def bind_window(syntax: WindowSyntax | None) -> Window:
    """Return the window; without BEGIN-END the one that shows everything retained.

    Raises:
        Refused: `window-empty` for reversed ends, `unsupported-sql` for a moving BEGIN with a constant
            END, `type-mismatch` for a constant that is no time.
    """
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
    return Window(begin, end)


def retention_warnings(window: Window, schema: StreamSchema) -> list[QueryWarning]:
    """Return the warning for a moving window that reaches past what the stream keeps, if it does."""
    kept_us = schema.retention.time_us
    begin = window.begin
    if begin is None or not begin.moving or kept_us is None or begin.us <= kept_us:
        return []
    detail = (
        f"BEGIN reaches {spoken_duration(begin.us)} back, {schema.name} keeps "
        f"{spoken_duration(kept_us)}: answers say from when on they are complete"
    )
    return [QueryWarning("window-exceeds-retention", detail)]


def _bound(syntax: BoundSyntax) -> Bound:
    if syntax.constant is None:
        return Bound(syntax.offset_us, moving=True)
    constant = constant_instant(syntax.constant.value, syntax.constant.span)
    assert isinstance(constant.value, int), "a TIMESTAMP counts microseconds"
    return Bound(constant.value, moving=False)
