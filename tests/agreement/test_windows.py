"""Windows at their edges: each kind, one microsecond before, at and after, on both clocks.

One tuple is dated t. A window shows it at the instants `[in, out)` of NOW:

    none              t ──────────────────────────────>
    landmark          t ──────────────────────────────>   (if t is not before BEGIN)
    landmark delayed  t     t+4 ──────────────────────>
    sliding           t ───────────────── t+10]
    delayed           t     t+4 ───────── t+10]
    snapshot          t ──────────────────────────────>   (if t lies inside)
    hopping           t  t+1 ────────────────── t+13       (NOW is t+1, t+5, t+9, ...)
"""

import pytest

from psoup.engine.clock import ManualClock
from psoup.engine.limits import SECOND_US, TIMESTAMP_US_MIN
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    Retention,
    StreamSchema,
)
from tests.strategies import EPOCH_US
from tests.strategies_sql import instant
from tests.world import World

T_US = EPOCH_US + 100 * SECOND_US
REACH_US = 10 * SECOND_US
DELAY_US = 4 * SECOND_US


def at(us: int) -> str:
    """Return an instant as SQL."""
    return f"TIMESTAMP '{instant(us)}'"


MOVING = {
    "none": ("", T_US, None),
    "landmark": (f"BEGIN ({at(T_US)}) END (NOW)", T_US, None),
    "landmark-delayed": (f"BEGIN ({at(T_US)}) END (NOW - 4)", T_US + DELAY_US, None),
    "sliding": ("BEGIN (NOW - INTERVAL '10' SECOND) END (NOW)", T_US, T_US + REACH_US + 1),
    "delayed": ("BEGIN (NOW - 10) END (NOW - 4)", T_US + DELAY_US, T_US + REACH_US + 1),
    "snapshot": (f"BEGIN ({at(T_US)}) END ({at(T_US)})", T_US, None),
    "hopping": (
        f"BEGIN (NOW - 10) END (NOW) EVERY 4 ALIGN {at(T_US + SECOND_US)}",
        T_US + SECOND_US,
        T_US + 13 * SECOND_US,
    ),
}
"""Kind: text, the instant the tuple enters, the first instant it is no longer shown (None = never)."""

EDGES = [
    (kind, now_us)
    for kind, (_, enters_us, leaves_us) in MOVING.items()
    for edge_us in (enters_us, leaves_us)
    if edge_us is not None
    for now_us in (edge_us - 1, edge_us, edge_us + 1)
]


def stream(clock: ClockKind, time: str | None = "ts") -> StreamSchema:
    """Return a stream of one timestamp."""
    columns = (ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),)
    return StreamSchema("s", columns, time, clock)


def world_of(schema: StreamSchema, *, now_us: int) -> World:
    """Return a world with this stream, its clock at `now_us`."""
    world = World(clock=ManualClock(now_us))
    world.declare(schema)
    return world


def expected_at(kind: str, now_us: int) -> list[tuple[int, int | None]]:
    """Return (tuple time, leaves at) of what the kind shows of the one tuple."""
    _, enters_us, leaves_us = MOVING[kind]
    shown = enters_us <= now_us and (leaves_us is None or now_us < leaves_us)
    return [(T_US, leaves_us)] if shown else []


def shown(world, query_id, at_us=None):
    """Return (tuple time, leaves at) of what the query shows of the tuple dated `T_US`."""
    rows = world.invoke(query_id, at_us=at_us).rows
    return [(values[0], leaves_us) for _, leaves_us, values in rows if values[0] == T_US]


@pytest.mark.parametrize(("kind", "now_us"), [edge for edge in EDGES if edge[1] >= T_US])
def test_window_on_high_water_moves_with_the_tuples(kind, now_us):
    """NOW is the largest tuple time: a tuple dated at the edge moves the window there."""
    world = world_of(stream(ClockKind.HIGH_WATER), now_us=0)
    query_id = world.register(f"SELECT ts FROM s {MOVING[kind][0]}")
    world.append("s", [{"ts": T_US}])
    if now_us != T_US:
        world.append("s", [{"ts": now_us}])
    assert expected_at(kind, now_us) == shown(world, query_id)


@pytest.mark.parametrize(("kind", "now_us"), EDGES)
def test_window_on_server_clock_moves_with_the_clock(kind, now_us):
    """NOW is the server's clock: nothing has to arrive for a tuple to enter or to leave."""
    world = world_of(stream(ClockKind.SERVER), now_us=T_US - SECOND_US)
    query_id = world.register(f"SELECT ts FROM s {MOVING[kind][0]}")
    world.append("s", [{"ts": T_US}])  # dated ahead: held until the clock gets there
    assert [] == shown(world, query_id)
    world.clock.advance(now_us - (T_US - SECOND_US))
    assert expected_at(kind, now_us) == shown(world, query_id)


