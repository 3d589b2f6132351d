"""Shapes computed in pieces, as the tasks of a job do, are those of an invocation to the last bit."""

from collections.abc import Sequence
from random import Random

import pyarrow as pa
import pytest

from psoup.engine.query.bind.binder import bind
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.text.parser import parse
from psoup.engine.shaping import group_pieces
from psoup.engine.shaping.found_rows import columns_read, id_name, value_name
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import StreamId
from tests.agreement.shapes.compared import newest_us, world_of
from tests.agreement.shapes.drawn import SECOND_US, STREAM, drawn_query, drawn_rows
from tests.agreement.shapes.pieces import answered, shown
from tests.reference_values import Row
from tests.strategies import EPOCH_US

QUERIES = 40


def hits(rows: Sequence[Row], query: BoundQuery, matching: Sequence[int], now_us: int) -> pa.Table:
    """Return the rows that the window shows or will show, as they are found elsewhere."""
    found: dict[str, list[object]] = {name: [] for name in ("enters", "leaves", "time", id_name(0))}
    read = columns_read(query.shape)
    found |= {value_name(place): [] for place in range(len(read))}
    for number in matching:
        row = rows[number]
        time_us = int(row["ts"] or 0)
        span = query.window.interval(time_us)
        if span is None or (span[1] is not None and span[1] <= now_us):
            continue
        if query.shape.keys is None and span[0] > now_us:
            continue
        values = [row[ref.name] for ref in read]
        listed = [span[0], span[1], time_us, number + 1, *values]
        for cells, value in zip(found.values(), listed, strict=True):
            cells.append(value)
    kinds = [pa.int64()] * 4 + [arrow_schema(STREAM).field(ref.name).type for ref in read]
    return pa.table(
        {
            name: pa.array(cells, kind)
            for (name, cells), kind in zip(found.items(), kinds, strict=True)
        }
    )


@pytest.mark.parametrize(("seed", "count"), [(2, 1), (3, 60), (4, 900)])
def test_pieces_differential_are_the_answer_of_an_invocation(monkeypatch, seed: int, count: int):
    """Drawn shapes: ids, instants of `_x`, order and values; partials of any size, of rows in any order."""
    rng = Random(seed)
    monkeypatch.setattr(group_pieces, "HELD_BYTES_MAX", rng.choice([1, 4_000, 64 << 20]))
    rows = drawn_rows(rng, count, EPOCH_US)
    world = world_of(rows, [count // 2])
    now_us, compared = newest_us(rows) or 0, 0
    for _ in range(QUERIES):
        text = drawn_query(rng).text
        query = bind(text, {"s": (StreamId(1), STREAM)})
        asked_us = now_us - rng.choice([0, 0, 20 * SECOND_US])
        asked_us = max(asked_us, min(now_us, EPOCH_US + count * SECOND_US // 4))
        answer = world.invoke(world.register(text), at_us=asked_us)
        windowless = text.partition(" BEGIN")[0]
        where = world.invoke(world.register(f"SELECT i FROM s {where_of(windowless)}"))
        matching = sorted(int(row[0]) - 1 for row in where.rows)
        given = answered(hits(rows, query, matching, asked_us), query, asked_us, rng)
        assert shown(answer) == given, text
        compared += len(given)
    assert compared > QUERIES or count < 2


def where_of(text: str) -> str:
    """Return the condition of a query without a window, as it is written."""
    where = parse(text).where
    return "" if where is None else f"WHERE {text[where.span.start : where.span.past]}"
