"""Partials that are made before anybody asks: which, of which chunks, within which bound."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from psoup.engine.aggregates.partials import stream_partials
from psoup.engine.aggregates.partials.partial_cache import PartialCache, PartialStatistics
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.one_stream import stream_aggregates
from psoup.engine.invocation.shaped import partials_ahead
from psoup.engine.invocation.shaped.partials_ahead import StepAhead, key_ahead, step_ahead
from psoup.engine.limits import CHUNK_ROWS, RETIRED_US, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from tests.strategies import EPOCH_US
from tests.world import World

COLUMNS = (
    ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
    ColumnSchema("a", ColumnType.INT64),
)
SUMS = "SELECT a % 3 AS k, SUM(a) AS v, COUNT(*) AS n FROM s WHERE a > 5 GROUP BY k"
"""Of rows that are a millisecond apart, about four seconds a chunk."""
SECONDS = "BEGIN (NOW - {}) END (NOW)"


def world_of(**retention: int) -> World:
    world = World()
    schema = StreamSchema("s", COLUMNS, "ts", ClockKind.HIGH_WATER, Retention(**retention))
    world.declare(schema)
    return world


def send(world: World, first: int, past: int) -> None:
    """Append rows of these numbers: each dated its number, in milliseconds."""
    numbers = np.arange(first, past)
    _, schema = world.streams["s"]
    table = pa.table(
        {"ts": pa.array(EPOCH_US + 1_000 * numbers, pa.int64()), "a": pa.array(numbers)}
    )
    world.append_table("s", table.cast(arrow_schema(schema)))


def complete(world: World, *texts: str) -> list[QueryId]:
    return [world.register(text, materialize=Materialize.COMPLETE) for text in texts]


def step(world: World, query_ids: Sequence[QueryId]) -> StepAhead:
    """Make a step for queries of one key."""
    results = world.store.results
    snapshots = [results.snapshot(one) for one in query_ids]
    keys = {key_ahead(one, world.cache) for one in snapshots}
    assert len(keys) == 1
    assert keys != {None}
    return step_ahead(snapshots, results, world.engine.source, world.cache)


def chunks(world: World) -> tuple[int, int]:
    """Return of how many chunks partials were made for invocations, and of how many ahead."""
    made: PartialStatistics = world.cache.partials.statistics()
    return made.chunks_asked, made.chunks_ahead


def test_invocation_makes_no_partials_of_chunks_that_were_whole_before():
    """Nor does a later one of chunks that became whole since, nor one of another window, order or aggregate."""
    world = world_of()
    others = (SUMS.replace("SUM", "AVG") + " ORDER BY v LIMIT 1", SUMS + " " + SECONDS.format(9))
    query_ids = complete(world, SUMS, *others)
    for part in range(3):
        send(world, part * 9_000, part * 9_000 + 9_000)
        assert StepAhead() == step(world, query_ids)
        expected = [0, (part + 1) * 9_000 // CHUNK_ROWS]
        for query_id in query_ids:
            world.invoke(query_id)
            assert expected == list(chunks(world))
    held = world.cache.partials.statistics()
    assert (0, 1) == (held.asked.entries, held.ahead.entries)
    assert held.ahead.size > 6 * 8
    world.cache.check()


def test_answers_through_partials_made_ahead_are_those_of_all_rows():
    """Bit for bit, as without any."""
    world = world_of()
    (query_id,) = complete(world, SUMS)
    send(world, 0, 20_000)
    step(world, [query_id])
    ahead = world.invoke(query_id)
    world.cache = InvocationCache(BoundQueries())
    assert ahead == world.invoke(query_id)


@pytest.mark.parametrize(
    ("text", "materialize"),
    [
        (SUMS, Materialize.AUTO),
        (SUMS, Materialize.PARTIAL),
        (SUMS, Materialize.NONE),
        ("SELECT a FROM s WHERE a > 5", Materialize.COMPLETE),
        ("SELECT COUNT(DISTINCT a) AS n FROM s", Materialize.COMPLETE),
        ("SELECT COUNT(*) AS n FROM s [ROWS 9]", Materialize.COMPLETE),
        ("SELECT COUNT(*) AS n FROM s, s AS t WHERE s.a = t.a", Materialize.COMPLETE),
    ],
)
def test_others_make_theirs_when_they_are_asked(text, materialize):
    """Queries of another policy, and those of which no partials are kept."""
    world = world_of()
    query_id = world.register(text, materialize=materialize)
    assert key_ahead(world.store.results.snapshot(query_id), world.cache) is None


def test_window_that_lags_has_the_chunks_that_it_will_show():
    """They become visible by the clock alone, and nothing is to be made then."""
    world = world_of()
    (query_id,) = complete(world, SUMS + " BEGIN (NOW - 20) END (NOW - 9)")
    send(world, 0, 5 * CHUNK_ROWS)
    step(world, [query_id])
    assert (0, 5) == chunks(world)
    (over,) = complete(world, SUMS.replace("3", "4") + " BEGIN ('2000-01-01') END ('2000-01-02')")
    assert StepAhead() == step(world, [over])
    assert (0, 5) == chunks(world)


def test_steps_are_short_and_reach_back_to_what_a_longer_window_shows(monkeypatch):
    """Whoever asks meanwhile makes what is left; a query that comes later has its own part made."""
    monkeypatch.setattr(partials_ahead, "CHUNKS_OF_STEP", 2)
    world = world_of()
    short, long = complete(world, SUMS + " " + SECONDS.format(9), SUMS)
    send(world, 0, 8 * CHUNK_ROWS)
    made = []
    for query_ids in ([short], [short], [short, long], [short, long], [short, long]):
        more = step(world, query_ids).more
        made.append((more, chunks(world)[1]))
    assert [(True, 2), (False, 3), (True, 5), (True, 7), (False, 8)] == made
    for query_id in (short, long):
        world.invoke(query_id)
    assert (0, 8) == chunks(world)
    world.cache.check()


def test_segments_that_an_invocation_came_to_first_get_the_partials_of_their_chunks(monkeypatch):
    """Those of a step at a time. A window that cuts them later finds them; it reads none of their rows again."""
    monkeypatch.setattr(partials_ahead, "CHUNKS_OF_STEP", 4)
    monkeypatch.setattr(stream_partials, "LEVEL_FANOUT", 2)
    world = world_of()
    whole, short = complete(world, SUMS, SUMS + " " + SECONDS.format(17))
    send(world, 0, 7 * CHUNK_ROWS)
    world.invoke(whole)
    made: list[tuple[int, int]] = []
    chunks_of = stream_aggregates._Making.chunks

    def noted(making, first, past):
        made.append((first, past))
        return chunks_of(making, first, past)

    monkeypatch.setattr(stream_aggregates._Making, "chunks", noted)
    assert StepAhead(more=True) == step(world, [whole])
    assert [(0, 2), (2, 4)] == made
    assert StepAhead() == step(world, [whole])
    assert [(0, 2), (2, 4), (4, 6)] == made
    world.invoke(short)
    assert StepAhead() == step(world, [whole])
    assert 3 == len(made)
    world.cache.check()


def test_without_room_chunks_before_the_window_go_and_then_nothing_is_kept_ahead():
    """What is kept for one who asked is not touched; an answer is right whatever is kept."""
    world = world_of()
    (query_id,) = complete(world, SUMS + " " + SECONDS.format(13))
    send(world, 0, 4 * CHUNK_ROWS)
    step(world, [query_id])
    nbytes = world.cache.partials.statistics().ahead.size
    world.cache.partials = PartialCache(ahead_bytes_max=nbytes + 200)
    for past in (4, 5, 6, 7):
        send(world, (past - 1) * CHUNK_ROWS, past * CHUNK_ROWS) if past > 4 else None
        assert StepAhead() == step(world, [query_id])
        assert world.cache.partials.statistics().ahead.size <= nbytes + 200
    world.cache.partials = PartialCache(ahead_bytes_max=1_100)
    refused = step(world, [query_id])
    assert refused.refused_bytes > 1_100
    assert not refused.more
    assert (0, 0) == chunks(world)
    world.invoke(query_id)
    held = world.cache.partials.statistics()
    assert (1, 0) == (held.asked.entries, held.ahead.entries)
    key = key_ahead(world.store.results.snapshot(query_id), world.cache)
    assert key is not None
    assert not world.cache.partials.has_room_ahead(key, refused.refused_bytes)
    world.cache.check()


def test_too_many_groups_are_found_out_once():
    """As when they are asked for: merging them would cost what reading the rows does."""
    world = world_of()
    (query_id,) = complete(world, "SELECT a, COUNT(*) AS n FROM s GROUP BY a")
    send(world, 0, 2 * CHUNK_ROWS)
    for _ in range(2):
        assert StepAhead() == step(world, [query_id])
    assert (0, 0) == chunks(world)
    assert 1 == world.cache.partials.statistics().ahead.entries
    assert 2 * CHUNK_ROWS == len(world.invoke(query_id, limit=9_000).rows)


def test_rows_that_retention_drops_take_their_chunks_along():
    """What is ahead begins where the stream does."""
    world = world_of(rows=3 * CHUNK_ROWS)
    (query_id,) = complete(world, SUMS)
    sizes = []
    for part in range(4):
        send(world, part * SEGMENT_ROWS, (part + 1) * SEGMENT_ROWS)
        world.clock.advance(2 * RETIRED_US)
        world.tick()
        step(world, [query_id])
        sizes.append(world.cache.partials.statistics().ahead.size)
    assert world.store.results.snapshot(query_id).streams[0].dropped_row > 0
    assert sizes[3] <= sizes[1]
    made = chunks(world)
    assert world.invoke(query_id).rows
    assert made == chunks(world)
