"""Figures on their way from an engine to API workers: as JSON, within a bound."""

import dataclasses

import pytest

from psoup.app.figures.engine import NO_FIGURES, Figures, read_figures, write_figures
from psoup.app.figures.footprint import Footprint
from psoup.app.figures.join_tally import JoinReading, JoinTotals
from psoup.engine import limits
from psoup.engine.engine import JoinGroupStatistics
from psoup.engine.tuples.schema import StreamId


def group(number: int, steps: int) -> JoinGroupStatistics:
    return JoinGroupStatistics(
        group=number,
        streams=(StreamId(1), StreamId(2)),
        factors=("s.a = t.a",),
        clauses=3,
        entrants=4,
        fresh_rows=5,
        candidates=6,
        semijoined=7,
        intermediates=8,
        results=9,
        steps=steps,
        routes=((0, ((0, 1),)),),
        fan_outs=((0, 1, 1.5),),
    )


def figures(groups: int) -> Figures:
    # Neither first nor last is dear: the order of steps is another one than that of numbers.
    joins = JoinReading(
        tuple(group(number, steps=number * 7 % groups) for number in range(groups)),
        JoinTotals(1, 2, 3, 4, 5, 6, 7),
    )
    return Figures(
        applied=10,
        published=9,
        tuples=8,
        publish_s=0.1,
        footprint=Footprint(1, 2, 3, 4, 5),
        joins=joins,
    )


@pytest.mark.parametrize("one", [NO_FIGURES, figures(3)], ids=["none", "some"])
def test_figures_that_were_written_read_back_the_same(one):
    """Nothing is lost or rounded on the way."""
    assert one == read_figures(write_figures(one))


def test_figures_past_the_bound_leave_out_the_cheapest_groups():
    """The dearest groups stay, and everything else as it was."""
    one = figures(101)
    whole = len(write_figures(one))
    kept_max = 0
    for bytes_max in (whole, whole - 1, whole // 2, 2_000, 1_000):
        told = write_figures(one, bytes_max)
        assert len(told) <= bytes_max
        read = read_figures(told)
        kept = sorted(each.steps for each in read.joins.groups)
        assert list(range(101 - len(kept), 101)) == kept
        assert kept_max == 0 or len(kept) < kept_max
        kept_max = len(kept)
        joins = dataclasses.replace(one.joins, groups=read.joins.groups)
        assert dataclasses.replace(one, joins=joins) == read


def test_figures_without_groups_fit_whatever_the_bound_of_groups():
    """Nothing else is bounded by leaving out: it is a few hundred bytes."""
    assert len(write_figures(NO_FIGURES)) < 1_000 < limits.FIGURES_BYTES_MAX
    assert () == read_figures(write_figures(figures(50), bytes_max=1)).joins.groups


@pytest.mark.parametrize("told", [b"", b"{", b"[1]", b'{"applied": "many"}'])
def test_figures_that_are_none_are_refused(told):
    """What an engine of another version has written is no bug of the reader's."""
    with pytest.raises(ValueError, match="validation error"):
        read_figures(told)
