"""What waits between the applied and the published position: when it goes, as what, and what a lost answer leaves."""

import dataclasses
import types

import pytest

from psoup.app.fold.publishing import Publishing, PublishStatistics
from psoup.engine import limits
from psoup.engine.results.delta import Delta
from psoup.engine.store.errors import StoreUnavailableError
from psoup.engine.tuples.batch import Seq


def delta(seq: int, **more) -> Delta:
    return Delta(Seq(seq - 1), Seq(seq), seq * 1_000, **more)


class Structure:
    """A Results Structure that keeps what it is given, and loses its answer where it is told to."""

    def __init__(self) -> None:
        self.taken: list[Delta] = []
        self.loses = ""

    def publish(self, one: Delta) -> None:
        if self.loses != "call":
            self.taken.append(one)
        if self.loses:
            raise StoreUnavailableError("away")

    def cut(self):
        return types.SimpleNamespace(seq=self.taken[-1].seq if self.taken else 0)


class Clock:
    """Seconds that pass when told to; `per_call` each time somebody asks."""

    def __init__(self) -> None:
        self.now_s, self.per_call = 100.0, 0.0

    def __call__(self) -> float:
        self.now_s += self.per_call
        return self.now_s


@pytest.fixture
def structure() -> Structure:
    return Structure()


@pytest.fixture
def clock() -> Clock:
    return Clock()


def publishing(structure: Structure, clock: Clock, *, each_turn: bool = False) -> Publishing:
    store = types.SimpleNamespace(results=structure)
    return Publishing(store, each_turn=each_turn, elapsed_s=clock)


def test_what_waits_is_due_once_the_first_of_it_has_waited(structure, clock):
    """Later deltas do not put off the first one's time; nothing is due where nothing waits."""
    one = publishing(structure, clock)
    assert not one.is_due()
    one.add(delta(1), 0)
    clock.now_s += limits.PUBLISH_AFTER_S / 2
    one.add(delta(2), 0)
    assert not one.is_due()
    clock.now_s += limits.PUBLISH_AFTER_S / 2
    assert one.is_due()
    one.publish()
    assert not one.is_due()
    one.add(delta(3), 0)
    assert not one.is_due()


@pytest.mark.parametrize("limit", ["PUBLISH_OPERATIONS_MAX", "PUBLISH_TOGETHER_BYTES_MAX"])
def test_what_has_become_much_is_due_before_its_time(structure, clock, monkeypatch, limit):
    """So many operations, or so many bytes of bodies, are published without a wait."""
    monkeypatch.setattr(limits, limit, 3)
    one = publishing(structure, clock)
    for seq in (1, 2):
        one.add(delta(seq), 1)
        assert not one.is_due()
    one.add(delta(3), 1)
    assert one.is_due()


def test_hits_count_as_bytes_that_wait(structure, clock):
    """Pages weigh what their arrays do, bodies their bytes."""
    one = publishing(structure, clock)
    page = types.SimpleNamespace(nbytes=70)
    one.add(delta(1, pages={(1, 0): page}, blocks={(1, 0): page}), 5)
    assert 145 == one.statistics().waiting_bytes


def test_each_turn_is_due_at_once(structure, clock):
    """Where nobody is shown what is applied, nothing waits."""
    one = publishing(structure, clock, each_turn=True)
    assert not one.is_due()
    one.add(delta(1), 0)
    assert one.is_due()


def test_publish_sends_one_delta_for_all_that_waits(structure, clock):
    """Several deltas become one from the published to the applied position."""
    one = publishing(structure, clock)
    one.begin(Seq(4))
    assert one.publish() is None
    for seq in (5, 6, 7):
        one.add(delta(seq), 10)
    sent = one.publish()
    assert [sent] == structure.taken
    assert sent is not None
    assert (4, 7, 7_000) == (sent.expect, sent.seq, sent.arrival_us)
    assert 7 == one.published
    one.check(Seq(7))


def test_statistics_count_publishes_and_their_seconds(structure, clock):
    """Only what the store has taken counts; the longest is kept."""
    one = publishing(structure, clock)
    for seq, seconds in ((1, 0.25), (2, 2.0), (3, 0.5)):
        clock.per_call = 0.0
        one.add(delta(seq), 8)
        assert (1, 8) == (one.statistics().waiting, one.statistics().waiting_bytes)
        clock.per_call = seconds
        one.publish()
    assert PublishStatistics(3, 2.75, 2.0, 0, 0) == one.statistics()


@pytest.mark.parametrize("loses", ["call", "answer"])
def test_delta_whose_answer_was_lost_is_published_again_as_it_was(structure, clock, loses):
    """Whether or not the store has taken it: the same delta goes first, and is due at once."""
    one = publishing(structure, clock)
    one.add(delta(1), 0)
    one.add(delta(2), 0)
    structure.loses = loses
    with pytest.raises(StoreUnavailableError):
        one.publish()
    assert (True, 0, 0) == (one.is_due(), one.published, one.statistics().publishes)
    structure.loses = ""
    sent = one.publish()
    assert {2} == {each.seq for each in structure.taken}
    assert all(sent is each for each in structure.taken)
    assert (2, 1) == (one.published, one.statistics().publishes)


def test_settle_takes_out_of_doubt_what_the_store_shows_and_nothing_else(structure, clock):
    """A store that shows the delta has taken it; one that does not gets it again."""
    one = publishing(structure, clock)
    assert one.settle(Seq(0)) is None
    one.add(delta(1), 0)
    assert one.settle(Seq(1)) is None, "it was never sent"
    structure.loses = "answer"
    with pytest.raises(StoreUnavailableError):
        one.publish()
    assert one.settle(Seq(0)) is None
    assert structure.taken == [one.settle(Seq(1))]
    assert (1, None, False) == (one.published, one.publish(), one.is_due())
    one.check(Seq(1))


def test_check_finds_a_gap_and_a_store_that_stands_elsewhere(structure, clock):
    """Its invariants can fail."""
    one = publishing(structure, clock)
    one.add(delta(1), 0)
    one.check(Seq(1))
    with pytest.raises(AssertionError, match="leads to 1"):
        one.check(Seq(2))
    one.add(dataclasses.replace(delta(3)), 0)
    with pytest.raises(AssertionError, match="a delta follows 2"):
        one.check(Seq(3))
    other = publishing(structure, clock)
    structure.taken.append(delta(1))
    with pytest.raises(AssertionError, match="store's applied one"):
        other.check(Seq(0))
    structure.loses = "call"
    other.begin(Seq(1))
    other.add(delta(2), 0)
    with pytest.raises(StoreUnavailableError):
        other.publish()
    other.add(delta(3), 0)
    with pytest.raises(AssertionError, match="in doubt"):
        other.check(Seq(3))
