"""Histories by their contract, the same cases over every store."""

import pytest

from psoup.engine import limits
from psoup.engine.errors import (
    AnswerTooLargeError,
    HistoryPartsMissingError,
    HistoryTakenError,
    NotFoundError,
    OverloadedError,
)
from psoup.engine.limits import HISTORY_CLAIM_S, HISTORY_LIFE_S, SECOND_US
from psoup.engine.log.operation import Drop, Remove, Tick
from psoup.engine.store.archive_answers import HistoryPart, HistoryState
from psoup.engine.store.contract import Store
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from tests.storage.driver import apply_all
from tests.storage.histories import (
    OTHER,
    WORKER,
    asked,
    claimed,
    finished,
    history_id,
    part,
    pass_time,
    refused,
    with_queries,
)
from tests.storage.samples import query_id


@pytest.fixture
def histories(store: Store):
    """The histories of each kind of store, with queries 1 to 3, as they have to be at the end as well."""
    with_queries(store)
    yield store.histories
    store.histories.check()
    store.log.check()


def test_history_begins_once_for_a_query_and_an_instant(store, histories):
    """Whoever comes second gets what the first has begun; another instant, or query, is another one."""
    begun = histories.begin(asked(store, 1))
    assert HistoryState.QUEUED is begun.state
    assert asked(store, 1) == begun.asked
    assert begun.expires_us - begun.asked_us == HISTORY_LIFE_S * SECOND_US
    assert begun.asked == histories.begin(asked(store, 2)).asked
    assert history_id(3) == histories.begin(asked(store, 3, now_us=50)).asked.history_id
    assert history_id(4) == histories.begin(asked(store, 4, query=2)).asked.history_id
    assert [1, 3, 4] == [int(one.asked.history_id[2:]) for one in histories.all()]
    assert begun.asked == histories.find(query_id(1), None).asked
    assert history_id(3) == histories.find(query_id(1), 50).asked.history_id
    assert begun.asked == histories.get(history_id(1)).asked
    assert histories.find(query_id(3), None) is None
    assert histories.get(history_id(2)) is None


def test_history_is_replaced_by_name_alone(store, histories):
    """Of two that replace the same one, the second finds what the first has begun."""
    finished(store, 1)
    again = histories.begin(asked(store, 2), replaces=history_id(1))
    assert (history_id(2), HistoryState.QUEUED) == (again.asked.history_id, again.state)
    assert again.asked == histories.begin(asked(store, 3), replaces=history_id(1)).asked
    assert histories.get(history_id(1)) is None
    assert histories.body(history_id(1), 0) is None
    assert (1, 0) == (histories.statistics().count, histories.statistics().nbytes)


def test_history_of_no_query_is_refused(store, histories):
    """A query that has gone meanwhile has no history."""
    assert NotFoundError is refused(lambda: histories.begin(asked(store, 1, query=9)))
    assert 0 == histories.statistics().count


def test_histories_have_a_number(store, histories, monkeypatch):
    """One more than there may be is refused; what replaces another one is not one more."""
    monkeypatch.setattr(limits, "HISTORIES_MAX", 2)
    histories.begin(asked(store, 1))
    histories.begin(asked(store, 2, query=2))
    with pytest.raises(OverloadedError) as full:
        histories.begin(asked(store, 3, query=3))
    assert "histories" == full.value.extras["reason"]
    histories.begin(asked(store, 4, query=2), replaces=history_id(2))
    histories.drop(history_id(4))
    histories.drop(history_id(4))
    assert history_id(3) == histories.begin(asked(store, 3, query=3)).asked.history_id


def test_claim_keeps_others_away_until_it_lapses(store, histories):
    """A worker claims, and renews; another one may only once it has said nothing for so long."""
    histories.begin(asked(store, 1))
    claim = histories.claim(history_id(1), WORKER, done=1, of=4)
    assert (HistoryState.RUNNING, 1, 4) == (claim.state, claim.done, claim.of)
    assert not claim.is_free
    assert HistoryTakenError is refused(
        lambda: histories.claim(history_id(1), OTHER, done=0, of=None)
    )
    pass_time(store, HISTORY_CLAIM_S - 5)
    assert 2 == histories.claim(history_id(1), WORKER, done=2, of=None).done
    pass_time(store, HISTORY_CLAIM_S - 5)
    assert HistoryTakenError is refused(
        lambda: histories.claim(history_id(1), OTHER, done=0, of=None)
    )
    pass_time(store, 5)
    (lapsed,) = histories.all()
    assert lapsed.is_free
    assert (HistoryState.RUNNING, None) == (lapsed.state, lapsed.of)
    assert not histories.claim(history_id(1), OTHER, done=0, of=None).is_free
    assert HistoryTakenError is refused(
        lambda: histories.claim(history_id(1), WORKER, done=0, of=None)
    )


