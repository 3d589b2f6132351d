"""Refusals that point: from a span of the text to line, column, excerpt and caret."""

import itertools
from collections.abc import Iterable

from psoup.engine.errors import (
    ParameterError,
    QueryTooComplexError,
    SqlError,
    TextPosition,
    UnsupportedSqlError,
)
from psoup.engine.tuples.value_type import value_type

_EXCERPT_BEFORE = 60
_EXCERPT_AFTER = 60
_ELLIPSIS = "..."


@value_type
class Span:
    """Characters `[start, past)` of a query's text."""

    start: int
    past: int

    def to(self, other: "Span") -> "Span":
        """Return the span from the beginning of this one to the end of the other."""
        return Span(self.start, other.past)


@value_type
class ParameterSpan(Span):
    """Where a parameter stands that gives a constant: what is refused of this place is refused of the value given."""

    name: str


class Refused(Exception):  # noqa: N818  # an outcome on its way to becoming a SqlError, which is the error
    """Carries what will be a SqlError up to where the text is known."""

    def __init__(
        self,
        error: type[SqlError],
        detail: str,
        span: Span,
        remedy: str,
        *,
        quoting: str | None = None,
        hint: str | None = None,
        **extras: object,
    ) -> None:
        """Keep what the error will say: `detail` and `remedy` hold no word of the text, as `SqlError` tells."""
        super().__init__(detail)
        self.error = error
        self.detail = detail
        self.span = span
        self.remedy = remedy
        self.quoting = quoting
        self.hint = hint
        self.extras = extras

    def as_unsupported(self, outside: str) -> "Refused":
        """Return the refusal of what is SQL, and not of this dialect; `outside` says so."""
        quoting = None if self.quoting is None else f"{self.quoting} {outside}"
        return Refused(
            UnsupportedSqlError,
            f"{self.detail} {outside}",
            self.span,
            self.remedy,
            quoting=quoting,
            hint=self.hint,
            **self.extras,
        )

    def in_text(self, text: str) -> SqlError:
        """Return the error, pointing into `text`."""
        if isinstance(self.span, ParameterSpan) and self.error is not QueryTooComplexError:
            return self._of_value(text, self.span)
        return self.error(
            self.detail,
            position=position_of(text, self.span),
            excerpt=excerpt_of(text, self.span),
            remedy=self.remedy,
            quoting=self.quoting,
            hint=self.hint,
            **self.extras,
        )

    def _of_value(self, text: str, place: ParameterSpan) -> ParameterError:
        """Return the error of a parameter's value that does not fit where the parameter stands."""
        sentence, advice = self.quoting or self.detail, self.hint or self.remedy
        return ParameterError(
            f"A value in params does not fit where its parameter stands. {self.detail}",
            position=position_of(text, place),
            excerpt=excerpt_of(text, place),
            remedy=self.remedy,
            quoting=f"The value of {place.name} does not fit here. {sentence}",
            hint=self.hint,
            errors=wrong_parameters([place.name], f"{sentence} {advice[:1].upper()}{advice[1:]}"),
        )


def wrong_parameters(names: Iterable[str], reason: str) -> list[dict[str, str]]:
    """Return the extra `errors` of a ParameterError about these parameters: 20 at most, as in InvalidFieldError."""
    return [
        {"pointer": f"/params/{name}", "reason": reason} for name in itertools.islice(names, 20)
    ]


def position_of(text: str, span: Span) -> TextPosition:
    """Return line and column (from 1, in characters) of a span, and its length."""
    line_start = text.rfind("\n", 0, span.start) + 1
    return TextPosition(
        line=text.count("\n", 0, span.start) + 1,
        column=span.start - line_start + 1,
        length=span.past - span.start,
    )


def excerpt_of(text: str, span: Span) -> str:
    """Return the line in which the span begins, cut to a screen's width, with carets under the span."""
    line_start = text.rfind("\n", 0, span.start) + 1
    line_past = text.find("\n", span.start)
    line_past = len(text) if line_past < 0 else line_past
    first = max(line_start, span.start - _EXCERPT_BEFORE)
    past = min(line_past, span.start + _EXCERPT_AFTER)
    before = (_ELLIPSIS if first > line_start else "") + text[first : span.start]
    after = text[span.start : past] + (_ELLIPSIS if past < line_past else "")
    shown = "".join(character if character.isprintable() else " " for character in before + after)
    carets = "^" * max(1, min(span.past, past) - span.start)
    return f"{shown}\n{' ' * len(before)}{carets}"
