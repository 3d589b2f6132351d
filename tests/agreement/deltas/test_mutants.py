"""The worlds notice each way of breaking the protocol that its model knows, and those that were made on the way."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from psoup.engine.invocation import answering, changes
from psoup.engine.invocation.cache import Whole
from psoup.engine.invocation.one_stream import stream_aggregates, stream_finding, stream_invocation
from psoup.engine.invocation.position import spans
from psoup.engine.invocation.several_streams import join_changes
from psoup.engine.invocation.shaped import (
    group_changes,
    grouped_invocation,
    grouping,
    ordered_invocation,
)
from psoup.engine.query.values.expression import AggregateFunction
from psoup.engine.query.window import Window
from tests.agreement.deltas import partial_world
from tests.agreement.deltas.delta_world import DeltaWorld, play
from tests.agreement.deltas.group_world import GroupWorld

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


def nothing_lost(finding: Any, since: Any, floors: Any) -> Any:
    return finding.no_rows()


def purged_forgotten(finder: Any, snapshot: Any, at: Any, since: Any) -> Any:
    found = TOUCHING(finder, snapshot, at, since)
    if found is None or found.lost is not None:
        return found
    return replace(found, lost=finder.no_rows())


def nothing_is_taken(finder: Any, snapshot: Any, at: Any, since: Any) -> Any:
    found = TOUCHING(finder, snapshot, at, since)
    if found is None or found.lost is None:
        return found
    none = finder.no_rows()
    lost = np.concatenate((found.lost, found.entered, found.forgotten), axis=-1)
    return replace(found, entered=none, forgotten=none, lost=lost)


def no_rows_at_all(_invocation: Any, _rows: Any) -> list[int]:
    return []


TOUCHING = group_changes.touching

MUTANTS_OF_GROUPS: dict[str, Patch] = {
    "rows that enter by the clock alone do not touch their groups": entering(by_arrival_alone),
    "rows that leave by the clock alone do not touch their groups": setting(
        stream_finding.StreamFinding, "gone", nothing_lost
    ),
    "a group changes when its last row leaves": setting(
        grouping,
        "FIRST_TO_LEAVE",
        replace(grouping.FIRST_TO_LEAVE, function=AggregateFunction.MAX),
    ),
    "rows that have left and are dropped touch nothing": setting(
        grouped_invocation, "touching", purged_forgotten
    ),
    "groups that HAVING takes away are not told": setting(
        grouped_invocation, "touching", nothing_is_taken
    ),
    "the state does not know of rows": setting(
        grouped_invocation.GroupedInvocation, "_newest_rows", no_rows_at_all
    ),
    "the first rows are the same whatever enters": setting(
        ordered_invocation.OrderedInvocation, "_stands", lambda _self, _since: True
    ),
}


def nothing_beside_whole_units(span: Any, whole: Any) -> Any:
    return [] if whole else [span]


def cut_units_too(span: Any, whole_row: int, unit: int) -> Any:
    return WHOLE_CHUNKS((*span[:2], True), whole_row, unit)


WHOLE_CHUNKS = stream_aggregates._whole_chunks

MUTANTS_OF_PARTIALS: dict[str, Patch] = {
    "rows at the ends of whole chunks are left out": setting(
        stream_aggregates, "_ragged", nothing_beside_whole_units
    ),
    "a chunk that an end of the window cuts counts as a whole": setting(
        stream_aggregates, "_whole_chunks", cut_units_too
    ),
    "the state knows of some of the visible rows alone": setting(
        stream_aggregates, "united", lambda extents: extents[0]
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_worlds_notice_a_broken_protocol(mutant, monkeypatch):
    """One of the worlds ends with a client, or an answer, that is wrong."""
    MUTANTS[mutant](monkeypatch)
    with pytest.raises(AssertionError):
        play_all()


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS_OF_GROUPS)
def test_worlds_of_groups_notice_a_broken_protocol(mutant, monkeypatch):
    """So do those of groups, and of rows in an order of their own."""
    MUTANTS_OF_GROUPS[mutant](monkeypatch)
    with pytest.raises(AssertionError):
        play_all(GroupWorld)


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS_OF_PARTIALS)
def test_worlds_of_partials_notice_what_is_kept_wrongly(mutant, monkeypatch):
    """So do those whose groups are merged of partials."""
    partial_world.with_small_units(monkeypatch)
    MUTANTS_OF_PARTIALS[mutant](monkeypatch)
    with pytest.raises(AssertionError):
        play_all(partial_world.PartialWorld)


def play_all(of: Callable[[int], DeltaWorld] = DeltaWorld) -> None:
    for seed in range(WORLDS):
        play(seed, of=of)
