"""Writes functions and casts in Spark SQL, from the SQL and the types of their arguments.

Where Spark means something else, the meaning of decision record 0005 is spelled out; a value that stands twice in
that is named by `_let`, so that a text grows linearly with its calls. What Spark cannot be made to say is refused by
`UntranslatedError`: texts read as numbers, DOUBLEs printed as texts, roundings to digits of a column.

EXP, LN, LOG10 and POWER are those of Java, whose last bit may differ; LOWER and UPPER are Java's beyond ASCII. A text
that is longer than a stream could hold is NULL in psoup alone.
"""

from collections.abc import Callable, Mapping, Sequence

from psoup.client.errors import PsoupError
from psoup.engine.query.functions.function import Takes
from psoup.engine.query.functions.table import FUNCTIONS
from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.spark.sql.terms import TYPE_NAMES, Term, finite, text_sql

_INT64, _FLOAT64, _BOOL = ColumnType.INT64, ColumnType.FLOAT64, ColumnType.BOOL
_STRING, _TIMESTAMP = ColumnType.STRING, ColumnType.TIMESTAMP
_LEAST = "-9223372036854775808L"
_PAST_MOST = "9223372036854775808D"
_WHOLE_FROM = "4503599627370496D"
"""From here on every DOUBLE is a whole number."""
_EXPONENT_PAST = 309
"""Ten to this is past every DOUBLE."""
_LONGEST = "100000L"
"""Past the characters of any text: places and counts are cut to it, so that sums of them fit."""
_ORIGIN_US = 946_857_600_000_000
_FIRST_US = -62_135_596_800_000_000
_SPACES = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_MINUTE_US = 60_000_000


class UntranslatedError(PsoupError):
    """A query has a form that Spark SQL cannot answer as psoup does; the message names it, and what to write."""

    code = "untranslated"


def call_sql(name: str, terms: Sequence[Term]) -> Term:
    """Return the call of a function of the table, other than CASE and CAST.

    Raises:
        UntranslatedError: Spark cannot be made to say it.
    """
    function = FUNCTIONS[name]
    kinds = [_kind(function.taken(place), term) for place, term in enumerate(terms)]
    if function.taken(0) is Takes.ALIKE:
        common = common_kind(terms)
        kinds = [common] * len(terms)
    arguments = [as_kind(term, kind).sql for term, kind in zip(terms, kinds, strict=True)]
    gives = function.gives or next(kind for kind in kinds)
    if name == "DATE_PART" and terms[0].text is not None and terms[0].text.lower() == "epoch":
        return Term(_epoch(arguments[1:], kinds), _FLOAT64)
    return Term(_WRITERS[name](arguments, kinds), gives)


def common_kind(terms: Sequence[Term]) -> ColumnType:
    """Return the one type of values beside each other; BOOLEAN of NULLs alone."""
    kinds = [term.type for term in terms if term.type is not None]
    for wide in (_FLOAT64, _TIMESTAMP):
        if wide in kinds:
            return wide
    return kinds[0] if kinds else _BOOL


def as_kind(term: Term, kind: ColumnType) -> Term:
    """Return a term beside values of this type as one of them."""
    sql = term.beside(kind)
    if term.type is _INT64 and kind is _FLOAT64:
        sql = f"CAST({sql} AS DOUBLE)"
    elif kind is _STRING and term.type not in (None, _STRING):
        return cast_sql(term, _STRING)
    return Term(sql, kind, term.text)


def cast_sql(term: Term, kind: ColumnType) -> Term:
    """Return CAST(term AS kind). Raises UntranslatedError."""
    source = term.type
    if source is None or source is kind:
        return Term(term.beside(kind), kind, term.text)
    sql = term.beside(kind)
    if source is _STRING and not (term.text is not None and kind is _TIMESTAMP):
        raise UntranslatedError(
            "A query that reads texts as numbers, flags or times is not computed over archives: declare a column for them."
        )
    if (source, kind) == (_FLOAT64, _STRING):
        raise UntranslatedError(
            "A query that prints DOUBLEs as texts is not computed over archives: select the number beside the text."
        )
    if (source, kind) == (_FLOAT64, _INT64):
        near = f"x <- rint({sql})"
        return Term(_let(near, f"CASE WHEN x < {_PAST_MOST} THEN try_cast(x AS BIGINT) END"), kind)
    if source is _STRING:
        return Term(sql, kind)
    return Term(f"CAST({sql} AS {TYPE_NAMES[kind]})", kind)


