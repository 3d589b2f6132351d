"""Counts and rows of one query, by whatever is kept, against a list; asked again and again while rows come."""

import dataclasses
import threading

import numpy as np
import pytest

from psoup.engine.data.source import DatedRows
from psoup.engine.invocation.cache import FirstDated
from psoup.engine.invoke import InvocationCache, Request, invoke
from psoup.engine.limits import CHUNK_ROWS, RETIRED_US, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.tuples.schema import StreamId
from tests.engine.batches import schema_keeping
from tests.engine.one_stream import T0, ask, send, times, world_of

LATE = {CHUNK_ROWS + 5: 3, 2 * CHUNK_ROWS - 1: 2 * CHUNK_ROWS + 9, SEGMENT_ROWS + 40: 7}
"""Row -> the place in the line of time where it belongs."""


def rows_of(first, past):
    return [(T0 + 10 * LATE.get(row, row), row % 251) for row in range(first, past)]


def window(begin, end):
    """Return a window from one place in the line of time to another, both dated by a row."""
    first, last = (
        f"TIMESTAMP '1970-01-01 00:00:0{(T0 + 10 * at) / 1e6:.6f}'" for at in (begin, end)
    )
    return f"BEGIN ({first}) END ({last})"


WINDOWS = {
    "": (0, 10**9),
    window(0, CHUNK_ROWS): (0, CHUNK_ROWS),
    window(5, 3 * CHUNK_ROWS + 7): (5, 3 * CHUNK_ROWS + 7),
    window(CHUNK_ROWS, CHUNK_ROWS): (CHUNK_ROWS, CHUNK_ROWS),
    window(SEGMENT_ROWS - 2, SEGMENT_ROWS + 2): (SEGMENT_ROWS - 2, SEGMENT_ROWS + 2),
}
FACTORS = {"a = 7": lambda a: a == 7, "a < 200": lambda a: a < 200, "a > 1000": lambda a: a > 1_000}


@pytest.mark.parametrize("policy", list(Materialize))
def test_invoke_for_counts_oracle_agrees_with_rows_and_with_a_list(policy):
    """Sparse, dense and no hits; windows that end in, before and behind chunks; late rows; one more segment."""
    world = world_of()
    send(world, *rows_of(0, 3 * CHUNK_ROWS))
    standing = {
        (where, span): world.register(f"SELECT ts FROM s WHERE {where} {sql}", materialize=policy)
        for where in FACTORS
        for sql, span in WINDOWS.items()
    }
    held = 3 * CHUNK_ROWS
    for past in (held, held + 3_000, SEGMENT_ROWS, SEGMENT_ROWS + CHUNK_ROWS + 50):
        send(world, *rows_of(held, past)) if past > held else None
        held, stored = past, np.array(rows_of(0, past))
        for (where, (begin, end)), query_id in standing.items():
            dated = (stored[:, 0] - T0) / 10
            expected = np.flatnonzero(
                FACTORS[where](stored[:, 1]) & (begin <= dated) & (dated <= end)
            )
            ordered = sorted(expected.tolist(), key=lambda row: (dated[row], row))
            count = ask(world, query_id, count_only=True)
            whole = ask(world, query_id, limit=100_000)
            assert len(ordered) == count.count == whole.count
            assert stored[ordered, 0].tolist() == times(whole)
            assert [row + 1 for row in ordered] == whole.tuple_ids.tolist()
            assert whole.at == count.at
            assert min(ordered, default=past) == count.at.oldest_rows[0]
            assert ((), None, 0) == (count.columns, count.next, len(count.tuple_ids))


