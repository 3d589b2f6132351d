"""Query parameters: each declared once, read strictly, described in the OpenAPI from the same declaration."""

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl

from psoup.app.errors import UnknownFieldError
from psoup.app.wire.control import nearest
from psoup.app.wire.scalars import DURATION_FORMS, parse_duration
from psoup.engine import limits
from psoup.engine.errors import InvalidFieldError
from psoup.engine.query.time_literals import INSTANT_FORMS, parse_instant

_DURATION: Final = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(s|ms|)")
_INTEGER: Final = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Parameter:
    """One query parameter.

    Attributes:
        name: as in the URL.
        read: text to value; ValueError, with what was expected, where it is not one.
        schema: its JSON schema.
        text: one sentence for the API pages.
        many: it may be given several times; the value is then a tuple.
        any_bytes: it may hold what is no text: it is read, and never fails for that.
    """

    name: str
    read: Callable[[str], Any]
    schema: Mapping[str, Any]
    text: str
    many: bool = False
    any_bytes: bool = False

    def openapi(self) -> dict[str, Any]:
        """Return the parameter object of the OpenAPI."""
        schema: Mapping[str, Any] = self.schema
        if self.many:
            schema = {"type": "array", "items": schema}
        return {
            "name": self.name,
            "in": "query",
            "required": False,
            "description": self.text,
            "schema": dict(schema),
        }


@dataclass(frozen=True, slots=True)
class Arguments:
    """The parameters of one request, read. `get` gives None where one was not sent."""

    values: Mapping[str, Any] = field(default_factory=dict)

    def get(self, parameter: Parameter) -> Any:  # noqa: ANN401 (typed where it is read)
        """Return the value of `parameter`: None, or () for one that may come several times."""
        return self.values.get(parameter.name, () if parameter.many else None)


def read_arguments(query_string: bytes, known: Mapping[str, Parameter]) -> Arguments:
    """Return the values of a request's query string; `known` are the parameters of its endpoint by name.

    Raises:
        UnknownFieldError: a parameter that does not exist here.
        InvalidFieldError: values that cannot be, or one given twice; all at once.
    """
    values: dict[str, Any] = {}
    wrong: list[tuple[str, str]] = []
    for name, text in _pairs(query_string):
        parameter = known.get(name)
        if parameter is None:
            raise UnknownFieldError(
                f"The request has a parameter that does not exist here. {_those_that_do(known)}",
                field=name[: limits.QUERY_NAME_LENGTH_MAX],
                nearest=nearest(name, list(known)),
            )
        if not parameter.any_bytes:
            _check_text(text)
        try:
            value = parameter.read(text)
        except ValueError as error:
            wrong.append((f"?{name}", str(error)))
            continue
        if parameter.many:
            values[name] = (*values.get(name, ()), value)
        elif name in values:
            wrong.append((f"?{name}", "is given twice"))
        else:
            values[name] = value
    if wrong:
        raise InvalidFieldError(
            f"Parameters of the request have wrong values; the first: {wrong[0][0][1:]} {wrong[0][1]}.",
            errors=wrong,
        )
    return Arguments(values)


def _those_that_do(known: Collection[str]) -> str:
    return f"Those that do: {', '.join(sorted(known))}." if known else "It takes none."


def _pairs(query_string: bytes) -> list[tuple[str, str]]:
    """Return names and values; of a value that is not UTF-8 its bytes, as Python writes them into a text."""
    try:
        pairs = parse_qsl(
            query_string.decode("ascii"), keep_blank_values=True, errors="surrogateescape"
        )
    except (UnicodeDecodeError, ValueError) as error:
        raise _not_utf8() from error
    for name, _ in pairs:
        _check_text(name)
    return pairs


def _check_text(text: str) -> None:
    if "\0" in text:
        raise InvalidFieldError(
            "A parameter holds what no text may hold.", errors=[("?", "holds the character NUL")]
        )
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _not_utf8() from error


def _not_utf8() -> InvalidFieldError:
    wrong = [("?", "is not percent-encoded UTF-8")]
    return InvalidFieldError("The query string is not UTF-8.", errors=wrong)


def integer(*, least: int) -> Callable[[str], int]:
    """Return a reader of integers from `least`."""

    def read(text: str) -> int:
        if not _INTEGER.fullmatch(text) or int(text) < least or int(text) >= 2**63:
            raise ValueError(f"expected a whole number from {least} to {2**63 - 1}")
        return int(text)

    return read


