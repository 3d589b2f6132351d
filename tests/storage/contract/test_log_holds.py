"""Holds and what they keep, by the Log's contract, the same cases over every store."""

import pytest

from psoup.engine.errors import IntegrityError, NotFoundError
from psoup.engine.log.contract import LoggedBatch
from psoup.engine.log.operation import Drop, Tick
from psoup.engine.store.contract import Store
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from tests.storage.driver import apply_all
from tests.storage.samples import commit, declare, rows, staged

A, B = StreamId(1), StreamId(2)


@pytest.fixture
def log(store: Store):
    """The log of each kind of store: streams 1 and 2, and published batches 3, 5, 7 of one, 4, 6 of the other."""
    store.log.append(declare("a"))
    store.log.append(declare("b"))
    for number in range(5):
        store.log.append(rows(*((1, "a"), (2, "b"))[number % 2], body=b"x" * number))
    apply_all(store)
    yield store.log
    store.log.check()


def trim(log, *seqs):
    return log.trim(batches=seqs, below=Seq(1))


def of(log, stream_id, after=0, up_to=99, limit=None):
    return list(log.batches_of(stream_id, after=Seq(after), up_to=Seq(up_to), limit=limit))


def seqs_of(log, *arguments, **more):
    return [batch.seq for batch in of(log, *arguments, **more)]


def test_batches_of_a_stream_are_those_in_the_log(log):
    """Between two positions, ascending, as many as wanted, with their sizes; none that was trimmed."""
    expected = [LoggedBatch(Seq(seq), size) for seq, size in ((3, 0), (5, 2), (7, 4))]
    assert expected == of(log, A)
    assert [4, 6] == seqs_of(log, B)
    assert [5] == seqs_of(log, A, after=3, up_to=6)
    assert [3, 5] == seqs_of(log, A, limit=2)
    assert [] == seqs_of(log, A, limit=0)
    assert [] == seqs_of(log, A, after=7)
    assert [] == seqs_of(log, A, after=9, up_to=4)
    assert [] == seqs_of(log, StreamId(9))
    trim(log, 5)
    assert [3, 7] == seqs_of(log, A)


def test_batches_of_a_stream_are_found_among_few_and_many_positions(log, monkeypatch):
    """However far apart they lie, and however many positions are looked at together."""
    monkeypatch.setattr("psoup.storage.redis.log.SEQS_PER_LOOK", 2)
    for number in range(12):
        log.append(Tick() if number % 3 else rows(1, body=b"12"))
    expected = [3, 5, 7, 8, 11, 14, 17]
    for up_to in (19, 10_000):
        assert expected == seqs_of(log, A, up_to=up_to)
        assert expected[1:4] == seqs_of(log, A, after=3, up_to=up_to, limit=3)


def test_batches_of_a_commit_are_the_streams(log):
    """Each entry of a group is a batch of its stream."""
    log.stage(staged(1))
    log.stage(staged(2, 2, "b"))
    log.commit(commit(1, 2))
    assert ([3, 5, 7, 8], [4, 6, 9]) == (seqs_of(log, A), seqs_of(log, B))


def test_held_batches_past_the_hold_are_not_trimmed(log):
    """What was to be trimmed and is held is answered by stream; the rest goes."""
    assert 3 == log.hold(A, Seq(3))
    assert {A: 3} == log.holds()
    assert {A: [5, 7]} == trim(log, 7, 3, 4, 5, 5)
    assert ([5, 7], [6]) == (seqs_of(log, A), seqs_of(log, B))
    assert {A: [5]} == trim(log, 5)
    assert 5 == log.hold(A, Seq(5))
    assert {A: [7]} == trim(log, 5, 7)
    log.unhold(A)
    log.unhold(A)
    assert {} == trim(log, 7)
    assert [6] == list(log.held_batches(Seq(99)))


def test_trimmed_through_is_the_largest_that_went(store, log):
    """In whatever order batches go; what a hold keeps is not gone, and a stream declared anew has lost none."""
    assert (0, 0) == (log.trimmed_through(A), log.trimmed_through(B))
    empty = log.append(rows(1, count=0)).seq
    log.stage(staged(1, count=0))
    empties = [empty, log.commit(commit(1)).seq]
    apply_all(store)
    log.check()
    trim(log, *empties)
    assert 0 == log.trimmed_through(A), "what had no rows is missed by nobody"
    log.hold(A, Seq(5))
    trim(log, 7, 5, 6, 2)
    assert (5, 6) == (log.trimmed_through(A), log.trimmed_through(B))
    trim(log, 3, 4, 5)
    assert (5, 6) == (log.trimmed_through(A), log.trimmed_through(B))
    log.unhold(A)
    log.append(Drop(A, "a"))
    assert (0, 6) == (log.trimmed_through(A), log.trimmed_through(B))
    trim(log, 7)
    log.append(declare("a"))
    assert 0 == log.trimmed_through(A)
    log.check()


def test_hold_never_goes_back(log):
    """A smaller position than the one there is changes nothing; a stream that was let go begins anew."""
    log.hold(A, Seq(5))
    assert 5 == log.hold(A, Seq(3))
    log.hold(B, Seq(0))
    assert {A: 5, B: 0} == log.holds()
    log.unhold(A)
    assert 3 == log.hold(A, Seq(3))


def test_hold_of_what_is_not_there_is_refused(log):
    """A stream that is not in force, and a position that has not come."""
    with pytest.raises(NotFoundError):
        log.hold(StreamId(9), Seq(1))
    with pytest.raises(IntegrityError):
        log.hold(A, Seq(8))
    assert {} == log.holds()


def test_hold_ends_with_its_stream(store, log):
    """A dropped stream keeps nothing; its namesake is another one."""
    log.hold(A, Seq(0))
    log.append(Drop(A, "a"))
    assert {} == log.holds()
    with pytest.raises(NotFoundError):
        log.hold(A, Seq(0))
    assert {} == trim(log, 3, 5, 7)
    log.append(declare("a"))
    assert {} == log.holds()


def test_trim_of_many_held_batches_takes_several_calls(store, log):
    """More than one Function call may carry is looked at all the same, each once."""
    log.hold(A, Seq(7))
    first = log.head() + 1
    for _ in range(1_100):
        log.append(rows(1, count=0, body=b""))
    apply_all(store)
    wanted = list(range(first, first + 1_100))
    assert {A: wanted} == trim(log, *wanted)
    log.hold(A, Seq(first + 599))
    assert {A: wanted[600:]} == trim(log, *wanted)
