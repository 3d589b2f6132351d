"""The points of a series: what a query answers at each of several instants, all of one snapshot."""

from collections.abc import Sequence
from itertools import groupby

from psoup.engine.invocation.position.pinning import instant
from psoup.engine.query.values.expression import AggregateCall
from psoup.engine.results.contract import Cut, Snapshot
from psoup.engine.results.delta import QueryRecord
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type


@value_type
class Point:
    """What a query answers at one instant.

    Attributes:
        now_us: the instant.
        begin_us, end_us: the window then, both inclusive; None = open.
        complete_from_us: None if the window lies inside retention, else the time from which it does.
        count: rows of the answer.
        columns: name and values of each output; () where the count alone was asked for.
    """

    now_us: int
    begin_us: int | None
    end_us: int | None
    complete_from_us: int | None
    count: int
    columns: tuple[tuple[str, Column], ...]


@value_type
class Series:
    """What a query answers at each of a sequence of instants.

    Attributes:
        cut: the position of all points.
        query: the query asked.
        now_us: its NOW; None before the first tuple that tells it.
        outputs: name and type of each.
        asked_us: the instants that were asked for.
        points: in the order of the instants, those of one hop that follow each other as one.
        overflowed: aggregates that are NULL in some point because their value is none of their type.
    """

    cut: Cut
    query: QueryRecord
    now_us: int | None
    outputs: tuple[tuple[str, ColumnType], ...]
    asked_us: Sequence[int]
    points: Sequence[Point]
    overflowed: tuple[AggregateCall, ...]


def instants_of_points(snapshot: Snapshot, asked_us: Sequence[int]) -> list[int]:
    """Return the instants of the points: those asked for, rounded to hops, a hop that follows itself once.

    Raises:
        NowOutOfRangeError: one of them lies after NOW, or before what retention has kept.
    """
    if not asked_us:
        return []
    for end_us in (min(asked_us), max(asked_us)):
        if instant(snapshot, end_us) is None:  # no hop can be written that early
            return []
    window = snapshot.query.window
    hops_us = asked_us if window.hops is None else map(window.rounded, asked_us)
    return [hop_us for hop_us, _ in groupby(hops_us)]
