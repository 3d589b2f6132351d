"""Shapes computed in pieces, as the tasks of a job do, are those of an invocation to the last bit."""

from collections.abc import Iterator, Sequence
from random import Random

import numpy as np
import pyarrow as pa
import pytest

from psoup.engine.query.bind.binder import bind
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.text.parser import parse
from psoup.engine.shaping import group_pieces
from psoup.engine.shaping.found_rows import columns_read, id_name, value_name
from psoup.engine.shaping.group_pieces import PARTIALS, GroupPieces
from psoup.engine.shaping.single_rows import placed_rows
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import StreamId
from tests.agreement.shapes.compared import newest_us, world_of
from tests.agreement.shapes.drawn import SECOND_US, STREAM, drawn_query, drawn_rows
from tests.engine.aggregates.reference import bits
from tests.reference_values import Row
from tests.strategies import EPOCH_US

QUERIES = 40
NEVER_US = 2**62
TASKS = 3


def hits(rows: Sequence[Row], query: BoundQuery, matching: Sequence[int], now_us: int) -> pa.Table:
    """Return the rows that the window shows or will show, as they are found elsewhere."""
    found: dict[str, list[object]] = {name: [] for name in ("enters", "leaves", "time", id_name(0))}
    read = columns_read(query.shape)
    found |= {value_name(place): [] for place in range(len(read))}
    for number in matching:
        row = rows[number]
        time_us = int(row["ts"] or 0)
        shown = query.window.interval(time_us)
        if shown is None or (shown[1] is not None and shown[1] <= now_us):
            continue
        if query.shape.keys is None and shown[0] > now_us:
            continue
        values = [row[ref.name] for ref in read]
        listed = [shown[0], shown[1], time_us, number + 1, *values]
        for cells, value in zip(found.values(), listed, strict=True):
            cells.append(value)
    kinds = [pa.int64()] * 4 + [arrow_schema(STREAM).field(ref.name).type for ref in read]
    return pa.table(
        {
            name: pa.array(cells, kind)
            for (name, cells), kind in zip(found.items(), kinds, strict=True)
        }
    )


def cut(table: pa.Table, rng: Random) -> list[pa.RecordBatch]:
    """Return the rows in batches, in another order."""
    order = rng.sample(range(table.num_rows), table.num_rows)
    mixed = table.take(pa.array(order, pa.int64()))
    batches: list[pa.RecordBatch] = mixed.to_batches(max_chunksize=rng.choice([7, 100, 5_000]))
    return batches


def placed(table: pa.Table, query: BoundQuery, now_us: int, rng: Random) -> list[dict[str, object]]:
    """Return the rows of the answer as several tasks make them, sorted by their places."""
    shape, batches = query.shape, cut(table, rng)
    tasks = [batches[first::TASKS] for first in range(TASKS)]
    made: list[pa.RecordBatch] = []
    if shape.keys is None:
        for task in tasks:
            made += placed_rows(shape, 1, iter(task))
    else:
        pieces = GroupPieces(shape, 1, now_us)
        partials = [pieces.of_nothing()]
        for task in tasks:
            partials += pieces.partials(iter(task))
        sent = pa.Table.from_batches(partials, PARTIALS)
        for buckets in (0, 1):
            mine = np.flatnonzero(np.array(sent["bucket"]) % 2 == buckets)
            made += pieces.placed(iter(sent.take(mine).to_batches()), lambda _: None)
    rows = [row for batch in made for row in as_integers(batch)]
    if shape.distinct:
        rows = list(distinct(rows, grouped=shape.keys is not None))
    rows.sort(key=lambda row: bytes(row["place"]))  # type: ignore[call-overload]
    past = None if shape.limit is None else shape.offset + shape.limit
    return rows[shape.offset : past]


def as_integers(batch: pa.RecordBatch) -> list[dict[str, object]]:
    """Return rows with their instants in microseconds."""
    arrays = [
        one.cast(pa.int64()) if pa.types.is_timestamp(one.type) else one for one in batch.columns
    ]
    return list(pa.RecordBatch.from_arrays(arrays, names=batch.schema.names).to_pylist())


def distinct(rows: list[dict[str, object]], *, grouped: bool) -> Iterator[dict[str, object]]:
    """Yield the first of equal rows, which leaves with the last of them where they are no groups."""
    by: dict[object, list[dict[str, object]]] = {}
    for row in rows:
        by.setdefault(row["same"], []).append(row)
    for some in by.values():
        first = min(some, key=lambda row: bytes(row["first"]))  # type: ignore[call-overload]
        last = max(int(row["leaves"]) for row in some)  # type: ignore[call-overload]
        yield first if grouped else first | {"leaves": last}


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
        found = placed(hits(rows, query, matching, asked_us), query, asked_us, rng)
        expected = [(one, leaves, bits(list(values))) for one, leaves, values in answer.rows]
        outputs = [f"c{place}" for place in range(len(query.shape.outputs))]
        given = [
            (
                row["id"],
                None if row["leaves"] == NEVER_US else row["leaves"],
                bits([row[name] for name in outputs]),
            )
            for row in found
        ]
        assert list(map(repr, expected)) == list(map(repr, given)), text
        compared += len(given)
    assert compared > QUERIES or count < 2


def where_of(text: str) -> str:
    """Return the condition of a query without a window, as it is written."""
    where = parse(text).where
    return "" if where is None else f"WHERE {text[where.span.start : where.span.past]}"
