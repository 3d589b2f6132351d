"""When those who wait are let in, and when they come back."""

from random import Random

from psoup.app.waiting.pace import BUSY_S, LATER_FACTOR, POLL_AFTER_MS, Pace


def test_what_begins_together_ends_apart():
    """Streams of events last a tenth more or less than they are to, each another time."""
    pace = Pace(below=Random(1).randrange)
    drawn = [pace.spread_s(300.0) for _ in range(1_000)]
    assert 270.0 <= min(drawn) < 273.0
    assert 327.0 < max(drawn) < 330.0
    assert len(set(drawn)) > 500


def test_a_client_that_could_not_wait_comes_back_later_than_one_that_does_not_want_to():
    """And not with the others; while requests are turned away everybody does."""
    now_s = [0.0]
    pace = Pace(below=Random(2).randrange, elapsed_s=lambda: now_s[0])
    assert (False, POLL_AFTER_MS) == (pace.is_busy, pace.poll_after_ms())
    later = [pace.later_ms() for _ in range(100)]
    assert LATER_FACTOR * POLL_AFTER_MS <= min(later) < max(later)
    assert max(later) < (LATER_FACTOR + 1) * POLL_AFTER_MS
    pace.note_busy()
    assert pace.is_busy
    assert pace.poll_after_ms() >= LATER_FACTOR * POLL_AFTER_MS
    now_s[0] = BUSY_S
    assert not pace.is_busy