def one_of(*words: str) -> Callable[[str], str]:
    """Return a reader of one of `words`."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"expected one of: {', '.join(words)}")
        return text

    return read


def seconds_up_to(most: float) -> Callable[[str], float]:
    """Return a reader of a number of seconds, clipped to `most`: as `25`, `2.5` or `250ms`."""

    def read(text: str) -> float:
        given = _DURATION.fullmatch(text)
        if given is None:
            raise ValueError("expected seconds: 25, 2.5, 25s or 250ms")
        return min(float(given[1]) * (0.001 if given[2] == "ms" else 1.0), most)

    return read


def instant(text: str) -> int:
    """Return an instant as SQL writes one, or whole microseconds since the epoch, in microseconds.

    A date is its midnight; without an offset it is UTC, as in a query's text.
    """
    if re.fullmatch(r"-?[0-9]{1,18}", text):
        us = int(text)
        if limits.TIMESTAMP_US_MIN <= us <= limits.TIMESTAMP_US_MAX:
            return us
    # A plus sign in a URL is a space: an offset written without escaping is still understood.
    read = parse_instant(text)
    if read is None:
        read = parse_instant(re.sub(r" (?=[0-9]{2}:[0-9]{2}$)", "+", text))
    if read is None:
        raise ValueError(f"expected an instant: {INSTANT_FORMS}; or integer microseconds")
    return read


class Moment(NamedTuple):
    """An instant as a client gives it: in microseconds since the epoch, or `from_now`: since the query's NOW."""

    us: int
    from_now: bool

    def at(self, now_us: int | None) -> int | None:
        """Return the instant where NOW is `now_us`; None = there is none yet to count from."""
        if not self.from_now:
            return self.us
        return None if now_us is None else now_us + self.us


def moment(text: str) -> Moment:
    """Return an instant as `instant` reads one, or one that lies a duration from the query's NOW: `now`, `-1h`."""
    if text == "now":
        return Moment(0, from_now=True)
    us = _signed_duration(text)
    if us is not None:
        return Moment(us, from_now=True)
    try:
        return Moment(instant(text), from_now=False)
    except ValueError:
        raise ValueError(
            f"expected an instant: {INSTANT_FORMS}, integer microseconds, now, or a duration from it: -1h, -30m"
        ) from None


def step(text: str) -> int:
    """Return the microseconds of a duration with a sign or without, other than 0: `1m`, `-1h`."""
    us = _signed_duration(text)
    if not us:
        raise ValueError(f"expected {DURATION_FORMS}; with a minus before it, to go back; not 0")
    return us


def _signed_duration(text: str) -> int | None:
    us = parse_duration(text.removeprefix("-"))
    return -us if us is not None and text.startswith("-") else us


def text_up_to(length: int, *, least: int = 1) -> Callable[[str], str]:
    """Return a reader of texts of `least` to `length` characters."""

    def read(text: str) -> str:
        if not least <= len(text) <= length:
            raise ValueError(f"expected {least} to {length} characters")
        return text

    return read


def flag(name: str, text: str) -> Parameter:
    """Return a parameter that is `true` or `false`."""
    words = ("true", "false")
    schema = {"type": "string", "enum": list(words), "default": "false"}
    return Parameter(name, one_of(*words), schema, text)


