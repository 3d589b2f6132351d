"""Staged parts and their commits by the Log's contract, the same cases over every store."""

import itertools

import pytest

from psoup.engine import limits
from psoup.engine.errors import (
    CommitTooLargeError,
    OverloadedError,
    StageMissingError,
    StaleDeclarationError,
    TxnContentDiffersError,
)
from psoup.engine.limits import STAGE_MARK_BYTES
from psoup.engine.log.operation import Drop, Rows, Tick, Txn, sum_digests
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from tests.storage.driver import apply_all
from tests.storage.samples import commit, declare, rows, stage_id, staged, txn


def entries(log, after=2):
    return log.read(after, operations_max=9_999, bytes_max=1 << 30)


def test_stage_is_beside_the_log(log):
    """A part adds no entry, can be read by nobody, and counts its bytes and a mark until it is discarded."""
    before = log.statistics()
    log.stage(staged(1, body=b"x" * 100))
    assert (2, [], []) == (log.head(), entries(log), list(log.held_batches(9)))
    found = log.statistics()
    assert (before.entries, before.bytes) == (found.entries, found.bytes)
    assert 100 + STAGE_MARK_BYTES == found.staged_bytes
    log.discard(stage_id(1))
    log.discard(stage_id(1))
    log.discard(stage_id(77))
    assert 0 == log.statistics().staged_bytes


def test_commit_is_a_group_of_consecutive_entries_of_one_time(log):
    """Parts of any streams follow each other in the order named; all but the last say that there is more."""
    log.stage(staged(1, 1, "a", count=3, body=b"first", content="x"))
    log.stage(staged(2, 2, "b", count=0, body=b"second", content="y"))
    log.stage(staged(3, 1, "a", count=5, body=b"third", content="z"))
    done = log.commit(commit(3, 1, 2, app="job", version=7))
    assert (5, False, 8) == (done.seq, done.duplicate, done.rows)
    read = entries(log)
    assert [3, 4, 5] == [one.seq for one in read]
    assert {done.arrival_us} == {one.arrival_us for one in read}
    assert [1, 6, 9] == [one.first_tuple_id for one in read]
    digests = {n: staged(1, content=n).digest for n in "xyz"}
    both = Txn("job", 7, sum_digests([digests["x"], digests["z"]]))
    assert [one.content for one in read] == [
        Rows(StreamId(1), "a", 5, b"third", both, more=True),
        Rows(StreamId(1), "a", 3, b"first", both, more=True),
        Rows(StreamId(2), "b", 0, b"second", Txn("job", 7, digests["y"])),
    ]
    assert [3, 4, 5] == list(log.held_batches(9))
    assert len(b"firstsecondthird") == log.statistics().bytes
    assert 9 == entries(log, log.append(rows(1)).seq - 1)[0].first_tuple_id


def test_commit_of_one_part_is_an_ordinary_batch(log):
    """Its one entry is the last one."""
    log.stage(staged(1))
    log.commit(commit(1))
    assert [False] == [one.content.more for one in entries(log)]


def test_commit_sent_again_after_its_answer_was_lost_is_a_duplicate(log):
    """Its parts are gone and have left marks: the answer is that of the original, and nothing is added."""
    log.stage(staged(1))
    log.stage(staged(2, 2, "b"))
    first = log.commit(commit(1, 2))
    again = log.commit(commit(1, 2))
    assert (first.seq, True, 0) == (again.seq, again.duplicate, again.rows)
    assert 4 == log.head()
    assert 2 * STAGE_MARK_BYTES == log.statistics().staged_bytes
    log.discard(stage_id(1))
    assert log.commit(commit(1, 2)).duplicate, "a committed part cannot be discarded"


