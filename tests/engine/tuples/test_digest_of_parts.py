"""The digest of rows is the sum of the digests of its parts, however they are cut and sent."""

import itertools
import random
from dataclasses import replace

import numpy as np
import pyarrow as pa

from psoup.engine.log.operation import sum_digests
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.digest import digest_rows
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema

SCHEMA = StreamSchema(
    "s",
    tuple(ColumnSchema(kind.value, kind) for kind in ColumnType),
    None,
    ClockKind.SERVER,
)


def table(chance: np.random.Generator, count: int) -> pa.Table:
    """Return rows of every type, some values NULL, some rows equal."""
    values = {
        "int64": chance.integers(-3, 3, count),
        "float64": chance.choice([0.0, -0.0, 1.5], count),
        "bool": chance.random(count) < 0.5,
        "string": chance.choice(["", "a", "süd"], count),
        "timestamp": chance.integers(0, 5, count),
    }
    arrays = [
        pa.array(values[field.name], mask=chance.random(count) < 0.2).cast(field.type)
        for field in arrow_schema(SCHEMA)
    ]
    return pa.Table.from_arrays(arrays, schema=arrow_schema(SCHEMA))


def digest(rows: pa.Table, schema: StreamSchema = SCHEMA) -> bytes:
    (batch,) = rows.combine_chunks().to_batches() or [
        pa.RecordBatch.from_pylist([], schema=rows.schema)
    ]
    return digest_rows(schema, batch)


def test_digest_of_rows_is_the_sum_of_its_parts_in_any_order():
    """Cut anywhere, shuffled, with empty parts: the same 32 bytes; one row more or less: others."""
    chance, cuts = np.random.default_rng(3), random.Random(3)
    for _ in range(50):
        rows = table(chance, count=cuts.randrange(1, 60))
        shuffled = rows.take(pa.array(chance.permutation(len(rows))))
        bounds = sorted([0, len(rows), *(cuts.randint(0, len(rows)) for _ in range(4))])
        parts = [shuffled[first:past] for first, past in itertools.pairwise(bounds)]
        digests = [digest(part) for part in parts]
        cuts.shuffle(digests)
        assert digest(rows) == sum_digests(digests)
        assert digest(rows) != sum_digests([*digests, digest(rows[:1])])


def test_sum_of_digests_wraps_around():
    """It is taken modulo 2^256: never longer than one digest."""
    most = (2**256 - 1).to_bytes(32)
    assert (2**256 - 2).to_bytes(32) == sum_digests([most, most])
    assert bytes(32) == sum_digests([])
    assert most == sum_digests([most])


def test_digest_of_rows_that_are_null_in_added_columns_is_that_of_before():
    """A value there counts, and in which column; the columns of the first declaration count as ever."""
    wide = replace(SCHEMA, added=3)
    rows = table(np.random.default_rng(5), count=40)
    narrow = replace(SCHEMA, columns=SCHEMA.columns[:2])
    nulls = rows.select([0, 1])
    for column in SCHEMA.columns[2:]:
        nulls = nulls.append_column(
            arrow_schema(SCHEMA).field(column.name), pa.nulls(40, rows[column.name].type)
        )
    assert digest(rows.select([0, 1]), narrow) == digest(nulls, wide)
    assert digest(nulls, SCHEMA) != digest(nulls, wide)
    kinds = {"x": pa.bool_(), "y": pa.bool_()}
    two = StreamSchema(
        "s", tuple(ColumnSchema(name, ColumnType.BOOL) for name in kinds), None, ClockKind.SERVER
    )
    one, other = ([{"x": True, "y": None}], [{"x": None, "y": True}])
    told = [
        digest(pa.Table.from_pylist(given, pa.schema(kinds)), replace(two, added=2))
        for given in (one, other)
    ]
    assert told[0] != told[1]