def test_claim_that_lapsed_is_renewed_while_nobody_else_came(store, histories):
    """What its worker has sent is still good."""
    claimed(store)
    histories.put(history_id(1), WORKER, part(0))
    pass_time(store, HISTORY_CLAIM_S + 1)
    histories.put(history_id(1), WORKER, part(1, 10))
    assert not histories.get(history_id(1)).is_free, "to send a part is a sign of life"
    pass_time(store, HISTORY_CLAIM_S + 1)
    histories.claim(history_id(1), WORKER, done=0, of=None)
    assert 4 == histories.finish(history_id(1), WORKER, parts=2, rows=4, complete_from_us=1).rows


def test_claim_of_another_worker_begins_anew(store, histories):
    """Parts of the one before are forgotten, and it is refused."""
    claimed(store)
    histories.put(history_id(1), WORKER, part(0))
    pass_time(store, HISTORY_CLAIM_S)
    taken = histories.claim(history_id(1), OTHER, done=0, of=None)
    assert (0, 0) == (taken.nbytes, histories.statistics().nbytes)
    assert histories.body(history_id(1), 0) is None
    for step in (
        lambda: histories.put(history_id(1), WORKER, part(0)),
        lambda: histories.finish(history_id(1), WORKER, parts=0, rows=0, complete_from_us=None),
        lambda: histories.fail(history_id(1), WORKER, "why"),
    ):
        assert HistoryTakenError is refused(step)
    assert HistoryPartsMissingError is refused(
        lambda: histories.finish(history_id(1), OTHER, parts=1, rows=2, complete_from_us=None)
    )


def test_nobody_touches_what_is_not_claimed_or_not_there(store, histories):
    """It is claimed first; what has gone is not found."""
    histories.begin(asked(store, 1))
    assert HistoryTakenError is refused(lambda: histories.put(history_id(1), WORKER, part(0)))
    assert HistoryTakenError is refused(lambda: histories.fail(history_id(1), WORKER, "why"))
    for step in (
        lambda: histories.claim(history_id(9), WORKER, done=0, of=None),
        lambda: histories.put(history_id(9), WORKER, part(0)),
        lambda: histories.finish(history_id(9), WORKER, parts=0, rows=0, complete_from_us=None),
        lambda: histories.fail(history_id(9), WORKER, "why"),
    ):
        assert NotFoundError is refused(step)


def test_history_is_done_once_its_parts_are_there(store, histories):
    """Parts come in any order and may be sent again; the answer says how many rows each has."""
    claimed(store)
    histories.put(history_id(1), WORKER, part(2, 20, rows=3, body=b"third"))
    histories.put(history_id(1), WORKER, part(0, 0, rows=5, body=b"wrong one"))
    histories.put(history_id(1), WORKER, part(0, 0, rows=1, body=b"first"))
    with pytest.raises(HistoryPartsMissingError) as missing:
        histories.finish(history_id(1), WORKER, parts=5, rows=4, complete_from_us=None)
    assert {"parts": [1, 3, 4]} == missing.value.extras
    histories.put(history_id(1), WORKER, part(1, rows=0, body=b""))
    with pytest.raises(HistoryPartsMissingError) as differs:
        histories.finish(history_id(1), WORKER, parts=3, rows=6, complete_from_us=None)
    assert {"parts": [], "rows": 4} == differs.value.extras
    done = histories.finish(history_id(1), WORKER, parts=3, rows=4, complete_from_us=17)
    assert (HistoryState.DONE, (1, 0, 3), 4) == (done.state, done.parts, done.rows)
    assert (17, len(b"firstthird")) == (done.complete_from_us, done.nbytes)
    assert done.ended_us is not None
    assert done.expires_us - done.ended_us == HISTORY_LIFE_S * SECOND_US
    bodies = [histories.body(history_id(1), number) for number in range(4)]
    assert [b"first", b"", b"third", None] == bodies