def test_commit_sent_again_after_its_stream_was_dropped_is_a_duplicate(log):
    """It was committed, whatever became of the stream."""
    log.stage(staged(1))
    log.stage(staged(2, 2, "b"))
    first = log.commit(commit(1, 2))
    log.append(Drop(StreamId(1), "a"))
    assert (first.seq, True) == (log.commit(commit(1, 2)).seq, True)
    log.append(Drop(StreamId(2), "b"))
    assert (first.seq, True) == (log.commit(commit(2, 1)).seq, True)


def test_commit_repeated_with_other_parts_of_the_same_rows_is_a_duplicate(log):
    """The digests of parts add up: how the rows were cut, and in which order, does not matter."""
    for number, content in enumerate(("one", "two", "three"), start=1):
        log.stage(staged(number, content=content))
    first = log.commit(commit(1, 2, 3))
    log.stage(staged(4, content="three", body=b"another form"))
    whole = sum_digests([staged(1, content="one").digest, staged(2, content="two").digest])
    part = staged(5, body=b"one and two")
    log.stage(type(part)(part.stage_id, part.stream_id, part.name, 6, part.body, whole))
    again = log.commit(commit(4, 5))
    assert (first.seq, True, 0) == (again.seq, again.duplicate, again.rows)
    assert first.seq == log.head()
    assert 5 * STAGE_MARK_BYTES == log.statistics().staged_bytes, "what was sent again is dropped"
    assert log.commit(commit(4, 5)).duplicate, "the answer to a duplicate may be lost as well"


def test_commit_of_other_content_under_its_version_is_refused(log):
    """The parts stay: the client may commit them as another version."""
    log.stage(staged(1, content="one"))
    first = log.commit(commit(1))
    log.stage(staged(2, content="other"))
    with pytest.raises(TxnContentDiffersError) as refused:
        log.commit(commit(2))
    assert {"seq": first.seq} == refused.value.extras
    with pytest.raises(TxnContentDiffersError):
        log.commit(commit(1, 2))
    assert first.seq == log.head()
    assert not log.commit(commit(2, version=1)).duplicate


def test_commit_new_for_one_stream_and_known_for_another_is_refused(log):
    """It is not the one that was committed, which had no rows of the other stream."""
    log.stage(staged(1))
    first = log.commit(commit(1))
    log.stage(staged(2))
    log.stage(staged(3, 2, "b"))
    for numbers in ((2, 3), (3, 2), (1, 3)):
        with pytest.raises(TxnContentDiffersError) as refused:
            log.commit(commit(*numbers))
        assert {"seq": first.seq} == refused.value.extras
    assert first.seq == log.head()


def test_commit_below_the_last_version_is_a_duplicate_of_an_unknown_one(log):
    """Versions may have gaps; one that was jumped over is known by nothing."""
    log.stage(staged(1))
    log.commit(commit(1, version=9))
    log.stage(staged(2, content="anything"))
    again = log.commit(commit(2, version=4))
    assert (0, True) == (again.seq, again.duplicate)
    assert log.commit(commit(2, version=4)).duplicate


def test_commit_and_append_share_the_versions_of_an_app(log):
    """What /rows has committed as a version a commit repeats, and the other way round."""
    appended = log.append(rows(1, txn=txn("job", 3, "one")))
    log.stage(staged(1, content="one"))
    assert (appended.seq, True) == (log.commit(commit(1, version=3)).seq, True)
    log.stage(staged(2, content="two"))
    log.stage(staged(3, content="three"))
    done = log.commit(commit(2, 3, version=4))
    again = log.append(rows(1, txn=Txn("job", 4, entries(log)[-1].content.txn.digest)))
    assert (done.seq, True) == (again.seq, again.duplicate)
    with pytest.raises(TxnContentDiffersError):
        log.append(rows(1, txn=txn("job", 4, "two")))


