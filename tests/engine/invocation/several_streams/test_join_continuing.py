"""Joins that go on from a cursor where there is too much to look at."""

import numpy as np

from psoup.engine.errors import AnswerTooLargeError
from psoup.engine.invocation.several_streams import join_finding
from psoup.engine.query.window import Bound, Window
from psoup.engine.tuples.schema import StreamId
from tests.engine.invocation.several_streams.join_worlds import Joined, Told, rows_of

A, B = StreamId(1), StreamId(2)
ROWS = 100
MATCHES = [(5, 6), (7, 90), (50, 51), (92, 50), (93, 94)]


def world_of(matches, **query):
    """Return two streams of so many rows, tuple `row` dated `row`, and a query that joins them and keeps nothing."""
    times = np.arange(2 * ROWS, dtype=np.int64)
    world = Joined([A, B], Told({A: times, B: times}, list(matches)), **query)
    world.grow({A: ROWS, B: ROWS})
    return world


def test_changes_of_a_join_that_dropped_too_much_to_look_at_name_what_stays():
    """A full answer has no need of what was dropped: nor has one that goes on from a cursor."""
    world = world_of([(row, row) for row in (1, 5, 60, 70)])
    since = world.ask().stands
    world.grow(floors={A: (3, 3)})

    class Refusing:
        def joining(self, plan, spans):
            if spans[0].first_row < 3:
                raise AnswerTooLargeError("too many", limit=1)
            return world.source.joining(plan, spans)

        def __getattr__(self, name):
            return getattr(world.source, name)

    answer = world.ask(source=Refusing(), since=since)
    kept = [(row * 10 + 1, row * 10 + 2) for row in (5, 60, 70)]
    assert (answer.reset, answer.count, len(rows_of(answer))) == (False, 3, 0)
    assert kept == list(zip(*answer.keep.tolist(), strict=True))


def test_count_of_a_join_over_the_bound_goes_on_as_it_began(monkeypatch):
    """What can be counted without a cursor can be counted with one."""
    world = world_of(MATCHES, window=Window(Bound(ROWS, moving=True), Bound(0, moving=True)))
    since = world.ask(count_only=True).stands
    monkeypatch.setattr(join_finding, "JOIN_ANSWER_ROWS_MAX", 0)
    world.grow({A: ROWS + 5})
    answer = world.ask(count_only=True, since=since)
    assert (answer.reset, answer.count) == (True, len(world.expected()))