def test_history_that_is_done_stays_what_it_is(store, histories):
    """Its worker may say so again; nobody claims it, sends parts, or gives it up."""
    done = finished(store)
    again = histories.finish(history_id(1), WORKER, parts=9, rows=9, complete_from_us=4)
    assert (done.parts, done.expires_us, None) == (
        again.parts,
        again.expires_us,
        again.complete_from_us,
    )
    for worker in (WORKER, OTHER):
        for step in (
            lambda worker=worker: histories.claim(history_id(1), worker, done=0, of=None),
            lambda worker=worker: histories.put(history_id(1), worker, part(0)),
            lambda worker=worker: histories.fail(history_id(1), worker, "why"),
        ):
            assert HistoryTakenError is refused(step)
    assert HistoryTakenError is refused(
        lambda: histories.finish(history_id(1), OTHER, parts=1, rows=2, complete_from_us=None)
    )
    assert b"body" == histories.body(history_id(1), 0)


def test_parts_beyond_the_answer_are_dropped(store, histories):
    """A worker that has sent more than it says keeps no memory for it."""
    claimed(store)
    for number in range(3):
        histories.put(history_id(1), WORKER, part(number, 10 * number, body=b"12345"))
    done = histories.finish(history_id(1), WORKER, parts=1, rows=2, complete_from_us=None)
    assert (5, 5) == (done.nbytes, histories.statistics().nbytes)
    assert [b"12345", None] == [histories.body(history_id(1), n) for n in (0, 2)]


def test_history_of_no_rows_is_an_answer(store, histories):
    """No parts, no rows."""
    claimed(store)
    done = histories.finish(history_id(1), WORKER, parts=0, rows=0, complete_from_us=None)
    assert (0, (), HistoryState.DONE) == (done.rows, done.parts, done.state)


@pytest.mark.parametrize("first", [11, 5])
def test_parts_that_are_not_in_order_are_refused(store, histories, first):
    """The rows of a part come behind those of all parts before it, whatever lies between without rows."""
    claimed(store)
    histories.put(history_id(1), WORKER, part(0, 10))
    histories.put(history_id(1), WORKER, part(1, rows=0, body=b""))
    histories.put(history_id(1), WORKER, part(2, first))
    with pytest.raises(HistoryPartsMissingError) as disordered:
        histories.finish(history_id(1), WORKER, parts=3, rows=4, complete_from_us=None)
    assert {"parts": [2]} == disordered.value.extras
    histories.put(history_id(1), WORKER, part(2, 12))
    histories.finish(history_id(1), WORKER, parts=3, rows=4, complete_from_us=None)


def test_row_that_stands_in_two_parts_is_refused(store, histories):
    """A part begins behind the last row of the one before it, not with it."""
    claimed(store)
    histories.put(history_id(1), WORKER, HistoryPart(0, 2, (1, 1), (2, 7), b"first"))
    histories.put(history_id(1), WORKER, HistoryPart(1, 2, (2, 7), (3, 1), b"second"))
    assert HistoryPartsMissingError is refused(
        lambda: histories.finish(history_id(1), WORKER, parts=2, rows=4, complete_from_us=None)
    )
    histories.put(history_id(1), WORKER, HistoryPart(1, 2, (2, 8), (3, 1), b"second"))
    histories.finish(history_id(1), WORKER, parts=2, rows=4, complete_from_us=None)


def test_history_that_failed_says_why(store, histories):
    """Its parts go; its worker may say so again, with the first word counting."""
    claimed(store)
    histories.put(history_id(1), WORKER, part(0))
    failed = histories.fail(history_id(1), WORKER, "the archive is gone: ä")
    assert (HistoryState.FAILED, "the archive is gone: ä") == (failed.state, failed.detail)
    assert (0, None) == (histories.statistics().nbytes, histories.body(history_id(1), 0))
    assert failed.detail == histories.fail(history_id(1), WORKER, "another").detail
    assert HistoryTakenError is refused(lambda: histories.fail(history_id(1), OTHER, "x"))
    assert HistoryTakenError is refused(
        lambda: histories.claim(history_id(1), OTHER, done=0, of=None)
    )
    assert failed.ended_us == histories.find(query_id(1), None).ended_us