def _kind(takes: Takes, term: Term) -> ColumnType:
    """Return the type that an argument has to have."""
    match takes:
        case Takes.NUMBER:
            return term.type or _INT64
        case Takes.DOUBLE:
            return _FLOAT64
        case Takes.BIGINT | Takes.INTERVAL:
            return _INT64
        case Takes.TIMESTAMP:
            return _TIMESTAMP
        case _:
            return _STRING


def _let(binding: str, body: str) -> str:
    """Return `body`, in which a name stands for a value: `name <- SQL`."""
    name, value = binding.split(" <- ", 1)
    return f"transform(array({value}), {name} -> {body})[0]"


Arguments = Sequence[str]
Kinds = Sequence[ColumnType]
_Writer = Callable[[Arguments, Kinds], str]


def _plain(form: str) -> _Writer:
    """Return the writer of a form with its arguments as {0}, {1}."""
    return lambda arguments, _: form.format(*arguments)


def _listed(name: str) -> _Writer:
    return lambda arguments, _: f"{name}({', '.join(arguments)})"


def _absolute(arguments: Arguments, kinds: Kinds) -> str:
    (x,) = arguments
    return f"abs({x})" if kinds[0] is _FLOAT64 else f"abs(nullif({x}, {_LEAST}))"


def _whole(name: str) -> _Writer:
    """Return the writer of FLOOR or CEIL, which give a BIGINT there."""

    def write(arguments: Arguments, kinds: Kinds) -> str:
        (x,) = arguments
        if kinds[0] is _INT64:
            return x
        body = f"CASE WHEN abs(x) < {_WHOLE_FROM} THEN CAST({name}(x) AS DOUBLE) ELSE x END"
        return _let(f"x <- {x}", body)

    return write


def _rounded(arguments: Arguments, kinds: Kinds) -> str:
    x, *rest = arguments
    digits = rest[0].removesuffix("L") if rest else "0"
    if not digits.lstrip("-").isdigit():
        raise UntranslatedError(
            "A query that rounds to digits of a column is not computed over archives: write a constant."
        )
    places = max(-400, min(400, int(digits)))
    if kinds[0] is _INT64:
        if places >= 0:
            return x
        near = f"round(CAST({x} AS DECIMAL(38, 0)), {max(places, -30)})"
        return f"try_cast({near} AS BIGINT)"
    if places == 0:
        return f"round({x})"
    power = f"1e{abs(places)}D" if abs(places) < _EXPONENT_PAST else "DOUBLE('Infinity')"
    scaled = f"round(x / {power}) * {power}" if places < 0 else f"round(x * {power}) / {power}"
    instead = "0D" if places < 0 else "x"
    return _let(
        f"x <- {x}", f"CASE WHEN x IS NOT NULL THEN coalesce({finite(scaled)}, {instead}) END"
    )


def _real(form: str) -> _Writer:
    """Return the writer of a function of DOUBLEs that is NULL where it has no finite value."""
    return lambda arguments, _: finite(form.format(*arguments))


def _trimmed(side: str) -> _Writer:
    def write(arguments: Arguments, _: Kinds) -> str:
        text, *characters = arguments
        return f"trim({side} {characters[0] if characters else text_sql(_SPACES)} FROM {text})"

    return write


def _substring(arguments: Arguments, _: Kinds) -> str:
    """Return SUBSTRING by the places where it begins and ends, in decimals, of which sums of BIGINTs are."""
    text, start, *count = arguments
    begin, past = (f"least(greatest({place}, 0), length(s))" for place in ("least(f, p)", "f, p"))
    cut = f"substring(s, CAST({begin} + 1 AS INT), CAST({past} - {begin} AS INT))"
    known = f"CASE WHEN f + p + length(s) IS NOT NULL THEN {cut} END"
    past_place = f"f + CAST({count[0]} AS DECIMAL(20, 0))" if count else "length(s)"
    span = _let(f"p <- {past_place}", known)
    first = "if(a >= 0, a - 1, length(s) + a)"
    at = f"CAST({start} AS DECIMAL(20, 0))"
    return _let(f"s <- {text}", _let(f"a <- {at}", _let(f"f <- {first}", span)))


