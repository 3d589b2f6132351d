"""Answers of psoup beside those of other engines: values alike, instants in microseconds."""

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import pyarrow as pa

from tests.agreement.shapes.drawn import STREAM
from tests.oracle_duckdb import ARROW, ID
from tests.reference_values import Row
from tests.world import World

Values = list[tuple[object, ...]]
EPOCH, MICROSECOND = datetime(1970, 1, 1), timedelta(microseconds=1)  # noqa: DTZ001 (UTC)


def world_of(rows: Sequence[Row], cuts: Sequence[int]) -> World:
    """Return a world that has taken the rows in batches that end at these places."""
    world = World()
    world.declare(STREAM)
    for first, last in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        if last > first:
            world.append("s", rows[first:last])
    return world


def table_of(rows: Sequence[Row]) -> pa.Table:
    """Return the rows as another engine takes them, each with its number, from 1."""
    table = {
        column.name: pa.array(
            [row[column.name] for row in rows],
            pa.int64() if column.name == "ts" else ARROW[column.type],
        ).cast(ARROW[column.type])
        for column in STREAM.columns
    }
    table[ID] = pa.array(range(1, len(rows) + 1), pa.int64())
    return pa.table(table)


def newest_us(rows: Sequence[Row]) -> int | None:
    """Return the NOW of the rows; None = there are none."""
    return max((int(row["ts"] or 0) for row in rows), default=None)


def answer(world: World, text: str) -> Values:
    """Return the values of an answer."""
    return [values for _, _, values in world.invoke(world.register(text)).rows]


def in_micros(rows: Iterable[Sequence[object]]) -> Values:
    """Return rows with their instants in microseconds since 1970."""
    return [
        tuple(
            (value - EPOCH) // MICROSECOND if isinstance(value, datetime) else value
            for value in row
        )
        for row in rows
    ]


def assert_alike(theirs: Values, ours: Values, text: str, *, within: float = 1e-9) -> None:
    """Assert that two answers are the same but for the last bits of DOUBLEs: other engines round at each step."""
    assert len(theirs) == len(ours), text
    for one, other in zip(theirs, ours, strict=True):
        assert len(one) == len(other), text
        for value, given in zip(one, other, strict=True):
            if isinstance(value, float) and isinstance(given, float):
                assert math.isclose(value, given, rel_tol=within, abs_tol=within), (
                    text,
                    one,
                    other,
                )
            else:
                assert value == given, (text, one, other)
