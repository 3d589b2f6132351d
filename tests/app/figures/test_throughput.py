"""Rates from a ring of readings, at times the test gives."""

from dataclasses import astuple

import pytest
from hypothesis import given, strategies as st

from psoup.app.figures.throughput import SPANS_S, Progress, ThroughputRing


def done(tuples: int) -> Progress:
    """Return counters that go up together: operations ten times slower, invocations not at all."""
    return Progress(tuples, tuples // 10, 7)


def test_rates_look_back_over_their_span_alone():
    """100 tuples a second for a minute, 1,000 for the last 10 seconds: each span tells its own mean."""
    ring = ThroughputRing()
    for second in range(121):
        ring.note(float(second), done(100 * second + 900 * max(0, second - 110)))
    ring.check()
    rates = ring.rates(120.0, done(100 * 120 + 900 * 10))
    assert (10.0, 1_000.0, 100.0, 0.0) == astuple(rates[10])
    assert (60.0, 250.0, 25.0, 0.0) == astuple(rates[60])


def test_rates_before_a_span_has_passed_are_those_since_the_first_reading():
    """The span is as long as there are readings, and says so; before any there is nothing to tell."""
    ring = ThroughputRing()
    assert {(0.0, 0.0, 0.0, 0.0)} == {astuple(one) for one in ring.rates(5.0, done(9)).values()}
    ring.note(5.0, done(0))
    assert {(0.0, 0.0, 0.0, 0.0)} == {astuple(one) for one in ring.rates(5.0, done(0)).values()}
    assert {(4.0, 25.0, 2.5, 0.0)} == {astuple(one) for one in ring.rates(9.0, done(100)).values()}


def test_rates_after_silence_fall_to_nothing():
    """Readings go on when nothing happens, so that what was done long ago does not count."""
    ring = ThroughputRing()
    for second in range(20):
        ring.note(float(second), done(0 if second == 0 else 500))
    rates = ring.rates(19.5, done(500))
    assert 0.0 == rates[10].tuples_per_s
    assert pytest.approx(500 / 19.5) == rates[60].tuples_per_s


def test_counters_that_begin_anew_are_counted_on():
    """Another engine counts from 0: what was done before and since is done, and no rate is below 0."""
    ring = ThroughputRing()
    for second, tuples in enumerate([1_000, 1_100, 1_200, 30, 80]):
        ring.note(float(second), done(tuples))
    (ten, _) = ring.rates(5.0, done(100)).values()
    assert (5.0, (200 + 100) / 5, (20 + 10) / 5, 0.0) == astuple(ten)


@given(st.lists(st.floats(0.01, 30), min_size=1, max_size=200))
def test_ring_of_any_pace_oracle_is_bounded_and_reaches_back(steps):
    """Whatever the pace, readings are bounded, and a span is as long as it says or the time since the start."""
    ring, at_s, kept = ThroughputRing(), 0.0, [0.0]
    ring.note(0.0, done(0))
    for step in steps:
        at_s += step
        ring.note(at_s, done(int(at_s)))
        if at_s >= kept[-1] + 1.0:
            kept.append(at_s)
        ring.check()
        rates = ring.rates(at_s, done(int(at_s)))
        for span_s in SPANS_S:
            older = [one for one in kept if one <= at_s - span_s]
            assert at_s - (older[-1] if older else kept[0]) == rates[span_s].seconds
    assert ring.statistics().readings <= len(kept)


def test_ring_of_readings_just_a_second_apart_passes_its_check():
    """1.9 - 0.9 is less than 1 in floats, and 0.9 + 1 is 1.9: a reading that is due is not one too near."""
    ring = ThroughputRing()
    for at_s in (0.9, 1.9):
        assert ring.is_due(at_s)
        ring.note(at_s, done(0))
    ring.check()
    assert 2 == ring.statistics().readings


def test_ring_out_of_order_fails_its_check():
    """The check can fail: readings nearer than a second, and more of them than are needed."""
    ring = ThroughputRing()
    ring._readings.extend([(0.0, done(0)), (0.5, done(0))])
    with pytest.raises(AssertionError, match="apart"):
        ring.check()
    ring._readings.clear()
    ring._readings.extend((float(second), done(0)) for second in range(63))
    with pytest.raises(AssertionError, match="63 readings"):
        ring.check()