def _end(name: str) -> _Writer:
    """Return the writer of LEFT or RIGHT."""

    def write(arguments: Arguments, _: Kinds) -> str:
        text, count = arguments
        cut = f"least(greatest(n, -{_LONGEST}), {_LONGEST})"
        wanted = f"CAST(if(n >= 0, {cut}, greatest(length(s) + {cut}, 0L)) AS INT)"
        body = f"CASE WHEN n IS NOT NULL THEN {name}(s, {wanted}) END"
        return _let(f"s <- {text}", _let(f"n <- {count}", body))

    return write


def _concat(arguments: Arguments, _: Kinds) -> str:
    known = [f"coalesce({one}, '')" for one in arguments]
    return f"concat({', '.join(known)})"


def _epoch(arguments: Arguments, _: Kinds) -> str:
    return f"(CAST(unix_micros({arguments[0]}) AS DOUBLE) / 1000000D)"


def _bucket(arguments: Arguments, _: Kinds) -> str:
    width, instant = arguments
    begun = f"unix_micros({instant}) - pmod(unix_micros({instant}) - {_ORIGIN_US}L, {width})"
    return _let(f"b <- {begun}", f"timestamp_micros(if(b >= {_FIRST_US}L, b, NULL))")


_PARTS: Mapping[str, str] = {
    "microsecond": f"pmod(unix_micros({{0}}), {_MINUTE_US}L)",
    "millisecond": f"(pmod(unix_micros({{0}}), {_MINUTE_US}L) div 1000L)",
    "second": "second({0})",
    "minute": "minute({0})",
    "hour": "hour({0})",
    "day": "day({0})",
    "dow": "(dayofweek({0}) - 1)",
    "isodow": "(weekday({0}) + 1)",
    "doy": "dayofyear({0})",
    "week": "weekofyear({0})",
    "month": "month({0})",
    "quarter": "quarter({0})",
    "year": "year({0})",
    "isoyear": "extract(YEAROFWEEK FROM {0})",
}


def _part(arguments: Arguments, _: Kinds) -> str:
    part = arguments[0].strip("'").lower()
    form = _PARTS.get(part) or _PARTS[part.removesuffix("s")]
    return f"CAST({form.format(arguments[1])} AS BIGINT)"


_WRITERS: Mapping[str, _Writer] = {
    "ABS": _absolute,
    "SIGN": _plain("CAST(sign({0}) AS BIGINT)"),
    "ROUND": _rounded,
    "FLOOR": _whole("floor"),
    "CEIL": _whole("ceil"),
    "SQRT": _real("sqrt({0})"),
    "POWER": _real("pow({0}, {1})"),
    "EXP": _real("exp({0})"),
    "LN": _real("ln({0})"),
    "LOG10": _real("log10({0})"),
    "LOWER": _listed("lower"),
    "UPPER": _listed("upper"),
    "LENGTH": _plain("CAST(length({0}) AS BIGINT)"),
    "TRIM": _trimmed("BOTH"),
    "LTRIM": _trimmed("LEADING"),
    "RTRIM": _trimmed("TRAILING"),
    "SUBSTRING": _substring,
    "REPLACE": _listed("replace"),
    "CONCAT": _concat,
    "||": _listed("concat"),
    "LEFT": _end("left"),
    "RIGHT": _end("right"),
    "STARTS_WITH": _listed("startswith"),
    "ENDS_WITH": _listed("endswith"),
    "CONTAINS": _listed("contains"),
    "STRPOS": _plain("CAST(locate({1}, {0}) AS BIGINT)"),
    "COALESCE": _listed("coalesce"),
    "GREATEST": lambda arguments, _: _most("greatest", arguments),
    "LEAST": lambda arguments, _: _most("least", arguments),
    "DATE_TRUNC": _plain("date_trunc({0}, {1})"),
    "DATE_PART": _part,
    "TIME_BUCKET": _bucket,
    "EPOCH": _epoch,
}
"""The one writer of each function; CASE, CAST, MOD and NULLIF are written where their syntax is translated."""


def _most(name: str, arguments: Arguments) -> str:
    """Return GREATEST or LEAST, which take two arguments at least there."""
    return arguments[0] if len(arguments) == 1 else f"{name}({', '.join(arguments)})"
