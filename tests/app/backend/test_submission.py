"""The door to the log: what is on its way is bounded, and what is said to show does."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from psoup.app.backend.applied import AppliedPosition
from psoup.app.backend.at_hand import AtHand
from psoup.app.backend.submission import Submission
from psoup.app.errors import MemoryFullError
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.errors import OverloadedError
from psoup.engine.query.parameters import RegisteredText
from psoup.engine.store.errors import CommitUnknownError
from psoup.engine.tuples.batch import Seq
from tests.app.faults import FaultyStore
from tests.app.support import START_US
from tests.patience import WAIT_S
from tests.storage.samples import commit, declare, register, rows, staged, txn

pytestmark = pytest.mark.anyio

STORED_S = 1.0
"""A deadline at which an operation is stored, also on a busy machine, and by which it is not applied."""


@pytest.fixture
def store() -> FaultyStore:
    return FaultyStore(ManualClock(START_US))


@pytest.fixture
async def applied() -> AppliedPosition:
    return AppliedPosition(asyncio.get_running_loop())


@pytest.fixture
async def submission(store: FaultyStore, applied: AppliedPosition) -> AsyncIterator[Submission]:
    one = Submission(
        log=store.log,
        applied=applied,
        wake=lambda **_: None,
        at_hand=AtHand(),
        find_room=lambda: None,
        in_flight_max=4,
    )
    yield one
    one.check()
    await asyncio.to_thread(one.close)


async def test_appends_on_their_way_are_bounded_in_bytes(store, applied, submission, monkeypatch):
    """A body that leaves no room is refused with its reason; a smaller one, and one alone, is not."""
    monkeypatch.setattr(limits, "APPENDS_IN_FLIGHT_BYTES_MAX", 10)
    store.plain.log.append(declare("a"))
    applied.advance(Seq(99))
    with store.waiting("log", "append_many") as reached:
        first = asyncio.create_task(submission.submit(rows(1, body=b"1234567"), deadline_s=WAIT_S))
        assert await asyncio.to_thread(reached.wait, WAIT_S)
        with pytest.raises(OverloadedError) as refused:
            await submission.submit(rows(1, body=b"1234"), deadline_s=WAIT_S)
        assert {"reason": "append-bytes-in-flight", "retry_after_s": 1} == refused.value.extras
        second = asyncio.create_task(submission.submit(rows(1, body=b"123"), deadline_s=WAIT_S))
        await asyncio.sleep(0)
        assert (2, 10, 1) == (
            submission.statistics().in_flight,
            submission.statistics().bytes_in_flight,
            submission.statistics().refused,
        )
        submission.check()
    assert {2, 3} == {(await one).seq for one in (first, second)}
    assert 4 == (await submission.submit(rows(1, body=b"x" * 11), deadline_s=WAIT_S)).seq
    assert 0 == submission.statistics().bytes_in_flight


async def test_duplicate_of_an_unknown_original_waits_for_the_head(store, applied, submission):
    """It is said to be applied only once all that is committed is: the original is among it."""
    store.plain.log.append(declare("a"))
    for version in (1, 9):
        store.plain.log.append(rows(1, txn=txn(version=version)))
    applied.advance(Seq(2))
    late = await submission.submit(rows(1, txn=txn(version=4)), deadline_s=STORED_S)
    assert (3, True, False) == (late.seq, late.duplicate, late.applied)
    waiting = asyncio.create_task(submission.submit(rows(1, txn=txn(version=4)), deadline_s=WAIT_S))
    await asyncio.to_thread(applied.advance, Seq(3))
    shown = await waiting
    assert (3, True, True) == (shown.seq, shown.duplicate, shown.applied)


async def test_many_submitted_are_told_each(store, applied, submission):
    """Stored, duplicate and refused stand in their places; applied is what has been by the deadline."""
    store.plain.log.append(declare("a"))
    many = [rows(1, txn=txn()), rows(9), rows(1, txn=txn()), rows(1)]
    store.log.after["append_many"] = lambda: applied.advance(Seq(2))
    first, stale, again, late = await submission.submit_many(many, deadline_s=STORED_S)
    assert ("stale-declaration", True) == (stale.code, again.duplicate)
    assert [(2, True), (2, True), (3, False)] == [
        (one.seq, one.applied) for one in (first, again, late)
    ]
    found = submission.statistics()
    assert (3, 1, 0, 0) == (found.submitted, found.duplicates, found.in_flight, found.refused)
    store.log.after["append_many"] = lambda: applied.advance(Seq(5))
    both = await submission.submit_many([rows(1), rows(1)], deadline_s=WAIT_S)
    assert [True, True] == [one.applied for one in both]
    assert [] == await submission.submit_many([], deadline_s=WAIT_S)


async def test_many_submitted_count_as_one_with_the_bytes_of_all(
    store, applied, submission, monkeypatch
):
    """They take one place among the appends, and the room of their bodies and texts together."""
    monkeypatch.setattr(limits, "APPENDS_IN_FLIGHT_BYTES_MAX", 10)
    store.plain.log.append(declare("a"))
    applied.advance(Seq(99))
    query = replace(register(1, 1, sql="12"), text=RegisteredText("1", {}))
    many = [rows(1, body=b"1234"), query, rows(1, body=b"1")]
    with store.waiting("log", "append_many") as reached:
        first = asyncio.create_task(submission.submit_many(many, deadline_s=WAIT_S))
        assert await asyncio.to_thread(reached.wait, WAIT_S)
        found = submission.statistics()
        assert (1, 8) == (found.in_flight, found.bytes_in_flight)
        with pytest.raises(OverloadedError):
            await submission.submit_many([rows(1, body=b"123")], deadline_s=WAIT_S)
    assert [2, 3, 4] == [one.seq for one in await first]


async def test_many_submitted_without_an_answer_are_unknown(store, submission):
    """What has no answer by the deadline may still commit."""
    store.plain.log.append(declare("a"))
    with store.waiting("log", "append_many"), pytest.raises(CommitUnknownError):
        await submission.submit_many([rows(1)], deadline_s=0.05)
    assert 1 == submission.statistics().unknown


async def test_staged_parts_take_room_and_are_committed_together(
    store, applied, submission, monkeypatch
):
    """A part counts with its bytes on its way; a commit waits until its last entry is applied, and tells its rows."""
    monkeypatch.setattr(limits, "APPENDS_IN_FLIGHT_BYTES_MAX", 10)
    store.plain.log.append(declare("a"))
    parts = [staged(number, 1, body=b"1234567") for number in range(2)]
    with store.waiting("log", "stage") as reached:
        first = asyncio.create_task(submission.stage(parts[0], deadline_s=WAIT_S))
        assert await asyncio.to_thread(reached.wait, WAIT_S)
        with pytest.raises(OverloadedError):
            await submission.stage(parts[1], deadline_s=WAIT_S)
        await submission.carry_out(lambda log: log.discard(parts[1].stage_id), deadline_s=WAIT_S)
    assert START_US + limits.STAGE_LIFE_S * limits.SECOND_US == await first
    await submission.stage(parts[1], deadline_s=WAIT_S)
    both = commit(0, 1)
    applied.advance(Seq(2))
    late = await submission.commit(both, deadline_s=STORED_S)
    assert (3, 6, False, False) == (late.seq, late.rows, late.duplicate, late.applied)
    applied.advance(Seq(3))
    again = await submission.commit(both, deadline_s=WAIT_S)
    assert (3, 0, True, True) == (again.seq, again.rows, again.duplicate, again.applied)
    found = submission.statistics()
    assert (2, 1, 0) == (found.submitted, found.duplicates, found.bytes_in_flight)


async def test_what_adds_is_refused_where_there_is_no_room(store, applied):
    """Rows, parts and commits are; what lets go of parts is not."""

    def find_room() -> None:
        raise MemoryFullError("Full.")

    full = Submission(
        log=store.log,
        applied=applied,
        wake=lambda **_: None,
        at_hand=AtHand(),
        find_room=find_room,
        in_flight_max=4,
    )
    part = staged(1, 1)
    for adding in (
        full.submit(rows(1), deadline_s=WAIT_S),
        full.stage(part, deadline_s=WAIT_S),
        full.commit(commit(1), deadline_s=WAIT_S),
    ):
        with pytest.raises(MemoryFullError):
            await adding
    await full.carry_out(lambda log: log.discard(part.stage_id), deadline_s=WAIT_S)
    assert (3, 0) == (full.statistics().refused, full.statistics().submitted)
    await asyncio.to_thread(full.close)


async def test_steps_without_an_answer_say_what_to_do(store, submission):
    """What has no answer by the deadline is unknown: it may be done again, whatever it was."""
    store.plain.log.append(declare("a"))
    part = staged(1, 1)
    with store.waiting("log", "stage"), pytest.raises(CommitUnknownError, match="Stage the part"):
        await submission.stage(part, deadline_s=0.05)
    with store.waiting("log", "commit"), pytest.raises(CommitUnknownError, match="done once"):
        await submission.commit(commit(1), deadline_s=0.05)
    with store.waiting("log", "discard"), pytest.raises(CommitUnknownError, match="done once"):
        await submission.carry_out(lambda log: log.discard(part.stage_id), deadline_s=0.05)
