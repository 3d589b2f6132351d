"""Appends that travel together: what gathers, what leaves, and that each keeps its own outcome."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, strategies as st

from psoup.app.backend.appender import Appender
from psoup.app.backend.applied import AppliedPosition
from psoup.app.backend.at_hand import AtHand
from psoup.app.backend.submission import Submission
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.errors import EngineError, OverloadedError
from psoup.engine.log.operation import Content, Remove, Tick
from psoup.engine.store.errors import CommitUnknownError, StoreUnavailableError
from psoup.engine.tuples.batch import Seq
from psoup.storage.memory.log import MemoryLog
from tests.app.support import START_US
from tests.patience import WAIT_S
from tests.storage.samples import declare, query_id, register, rows, txn

pytestmark = pytest.mark.anyio


class Calls:
    """A log on memory that notes its calls, and holds them up or fails them as a test says."""

    def __init__(self) -> None:
        self.log = MemoryLog(ManualClock(START_US))
        self.made: list[Sequence[Content]] = []
        self.errors: dict[int, Exception] = {}
        """What call n raises, from 1, after it has stored its operations."""
        self.head_error: EngineError | None = None
        self._open = threading.Event()
        self._open.set()
        self._reached = threading.Semaphore(0)

    def append_many(self, contents: Sequence[Content]) -> Any:
        self.made.append(contents)
        number = len(self.made)
        self._reached.release()
        assert self._open.wait(WAIT_S), "the test let the call go"
        outcomes = self.log.append_many(contents)
        if number in self.errors:
            raise self.errors[number]
        return outcomes

    def append_at_once(self, _: Content) -> None:
        return None

    def head(self) -> Seq:
        if self.head_error is not None:
            raise self.head_error
        return self.log.head()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold calls up until the block ends."""
        self._open.clear()
        try:
            yield
        finally:
            self._open.set()

    async def reached(self) -> None:
        """Return once one more call has begun."""
        assert await asyncio.to_thread(self._reached.acquire, timeout=WAIT_S)


class Ordered(Calls):
    """Notes what was appended and what became of it, in the order of the log."""

    def __init__(self) -> None:
        super().__init__()
        self.order: list[tuple[Content, Any]] = []

    def append_many(self, contents: Sequence[Content]) -> Any:
        with self.log.lock:
            outcomes = self.log.append_many(contents)
            self.order.extend(zip(contents, outcomes, strict=True))
            return outcomes


@pytest.fixture
def calls() -> Calls:
    found = Calls()
    found.log.append(declare("a"))
    return found


@pytest.fixture
async def appender(calls: Calls) -> AsyncIterator[Appender]:
    with ThreadPoolExecutor(8) as threads:
        one = Appender(calls, start=threads.submit, wake=lambda **_: None, at_hand=AtHand())  # type: ignore[arg-type]
        yield one
    one.check()
    assert 0 == one.statistics().waiting


def append(appender: Appender, *contents: Content, nbytes: int = 1) -> "asyncio.Future[Any]":
    return appender.append(contents, nbytes)


def said(outcome: Any) -> Any:
    """Return what became of an operation: its position and whether it was one already, or the code of its refusal."""
    if isinstance(outcome, EngineError):
        return outcome.code
    appended, shown_at = outcome
    return shown_at, appended.duplicate


async def test_lone_append_is_a_call_of_its_own(calls, appender):
    """One after the other: nothing is waited for, and nothing gathers."""
    for number in range(3):
        (outcome,) = await append(appender, rows(1))
        assert (2 + number, False) == said(outcome)
    assert [1, 1, 1] == [len(made) for made in calls.made]
    found = appender.statistics()
    assert (0, 3, 3, 0) == (found.waiting, found.calls, found.operations, found.withdrawn)


async def test_what_comes_during_a_call_goes_in_the_next_one(calls, appender):
    """Each keeps its own seq and outcome, in the order they came; a refused or repeated one harms no other."""
    with calls.held():
        first = append(appender, rows(1, txn=txn()))
        await calls.reached()
        others = [
            append(appender, content)
            for content in (
                rows(1),
                rows(9),
                rows(1, txn=txn()),
                rows(1, txn=txn(content="other")),
                rows(1, txn=txn(version=1)),
                rows(1, txn=txn(version=1)),
                Remove(query_id(1)),
                declare("b"),
                Tick(),
            )
        ]
        assert 9 == appender.statistics().waiting
        appender.check()
    assert [(2, False)] == list(map(said, await first))
    assert [
        (3, False),
        "stale-declaration",
        (2, True),
        "txn-content-differs",
        (4, False),
        (4, True),
        "not-found",
        (5, False),
        (6, False),
    ] == [said((await one)[0]) for one in others]
    assert [1, 9] == [len(made) for made in calls.made]


