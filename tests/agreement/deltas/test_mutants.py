"""The worlds notice each way of breaking the protocol that its model knows, and those that were made on the way."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from psoup.engine.invocation import (
    answering,
    changes,
    join_changes,
    spans,
    stream_finding,
    stream_invocation,
)
from psoup.engine.invocation.cache import Whole
from psoup.engine.query.window import Window
from tests.agreement.deltas.delta_world import play

WORLDS = 150
Patch = Callable[[pytest.MonkeyPatch], None]


def entering(replacement: Callable[..., Any]) -> Patch:
    """Break which tuples bring rows in."""

    def patch(patching: pytest.MonkeyPatch) -> None:
        for module in (stream_finding, join_changes):
            patching.setattr(module, "entered_spans", replacement)

    return patch


def setting(owner: Any, name: str, replacement: Any) -> Patch:
    """Break one function."""
    return lambda patching: patching.setattr(owner, name, replacement)


def by_arrival_alone(shown: Any, part: Any, shown_us: int, **_: Any) -> Any:
    return spans.entered_spans(shown, part, shown_us, by_clock=False)


def by_time_alone(shown: Any, part: Any, shown_us: int, **_: Any) -> Any:
    return spans.entered_spans(shown, part._replace(past_row=shown.past_row), shown_us)


def opened_leaves(window: Window, times_us: Any) -> Any:
    return times_us + window.begin.us if window.slides and window.begin else None


def last_match_alone(at: Any, count: int, newest_rows: Any, *instants: Any, first_us: Any) -> Whole:
    right = answering.full_whole(at, count, newest_rows, *instants, first_us=first_us)
    return Whole(count, right.changes_us, (at.gen, *newest_rows))


def clock_forgotten(shown: Any, part: Any, shown_us: int, **_: Any) -> Any:
    return spans.other_span(shown, part, shown_us)


def first_leaving(group: Any, leaves_us: Any, groups: int) -> Any:
    return np.array([np.argmin(np.where(group == one, leaves_us, 2**62)) for one in range(groups)])


def old_forgotten_alone(finding: Any, since: Any) -> Any:
    rows = FORGOTTEN(finding, since)
    return None if rows is None else rows[rows < since.parts[0].past_row]


FORGOTTEN = stream_finding.StreamFinding.forgotten

MUTANTS: dict[str, Patch] = {
    "rows that enter by the clock alone are not told": entering(by_arrival_alone),
    "the cursor is an instant: late rows are not told": entering(by_time_alone),
    "rows leave a microsecond early: BEGIN is taken as open": setting(
        Window, "leaves", opened_leaves
    ),
    "what retention drops is not told": setting(
        changes, "may_have_forgotten", lambda _at, _since: False
    ),
    "of what retention drops, rows behind the cursor are not told": setting(
        stream_finding.StreamFinding, "forgotten", old_forgotten_alone
    ),
    "an answer is unchanged whatever the clock does": setting(
        changes, "is_quiet", lambda _at, _since: True
    ),
    "the state is the last match": setting(stream_invocation, "full_whole", last_match_alone),
    "parts that the clock brought do not meet new ones": setting(
        join_changes, "other_span", clock_forgotten
    ),
    "a row of DISTINCT leaves with the first of its equals": setting(
        changes, "last_leaving", first_leaving
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_worlds_notice_a_broken_protocol(mutant, monkeypatch):
    """One of the worlds ends with a client, or an answer, that is wrong."""
    MUTANTS[mutant](monkeypatch)
    with pytest.raises(AssertionError):
        play_all()


def play_all() -> None:
    for seed in range(WORLDS):
        play(seed)
