"""Windows as they are drawn: what they are, and one way to write them."""

from dataclasses import dataclass

from hypothesis import strategies as st

from psoup.engine.limits import SECOND_US
from psoup.engine.query.hops import Hops
from psoup.engine.query.time_literals import format_instant
from psoup.engine.query.window import Bound, Window
from tests.strategies import EPOCH_US


@dataclass(frozen=True, slots=True)
class DrawnWindow:
    """A window and one way to write it."""

    text: str
    window: Window


def _constant_bound(us: int) -> tuple[str, Bound]:
    return f"TIMESTAMP '{format_instant(us)}'", Bound(us, moving=False)


def _moving_bound(seconds: int, *, interval: bool) -> tuple[str, Bound]:
    offset = f"INTERVAL '{seconds}' SECOND" if interval else str(seconds)
    text = "NOW" if seconds == 0 else f"NOW - {offset}"
    return text, Bound(seconds * SECOND_US, moving=True)


@st.composite
def windows(draw: st.DrawFn) -> DrawnWindow:
    """Draw a window of any of the five kinds, its constants inside the drawn history."""
    kind = draw(st.sampled_from(["none", "none", "snapshot", "landmark", "sliding", "delayed"]))
    if kind == "none":
        return DrawnWindow("", Window())
    near = draw(st.sampled_from([0, 0, 0, 1, 5, 20]))
    far = near + draw(st.sampled_from([120, 60, 60, 40, 20, 0]))
    interval = draw(st.booleans())
    if kind == "snapshot":
        begin = _constant_bound(EPOCH_US + near * SECOND_US)
        end = _constant_bound(EPOCH_US + far * SECOND_US)
    elif kind == "landmark":
        begin = _constant_bound(EPOCH_US + near * SECOND_US)
        end = _moving_bound(draw(st.sampled_from([0, 0, 1])), interval=interval)
    else:
        begin = _moving_bound(far, interval=interval)
        end = _moving_bound(0 if kind == "sliding" else near, interval=interval)
    every, hops = draw(hopping())
    return DrawnWindow(f"BEGIN ({begin[0]}) END ({end[0]}){every}", Window(begin[1], end[1], hops))


@st.composite
def hopping(draw: st.DrawFn) -> tuple[str, Hops | None]:
    """Draw EVERY as it stands behind BEGIN-END, or nothing."""
    every = draw(st.sampled_from([None, None, None, 1, 7, 30]))
    if every is None:
        return "", None
    align = draw(st.sampled_from([0, 0, 4]))
    text = f" EVERY INTERVAL '{every}' SECOND"
    text += f" ALIGN TIMESTAMP '{format_instant(align * SECOND_US)}'" if align else ""
    return text, Hops(every * SECOND_US, align % every * SECOND_US)
