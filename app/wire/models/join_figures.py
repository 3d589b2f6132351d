"""What joining costs and finds, as `/v1/status` tells it."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from pydantic import BaseModel, Field

from psoup.app.figures.join_tally import JoinReading
from psoup.engine.engine import JoinGroupStatistics
from psoup.engine.tuples.schema import StreamId

GROUPS_SHOWN_MAX: Final = 100
"""There may be as many groups as queries: so many are told one by one."""


class JoinCounters(BaseModel):
    """What was done, in the order in which it is done."""

    entrants: int = Field(description="Chunks of tuples, and queries, that were joined.")
    fresh_rows: int = Field(description="Rows of theirs that some query can want.")
    candidates: int = Field(description="Rows of other streams that were looked at for them.")
    semijoined: int = Field(description="Rows left out for want of a partner before joining.")
    intermediates: int = Field(description="Composites built of some of the streams.")
    results: int = Field(description="Composites of all streams that some query wants.")
    steps: int = Field(description="Candidates and pairs looked at.")


class Probe(BaseModel):
    """One step: rows of `source` look for partners in `probed`. Sources by their places in `streams`."""

    source: int
    probed: int


class Route(BaseModel):
    """The steps that rows of one source last took, in their order, until all others were joined."""

    entering: int
    probes: list[Probe]


class FanOut(Probe):
    """How many partners a row finds in such a step, on average, as measured."""

    fan_out: float


class JoinGroupFigures(JoinCounters):
    """The queries with one FROM list and the same join factors: they are joined once."""

    group: int
    streams: list[str]
    factors: list[str]
    clauses: int
    routes: list[Route]
    fan_outs: list[FanOut]


class JoinFigures(BaseModel):
    """What joining costs and finds: all together since the start, and by group."""

    groups: int = Field(description="Groups that stand.")
    total: JoinCounters
    costliest: list[JoinGroupFigures] = Field(
        description=f"Of the groups that stand the {GROUPS_SHOWN_MAX} of the most steps, in that order."
    )


def describe_joins(reading: JoinReading, names: Mapping[StreamId, str]) -> dict[str, object]:
    """Return the members of `JoinFigures`. Cost: O(groups log groups).

    `names` are those of the streams in force; a group over one that was dropped since is left out.
    """
    standing = [one for one in reading.groups if all(map(names.__contains__, one.streams))]
    costliest = sorted(standing, key=lambda one: (-one.steps, one.group))
    return {
        "groups": len(standing),
        "total": asdict(reading.totals),
        "costliest": [_describe(one, names) for one in costliest[:GROUPS_SHOWN_MAX]],
    }


def _describe(group: JoinGroupStatistics, names: Mapping[StreamId, str]) -> dict[str, object]:
    return {
        "group": group.group,
        "streams": [names[stream_id] for stream_id in group.streams],
        "factors": list(group.factors),
        "clauses": group.clauses,
        "entrants": group.entrants,
        "fresh_rows": group.fresh_rows,
        "candidates": group.candidates,
        "semijoined": group.semijoined,
        "intermediates": group.intermediates,
        "results": group.results,
        "steps": group.steps,
        "routes": [
            {
                "entering": entering,
                "probes": [{"source": source, "probed": probed} for source, probed in steps],
            }
            for entering, steps in group.routes
        ],
        "fan_outs": [
            {"source": source, "probed": probed, "fan_out": partners}
            for source, probed, partners in group.fan_outs
        ],
    }