LIMIT = Parameter(
    "limit",
    integer(least=1),
    {"type": "integer", "minimum": 1, "default": limits.LIST_ROWS_DEFAULT},
    f"Entries of a page, clipped to {limits.LIST_ROWS_MAX}.",
)
PAGE = Parameter(
    "page",
    text_up_to(limits.URL_BYTES_MAX),
    {"type": "string", "minLength": 1},
    "The token in `next` of the page before.",
)
AFTER = Parameter(
    "after",
    integer(least=0),
    {"type": "integer", "minimum": 0, "default": 0},
    "Only batches past this position.",
)
CASCADE = flag(
    "cascade",
    "Remove the standing queries that read the stream as well.",
)
NOW = Parameter(
    "now",
    instant,
    {"type": "string", "examples": ["2026-11-21T10:05:00Z", "2026-11-21"]},
    "Another instant to answer for, as in SQL (a date is its midnight, UTC) or in integer microseconds: up to NOW,"
    " inside retention.",
)
FROM = Parameter(
    "from",
    moment,
    {"type": "string", "examples": ["-1h", "2026-11-21T09:00:00Z"]},
    "The first instant: as `now`, or a duration from the query's NOW. By default where the window begins at `to`.",
)
TO = Parameter(
    "to",
    moment,
    {"type": "string", "default": "now", "examples": ["now", "2026-11-21T10:00:00Z"]},
    "The last instant, likewise: no point lies behind it.",
)
EVERY = Parameter(
    "every",
    step,
    {"type": "string", "examples": ["1m", "-1h"]},
    f"From one instant to the next; negative: back from `from` to `to`. By default the hop of the query, else a"
    f" {limits.SERIES_POINTS_DEFAULT}th of the way. At most {limits.SERIES_POINTS_MAX} points.",
)
ROWS_LIMIT = Parameter(
    "limit",
    integer(least=1),
    {"type": "integer", "minimum": 1, "default": limits.PAGE_ROWS_DEFAULT},
    f"Rows of a page, clipped to {limits.PAGE_ROWS_MAX} rows and {limits.PAGE_BYTES_MAX} bytes.",
)
MIN_SEQ = Parameter(
    "min_seq",
    integer(least=0),
    {"type": "integer", "minimum": 0},
    "Do not answer from before this position: read your own writes.",
)
SEQ = Parameter(
    "seq",
    integer(least=0),
    {"type": "integer", "minimum": 0},
    "As of this position: what was known then, at the NOW of then or at `now`. The answer has no cursor.",
)
COUNT = Parameter(
    "count", one_of("only"), {"type": "string", "enum": ["only"]}, "`only`: no rows, just how many."
)
PAGES = Parameter(
    "pages",
    one_of("all"),
    {"type": "string", "enum": ["all"]},
    "`all`, with `count=only`: where each page of this answer is, to be read in any order.",
)
SHAPE = Parameter(
    "shape",
    one_of("rows", "columns"),
    {"type": "string", "enum": ["rows", "columns"], "default": "rows"},
    "JSON rows as objects, or as arrays with the names once.",
)
FORMAT = Parameter(
    "format",
    one_of("json", "ndjson", "csv", "arrow"),
    {"type": "string", "enum": ["json", "ndjson", "csv", "arrow"]},
    "The representation; goes before Accept.",
)
SERIES_FORMAT = Parameter(
    "format",
    one_of("json", "ndjson", "csv", "arrow"),
    {"type": "string", "enum": ["json", "ndjson", "csv", "arrow"]},
    "The representation; goes before Accept. NDJSON has one point a line; CSV and Arrow have the rows of all points, each"
    " behind the instant of its point, `_now`.",
)
META = Parameter(
    "meta",
    one_of("0", "1"),
    {"type": "string", "enum": ["0", "1"], "default": "1"},
    "`0` hides `_id` and `_x`.",
)
CURSOR = Parameter(
    "cursor",
    text_up_to(limits.URL_BYTES_MAX, least=0),
    {"type": "string", "maxLength": limits.URL_BYTES_MAX},
    "What the last answer gave as `cursor`: what has changed since is answered, or everything, with `reset` true,"
    " where that cannot be told. Empty: the first answer.",
    any_bytes=True,
)
WAIT = Parameter(
    "wait",
    seconds_up_to(limits.WAIT_S_MAX),
    {"type": "number", "minimum": 0, "default": 0},
    f"Seconds to wait for a change where there is nothing new, clipped to {limits.WAIT_S_MAX}. Also `Prefer: wait=25`.",
)
ON = Parameter(
    "on",
    one_of("enter", "any"),
    {"type": "string", "enum": ["enter", "any"], "default": "enter"},
    "What ends a wait: `enter`: rows enter the answer, or are taken back; `any`: rows leave, too.",
)
LINGER = Parameter(
    "linger",
    seconds_up_to(limits.LINGER_S_MAX),
    {"type": "string", "examples": ["250ms", "2s"]},
    f"Seconds, clipped to {limits.LINGER_S_MAX:g}. Of a wait: after a change, for further ones to join it; not given: the"
    f" first change after {limits.LINGER_S_DEFAULT:g} ends the wait at once. Of a stream: two events are so far apart at"
    f" least, {limits.LINGER_S_DEFAULT:g} where it is not given.",
)
HISTORY = flag(
    "history",
    "`true`: where the window reaches past what is kept in memory, the answer that a job computes from the archive.",
)
HISTORY_STATE = Parameter(
    "state",
    one_of("queued", "running", "done", "failed"),
    {"type": "string", "enum": ["queued", "running", "done", "failed"]},
    "Only histories in this state; those whose worker's claim has ended count as queued too.",
)
