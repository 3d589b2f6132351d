"""Invocation: windows, instants, order, DISTINCT, the select list."""

import numpy as np
import pytest

from psoup.engine.engine import Engine
from psoup.engine.errors import (
    NowOutOfRangeError,
)
from psoup.engine.limits import RETIRED_US, SEGMENT_ROWS
from psoup.engine.tuples.schema import ClockKind
from tests.engine.batches import schema_keeping
from tests.engine.one_stream import SLIDING, T0, ask, send, times, world_of

WINDOWS = {
    #  T0+  0    10    20    30    40    50 = NOW
    "":                                           "######",
    "BEGIN (NOW - 0.000020) END (NOW)":           "...###",
    "BEGIN (NOW - 0.000030) END (NOW - 0.000010)": "..###.",
    "BEGIN ('1970-01-01T00:00:01.000020Z') END (NOW)":               "..####",
    "BEGIN ('1970-01-01T00:00:01.000010Z') END (NOW - 0.000010)":    ".####.",
    "BEGIN ('1970-01-01T00:00:01.000010Z') END ('1970-01-01T00:00:01.000030Z')": ".###..",
    "BEGIN ('1970-01-01T00:00:01.000051Z') END (NOW)":               "......",
}  # fmt: skip


@pytest.mark.parametrize("window", WINDOWS)
def test_invoke_of_each_window_shows_what_the_picture_shows(window):
    """Both ends are inclusive, for every kind of window."""
    world = world_of()
    query_id = world.register(f"SELECT ts FROM s {window}")
    send(world, *[(T0 + at, 0) for at in (0, 10, 20, 30, 40, 50)])
    shown = times(ask(world, query_id))
    picture = "".join("#" if T0 + at in shown else "." for at in (0, 10, 20, 30, 40, 50))
    assert WINDOWS[window] == picture


def test_invoke_at_another_instant_hides_what_lies_after_it():
    """now=   T0+  0    10    20    30    40    50

    at 50:    .     .     .     #     #     #
    at 35:    .     .     #     #     .     .
    """  # noqa: D415
    world = world_of()
    query_id, everything = world.register(SLIDING), world.register("SELECT ts FROM s")
    send(world, *[(T0 + at, 0) for at in (0, 10, 20, 30, 40, 50)])
    assert [T0 + 30, T0 + 40, T0 + 50] == times(ask(world, query_id))
    answer = ask(world, query_id, now_us=T0 + 35)
    assert [T0 + 20, T0 + 30] == times(answer)
    assert (T0 + 35, T0 + 15, T0 + 35) == (answer.now_us, answer.begin_us, answer.end_us)
    assert [T0 + 41, T0 + 51] == answer.leaves_us.tolist()
    assert [T0 + 0, T0 + 10] == times(ask(world, everything, now_us=T0 + 19))
    assert ask(world, everything).leaves_us is None


def test_invoke_at_an_instant_out_of_range_is_refused():
    """Later than NOW, or before what retention kept: refused with the range there is."""
    world = world_of(schema_keeping(rows=2))
    query_id = world.register(SLIDING)
    send(world, (T0, 0), (T0 + 10, 0))
    assert 0 == ask(world, query_id, now_us=T0 - 500).count
    send(world, (T0 + 20, 0))
    for now_us in (T0, T0 + 21):
        with pytest.raises(NowOutOfRangeError) as refused:
            ask(world, query_id, now_us=now_us)
        assert {"oldest": T0 + 1, "newest": T0 + 20} == refused.value.extras
    assert [] == times(ask(world, query_id, now_us=T0 + 1))


def test_invoke_before_the_first_tuple_has_no_now():
    """An event-time stream without tuples answers now null and typed, empty columns."""
    world = world_of()
    query_id = world.register(SLIDING)
    answer = ask(world, query_id)
    assert (None, None, 0, None) == (answer.now_us, answer.begin_us, answer.count, answer.next)
    assert [("ts", [])] == [(name, column.to_list()) for name, column in answer.columns]
    assert T0 == ask(world, query_id, now_us=T0).now_us
    assert () == ask(world, query_id, count_only=True).columns


def test_invoke_at_now_itself_is_never_refused():
    """Equal times across the floor: NOW is not complete, and can be asked for all the same."""
    world = world_of(schema_keeping(rows=1))
    query_id = world.register("SELECT ts FROM s")
    send(world, (T0, 0), (T0, 1))
    answer = ask(world, query_id, now_us=T0)
    assert (1, T0 + 1) == (answer.count, answer.complete_from_us)
    with pytest.raises(NowOutOfRangeError) as refused:
        ask(world, query_id, now_us=T0 - 1)
    assert {"oldest": T0, "newest": T0} == refused.value.extras


