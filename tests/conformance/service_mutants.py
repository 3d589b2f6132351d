"""Ways in which a service, or its author in a hurry, gets coming back wrong: each put into this one, as it runs."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from psoup.app.http import cursors
from psoup.app.routes.results import envelopes, invocations
from psoup.engine.invocation import answering, changes
from psoup.engine.invocation.one_stream import stream_finding, stream_invocation
from psoup.engine.invocation.one_stream.stream_finding import StreamFinding
from psoup.engine.invocation.position import pinning
from psoup.engine.invocation.position.answer import Answer
from psoup.engine.invocation.several_streams import join_changes, join_invocation
from psoup.engine.invocation.several_streams.join_changes import JoinChanges
from psoup.engine.invocation.shaped import group_changes, grouped_invocation, grouping
from psoup.engine.invocation.shaped.group_changes import Touching
from psoup.engine.query.values.expression import AggregateFunction
from psoup.engine.query.window import Window

LATER_US = 1 << 62
Patch = pytest.MonkeyPatch
INVOCATIONS = (stream_invocation, join_invocation)
FINDERS = (StreamFinding, JoinChanges)


def only_by_arrival(patch: Patch) -> None:
    """`m > S0` alone: what the clock lets in is forgotten."""
    for module in (stream_finding, join_changes):
        patch.setattr(module, "shown_until", lambda *_: LATER_US)


def only_by_time(patch: Patch) -> None:
    """A cursor that is an instant: late rows are forgotten."""

    def since_of(*args, **more):
        since = found(*args, **more)
        if since is None:
            return None
        return replace(since, parts=tuple(p._replace(past_row=1 << 40) for p in since.parts))

    found = envelopes.since_of
    patch.setattr(invocations, "since_of", since_of)
    patch.setattr(pinning, "continues", lambda *_: True)


def says_nothing_of_drops(patch: Patch) -> None:
    """What retention drops stays with the client."""
    patch.setattr(changes, "may_have_forgotten", lambda *_: False)


def drops_of_the_cursors_rows_alone(patch: Patch) -> None:
    """`removed` has what was there at the cursor: a client that lost its last cursor keeps what came later."""

    def forgotten(self, since):
        rows = found(self, since)
        return None if rows is None else rows[rows < since.parts[0].past_row]

    found = StreamFinding.forgotten
    patch.setattr(StreamFinding, "forgotten", forgotten)


def open_begin(patch: Patch) -> None:
    """A moving BEGIN that does not belong to the window."""

    def bind(self, now_us):
        begin_us, end_us = bound(self, now_us)
        if begin_us is not None and self.begin.moving:
            begin_us += 1
        return begin_us, end_us

    bound = Window.bind
    patch.setattr(Window, "bind", bind)


def early_leave(patch: Patch) -> None:
    """`_x` is the last instant of a row, not the first without it."""
    leaves = Window.leaves

    def earlier(self, times_us):
        instants = leaves(self, times_us)
        return None if instants is None else instants - 1

    patch.setattr(Window, "leaves", earlier)


def tag_of_the_last_match(patch: Patch) -> None:
    """What the clock changes, no cache is told of."""

    def full_whole(at, count, newest_rows, *args, **more):
        whole = found(at, count, newest_rows, *args, **more)
        return replace(whole, state=(at.gen, *newest_rows))

    found = answering.full_whole
    for module in INVOCATIONS:
        patch.setattr(module, "full_whole", full_whole)


def unpinned_pages(patch: Patch) -> None:
    """Each page is of the moment it is asked for."""

    def pinned(snapshot, request):
        if request.position is None:
            return found(snapshot, request)
        fresh = found(snapshot, replace(request, position=None, since=request.position.since))
        assert fresh is not None
        return replace(fresh, offset=request.position.offset)

    found = pinning.pinned
    patch.setattr("psoup.engine.invoke.pinned", pinned)


def any_cursor(patch: Patch) -> None:
    """The cursor of another query is taken for its own."""
    patch.setattr(cursors, "_subject", lambda _: "cursor")


def no_check_of_the_history(patch: Patch) -> None:
    """A cursor of another generation, or ahead of what is applied, is gone on from."""
    patch.setattr(pinning, "continues", lambda *_: True)


def clock_never_looked_at(patch: Patch) -> None:
    """What the clock changes between two answers is not looked for."""
    patch.setattr(changes, "is_quiet", lambda *_: True)


def cursor_always_new(patch: Patch) -> None:
    """An answer to which nothing has happened gives another cursor, and so another address."""

    def answer_at(*args, **more):
        answer = found(*args, **more)
        if answer.stands is None or not answer.unchanged:
            return answer
        at = answer.at
        assert at is not None
        stands = replace(answer.stands, seq=at.seq, now_us=at.now_us, parts=at.parts)
        return replace(answer, stands=stands)

    found = answering.answer_at
    patch.setattr(answering, "answer_at", answer_at)


def of_answers(edit: Callable[[Answer], dict[str, Any]]) -> Callable[[Patch], None]:
    """Return what changes each answer of the engine."""

    def put(patch: Patch) -> None:
        found = answering.answer_at

        def answer_at(*args, **more):
            answer = found(*args, **more)
            return replace(answer, **edit(answer))

        patch.setattr(answering, "answer_at", answer_at)

    return put


def everything_has_entered(patch: Patch) -> None:
    """Every delta has all rows: right for the client, and not what a delta is for."""
    for finder in FINDERS:
        patch.setattr(
            finder, "have_entered", lambda _, rows, __: np.ones(rows.shape[-1], dtype=np.bool_)
        )
        patch.setattr(finder, "entered", lambda self, _, by_clock: self.visible())


def first_stream_alone(patch: Patch) -> None:
    """A row of a join has entered only where its tuple of the first stream has."""

    def have_entered(self, rows, since):
        return (rows[0] >= since.parts[0].past_row) | (
            self.times(rows)[0] > self._shown_until(since)[0]
        )

    def entered(self, since, by_clock):
        rows = self.visible()
        return rows[:, self.have_entered(rows, since)]

    patch.setattr(JoinChanges, "have_entered", have_entered)
    patch.setattr(JoinChanges, "entered", entered)


def ids_of_the_moment(patch: Patch) -> None:
    """A DISTINCT row has another `_id` each time."""
    numbers = itertools.count()

    def digests(columns):
        return np.array([b"%024d" % next(numbers) for _ in columns[0].values], dtype="S24")

    for module in (*INVOCATIONS, changes):
        patch.setattr(module, "digests", digests)


def of_touching(edit: Callable[[Any, Any, Touching], dict[str, Any]]) -> Callable[[Patch], None]:
    """Return what changes which rows touch groups, of groups alone: what is told of rows stays right."""

    def put(patch: Patch) -> None:
        found = group_changes.touching

        def touching(finder, snapshot, at, since):
            rows = found(finder, snapshot, at, since)
            return None if rows is None else replace(rows, **edit(finder, since, rows))

        patch.setattr(grouped_invocation, "touching", touching)

    return put


def arrived_alone(finder: Any, since: Any, rows: Touching) -> dict[str, Any]:
    """Rows that the clock alone lets in touch no group."""
    return {"entered": rows.entered[..., finder.arrived(rows.entered, since)]}


def leaving_forgotten(finder: Any, _: Any, rows: Touching) -> dict[str, Any]:
    """Rows that the clock takes out touch no group."""
    return {} if rows.lost is None else {"lost": finder.no_rows()}


def purged_forgotten(finder: Any, _: Any, rows: Touching) -> dict[str, Any]:
    """Where it is not known which rows have left, none touches a group."""
    return {"lost": finder.no_rows()} if rows.lost is None else {}


def dropped_forgotten(patch: Patch) -> None:
    """Rows that have left touch no group once retention has dropped them."""
    patch.setattr(group_changes, "_floors", lambda _snapshot, at, _since: at.parts)


def last_to_leave(patch: Patch) -> None:
    """`_x` of a group is the instant at which the last of its rows leaves."""
    last = replace(grouping.FIRST_TO_LEAVE, function=AggregateFunction.MAX)
    patch.setattr(grouping, "FIRST_TO_LEAVE", last)


BY_WORLDS: dict[str, Callable[[Patch], None]] = {
    "only by arrival": only_by_arrival,
    "only by time": only_by_time,
    "says nothing of drops": says_nothing_of_drops,
    "drops of the cursor's rows alone": drops_of_the_cursors_rows_alone,
    "open BEGIN": open_begin,
    "early leave": early_leave,
    "tag of the last match": tag_of_the_last_match,
    "unpinned pages": unpinned_pages,
    "any cursor": any_cursor,
    "clock never looked at": clock_never_looked_at,
    "cursor always new": cursor_always_new,
    "everything has entered": everything_has_entered,
    "first stream alone": first_stream_alone,
    "ids of the moment": ids_of_the_moment,
    "groups: entering by the clock": of_touching(arrived_alone),
    "groups: leaving by the clock": of_touching(leaving_forgotten),
    "groups: purged rows": of_touching(purged_forgotten),
    "groups: dropped rows that have left": dropped_forgotten,
    "groups: the last row to leave": last_to_leave,
    "reset on every page": of_answers(lambda one: {"reset": one.at and one.at.since is None}),
    "never a reset": of_answers(lambda _: {"reset": False}),
    "count of the page": of_answers(lambda one: {"count": one.tuple_ids.shape[-1]}),
    "complete too early": of_answers(lambda _: {"complete": True}),
}
"""Those that worlds over rows tell."""
BY_THE_CLOCK: dict[str, Callable[[Patch], None]] = {
    "only by arrival": only_by_arrival,
    "clock never looked at": clock_never_looked_at,
    "early leave": early_leave,
    "no timer": of_answers(lambda _: {"changes_us": None}),
}
"""Those that worlds over the service's clock tell."""