def test_history_expires(store, histories):
    """An hour after it was done, or after anybody has claimed it, it is as if it had never been."""
    finished(store, 1)
    histories.begin(asked(store, 2, query=2))
    claimed(store, 3, query=3)
    pass_time(store, HISTORY_LIFE_S - 5)
    assert 3 == len(histories.all())
    histories.claim(history_id(3), WORKER, done=1, of=2)
    pass_time(store, 5)
    assert histories.get(history_id(1)) is None
    assert histories.find(query_id(2), None) is None
    assert 3 == histories.statistics().count, "to look one up changes nothing"
    assert [history_id(3)] == [one.asked.history_id for one in histories.all()]
    assert (1, 0) == (histories.statistics().count, histories.statistics().nbytes)
    assert history_id(4) == histories.begin(asked(store, 4)).asked.history_id


def test_history_goes_with_its_query(store, histories):
    """When the query is removed its memory is free at once; the others stay."""
    finished(store, 1, query=1)
    finished(store, 2, query=2)
    store.log.append(Remove(query_id(1)))
    assert (1, 4) == (histories.statistics().count, histories.statistics().nbytes)
    assert histories.get(history_id(1)) is None
    claimed(store, 3, query=3)
    store.log.append(Drop(StreamId(1), "a", (query_id(2), query_id(3))))
    assert (0, 0) == (histories.statistics().count, histories.statistics().nbytes)
    assert NotFoundError is refused(lambda: histories.put(history_id(3), WORKER, part(0)))


def test_histories_are_swept_when_the_log_is_trimmed(store, histories):
    """The engine forgets what has expired where nobody asks any more."""
    finished(store)
    apply_all(store)
    store.log.trim(batches=[], below=Seq(2))
    assert 1 == histories.statistics().count
    pass_time(store, HISTORY_LIFE_S)
    store.log.append(Tick())
    assert 1 == histories.statistics().count
    store.log.trim(batches=[], below=Seq(2))
    assert (0, 0) == (histories.statistics().count, histories.statistics().nbytes)


def test_history_has_bounds_in_rows_and_bytes(store, histories, monkeypatch):
    """A part that makes it larger than it may be is refused, and leaves what there was."""
    monkeypatch.setattr(limits, "HISTORY_ROWS_MAX", 5)
    monkeypatch.setattr(limits, "HISTORY_BYTES_MAX", 10)
    claimed(store)
    histories.put(history_id(1), WORKER, part(0, rows=3, body=b"12345"))
    with pytest.raises(AnswerTooLargeError) as long:
        histories.put(history_id(1), WORKER, part(1, 10, rows=3))
    assert {"limit": 5} == long.value.extras
    with pytest.raises(AnswerTooLargeError) as large:
        histories.put(history_id(1), WORKER, part(1, 10, rows=2, body=b"123456"))
    assert {"limit": 10} == large.value.extras
    assert (5, None) == (histories.statistics().nbytes, histories.body(history_id(1), 1))
    histories.put(history_id(1), WORKER, part(0, rows=5, body=b"1234567890"))
    assert 5 == histories.finish(history_id(1), WORKER, parts=1, rows=5, complete_from_us=None).rows


def test_histories_have_a_bound_together(store, histories, monkeypatch):
    """All of them share it: one that goes makes room."""
    monkeypatch.setattr(limits, "HISTORIES_BYTES_MAX", 10)
    finished(store, 1, query=1)
    claimed(store, 2, query=2)
    histories.put(history_id(2), WORKER, part(0, body=b"123456"))
    with pytest.raises(OverloadedError) as full:
        histories.put(history_id(2), WORKER, part(1, 10, body=b"1"))
    assert "histories-bytes" == full.value.extras["reason"]
    histories.put(history_id(2), WORKER, part(0, body=b"12345"))
    histories.put(history_id(2), WORKER, part(1, 10, body=b"1"))
    histories.drop(history_id(1))
    histories.put(history_id(2), WORKER, part(2, 20, body=b"1234"))
    assert 10 == histories.statistics().nbytes
