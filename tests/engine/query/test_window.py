"""Windows: which tuples each kind shows, drawn as pictures, and one rule behind all of them.

A picture is a time line of seconds: `o` a tuple, `#` a tuple that the window shows, `.` nothing.
"""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from psoup.engine.query.hops import Hops
from psoup.engine.query.window import Bound, Window, WindowKind
from tests.reference_windows import interval, rounded


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
        (Window(now(3), now(), Hops(5)), 7, "oooooooooo", "oo####oooo"),
        (Window(now(3), now(), Hops(5)), 4, "oooooooooo", "#ooooooooo"),
        (Window(now(3), now(), Hops(5, 1)), 7, "oooooooooo", "ooo####ooo"),
        (Window(now(5), now(2), Hops(4)), 7, "oooooooooo", "###ooooooo"),
        (Window(at(3), now(), Hops(4)), 7, "oooooooooo", "ooo##ooooo"),
        (Window(at(2), at(6), Hops(4)), 7, "oooooooooo", "oo###ooooo"),
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
    """Draw a window of any kind over small times, with hops or without."""
    low, high = sorted(draw(st.tuples(st.integers(0, 20), st.integers(0, 20))))
    every = draw(st.integers(1, 9))
    hops = draw(st.sampled_from([None, Hops(every), Hops(every, draw(st.integers(0, every - 1)))]))
    return draw(
        st.sampled_from(
            [
                Window(),
                Window(at(low), at(high), hops),
                Window(at(low), now(high), hops),
                Window(now(high), now(low), hops),
            ]
        )
    )


@given(window=windows(), time_us=st.integers(-5, 30), now_us=st.integers(-5, 60))
def test_window_interval_holds_the_instants_at_which_a_tuple_is_visible(window, time_us, now_us):
    """`visible`, `interval`, `leaves` and `bind` are four views of one rule."""
    times = np.array([time_us], np.int64)
    shown = bool(window.visible(times, now_us)[0])
    entered_left = window.interval(time_us)
    assert entered_left == interval(window, time_us)
    if entered_left is None:
        assert not shown
        return
    enters, leaves = entered_left
    assert shown == (enters <= now_us and (leaves is None or now_us < leaves))
    every = window.leaves(times)
    assert leaves == (None if every is None else every[0])
    assert enters == window.enters(times)[0]
    begin, end = window.bind(now_us)
    assert [(begin, end), window.bind(time_us)] == window.bind_each([now_us, time_us])
    inside = (begin is None or begin <= time_us) and (end is None or time_us <= end)
    assert shown == (inside and time_us <= rounded(window, now_us))


@given(window=windows(), time_us=st.integers(-5, 30))
def test_window_shows_nothing_of_a_time_or_later_before_it_says(window, time_us):
    """`first_shown` is the least `in` of the times from there on; a window that skips none shows each of them."""
    shown = [interval(window, time_us + later) for later in range(60)]
    expected = min((one[0] for one in shown if one is not None), default=None)
    assert expected == window.first_shown(time_us)
    moving = window.begin is not None and window.begin.moving
    assert window.skips == (moving and None in shown)


def test_window_that_hops_says_when_by_arrays_as_by_numbers():
    """The next hop after an instant, and the last one before it, also before 1970."""
    hops = Hops(7, 3)
    instants = np.arange(-40, 40, dtype=np.int64)
    assert [hops.next(one) for one in instants.tolist()] == hops.next(instants).tolist()
    assert all(hops.last(one) <= one < hops.last(one) + 7 for one in instants.tolist())
    assert all(hops.next(one) in {hops.last(one), hops.last(one) + 7} for one in instants.tolist())


@pytest.mark.parametrize(
    ("begin", "end"),
    [(at(2), at(1)), (now(1), now(2)), (now(1), at(5)), (None, now()), (at(1), None)],
)
def test_window_that_cannot_be_is_no_value(begin, end):
    """Reversed ends, a moving BEGIN before a constant END, half a window: the binder refuses them."""
    with pytest.raises(AssertionError):
        Window(begin, end)


def test_window_of_everything_does_not_hop():
    """EVERY stands behind BEGIN-END; hops without a length, or from a later one on, are none."""
    with pytest.raises(AssertionError):
        Window(hops=Hops(5))
    for every_us, align_us in ((0, 0), (5, 5), (5, -1)):
        with pytest.raises(AssertionError):
            Hops(every_us, align_us)