def test_commit_of_parts_that_are_not_there_names_them(log):
    """Unknown, discarded, and committed as another version: the others stay, and nothing is stored."""
    for number in range(1, 5):
        log.stage(staged(number))
    log.discard(stage_id(2))
    log.commit(commit(3))
    with pytest.raises(StageMissingError) as refused:
        log.commit(commit(1, 2, 3, 4, 5, version=1))
    assert {"stages": [stage_id(n) for n in (2, 3, 5)]} == refused.value.extras
    with pytest.raises(StageMissingError):
        log.commit(commit(3, app="another"))
    assert 3 == log.head()
    assert 5 == log.commit(commit(1, 4, version=1)).seq


def test_commit_of_a_part_for_an_earlier_declaration_is_refused(log):
    """A stream that was declared anew since is another one."""
    log.stage(staged(1))
    log.append(Drop(StreamId(1), "a"))
    with pytest.raises(StaleDeclarationError):
        log.stage(staged(2))
    log.append(declare("a"))
    with pytest.raises(StageMissingError) as refused:
        log.commit(commit(1))
    assert {"stages": [stage_id(1)]} == refused.value.extras
    log.stage(staged(3, 4))
    assert 5 == log.commit(commit(3)).seq


def test_part_expires_and_is_swept_by_later_ones(log, monkeypatch):
    """At the end of its life it is as if it had never been; its bytes are free with the next call."""
    assert log.stage(staged(1)) > limits.STAGE_LIFE_S * 1_000_000
    monkeypatch.setattr(limits, "STAGE_LIFE_S", 0)
    log.discard(stage_id(1))
    log.stage(staged(2))
    with pytest.raises(StageMissingError):
        log.commit(commit(2))
    assert 0 == log.statistics().staged_bytes
    for number in range(3, 6):
        log.stage(staged(number, body=b"12345"))
    assert 5 + STAGE_MARK_BYTES == log.statistics().staged_bytes


def test_mark_expires_with_its_part(log, monkeypatch):
    """From then on the commit sent again names parts that are not there; its version is still known."""
    log.stage(staged(1))
    log.commit(commit(1))
    log.stage(staged(2))
    if hasattr(log, "_clock"):
        log._clock.advance(limits.STAGE_LIFE_S * 1_000_000)
    else:
        for number in (1, 2):
            log._client.fetch_one("HSET", f"{{ps}}:log:g:{stage_id(number)}", "x", "1")
    with pytest.raises(StageMissingError):
        log.commit(commit(1))
    assert 0 == log.statistics().staged_bytes
    log.stage(staged(3))
    assert log.commit(commit(3)).duplicate


def test_sweep_forgets_some_parts_a_call(log, monkeypatch):
    """However many have expired, a step is short; the rest goes with the next ones."""
    monkeypatch.setattr(limits, "STAGE_LIFE_S", 0)
    monkeypatch.setattr("psoup.storage.memory.staged_parts.SWEPT_PER_CALL", 1_000)
    for number in range(250):
        log.stage(staged(number, body=b""))
    monkeypatch.setattr(limits, "STAGE_LIFE_S", 3_600)
    for number in range(1_000, 1_005):
        log.stage(staged(number, body=b""))
        log.discard(stage_id(number))
    assert 0 == log.statistics().staged_bytes
    log.stage(staged(9_999, body=b""))
    assert 1 == log.commit(commit(9_999)).seq - 2


def test_part_staged_again_under_its_id_changes_nothing(log):
    """The answer is the same; so it is for a committed one, which stays committed."""
    expires = log.stage(staged(1, body=b"body"))
    assert expires == log.stage(staged(1, body=b"body"))
    assert 4 + STAGE_MARK_BYTES == log.statistics().staged_bytes
    first = log.commit(commit(1))
    assert expires == log.stage(staged(1, body=b"body"))
    assert first.seq == log.commit(commit(1)).seq == log.head()