def test_invoke_on_the_server_clock_holds_future_tuples_back():
    """A tuple dated later than the clock appears when the clock reaches it."""
    world = world_of(schema_keeping(clock=ClockKind.SERVER))
    query_id = world.register("SELECT ts FROM s")
    here = world.clock.now_us()
    send(world, (here, 0), (here + 500, 0))
    assert [here] == times(ask(world, query_id))
    world.clock.advance(500)
    assert [here, here + 500] == times(ask(world, query_id))
    world.clock.advance(-10_000)
    assert [here] == times(ask(world, query_id))


def test_invoke_orders_by_time_then_tuple_id():
    """Late tuples stand where their time puts them; equal times in the order they came."""
    world = world_of()
    query_id = world.register("SELECT a FROM s")
    send(world, (T0 + 2, 20), (T0 + 1, 10))
    send(world, (T0 + 1, 11), (T0, 0), (T0 + 2, 21))
    answer = ask(world, query_id)
    assert [0, 10, 11, 20, 21] == answer.columns[0][1].to_list()
    assert [4, 2, 3, 1, 5] == answer.tuple_ids.tolist()


def test_invoke_of_distinct_shows_equal_rows_once():
    """Shown where the earliest stands, leaving with the latest; NULL equals NULL; counted once."""
    world = world_of()
    query_id = world.register("SELECT DISTINCT a FROM s BEGIN (NOW - 0.000050) END (NOW)")
    send(world, (T0 + 5, 1), (T0 + 1, None), (T0 + 3, 2), (T0 + 4, 1), (T0 + 9, None))
    answer = ask(world, query_id)
    assert [None, 2, 1] == answer.columns[0][1].to_list()
    assert [2, 3, 4] == answer.tuple_ids.tolist()
    assert [T0 + 9 + 51, T0 + 3 + 51, T0 + 5 + 51] == answer.leaves_us.tolist()
    assert (3, 3) == (answer.count, ask(world, query_id, count_only=True).count)
    first = ask(world, query_id, limit=2)
    assert [1] == ask(world, query_id, limit=2, position=first.next).columns[0][1].to_list()


def test_invoke_says_from_when_an_answer_is_complete():
    """Null while the whole window is retained, else the time from which nothing was forgotten."""
    world = world_of(schema_keeping(rows=3))
    reaching, near = world.register("SELECT ts FROM s"), world.register(SLIDING)
    send(world, *[(T0 + at, 0) for at in (0, 10, 20)])
    assert [None, None] == [ask(world, one).complete_from_us for one in (reaching, near)]
    send(world, (T0 + 30, 0))
    assert [T0 + 1, None] == [ask(world, one).complete_from_us for one in (reaching, near)]
    assert [T0 + 10, T0 + 20, T0 + 30] == times(ask(world, reaching))


def test_invoke_hides_what_is_dated_before_the_floor():
    """Kept 25:   T0+  0    10    20    30    40

    .   . X    X    X    X     the late tuple at 10 is not shown, the one at 15 is
    """  # noqa: D415
    world = world_of(schema_keeping(time_us=25))
    query_id = world.register("SELECT ts FROM s")
    send(world, *[(T0 + at, 0) for at in (40, 20, 30)])
    send(world, (T0 + 10, 0), (T0 + 15, 0))
    answer = ask(world, query_id)
    assert [T0 + 15, T0 + 20, T0 + 30, T0 + 40] == times(answer)
    assert T0 + 15 == answer.complete_from_us


def test_invoke_after_a_restart_behind_dropped_segments_answers_as_before():
    """An engine made again holds what was held: the rest of a batch whose first segment is gone."""
    world = world_of(schema_keeping(rows=10))
    query_id = world.register("SELECT ts, a FROM s WHERE a > 2")
    send(world, *[(T0 + i, i % 7) for i in range(SEGMENT_ROWS - 5)])
    send(world, *[(T0 + i, i % 7) for i in range(40)])
    world.clock.advance(RETIRED_US)
    world.tick()
    before = ask(world, query_id)
    checkpoint = world.store.results.checkpoint()
    assert SEGMENT_ROWS == checkpoint.streams[0].dropped_row
    batches = world.store.log.read_at([batch.seq for batch in checkpoint.batches])
    world.engine = Engine.restore(checkpoint, batches)
    world.check()
    for limit in (100, 2):
        after = ask(world, query_id, limit=limit)
        assert before.tuple_ids.tolist()[:limit] == after.tuple_ids.tolist()
    send(world, (T0, 6))
    world.check()


def test_invoke_computes_the_select_list():
    """Expressions, names and NULLs of the select list, in its order."""
    world = world_of()
    query_id = world.register("SELECT a * 2 AS twice, t, 7 AS seven FROM s WHERE a IS NOT NULL")
    send(world, (T0, 4, "x"), (T0 + 1, None, "y"), (T0 + 2, 5, None))
    answer = ask(world, query_id)
    listed = [(name, column.to_list()) for name, column in answer.columns]
    assert [("twice", [8, 10]), ("t", ["x", None]), ("seven", [7, 7])] == listed
    assert np.int64 == answer.tuple_ids.dtype
