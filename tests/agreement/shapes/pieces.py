"""Answers made in pieces, as the tasks of a job make them, out of rows that were found elsewhere."""

from collections.abc import Iterator
from random import Random

import numpy as np
import pyarrow as pa

from psoup.engine.query.clause import BoundQuery
from psoup.engine.shaping.group_pieces import PARTIALS, GroupPieces
from psoup.engine.shaping.single_rows import placed_rows
from tests.engine.aggregates.reference import bits
from tests.reference import Answer

NEVER_US = 2**62
TASKS = 3


def cut(table: pa.Table, rng: Random) -> list[pa.RecordBatch]:
    """Return the rows in batches, in another order."""
    order = rng.sample(range(table.num_rows), table.num_rows)
    mixed = table.take(pa.array(order, pa.int64()))
    batches: list[pa.RecordBatch] = mixed.to_batches(max_chunksize=rng.choice([7, 100, 5_000]))
    return batches


def placed(table: pa.Table, query: BoundQuery, now_us: int, rng: Random) -> list[dict[str, object]]:
    """Return the rows of the answer as several tasks make them, sorted by their places."""
    shape, sources, batches = query.shape, len(query.clause.sources), cut(table, rng)
    tasks = [batches[first::TASKS] for first in range(TASKS)]
    made: list[pa.RecordBatch] = []
    if shape.keys is None:
        for task in tasks:
            made += placed_rows(shape, sources, iter(task))
    else:
        pieces = GroupPieces(shape, sources, now_us)
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


def answered(table: pa.Table, query: BoundQuery, now_us: int, rng: Random) -> list[str]:
    """Return the rows of the answer, so that they are equal iff their ids, instants and bits are."""
    outputs = [f"c{place}" for place in range(len(query.shape.outputs))]
    return [
        repr(
            (
                row["id"],
                None if row["leaves"] == NEVER_US else row["leaves"],
                bits([row[name] for name in outputs]),
            )
        )
        for row in placed(table, query, now_us, rng)
    ]


def shown(answer: Answer) -> list[str]:
    """Return the rows of an invocation in the same form."""
    return [repr((one, leaves, bits(list(values)))) for one, leaves, values in answer.rows]