def test_stage_over_the_bytes_for_it_is_refused_until_there_is_room(log, monkeypatch):
    """Bodies and marks count; a commit frees the bodies, a discard both."""
    monkeypatch.setattr(limits, "STAGED_BYTES_MAX", 2 * STAGE_MARK_BYTES + 10)
    log.stage(staged(1, body=b"12345"))
    log.stage(staged(2, body=b"12345"))
    with pytest.raises(OverloadedError) as refused:
        log.stage(staged(3, body=b""))
    assert {"reason": "staged-bytes", "retry_after_s": 5} == refused.value.extras
    log.discard(stage_id(1))
    log.stage(staged(3, body=b"12345"))
    log.commit(commit(2, 3))
    with pytest.raises(OverloadedError):
        log.stage(staged(4, body=b""))


def test_commit_over_its_bytes_is_refused(log, monkeypatch):
    """The parts stay, and can be committed as several versions."""
    monkeypatch.setattr(limits, "COMMIT_BYTES_MAX", 9)
    for number in range(3):
        log.stage(staged(number, body=b"12345"))
    with pytest.raises(CommitTooLargeError) as refused:
        log.commit(commit(0, 1))
    assert {"max_bytes": 9} == refused.value.extras
    assert 2 == log.head()
    assert [3, 4] == [log.commit(commit(number, version=number)).seq for number in (0, 1)]


def test_commit_over_a_full_backlog_is_refused_until_applied(store, log, monkeypatch):
    """As any append; a duplicate is answered all the same, and the parts wait."""
    monkeypatch.setattr(limits, "BACKLOG_OPERATIONS_MAX", 3)
    log.stage(staged(1))
    log.stage(staged(2, 2, "b"))
    log.stage(staged(3))
    log.commit(commit(1, 2))
    with pytest.raises(OverloadedError) as refused:
        log.commit(commit(3, version=1))
    assert {"reason": "backlog", "retry_after_s": 1} == refused.value.extras
    assert log.commit(commit(1, 2)).duplicate
    with pytest.raises(OverloadedError):
        log.append(Tick())
    apply_all(store)
    assert 5 == log.commit(commit(3, version=1)).seq


def test_commit_counts_as_waiting_until_it_is_applied(store, log, monkeypatch):
    """The bytes of all its bodies are in the backlog."""
    monkeypatch.setattr(limits, "BACKLOG_BYTES_MAX", 10)
    log.stage(staged(1, body=b"12345"))
    log.stage(staged(2, body=b"12345"))
    log.commit(commit(1, 2))
    with pytest.raises(OverloadedError):
        log.append(rows(1))
    apply_all(store)
    log.append(rows(1))


def test_commit_whose_last_batch_was_trimmed_leaves_a_sound_log(store, log):
    """Its batches are forgotten one by one, as their streams forget their tuples, whichever comes first."""
    log.stage(staged(1))
    log.stage(staged(2, 2, "b"))
    assert 4 == log.commit(commit(1, 2)).seq
    apply_all(store)
    log.trim(batches=[Seq(4)], below=Seq(3))
    assert [3] == list(log.held_batches(Seq(4)))
    log.check()
    assert 5 == log.append(rows(1)).seq


def test_commit_of_as_many_parts_as_there_may_be(log):
    """COMMIT_STAGES_MAX parts in one step, over several streams."""
    numbers = range(limits.COMMIT_STAGES_MAX)
    for number in numbers:
        log.stage(staged(number, *((1, "a"), (2, "b"))[number % 2], content=str(number)))
    done = log.commit(commit(*numbers))
    assert (limits.COMMIT_STAGES_MAX + 2, 3 * limits.COMMIT_STAGES_MAX) == (done.seq, done.rows)
    read = entries(log)
    assert [True] * (len(numbers) - 1) + [False] == [one.content.more for one in read]
    assert all(
        after.first_tuple_id == before.first_tuple_id + 3
        for before, after in itertools.pairwise(read)
    )
    with pytest.raises(StageMissingError) as refused:
        log.commit(commit(*range(5_000, 5_000 + limits.COMMIT_STAGES_MAX)))
    unknown = [stage_id(5_000 + number) for number in numbers]
    assert {"stages": unknown} == refused.value.extras
