"""The tuples that golden queries are asked over, and their answers as the golden files hold them.

Few enough to be reckoned by hand: NULLs, the ends of BIGINT, zeros of both signs, the smallest and a large DOUBLE,
empty texts, a tuple that came twice, tuples that came late, and two at NOW, which no hop falls on.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from psoup.engine.query.canonical import sql_constant
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.time_literals import parse_instant
from psoup.engine.query.values.expression import Constant, Value
from psoup.engine.tuples.schema import ColumnType, Retention, StreamSchema
from tests.reference_values import INT64_MAX, INT64_MIN, Row
from tests.world import World

ROWS_SHOWN: Final = 4
"""Rows of an answer that stand in a golden file; of the others their number does."""

_TRADES: Final = (
    ("ACME", 41.0, 5, True, "2014-01-06 12:00:07.5", "ACME", 1),
    ("ACME", 41.0, 5, True, "2014-01-06 12:00:07.5", "ACME", 1),
    ("ACDC", 50.0, 7, False, "2014-01-06 11:59:57.5", "x", 2),
    ("AC", None, None, None, "2014-01-06 11:59:40", None, None),
    ("a", 1.5, 1, True, "2014-01-06 11:59:10", "b", 3),
    ("b", 2.0, 2, False, "2014-01-06 11:59:07.5", "a", 5),
    ("a%c", -0.0, 4, None, "2014-01-06 11:53", "10%", 8),
    ("abx", 1e16, INT64_MAX, True, "2014-01-05 12:07", "acme", 7),
    ("", 5e-324, INT64_MIN, False, "2014-01-05 12:05", "", 0),
    ("ACME", 4.0, 15, True, "2014-01-05 23:45", "b", -1),
    ("a", 40.0, 2, None, "2014-01-06 00:00", "a", 2),
    ("ü", -7.25, -3, False, "2014-01-04 09:30:00.000001", "Ü", 15),
)
_QUOTES: Final = (
    ("ACME", 41.0, 5, True, "2014-01-06 12:00:05", "ACME", 1),
    ("a", None, 12, False, "2014-01-06 11:59:10", "A", 2),
    ("b", 2.5, 3, None, "2014-01-06 11:59:01", None, 8),
    ("AC", 3.0, None, True, "2014-01-06 11:59:40", "x", None),
    ("a", 1.0, 9, True, "2014-01-05 23:45", "a", 3),
    ("ACME", 6.0, 1, False, "2014-01-05 12:03", "acme", 1),
)
_SYMBOLS: Final = (
    ("ACME", 1, "2014-01-05 00:00"),
    ("a", None, "2014-01-06 11:59:30"),
    ("b", 8, "2014-01-06 12:00:00"),
    ("zz", INT64_MAX, "2014-01-06 11:00"),
)
_ARRIVALS: Final = (("ACME",), (None,), ("a",))


def golden_rows(schema: StreamSchema) -> list[Row]:
    """Return the tuples of a golden stream, in the order in which they arrive."""
    listed: dict[str, tuple[tuple[Value | None, ...], ...]] = {
        "trades": _TRADES,
        "Quotes": _QUOTES,
        "symbols": _SYMBOLS,
        "arrivals": _ARRIVALS,
    }
    return [
        {
            column.name: parse_instant(str(cell)) if column.type is ColumnType.TIMESTAMP else cell
            for column, cell in zip(schema.columns, cells, strict=True)
        }
        for cells in listed[schema.name]
    ]


def golden_world(streams: Iterable[StreamSchema]) -> World:
    """Return a world that holds the tuples of golden streams, and retains all of them."""
    world = World()
    for schema in streams:
        world.declare(replace(schema, retention=Retention()))
        world.append(schema.name, golden_rows(schema))
    return world


def shown_answer(world: World, query: BoundQuery) -> tuple[str, ...]:
    """Return the answer to a query as golden files hold it: how many rows there are and when, then the first few."""
    answer = world.invoke(world.register(query.canonical))
    assert answer.now_us is not None
    kinds = [output.type for output in query.shape.outputs]
    rows = [
        "row " + ", ".join(map(_shown_value, values, kinds))
        for _, _, values in answer.rows[:ROWS_SHOWN]
    ]
    at = _shown_value(answer.now_us, ColumnType.TIMESTAMP)
    return (f"rows {len(answer.rows)} at {at}", *rows)


def _shown_value(value: Value | None, kind: ColumnType) -> str:
    shown = sql_constant(Constant(value, kind))
    return shown.removeprefix("TIMESTAMP ").strip("'") if kind is ColumnType.TIMESTAMP else shown