async def test_call_without_an_answer_is_unknown_to_those_in_it_alone(calls, appender):
    """Those before it and those that gather behind it have their own outcomes."""
    calls.errors[2] = CommitUnknownError("The answer was lost.")
    (before,) = await append(appender, rows(1))
    with calls.held():
        leading = append(appender, rows(1))
        await calls.reached()
        await calls.reached()
        behind = [append(appender, rows(1)) for _ in range(3)]
    with pytest.raises(CommitUnknownError):
        await leading
    assert [(2, False), (4, False), (5, False), (6, False)] == [
        said(one) for one in (before, *[(await one)[0] for one in behind])
    ]


async def test_error_of_a_call_is_told_to_each_in_it(calls, appender):
    """Whatever a call raises: nobody waits for ever, and the next call is made."""
    calls.errors = {2: StoreUnavailableError("Away."), 3: AssertionError("a bug")}
    for expected in (StoreUnavailableError, AssertionError):
        with calls.held():
            leading = append(appender, Tick())
            await calls.reached()
            both = [append(appender, rows(1)) for _ in range(2)]
        outcomes = await asyncio.gather(leading, *both, return_exceptions=True)
        assert expected in map(type, outcomes)
        assert type(outcomes[1]) is type(outcomes[2]), "they went together"
    assert 1 == len(await append(appender, rows(1)))


async def test_unknown_original_is_as_far_as_the_head_and_its_own_matter(calls, appender):
    """Where the head cannot be read, the duplicate that needs it is told so; those beside it are stored."""
    for version in (1, 9):
        await append(appender, rows(1, txn=txn(version=version)))
    old = rows(1, txn=txn(version=4))
    assert [(3, True)] == list(map(said, await append(appender, old)))
    calls.head_error = StoreUnavailableError("Away.")
    together = await append(appender, rows(1), old, rows(1))
    assert [(4, False), "store-unavailable", (5, False)] == list(map(said, together))


async def test_append_that_was_not_sent_can_be_withdrawn(calls, appender):
    """It is never stored; one that was sent goes on."""
    with calls.held():
        sent = append(appender, rows(1))
        await calls.reached()
        waiting = [append(appender, rows(1, count=number)) for number in (1, 2, 3)]
        assert [False, True, False] == [
            appender.withdraw(one) for one in (sent, waiting[1], waiting[1])
        ]
        appender.check()
    assert waiting[1].cancelled()
    assert [(2, False), (3, False), (4, False)] == [
        said((await one)[0]) for one in (sent, waiting[0], waiting[2])
    ]
    assert [1, 3] == [content.rows for content in calls.made[1]]
    assert 1 == appender.statistics().withdrawn


@pytest.mark.parametrize("full", ["operations", "bytes"])
async def test_full_group_leaves_beside_a_call(calls, appender, monkeypatch, full):
    """What fills a call does not wait for another; what is left over does, and nobody overtakes within a group."""
    monkeypatch.setattr(limits, "FOLD_OPERATIONS_MAX", 4 if full == "operations" else 99)
    monkeypatch.setattr(limits, "APPENDS_TOGETHER_BYTES_MAX", 4 if full == "bytes" else 99)
    with calls.held():
        first = append(appender, Tick())
        await calls.reached()
        filling = [append(appender, rows(1, count=number)) for number in range(4)]
        await calls.reached()
        left = append(appender, Tick())
        assert [1, 4] == [len(made) for made in calls.made]
        assert 1 == appender.statistics().waiting
    await asyncio.gather(first, *filling, left)
    assert [0, 1, 2, 3] == [content.rows for content in calls.made[1]]
    assert [1, 4, 1] == [len(made) for made in calls.made]


async def test_append_larger_than_a_group_goes_by_itself(calls, appender, monkeypatch):
    """Its operations stay together and in their order; small ones that waited before it leave before it."""
    monkeypatch.setattr(limits, "FOLD_OPERATIONS_MAX", 4)
    many = [register(number, 1) for number in range(9)]
    with calls.held():
        first = append(appender, Tick())
        await calls.reached()
        small = append(appender, rows(1))
        large = append(appender, *many, nbytes=9)
        await calls.reached()
        await calls.reached()
    await asyncio.gather(first, small)
    seqs = [shown_at for _, shown_at in await large]
    assert list(range(seqs[0], seqs[0] + 9)) == seqs
    assert sorted(map(len, calls.made)) == [1, 1, 9]
    assert many in [list(made) for made in calls.made]


CONTENTS = st.sampled_from(
    [
        rows(1),
        rows(9),
        *(rows(1, txn=txn(app, version)) for app in "xy" for version in (1, 2)),
        rows(1, txn=txn("x", 1, "other")),
        *(register(number, 1, name=name) for number, name in ((1, "n"), (2, "n"), (3, None))),
        *(Remove(query_id(number)) for number in (1, 3)),
        *(declare(name, columns) for name, columns in (("b", 1), ("b", 2), ("c", 1))),
        Tick(),
    ]
)
CALLERS = st.lists(
    st.lists(st.lists(CONTENTS, min_size=1, max_size=3), max_size=5), min_size=1, max_size=8
)
"""By caller: appends one after the other, each of one or more operations."""


