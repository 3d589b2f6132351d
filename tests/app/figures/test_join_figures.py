"""What joining costs and finds, as it is told: groups by their steps, totals that only grow."""

import dataclasses

import pytest

from psoup.app.figures.join_tally import JoinReading, JoinTally
from psoup.app.wire.models.join_figures import GROUPS_SHOWN_MAX, JoinFigures, describe_joins
from psoup.engine.engine import JoinGroupStatistics
from psoup.engine.tuples.schema import StreamId
from tests.app.support import Api

pytestmark = pytest.mark.anyio

FOUND = JoinGroupStatistics(
    group=4,
    streams=(StreamId(1), StreamId(2), StreamId(2)),
    factors=("f.origin = w.origin", "f.hour = v.hour"),
    clauses=3,
    entrants=7,
    fresh_rows=4_096,
    candidates=800,
    semijoined=300,
    intermediates=90,
    results=60,
    steps=1_000,
    routes=((0, ((0, 1), (1, 2))), (2, ((2, 1), (1, 0)))),
    fan_outs=((0, 1, 0.5), (1, 2, 13.25)),
)
NAMES = {StreamId(1): "flights", StreamId(2): "weather"}
COUNTERS = {
    "entrants": 7,
    "fresh_rows": 4_096,
    "candidates": 800,
    "semijoined": 300,
    "intermediates": 90,
    "results": 60,
    "steps": 1_000,
}


def counted(tally: JoinTally) -> dict[str, int]:
    """Return the totals as they are told."""
    return dict(JoinFigures.model_validate(describe_joins(tally.reading, NAMES)).total)


def test_a_group_is_told_in_full():
    """Every counter, the routes by the source that enters, the partners found by step."""
    tally = JoinTally()
    tally.note([FOUND])
    told = describe_joins(tally.reading, NAMES)
    assert {
        "groups": 1,
        "total": COUNTERS,
        "costliest": [
            {
                "group": 4,
                "streams": ["flights", "weather", "weather"],
                "factors": ["f.origin = w.origin", "f.hour = v.hour"],
                "clauses": 3,
                **COUNTERS,
                "routes": [
                    {
                        "entering": 0,
                        "probes": [{"source": 0, "probed": 1}, {"source": 1, "probed": 2}],
                    },
                    {
                        "entering": 2,
                        "probes": [{"source": 2, "probed": 1}, {"source": 1, "probed": 0}],
                    },
                ],
                "fan_outs": [
                    {"source": 0, "probed": 1, "fan_out": 0.5},
                    {"source": 1, "probed": 2, "fan_out": 13.25},
                ],
            }
        ],
    } == told
    assert told == JoinFigures.model_validate(told).model_dump()


def test_totals_keep_what_groups_had_counted_that_are_gone():
    """A group that goes, and one that comes, never make a total smaller."""
    tally = JoinTally()
    assert dict.fromkeys(COUNTERS, 0) == counted(tally)
    tally.note([FOUND])
    more = dataclasses.replace(FOUND, steps=1_500)
    other = dataclasses.replace(FOUND, group=9, entrants=1, steps=20)
    tally.note([more, other])
    assert (8, 1_520) == (counted(tally)["entrants"], counted(tally)["steps"])
    tally.note([other])
    tally.note([])
    assert (8, 1_520) == (counted(tally)["entrants"], counted(tally)["steps"])
    assert 0 == len(tally.reading.groups)
    tally.note([dataclasses.replace(other, group=11)])
    assert (9, 1_540) == (counted(tally)["entrants"], counted(tally)["steps"])
    tally.check()


def test_groups_counted_twice_are_found_by_the_check():
    """The check fails for what would make totals lie."""
    tally = JoinTally()
    tally.note([FOUND, FOUND])
    with pytest.raises(AssertionError, match="counted once"):
        tally.check()
    tally.reading = JoinReading((FOUND,))
    with pytest.raises(AssertionError, match="totals"):
        tally.check()


def test_groups_told_one_by_one_are_the_costliest():
    """Past their number those with the fewest steps are left out, and counted all the same."""
    tally = JoinTally()
    many = [
        dataclasses.replace(FOUND, group=number, steps=number % 50)
        for number in range(GROUPS_SHOWN_MAX + 60)
    ]
    tally.note(many)
    told = JoinFigures.model_validate(describe_joins(tally.reading, NAMES))
    assert (len(many), sum(one.steps for one in many)) == (told.groups, told.total.steps)
    expected = sorted(many, key=lambda one: (-one.steps, one.group))[:GROUPS_SHOWN_MAX]
    assert [one.group for one in expected] == [one.group for one in told.costliest]


def test_groups_of_streams_that_were_dropped_since_are_not_told():
    """Figures are a second old: a group whose stream is gone meanwhile has no name for it."""
    tally = JoinTally()
    tally.note([FOUND, dataclasses.replace(FOUND, group=9, streams=(StreamId(1), StreamId(1)))])
    told = describe_joins(tally.reading, {StreamId(1): "flights"})
    read = JoinFigures.model_validate(told)
    assert (1, [9], 14) == (read.groups, [one.group for one in read.costliest], read.total.entrants)


async def test_status_and_meters_without_joins_say_none(api: Api):
    """A service without joins tells zeros, as its OpenAPI says it."""
    await api.declare()
    await api.register("SELECT * FROM trades")
    joins = (await api.get("/v1/status")).json()["joins"]
    assert {"groups": 0, "total": dict.fromkeys(COUNTERS, 0), "costliest": []} == joins
    lines = set((await api.get("/metrics")).text.splitlines())
    assert {"psoup_join_groups 0.0", "psoup_join_steps_total 0.0"} <= lines
    schemas = (await api.get("/openapi.json")).json()["components"]["schemas"]
    assert set(joins) == set(schemas["JoinFigures"]["properties"])
    assert {"Route", "FanOut", "JoinGroupFigures"} <= set(schemas)