@pytest.mark.parametrize(("kind", "now_us"), [edge for edge in EDGES if edge[1] >= T_US])
def test_window_on_arrival_time_moves_with_the_clock(kind, now_us):
    """A tuple without a time of its own is dated when the log took it."""
    world = world_of(stream(ClockKind.SERVER, time=None), now_us=T_US)
    query_id = world.register(f"SELECT ts FROM s {MOVING[kind][0]}")
    world.append("s", [{"ts": T_US}])
    world.clock.advance(now_us - T_US)
    assert expected_at(kind, now_us) == shown(world, query_id)


@pytest.mark.parametrize("clock", list(ClockKind))
@pytest.mark.parametrize(("kind", "now_us"), EDGES)
def test_window_at_a_past_instant_shows_what_it_showed(kind, now_us, clock):
    """`now=` moves the window back: tuples dated later are hidden, whatever the window."""
    world = world_of(stream(clock), now_us=T_US + 60 * SECOND_US)
    query_id = world.register(f"SELECT ts FROM s {MOVING[kind][0]}")
    world.append("s", [{"ts": T_US + 60 * SECOND_US}, {"ts": T_US}, {"ts": T_US - SECOND_US}])
    assert expected_at(kind, now_us) == shown(world, query_id, at_us=now_us)


@pytest.mark.parametrize("offset_us", [-1, 0, 1])
@pytest.mark.parametrize("end", ["begin", "end"])
def test_window_snapshot_is_inclusive_at_both_ends(offset_us, end):
    """A constant BEGIN and a constant END hold the tuples dated exactly there."""
    begin_us, end_us = T_US - 5, T_US + 5
    world = world_of(stream(ClockKind.HIGH_WATER), now_us=0)
    query_id = world.register(f"SELECT ts FROM s BEGIN ({at(begin_us)}) END ({at(end_us)})")
    time_us = (begin_us if end == "begin" else end_us) + offset_us
    world.append("s", [{"ts": T_US + 60 * SECOND_US}, {"ts": time_us}])
    rows = [values[0] for _, _, values in world.invoke(query_id).rows]
    assert ([time_us] if begin_us <= time_us <= end_us else []) == rows


def test_window_without_a_tuple_has_no_now():
    """An event-time query over a stream without a tuple answers no NOW and no rows."""
    world = world_of(stream(ClockKind.HIGH_WATER), now_us=T_US)
    answer = world.invoke(world.register("SELECT ts FROM s BEGIN (NOW - 10) END (NOW)"))
    assert (None, ()) == (answer.now_us, answer.rows)


@pytest.mark.parametrize("clock", list(ClockKind))
def test_window_shorter_than_its_hops_skips_tuples(clock):
    """Between two hops lie tuples that no answer shows; NOW in the answer is the hop."""
    world = world_of(stream(clock), now_us=T_US + 7 * SECOND_US)
    query_id = world.register(
        f"SELECT ts FROM s BEGIN (NOW - 1) END (NOW) EVERY 5 ALIGN {at(T_US)}"
    )
    times = [T_US + seconds * SECOND_US for seconds in range(-7, 8)]
    world.append("s", [{"ts": one} for one in times])
    for seconds in range(-5, 8):
        hop_us = T_US + seconds // 5 * 5 * SECOND_US
        answer = world.invoke(query_id, at_us=T_US + seconds * SECOND_US)
        assert hop_us == answer.now_us
        assert [
            (hop_us - SECOND_US, hop_us + 5 * SECOND_US),
            (hop_us, hop_us + 5 * SECOND_US),
        ] == [(values[0], leaves_us) for _, leaves_us, values in answer.rows]


def test_window_before_its_first_hop_that_can_be_written_shows_nothing():
    """NOW would lie before the year 1: there is none yet."""
    world = world_of(stream(ClockKind.HIGH_WATER), now_us=0)
    query_id = world.register(
        "SELECT ts FROM s BEGIN (NOW - 10) END (NOW) EVERY INTERVAL '30000' DAY"
    )
    world.append("s", [{"ts": TIMESTAMP_US_MIN + SECOND_US}])
    answer = world.invoke(query_id)
    assert (None, ()) == (answer.now_us, answer.rows)


@pytest.mark.parametrize("beyond_us", [-1, 0, 1])
def test_window_at_the_edge_of_retention_says_from_when_it_is_complete(beyond_us):
    """A window that begins where retention does is complete; one microsecond earlier it is not."""
    kept = Retention(time_us=REACH_US)
    columns = (ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),)
    schema = StreamSchema("s", columns, "ts", ClockKind.HIGH_WATER, kept)
    world = world_of(schema, now_us=0)
    begin = at(T_US - REACH_US - beyond_us)
    query_id = world.register(f"SELECT ts FROM s BEGIN ({begin}) END (NOW)")
    world.append("s", [{"ts": T_US}, {"ts": T_US - REACH_US}, {"ts": T_US - REACH_US - 1}])
    answer = world.invoke(query_id)
    assert (T_US - REACH_US if beyond_us > 0 else None) == answer.complete_from_us
    retained = [T_US - REACH_US, T_US] if beyond_us >= 0 else [T_US]
    assert retained == [values[0] for _, _, values in answer.rows]
