"""Hypothesis strategies: schemas and batches of tuples. `strategies_sql.py` draws what is asked of them.

Values come from small pools, so that a query's constants (from the same pools) find something; edges of
each type are drawn now and then.
"""

from typing import Any

from hypothesis import settings, strategies as st

from psoup.engine.limits import DAY_US, SECOND_US
from psoup.engine.query.values.expression import Value
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from tests.reference_values import INT64_MAX, INT64_MIN, Row

EPOCH_US = 1_704_067_200 * SECOND_US
"""2024-01-01T00:00:00Z: where the drawn histories begin."""

SPAN_US = 60 * SECOND_US
"""Most drawn times lie in [EPOCH_US, EPOCH_US + SPAN_US]."""

POOLS: dict[ColumnType, tuple[list[Value], list[Value]]] = {
    ColumnType.INT64: ([-2, -1, 0, 1, 2, 3, 7], [INT64_MIN, INT64_MAX, 2**53, 2**53 + 1]),
    ColumnType.FLOAT64: ([-1.5, -0.0, 0.0, 0.5, 1.0, 2.0], [1e308, -1e308, 5e-324, float(2**53)]),
    ColumnType.BOOL: ([False, True], []),
    ColumnType.STRING: (
        ["", "a", "ab", "b", "ba"],
        ["A", "ü", "日本", "𝄞", "a%", "a_", "it's", "\\"],
    ),
    ColumnType.TIMESTAMP: (
        [EPOCH_US + second * SECOND_US for second in (0, 1, 10, 30, 59)],
        [EPOCH_US - 1, EPOCH_US + 1, 0, EPOCH_US + 30 * DAY_US],
    ),
}
"""Per type: values drawn often, and edges drawn now and then."""

COLUMN_NAMES = ("a", "b", "c", "d", "Weird name", "select", 'q"uote', "ü")


def fewer(in_suite: int, in_torture: int | None = None, **more: Any) -> settings:
    """Draw so many examples in the suite, where each takes long; in `make torture` as many as ever, or so many."""
    usual = settings()
    in_torture = in_torture or usual.max_examples
    return settings(max_examples=in_suite if usual.derandomize else in_torture, **more)


def values(kind: ColumnType, *, edges: bool = True) -> st.SearchStrategy[Value]:
    """Draw a value of one type: mostly from its small pool, now and then an edge."""
    often, rarely = POOLS[kind]
    return st.sampled_from(often * 4 + rarely if edges else often)


@st.composite
def times_us(draw: st.DrawFn) -> int:
    """Draw a tuple time: disorder, equal times, now and then the far past or the future."""
    if draw(st.integers(0, 49)) == 49:
        return EPOCH_US + draw(st.sampled_from([-400 * DAY_US, -DAY_US, 2 * SPAN_US, DAY_US]))
    second = draw(st.integers(0, 60))
    return EPOCH_US + second * SECOND_US + draw(st.sampled_from([0, 0, 0, -1, 1]))


@st.composite
def retentions(draw: st.DrawFn) -> Retention:
    """Draw a retention: most often none that bites, else a short time, a few rows, a few bytes."""
    match draw(st.integers(0, 7)):
        case 0:
            return Retention(time_us=draw(st.sampled_from([SECOND_US, 20 * SECOND_US])))
        case 1:
            return Retention(rows=draw(st.integers(1, 12)))
        case 2:
            return Retention(time_us=30 * SECOND_US, rows=8)
        case 3:
            return Retention(bytes=draw(st.sampled_from([1, 200, 1_000])))
        case _:
            return Retention()


@st.composite
def schemas(
    draw: st.DrawFn,
    name: str = "s",
    *,
    retention: st.SearchStrategy[Retention] | None = None,
    event_time: bool | None = None,
) -> StreamSchema:
    """Draw a declaration with 1 to 5 columns of any type, dated by a column or by arrival."""
    names = draw(st.lists(st.sampled_from(COLUMN_NAMES), min_size=1, max_size=5, unique=True))
    columns = [
        ColumnSchema(column, draw(st.sampled_from(list(ColumnType))), draw(st.booleans()))
        for column in names
    ]
    if draw(st.booleans()) if event_time is None else event_time:
        place = draw(st.integers(0, len(columns)))
        columns.insert(place, ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False))
        time, clock = "ts", draw(st.sampled_from([ClockKind.HIGH_WATER] * 3 + [ClockKind.SERVER]))
    else:
        time, clock = None, ClockKind.SERVER
    kept = draw(st.just(Retention()) if retention is None else retention)
    return StreamSchema(name, tuple(columns), time, clock, kept)


@st.composite
def rows(draw: st.DrawFn, schema: StreamSchema) -> Row:
    """Draw one tuple of the stream, NULL in one of six nullable cells."""
    row: dict[str, Value | None] = {}
    for column in schema.columns:
        if column.name == schema.time:
            row[column.name] = draw(times_us())
        elif column.nullable and draw(st.integers(0, 5)) == 0:
            row[column.name] = None
        else:
            row[column.name] = draw(values(column.type))
    return row


def batches(schema: StreamSchema, *, max_size: int = 12) -> st.SearchStrategy[list[Row]]:
    """Draw a batch; an empty one is allowed."""
    return st.lists(rows(schema), max_size=max_size)