@given(callers=CALLERS, count_max=st.integers(1, 6))
async def test_any_interleaving_is_as_one_after_the_other(callers, count_max):
    """Whoever travels with whom: outcomes are those of one after the other, and told to whom they concern."""
    calls = Ordered()
    calls.log.append(declare("a"))
    told: list[tuple[Content, Any]] = []

    async def send(one: Appender, appends: Sequence[Sequence[Content]]) -> None:
        for contents in appends:
            told.extend(zip(contents, await append(one, *contents), strict=True))

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(4) as threads:
        patch.setattr(limits, "FOLD_OPERATIONS_MAX", count_max)
        together = Appender(calls, start=threads.submit, wake=lambda **_: None, at_hand=AtHand())  # type: ignore[arg-type]
        await asyncio.gather(*(send(together, appends) for appends in callers))
        together.check()
    order = calls.order
    model = MemoryLog(ManualClock(START_US))
    model.append(declare("a"))
    expected = model.append_many([content for content, _ in order])
    assert list(map(plain_of, expected)) == [plain_of(outcome) for _, outcome in order]
    of = {id(outcome): content for content, outcome in order}
    assert len(of) == len(told) == sum(len(one) for appends in callers for one in appends)
    for content, outcome in told:
        assert of[id(outcome if isinstance(outcome, EngineError) else outcome[0])] is content
    calls.log.check()


def plain_of(outcome: Any) -> Any:
    """Return what became of an operation, errors as values."""
    if isinstance(outcome, EngineError):
        return outcome.code, dict(outcome.extras)
    return outcome


@pytest.fixture
async def submission(calls: Calls) -> AsyncIterator[Submission]:
    applied = AppliedPosition(asyncio.get_running_loop())
    applied.advance(Seq(999))
    one = Submission(
        log=calls,  # type: ignore[arg-type]
        applied=applied,
        wake=lambda **_: None,
        at_hand=AtHand(),
        find_room=lambda: None,
        in_flight_max=8,
    )
    yield one
    await asyncio.to_thread(one.close)
    one.check()


async def test_deadline_of_what_was_not_sent_is_a_definite_refusal(calls, submission):
    """An operation whose turn did not come is not stored, and its sender knows; one that was sent is unknown."""
    with calls.held():
        sent = asyncio.create_task(submission.submit(rows(1), deadline_s=1.0))
        await calls.reached()
        with pytest.raises(OverloadedError) as refused:
            await submission.submit(rows(1, count=7), deadline_s=0.01)
        assert "deadline" == refused.value.extras["reason"]
        with pytest.raises(CommitUnknownError):
            await sent
    assert 3 == (await submission.submit(rows(1), deadline_s=WAIT_S)).seq
    assert [[3], [3]] == [[content.rows for content in made] for made in calls.made]
    found = submission.statistics()
    assert (1, 1, 0, 0) == (found.refused, found.unknown, found.gathering, found.in_flight)


async def test_client_that_goes_takes_back_what_was_not_sent(calls, submission):
    """An append that was sent is finished; one that waits for its turn is not made for nobody."""
    with calls.held():
        sent = asyncio.create_task(submission.submit(rows(1, count=1), deadline_s=WAIT_S))
        await calls.reached()
        waiting = asyncio.create_task(submission.submit(rows(1, count=2), deadline_s=WAIT_S))
        await asyncio.sleep(0)
        for task in (sent, waiting):
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        assert (1, 0) == (submission.statistics().in_flight, submission.statistics().gathering)
    assert 3 == (await submission.submit(rows(1), deadline_s=WAIT_S)).seq
    assert [1, 3] == [content.rows for made in calls.made for content in made]


async def test_closing_waits_for_what_gathers(calls):
    """What was taken is appended before the submission is closed."""
    applied = AppliedPosition(asyncio.get_running_loop())
    one = Submission(
        log=calls,
        applied=applied,
        wake=lambda **_: None,
        at_hand=AtHand(),
        find_room=lambda: None,
        in_flight_max=8,
    )
    with calls.held():
        tasks = [asyncio.create_task(one.submit(rows(1), deadline_s=WAIT_S)) for _ in range(4)]
        await calls.reached()
        closing = asyncio.create_task(asyncio.to_thread(one.close))
        await asyncio.sleep(0)
    await closing
    applied.advance(Seq(5))
    assert [2, 3, 4, 5] == sorted(one.seq for one in await asyncio.gather(*tasks))
    assert [1, 3] == [len(made) for made in calls.made]


async def test_invariants_that_are_broken_are_told(calls, appender):
    """Something waits and no call is under way to take it along."""
    appender.check()
    appender._count = 1
    with pytest.raises(AssertionError, match="counted"):
        appender.check()
    appender._count = 0
