"""Hypothesis strategies: streams that have something in common, and tuples that meet each other."""

from collections.abc import Mapping, Sequence

from hypothesis import strategies as st

from psoup.engine.limits import SECOND_US
from psoup.engine.query.values.expression import Value
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    Retention,
    StreamSchema,
)
from tests import strategies
from tests.reference_values import Row
from tests.strategies import EPOCH_US

NAMES = ("r", "s", "t")
"""Of the streams; a query over four has one of them twice, or more often."""

KINDS = {
    "k": ColumnType.INT64,
    "n": ColumnType.INT64,
    "f": ColumnType.FLOAT64,
    "w": ColumnType.STRING,
    "b": ColumnType.BOOL,
    "at": ColumnType.TIMESTAMP,
}
"""The columns that every stream has, beside the one that dates its tuples."""


@st.composite
def stream_sets(
    draw: st.DrawFn,
    *,
    retention: st.SearchStrategy[Retention] | None = None,
    event_time: bool | None = None,
) -> Mapping[str, StreamSchema]:
    """Draw the declarations of all streams, of one clock and with the same columns, NULL here or there."""
    clock = ClockKind.HIGH_WATER
    if not event_time and draw(st.integers(0, 3)) == 3:
        clock = ClockKind.SERVER
    found = {}
    for name in NAMES:
        listed = [ColumnSchema(one, kind, draw(st.booleans())) for one, kind in KINDS.items()]
        time = None
        if clock is ClockKind.HIGH_WATER or draw(st.booleans()):
            listed.append(ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False))
            time = "ts"
        kept = Retention() if retention is None else draw(retention)
        found[name] = StreamSchema(name, tuple(listed), time, clock, kept)
    return found


NEAR: Mapping[ColumnType, Sequence[Value]] = {
    ColumnType.INT64: (0, 1, 1, 2),
    ColumnType.FLOAT64: (0.0, 1.0, 1.0, 2.0, 0.5),
    ColumnType.STRING: ("a", "a", "b"),
    ColumnType.BOOL: (False, True),
    ColumnType.TIMESTAMP: tuple(EPOCH_US + second * SECOND_US for second in (0, 10, 10, 11, 12)),
}
"""Values drawn most often: few, so that tuples of different streams meet."""


@st.composite
def rows(draw: st.DrawFn, schema: StreamSchema) -> Row:
    """Draw one tuple: now and then any, else one whose values many others have."""
    if draw(st.integers(0, 5)) == 5:
        return draw(strategies.rows(schema))
    row: dict[str, Value | None] = {}
    for column in schema.columns:
        if column.nullable and draw(st.integers(0, 9)) == 9:
            row[column.name] = None
        elif column.name == schema.time:
            row[column.name] = EPOCH_US + draw(st.integers(0, 12)) * SECOND_US
        else:
            row[column.name] = draw(st.sampled_from(NEAR[column.type]))
    return row


def batches(
    schema: StreamSchema, *, min_size: int = 0, max_size: int = 6
) -> st.SearchStrategy[list[Row]]:
    """Draw a batch; an empty one is allowed."""
    return st.lists(rows(schema), min_size=min_size, max_size=max_size)
