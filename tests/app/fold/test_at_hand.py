"""What this process has appended is folded without the log, by whom it is appended or by the loop."""

import contextlib

import pytest

from psoup.app.backend.at_hand import AtHand, AtHandStatistics
from psoup.app.backend.contract import Phase
from psoup.app.fold import loop as fold_loop
from psoup.app.fold.figures import FoldFigures
from psoup.app.fold.publishing import Publishing
from psoup.engine.engine import Engine
from psoup.engine.log.contract import Appended
from psoup.engine.log.operation import Drop, QueryId, Register, Replace, carried_bytes
from psoup.engine.query.parameters import RegisteredText
from psoup.engine.store.errors import CommitUnknownError, StoreFullError, StoreUnavailableError
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.schema import StreamId
from tests.patience import WAIT_S, wait_until
from tests.storage.samples import rows, txn


def test_a_row_is_folded_in_the_thread_that_has_appended_it(one):
    """It is shown when that thread goes on, and nobody has read the log."""
    one.until_it_rests()
    before = one.reads
    for value in (1, 2):
        one.append(value)
        one.loop.wake(at_hand=True, lone=True)
        assert list(range(1, value + 1)) == one.shown()
    assert before == one.reads


def test_the_loop_folds_what_is_at_hand_and_does_not_read_behind_it(one):
    """More than a little is the loop's; as long as nobody else appends it asks no store."""
    one.until_it_rests()
    before = one.reads
    seqs = [one.append(value) for value in range(100)]
    one.loop.wake(at_hand=True)
    one.folding.reach(seqs[-1])
    one.until_it_rests()
    assert list(range(100)) == one.shown()
    assert before == one.reads


def test_what_others_have_appended_is_read_from_the_log(one):
    """In front of what is at hand, and behind it, where somebody says so."""
    one.append(1, handed=False)
    one.append(2)
    one.loop.wake(at_hand=True, lone=True)
    one.folding.wait(4)
    one.append(3)
    one.append(4, handed=False)
    one.folding.wait(6)
    assert [1, 2, 3, 4] == one.shown()


def test_what_a_lost_life_of_the_store_has_confirmed_is_not_folded(one):
    """An append that was begun before the store was lost may be missing in it: the log decides."""
    life = one.hand.life
    one.hand.forget()
    one.append(1, life=life)
    assert 0 == one.hand.statistics().operations
    one.folding.wait(3)
    assert [1] == one.shown()


def test_a_bug_in_another_thread_ends_the_loop(one, monkeypatch):
    """As one in its own: nothing is published behind it."""
    one.until_it_rests()
    monkeypatch.setattr(Engine, "apply", lambda *_: 1 / 0)
    published = one.loop.figures().published
    one.append(1)
    one.loop.wake(at_hand=True, lone=True)
    one.loop._thread.join(WAIT_S)
    assert Phase.FAILED is one.loop.phase
    assert published == one.folding.store.plain.results.cut().seq


@pytest.mark.parametrize("error", [StoreUnavailableError("not the store's"), KeyboardInterrupt()])
def test_any_error_in_another_thread_ends_the_loop(one, monkeypatch, error):
    """Also one that looks like the store's, or that is no Exception: what was half done is not gone on from."""
    one.until_it_rests()

    def broken(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Engine, "apply", broken)
        one.append(1)
        with contextlib.suppress(KeyboardInterrupt):
            one.loop._fold.turn_here()
    one.loop.wake(at_hand=True)
    one.loop._thread.join(WAIT_S)
    assert Phase.FAILED is one.loop.phase
    assert 0 == one.loop.figures().retries


def test_nothing_is_folded_while_the_store_is_down(one, monkeypatch):
    """It may come back with less: it is compared first. Then rows are folded where they are appended again."""
    one.until_it_rests()
    monkeypatch.setattr(fold_loop, "RETRY_S_FIRST", 0.01)
    fold, life = one.loop._fold, one.hand.life
    with one.folding.store.failing("log", "read", StoreUnavailableError("away")) as again:
        one.loop.wake()
        assert again.wait(WAIT_S)
        one.append(1)
        assert not fold.is_open
        assert not fold.turn_here()
        assert [] == one.shown()
    wait_until(lambda: fold.is_open, "the store is back")
    assert one.hand.life > life, "what was at hand before is read from the log"
    one.folding.wait(3)
    assert [1] == one.shown()


@pytest.mark.parametrize(
    ("owner", "name", "answer"),
    [(Engine, "takes_little", False), (Publishing, "is_due", True), (FoldFigures, "is_due", True)],
)
def test_what_takes_longer_or_is_due_first_is_left_to_the_loop(
    one, monkeypatch, owner, name, answer
):
    """Nothing is shown by the thread that has appended, and nothing lost."""
    one.until_it_rests()
    one.append(1)
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, lambda *_: answer)
        assert not one.loop._fold.turn_here()
        assert [] == one.shown()
    one.loop.wake(at_hand=True)
    one.folding.wait(3)
    assert [1] == one.shown()


def test_what_the_loop_itself_appends_is_not_at_hand(one, monkeypatch):
    """So the log is read at once, not after a rest."""
    one.until_it_rests()
    fold = one.loop._fold
    with fold.turning:
        fold._due._due_next_s = 0.0
        monkeypatch.setattr(Engine, "due", lambda *_: True)
        assert fold.tick()
        monkeypatch.undo()
        assert not fold.has_all


def test_nothing_lags_once_all_is_folded(one):
    """By the loop, which reads nothing behind it."""
    one.until_it_rests()
    one.append(1)
    one.append(2)
    one.loop.wake(at_hand=True)
    one.folding.reach(4)
    one.until_it_rests()
    assert one.loop._fold._waiting_since_us is None
    turns = one.loop.statistics().turns
    assert one.loop._fold.turn_here()
    assert turns == one.loop.statistics().turns, "a turn without anything to fold is none"


def test_as_much_is_at_hand_as_there_is_room_for():
    """What finds none, or may have been stored or not, is said to be missing; refusals and duplicates are nothing."""
    hand = AtHand(operations_max=2, bytes_max=10)
    stored = [Appended(Seq(seq), 0, first_tuple_id=TupleId(1)) for seq in (5, 6, 7)]
    duplicate = Appended(Seq(1), 0, duplicate=True)
    assert hand.put([rows(1), rows(1, txn=txn())], [stored[0], duplicate], life=0)
    assert not hand.put([rows(1, body=b"seven b")], [stored[1]], life=0)
    assert not hand.put([rows(1)], [CommitUnknownError("lost")], life=0)
    assert not hand.put([rows(1)], [Appended(Seq(6), 0)], life=0), "its tuple id was not told"
    assert hand.put([rows(1)], [StoreFullError("no room")], life=0)
    text = "SELECT é FROM s"
    query = Register(QueryId("q_1"), text, {}, text=RegisteredText(text, {}))
    for one, nbytes in (
        (query, 32),
        (Replace(query), 32),
        (Drop(StreamId(1), "s", (QueryId("q_"),) * 9), 18),
    ):
        assert nbytes == carried_bytes(one)
        assert not hand.put([one], [stored[1]], life=0), "its texts find no room"
    assert hand.put([rows(1)], [stored[1]], life=0)
    assert not hand.put([rows(1, body=b"")], [stored[2]], life=0)
    hand.check()
    assert [] == hand.take(Seq(2), operations_max=9)
    assert [5] == [one.seq for one in hand.take(Seq(4), operations_max=1)]
    assert [] == hand.take(Seq(7), operations_max=9)
    assert AtHandStatistics(operations=0, nbytes=0, taken=1) == hand.statistics()