def test_invoke_for_counts_at_floors_and_earlier_positions_is_exact():
    """A floor inside a chunk hides what lies before it; an earlier answer's page is of its own rows."""
    world = world_of(schema_keeping(rows=CHUNK_ROWS + 100))
    query_id = world.register("SELECT ts FROM s WHERE a < 200")
    send(world, *rows_of(0, 2 * CHUNK_ROWS))
    first = ask(world, query_id, limit=10)
    count = first.count
    send(world, *rows_of(2 * CHUNK_ROWS, 3 * CHUNK_ROWS + 9))
    floor = 2 * CHUNK_ROWS + 9 - 100
    left = [a for _, a in rows_of(floor, 3 * CHUNK_ROWS + 9) if a < 200]
    assert len(left) == ask(world, query_id, count_only=True).count
    for position in (first.next, dataclasses.replace(first.next, offset=0)):
        world.cache.orders._table.clear()
        answer = ask(world, query_id, position=position, limit=100_000)
        assert (count, count - position.offset) == (answer.count, len(answer.tuple_ids))


def test_invoke_for_counts_while_rows_come_in_and_segments_go_is_that_of_one_position():
    """A reader on another thread sees every row of its position once: as many as rows and floor tell."""
    world = world_of(schema_keeping(rows=SEGMENT_ROWS))
    query_ids = [
        world.register("SELECT ts FROM s WHERE a < 5", materialize=policy) for policy in Materialize
    ]
    hits = np.cumsum([0, *(row % 251 < 5 for row in range(4 * SEGMENT_ROWS))])
    wrong, stop = [], threading.Event()

    def watch():
        cache = InvocationCache(BoundQueries())
        while not stop.is_set():
            for query_id in query_ids:
                for count_only in (True, False):
                    answer = invoke(
                        world.store.results,
                        world.engine.source,
                        query_id=query_id,
                        request=Request(limit=100_000, count_only=count_only),
                        cache=cache,
                    )
                    past_row = 0 if answer.at is None else answer.at.parts[0].past_row
                    expected = hits[past_row] - hits[max(0, past_row - SEGMENT_ROWS)]
                    listed = expected if count_only else len(answer.tuple_ids)
                    if (expected, expected) != (answer.count, listed):
                        wrong.append((query_id, past_row, expected, answer.count, listed))

    reader = threading.Thread(target=watch)
    reader.start()
    done = 0
    while done < 3 * SEGMENT_ROWS:
        rows = [(T0 + row, row % 251) for row in range(done, done + 9_000)]
        send(world, *rows)
        done += len(rows)
        world.clock.advance(RETIRED_US // 4)
        world.tick()
    stop.set()
    reader.join()
    assert [] == wrong


@pytest.mark.parametrize("kept", [{}, {"rows": 60}, {"time_us": 300}])
@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 4))]
)
def test_invoke_for_counts_differential_tells_when_the_clock_takes_the_first_row(seed, kept):
    """Whatever was asked before, of earlier instants too, a count tells what the list of its rows does."""
    rng = np.random.default_rng(seed)
    world = world_of(schema_keeping(**kept))
    query_ids = [
        world.register(f"SELECT ts FROM s WHERE a < 3 BEGIN (NOW - {reach}) END ({end})")
        for reach, end in (("0.000040", "NOW"), ("0.000200", "NOW"), ("0.000090", "NOW - 0.000030"))
    ]
    now_us = T0
    for _ in range(120):
        now_us += int(rng.choice([0, 1, 10, 60]))
        dated = now_us - rng.integers(0, 150, rng.integers(0, 8))
        if len(dated):
            send(world, *((int(ts), int(rng.integers(0, 6))) for ts in (now_us, *dated)))
        newest_us = world.store.results.stream("s").high_water_us
        for query_id in query_ids:
            of_past = newest_us is not None and not kept and rng.random() < 0.3
            asked = {"now_us": newest_us - 7} if of_past else {}
            count = ask(world, query_id, count_only=True, **asked)
            listed = ask(world, query_id, limit=100_000, **asked)
            assert (listed.count, listed.changes_us) == (count.count, count.changes_us)
            assert listed.state == count.state


def test_first_dated_of_more_rows_than_a_span_has_is_not_its_first():
    """A reader of an earlier position cannot tell whether the first hit is among the rows that it may see."""
    span = DatedRows(StreamId(1), 0, 10, 5, 90)
    assert FirstDated(0, 10, 90, 5).is_first_in(span)
    assert not FirstDated(0, 11, 90, 5).is_first_in(span)
