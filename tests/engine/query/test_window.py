"""Windows: which tuples each kind shows, drawn as pictures, and one rule behind all of them.

A picture is a time line of seconds: `o` a tuple, `#` a tuple that the window shows, `.` nothing.
"""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.query.window import Bound, Window, WindowKind


def at(second: int) -> Bound:
    """Return a constant bound."""
    return Bound(second, moving=False)


def now(minus: int = 0) -> Bound:
    """Return a bound that moves with NOW."""
    return Bound(minus, moving=True)


@pytest.mark.parametrize(
    ("window", "now_us", "tuples", "shown"),
    [
        (Window(), 9, "oo.oooo.oo", "##.####.##"),
        (Window(), 5, "oo.oooo.oo", "##.###o.oo"),
        (Window(at(2), at(6)), 9, "oooooooooo", "oo#####ooo"),
        (Window(at(2), at(6)), 4, "oooooooooo", "oo###ooooo"),
        (Window(at(2), at(2)), 9, "oooooooooo", "oo#ooooooo"),
        (Window(at(3), now()), 7, "oooooooooo", "ooo#####oo"),
        (Window(at(3), now(2)), 7, "oooooooooo", "ooo###oooo"),
        (Window(at(3), now(2)), 4, "oooooooooo", "oooooooooo"),
        (Window(now(3), now()), 7, "oooooooooo", "oooo####oo"),
        (Window(now(), now()), 7, "oooooooooo", "ooooooo#oo"),
        (Window(now(5), now(2)), 9, "oooooooooo", "oooo####oo"),
        (Window(now(2), now(2)), 9, "oooooooooo", "ooooooo#oo"),
        (Window(now(3), now()), 20, "oooooooooo", "oooooooooo"),
    ],
)
def test_window_of_each_kind_shows_its_part_of_the_line(window, now_us, tuples, shown):
    """Both ends belong; nothing after NOW is ever shown."""
    times = np.array([second for second, mark in enumerate(tuples) if mark == "o"], np.int64)
    visible = dict(zip(times.tolist(), window.visible(times, now_us).tolist(), strict=True))
    drawn = "".join(
        "." if mark == "." else "#" if visible[second] else "o"
        for second, mark in enumerate(tuples)
    )
    assert shown == drawn


@pytest.mark.parametrize(
    ("window", "kind"),
    [
        (Window(), WindowKind.NONE),
        (Window(at(1), at(2)), WindowKind.SNAPSHOT),
        (Window(at(1), now()), WindowKind.LANDMARK),
        (Window(at(1), now(5)), WindowKind.LANDMARK),
        (Window(now(5), now()), WindowKind.SLIDING),
        (Window(now(5), now(1)), WindowKind.DELAYED),
    ],
)
def test_window_knows_its_kind(window, kind):
    """Five kinds, told apart by which ends move."""
    assert kind is window.kind


@st.composite
def windows(draw):
    """Draw a window of any kind over small times."""
    low, high = sorted(draw(st.tuples(st.integers(0, 20), st.integers(0, 20))))
    return draw(
        st.sampled_from(
            [
                Window(),
                Window(at(low), at(high)),
                Window(at(low), now(high)),
                Window(now(high), now(low)),
            ]
        )
    )


@given(window=windows(), time_us=st.integers(-5, 30), now_us=st.integers(-5, 60))
def test_window_interval_holds_the_instants_at_which_a_tuple_is_visible(window, time_us, now_us):
    """`visible`, `interval`, `leaves` and `bind` are four views of one rule."""
    times = np.array([time_us], np.int64)
    shown = bool(window.visible(times, now_us)[0])
    entered_left = window.interval(time_us)
    if entered_left is None:
        assert not shown
        return
    enters, leaves = entered_left
    assert shown == (enters <= now_us and (leaves is None or now_us < leaves))
    every = window.leaves(times)
    assert leaves == (None if every is None else every[0])
    begin, end = window.bind(now_us)
    inside = (begin is None or begin <= time_us) and (end is None or time_us <= end)
    assert shown == (inside and time_us <= now_us)


@pytest.mark.parametrize(
    ("begin", "end"),
    [(at(2), at(1)), (now(1), now(2)), (now(1), at(5)), (None, now()), (at(1), None)],
)
def test_window_that_cannot_be_is_no_value(begin, end):
    """Reversed ends, a moving BEGIN before a constant END, half a window: the binder refuses them."""
    with pytest.raises(AssertionError):
        Window(begin, end)
