"""Joins over three fixed streams: texts of every form that joins, rows at the edges of what numbers hold."""

from collections.abc import Sequence

from hypothesis import assume, strategies as st

from psoup.engine.errors import TypeMismatchError
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.values.expression import Value
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema
from tests.engine.query.expression_strategies import SCHEMA
from tests.reference_values import Row

LEFT = StreamSchema(
    "l",
    (
        ColumnSchema("i", ColumnType.INT64),
        ColumnSchema("f", ColumnType.FLOAT64),
        ColumnSchema("t", ColumnType.STRING),
        ColumnSchema("at", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("own", ColumnType.INT64),
    ),
    time="at",
    clock=ClockKind.HIGH_WATER,
)
STREAMS = {
    "s": (StreamId(1), SCHEMA),
    "l": (StreamId(2), LEFT),
    "s_1": (
        StreamId(3),
        StreamSchema("s_1", SCHEMA.columns[:3], None, ClockKind.SERVER),
    ),
    "select": (StreamId(4), StreamSchema("select", SCHEMA.columns, "ts", ClockKind.HIGH_WATER)),
}
_NUMBERS = ("i", "f")
_STEPS = ("0", "1", "2", "0.5", "7", "1e17", "4611686018427387904", "9007199254740993.0", "0.1")
_OPS = ("=", "<>", "<", "<=", ">", ">=")


def joined(text: str) -> BoundQuery:
    """Return the text bound over the fixed streams; pass over a drawn one with a literal beyond a DOUBLE."""
    try:
        return bind(text, STREAMS)
    except TypeMismatchError as refused:
        assume("beyond what a DOUBLE holds" not in refused.detail)
        raise


@st.composite
def sides(draw: st.DrawFn, alias: str) -> str:
    """Draw a number of one source, with constants added to it or not."""
    text = f"{alias}.{draw(st.sampled_from(_NUMBERS))}"
    for _ in range(draw(st.integers(0, 2))):
        step = draw(st.sampled_from(_STEPS))
        form = draw(st.sampled_from(["{0} + {1}", "{0} - {1}", "{1} + {0}", "({0}) * 2"]))
        text = form.format(text, step)
    return text


@st.composite
def join_tests(draw: st.DrawFn, one: str, other: str) -> str:
    """Draw one conjunct over two sources."""
    left, right = draw(sides(one)), draw(sides(other))
    step, op = draw(st.sampled_from(_STEPS)), draw(st.sampled_from(_OPS))
    match draw(st.integers(0, 7)):
        case 0:
            return f"{left} BETWEEN {right} - {step} AND {right} + {step}"
        case 1:
            return f"ABS({left} - ({right})) {op} {step}"
        case 2:
            return f"{left} - ({right}) {op} {step}"
        case 3:
            return f"{step} {op} ABS({left} - ({right}) + {step}) - {draw(st.sampled_from(_STEPS))}"
        case 4:
            return f"{one}.t {op} {other}.t"
        case 5:
            return f"({one}.i = {other}.i OR {one}.f < {other}.f)"
        case _:
            return f"{left} {op} {right}"


@st.composite
def join_conditions(draw: st.DrawFn, aliases: Sequence[str]) -> str:
    """Draw a WHERE that joins each source to one before it, and says more of them."""
    parts = []
    for place, alias in enumerate(aliases[1:], 1):
        before = draw(st.sampled_from(aliases[:place]))
        op = draw(st.sampled_from(_OPS))
        parts.append(f"{before}.i {op} {alias}.i")
        parts += draw(st.lists(join_tests(before, alias), max_size=2))
    for alias in aliases:
        if draw(st.booleans()):
            parts.append(f"{alias}.f > {draw(st.sampled_from(_STEPS))}")
    return " AND ".join(draw(st.permutations(parts)))


_INTS = st.sampled_from(
    [
        0,
        1,
        -1,
        2,
        7,
        2**52,
        2**53 + 1,
        2**62 + 511,
        2**62 + 512,
        -(2**62) - 513,
        2**63 - 1,
        -(2**63),
    ]
) | st.integers(-3, 3)
_FLOATS = (
    st.sampled_from(
        [0.0, 0.1, 0.2, 0.30000000000000004, 1e16, 1e17, 1.5e17, 2.0**62, 1e300, -1e300]
    )
    | st.sampled_from([1.7976931348623157e308, -1.7976931348623157e308, 5e-324])
    | st.integers(-6, 6).map(lambda halves: halves / 2)
    | st.floats(allow_nan=False, allow_infinity=False)
)
_TIMES = st.integers(0, 3) | st.sampled_from([-62_135_596_800_000_000, 253_402_300_799_999_999])


@st.composite
def rows(draw: st.DrawFn) -> Row:
    """Draw the columns that the drawn conditions read, of one tuple of any of the streams."""
    row: dict[str, Value | None] = {
        "i": draw(st.none() | _INTS),
        "f": draw(st.none() | _FLOATS.map(lambda value: value + 0.0)),
        "t": draw(st.none() | st.sampled_from(["", "a", "b"])),
    }
    row["ts"] = row["at"] = draw(_TIMES)
    return row
