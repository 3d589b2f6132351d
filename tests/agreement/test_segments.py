"""Past the edges of chunks and segments: more rows than fit one, retention that drops whole ones."""

from random import Random

import pytest

from psoup.engine.limits import RETIRED_US, SECOND_US, SEGMENT_ROWS
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from tests.agreement.comparison import compare
from tests.reference import Reference
from tests.strategies import EPOCH_US
from tests.world import World

BATCH_ROWS = 13_001
"""No divisor of a chunk or a segment: batches end everywhere in them."""

TEXTS = (
    "SELECT k, a FROM s WHERE a = 3 AND k >= 40000 AND k < 40100",
    "SELECT k FROM s WHERE a IS NULL AND k % 500 = 0",
    "SELECT k, a FROM s WHERE a >= 998 BEGIN (NOW - 40) END (NOW - 3)",
    "SELECT DISTINCT a FROM s WHERE a < 20",
)


@pytest.mark.parametrize(
    "kept_rows",
    [SEGMENT_ROWS + 1, pytest.param(3 * SEGMENT_ROWS, marks=pytest.mark.slow)],
)
def test_oracle_engine_over_many_segments_answers_as_the_twin(kept_rows):
    """Segments fill, leave retention and are dropped; the engine restarts; every answer is the twin's."""
    rng = Random(7)
    columns = (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("k", ColumnType.INT64, nullable=False),
        ColumnSchema("a", ColumnType.INT64),
    )
    retention = Retention(rows=kept_rows)
    world = World()
    world.declare(StreamSchema("s", columns, "ts", ClockKind.HIGH_WATER, retention))
    handles = [world.register(sql) for sql in TEXTS]
    for number in range(14):
        first = number * BATCH_ROWS
        rows = [
            {
                "ts": EPOCH_US + k * 1_000 - rng.randrange(3) * SECOND_US,
                "k": k,
                "a": rng.choice([None, rng.randrange(1_000)]),
            }
            for k in range(first, first + BATCH_ROWS)
        ]
        world.append("s", rows)
        world.clock.advance(RETIRED_US // 4)
        if number == 8:
            handles += [world.register(sql) for sql in TEXTS]
            world.lose_engine()
    handles += [world.register(sql) for sql in TEXTS]
    world.check()
    dropped = world.store.results.stream("s").dropped_row
    assert (kept_rows < 2 * SEGMENT_ROWS) == (dropped > 0), "the case is the one it claims to be"
    reference = Reference.fold(world.history)
    shown = 0
    for query_id in handles:
        answer = compare(world, reference, query_id)
        shown += len(answer.rows) if answer is not None else 0
    assert shown > 100
