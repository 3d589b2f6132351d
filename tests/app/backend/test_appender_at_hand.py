"""What an append tells the fold: that its operations are at hand, and whether its thread has nothing else to do."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import pytest

from psoup.app.backend.appender import Appender
from psoup.app.backend.at_hand import AtHand
from psoup.engine.errors import EngineError, StaleDeclarationError
from psoup.engine.log.operation import Content
from psoup.engine.store.errors import CommitUnknownError, StoreUnavailableError
from psoup.engine.tuples.batch import Seq
from tests.app.backend.test_appender import Calls
from tests.storage.samples import declare, request_key, rows, txn

pytestmark = pytest.mark.anyio


class Told(NamedTuple):
    """One call of `wake`."""

    at_hand: bool
    lone: bool


class AtOnce(Calls):
    """A log on memory that appends at once, and forgets what is at hand before its next answer where it is to."""

    def __init__(self, hand: AtHand) -> None:
        super().__init__()
        self.hand, self.is_lost = hand, False
        self.error: EngineError | None = None
        self.log.append(declare("a"))

    def append_many(self, contents: Sequence[Content]) -> Any:
        outcomes = super().append_many(contents)
        if self.is_lost:
            self.hand.forget()
        if self.error is not None:
            raise self.error
        return outcomes

    def append_at_once(self, content: Content) -> Any:
        outcome = self.log.append_at_once(content)
        if self.is_lost:
            self.hand.forget()
        return outcome


class Fold:
    """An appender, what it has at hand, and what it told."""

    def __init__(self, threads: ThreadPoolExecutor) -> None:
        self.hand, self.told = AtHand(), list[Told]()
        self.log = AtOnce(self.hand)
        self.appender = Appender(
            self.log,  # type: ignore[arg-type]
            start=threads.submit,
            wake=lambda *, at_hand=False, lone=False: self.told.append(Told(at_hand, lone)),
            at_hand=self.hand,
        )

    def seqs(self) -> list[Seq]:
        return [one.seq for one in self.hand.take(Seq(1), operations_max=9)]


@pytest.fixture
async def fold() -> AsyncIterator[Fold]:
    with ThreadPoolExecutor(8) as threads:
        yield Fold(threads)


async def test_an_append_is_at_hand_when_the_fold_is_told(fold):
    """By a thread and at once; nothing else waits, so the one that has appended may fold it."""
    await fold.appender.append([rows(1)], 1)
    assert fold.appender.append_at_once([rows(1)]) is not None
    assert [Told(at_hand=True, lone=True)] * 2 == fold.told
    assert [2, 3] == fold.seqs()


async def test_a_thread_that_has_another_group_to_carry_is_not_alone(fold):
    """Folding would hold up what has gathered meanwhile."""
    with fold.log.held():
        first = fold.appender.append([rows(1)], 1)
        await fold.log.reached()
        others = [fold.appender.append([rows(1)], 1) for _ in range(2)]
    await asyncio.gather(first, *others)
    assert [Told(at_hand=True, lone=False), Told(at_hand=True, lone=True)] == fold.told


@pytest.mark.parametrize("at_once", [False, True])
async def test_what_was_begun_in_another_life_of_the_store_is_not_at_hand(fold, at_once):
    """The store was lost while it answered: the log is to say what it has kept."""
    fold.log.is_lost = True
    if at_once:
        assert fold.appender.append_at_once([rows(1)]) is not None
    else:
        await fold.appender.append([rows(1)], 1)
    assert [Told(at_hand=False, lone=False)] == fold.told
    assert [] == fold.seqs()


@pytest.mark.parametrize("error", [CommitUnknownError("lost"), StoreUnavailableError("away")])
async def test_an_append_that_failed_or_may_have_is_not_at_hand(fold, error):
    """The log is to say what it has: here it has stored the row, and nobody was told so."""
    fold.log.error = error
    with pytest.raises(type(error)):
        await fold.appender.append([rows(1)], 1)
    assert [Told(at_hand=False, lone=False)] == fold.told
    assert [] == fold.seqs()
    assert 2 == fold.log.log.head()


async def test_what_was_refused_or_stored_before_is_nothing_to_read(fold):
    """Of two operations that were not stored, and one that was, all is at hand."""
    contents = [rows(1, txn=txn()), rows(1, txn=txn()), rows(9)]
    outcomes = await fold.appender.append(contents, 1)
    assert [False, True] == [shown[0].duplicate for shown in outcomes[:2]]
    assert isinstance(outcomes[2], StaleDeclarationError)
    assert [Told(at_hand=True, lone=True)] == fold.told
    assert [2] == fold.seqs()


@pytest.mark.parametrize(
    "contents",
    [[rows(1, txn=txn())], [rows(1, key=request_key())], [declare("b")], [rows(1), rows(1)]],
    ids=["producer", "key", "declaration", "two"],
)
async def test_what_may_be_a_duplicate_or_is_no_lone_batch_is_not_appended_at_once(fold, contents):
    """It goes the way of all appends."""
    assert fold.appender.append_at_once(contents) is None
    assert [] == fold.told
    assert fold.log.log.head() == 1
