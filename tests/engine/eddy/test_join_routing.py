"""Routes: the fewest partners first, kept while nothing is clearly better; FROM's order; draws."""

from collections import Counter

import pytest

from psoup.engine.eddy.join_routing import GAIN_MIN, ByFanOut, FromOrder, Lottery, cost, every_route
from psoup.engine.joins.counts import JoinCounts
from psoup.engine.query.join_shape import shape_of
from tests.engine.joins.folds import Tables

TABLES = Tables("r", "s", "u")
STAR = "r AS x, s AS y, u AS z, s AS v WHERE x.i = y.i AND x.t = z.t AND x.f = v.f"
PAIR = "r AS x, s AS y WHERE x.i = y.i"
CHAIN = "r AS x, s AS y, u AS z WHERE x.i = y.i AND y.t = z.t"
POLICIES = [ByFanOut, FromOrder, lambda: Lottery(3)]


def shape(text):
    return shape_of(TABLES.clause(f"SELECT x.i FROM {text}"))


def counted(fan_outs, *, asked=100):
    """Return counts by which steps have had so many partners on average."""
    counts = JoinCounts()
    for step, fan_out in fan_outs.items():
        seen = counts.step(step)
        seen.lookups, seen.partners = asked, int(fan_out * asked)
    return counts


@pytest.mark.parametrize("make", POLICIES)
@pytest.mark.parametrize("text", [STAR, CHAIN])
def test_routes_of_any_policy_reach_every_source_once_along_ties(make, text):
    """Each step goes from what is known to what is not."""
    made = shape(text)
    for fresh in range(made.count):
        known = {fresh}
        for step in make().route(made, fresh, JoinCounts(), None):
            assert step in made.steps(known)
            known.add(step[1])
        assert set(range(made.count)) == known


def test_by_fan_out_takes_the_step_with_the_fewest_partners_next():
    """Those never taken count one; equal ones follow FROM."""
    route = ByFanOut().route
    assert ((0, 1), (0, 2), (0, 3)) == route(shape(STAR), 0, JoinCounts(), None)
    counts = counted({(0, 1): 5.0, (0, 2): 0.5})
    assert ((0, 2), (0, 3), (0, 1)) == route(shape(STAR), 0, counts, None)
    assert ((2, 0), (0, 3), (0, 1)) == route(shape(STAR), 2, counts, None)
    assert ((1, 0), (1, 2)) == route(shape(CHAIN), 1, counted({(1, 2): 2.0}), None)


def test_by_fan_out_keeps_the_last_route_until_another_is_clearly_better():
    """Costs that differ by less than a fifth change nothing; more do."""
    last = ((0, 1), (0, 2), (0, 3))
    same = counted({(0, 1): 1.0, (0, 2): 0.9, (0, 3): 1.0})
    assert last == ByFanOut().route(shape(STAR), 0, same, last)
    assert ((0, 2), (0, 1), (0, 3)) == ByFanOut().route(shape(STAR), 0, same, None)
    better = counted({(0, 1): 4.0, (0, 2): 0.1, (0, 3): 1.0})
    assert ((0, 2), (0, 3), (0, 1)) == ByFanOut().route(shape(STAR), 0, better, last)


def test_by_fan_out_changes_just_where_the_gain_is_enough():
    """At the edge: a route that costs the share in full is not taken, one below it is."""
    last = ((0, 1), (0, 2), (0, 3))
    seen = set()
    for hundredths in range(1, 100):
        counts = counted({(0, 1): 1.0, (0, 2): hundredths / 100, (0, 3): 1.0})
        fan_outs = {step: one.fan_out for step, one in counts.by_step.items()}
        found = ByFanOut().route(shape(STAR), 0, counts, last)
        best = ByFanOut().route(shape(STAR), 0, counts, None)
        gains = cost(best, fan_outs.__getitem__) <= GAIN_MIN * cost(last, fan_outs.__getitem__)
        assert (best if gains else last) == found
        seen.add(gains)
    assert {True, False} == seen


def test_cost_of_a_route_is_the_composites_of_a_row_over_all_steps_but_the_last():
    """2 of the first step, 2 x 3 of the second; what the third makes is the same whatever the route."""
    fan_outs = {(0, 1): 2.0, (0, 2): 3.0, (0, 3): 0.5}
    assert 2.0 + 6.0 == cost(((0, 1), (0, 2), (0, 3)), fan_outs.__getitem__)
    assert 0.5 + 1.0 == cost(((0, 3), (0, 1), (0, 2)), fan_outs.__getitem__)
    assert 0 == cost((), fan_outs.__getitem__)


def test_from_order_goes_as_from_says_whatever_was_seen():
    """The first source that may follow."""
    counts = counted({(0, 1): 100.0, (0, 3): 0.0})
    last = ((0, 3), (0, 2), (0, 1))
    assert ((0, 1), (0, 2), (0, 3)) == FromOrder().route(shape(STAR), 0, counts, last)
    assert ((3, 0), (0, 1), (0, 2)) == FromOrder().route(shape(STAR), 3, counts, last)


def test_lottery_of_equal_seeds_draws_equally_and_the_fewer_partners_the_more_often():
    """Every order is drawn now and then; the selective step comes first mostly, as its tickets say."""
    counts = counted({(0, 1): 0.1, (0, 2): 0.9, (0, 3): 0.9})
    star = shape(STAR)
    drawn = [
        [policy.route(star, 0, counts, None) for _ in range(600)]
        for policy in (Lottery(1), Lottery(1), Lottery(2))
    ]
    assert drawn[0] == drawn[1] != drawn[2]
    firsts = Counter(route[0][1] for route in drawn[0])
    share = 5.0 / (5.0 + 1.0 + 1.0)
    assert abs(firsts[1] / 600 - share) < 0.06
    assert 6 == len(set(drawn[0]))


def test_lottery_draws_the_last_step_where_rounding_leaves_nothing(monkeypatch):
    """A draw next to 1 is never past the last ticket."""
    policy = Lottery(0)
    monkeypatch.setattr(policy, "_next", lambda: 1.0)
    assert ((0, 3), (0, 2), (0, 1)) == policy.route(shape(STAR), 0, JoinCounts(), None)


def test_every_route_oracle_is_each_order_of_steps_that_may_follow():
    """Of two sources one; of a chain those that never step to what is not tied; each once, ascending."""
    for streams in (PAIR, CHAIN, STAR):
        joined = shape(streams)
        for fresh in range(joined.count):
            routes = every_route(joined, fresh)
            assert sorted(set(routes)) == routes
            assert FromOrder().route(joined, fresh, JoinCounts(), None) in routes
            for route in routes:
                known = {fresh}
                for step in route:
                    assert step in joined.steps(known)
                    known.add(step[1])
                assert set(range(joined.count)) == known
    assert 1 == len(every_route(shape(PAIR), 0))
    assert 6 == len(every_route(shape(STAR), 0))
