"""Producers of streams by the Log's contract: counted, remembered, forgotten. The same cases over every store."""

from dataclasses import replace

import pytest

from psoup.engine import limits
from psoup.engine.errors import QuotaExceededError, TxnContentDiffersError
from psoup.engine.log.operation import Drop, Rows
from psoup.engine.tuples.schema import StreamId
from tests.storage.driver import apply_all
from tests.storage.samples import commit, declare, rows, staged, txn


def test_rows_of_producers_are_counted_by_stream_and_app(store):
    """One app's versions of two streams are apart, and those of two apps are."""
    store.log.append(declare("a"))
    store.log.append(declare("b"))
    first = txn(version=3)
    assert not store.log.append(rows(1, txn=first)).duplicate
    assert not store.log.append(rows(2, "b", txn=first)).duplicate
    assert not store.log.append(rows(1, txn=txn("another", 3))).duplicate


def test_rows_of_too_many_producers_are_refused(store, monkeypatch):
    """A stream has at most APPS_COUNT_MAX producers, whatever others have; those of a dropped one no longer count."""
    monkeypatch.setattr(limits, "APPS_COUNT_MAX", 1)
    store.log.append(declare("a"))
    store.log.append(declare("b"))
    store.log.append(rows(1, txn=txn("one")))
    store.log.append(rows(2, "b", txn=txn("two")))
    with pytest.raises(QuotaExceededError) as refused:
        store.log.append(rows(2, "b", txn=txn("three")))
    assert {"limit": 1} == refused.value.extras
    store.log.append(rows(1, txn=txn("one", 1)))
    store.log.append(Drop(StreamId(2), "b"))
    again = store.log.append(declare("b"))
    store.log.append(rows(again.seq, "b", txn=txn("three")))
    store.log.check()


def empty(app: str, version: int = 0) -> Rows:
    """A producer's batch without rows."""
    return rows(1, count=0, body=b"", txn=txn(app, version, "none"))


def test_versions_of_producers_without_a_row_are_remembered(store):
    """Like any: repeated, older, and with other content."""
    store.log.append(declare("a"))
    first = store.log.append(empty("one", 7))
    again = store.log.append(empty("one", 7))
    assert (first.seq, True) == (again.seq, again.duplicate)
    assert store.log.append(rows(1, txn=txn("one", 3))).duplicate
    with pytest.raises(TxnContentDiffersError):
        store.log.append(rows(1, txn=txn("one", 7)))
    assert 2 == store.log.head()
    store.log.check()


def test_producer_without_a_row_that_is_idle_for_longest_gives_way(store, monkeypatch):
    """Those that have sent rows stay, however long ago; who was forgotten begins anew."""
    monkeypatch.setattr(limits, "APPS_COUNT_MAX", 3)
    store.log.append(declare("a"))
    for batch in (rows(1, txn=txn("with rows")), empty("x"), empty("y"), empty("x", 1)):
        assert not store.log.append(batch).duplicate
    store.log.append(empty("new"))  # in the place of y, whose last batch is the earliest
    known = (rows(1, txn=txn("with rows")), empty("x", 1), empty("new"))
    assert [True] * 3 == [store.log.append(batch).duplicate for batch in known]
    assert not store.log.append(empty("y")).duplicate  # in the place of x
    assert not store.log.append(empty("x", 1)).duplicate  # in that of new
    assert store.log.append(empty("y")).duplicate
    store.log.check()


def test_producer_with_a_row_never_gives_way(store, monkeypatch):
    """From its first row on, whatever it sends then; where all have sent rows, another one is refused."""
    monkeypatch.setattr(limits, "APPS_COUNT_MAX", 2)
    store.log.append(declare("a"))
    for batch in (empty("one"), rows(1, txn=txn("one", 1)), empty("one", 2), empty("two")):
        store.log.append(batch)
    assert not store.log.append(rows(1, txn=txn("three"))).duplicate  # in the place of two
    for batch in (empty("four"), rows(1, txn=txn("four"))):
        with pytest.raises(QuotaExceededError):
            store.log.append(batch)
    assert store.log.append(rows(1, txn=txn("one", 1))).duplicate
    store.log.check()


def test_all_that_is_known_of_a_producer_that_gives_way_is_forgotten(store, monkeypatch):
    """More versions than are kept, and as one that begins anew it has none of them."""
    monkeypatch.setattr(limits, "APPS_COUNT_MAX", 1)
    monkeypatch.setattr(limits, "APP_DIGESTS_KEPT", 3)
    store.log.append(declare("a"))
    for version in range(5):
        store.log.append(empty("one", version))
    store.log.append(empty("two"))
    assert not store.log.append(empty("one", 0)).duplicate
    assert not store.log.append(empty("one", 1)).duplicate
    store.log.check()


def test_producers_survive_the_trimming_of_their_batches(store):
    """A version stays committed when its entry has gone."""
    store.log.append(declare("a"))
    store.log.append(rows(1, txn=txn()))
    apply_all(store)
    store.log.trim(batches=[2], below=3)
    assert store.log.append(rows(1, txn=txn())).duplicate


def test_commit_of_too_many_producers_is_refused_whole(log, monkeypatch):
    """A place is needed for each stream."""
    monkeypatch.setattr(limits, "APPS_COUNT_MAX", 1)
    log.append(rows(1, txn=txn("other")))
    log.stage(staged(1))
    log.stage(staged(2, 2, "b"))
    with pytest.raises(QuotaExceededError):
        log.commit(commit(1, 2))
    assert 3 == log.head()
    log.commit(commit(2))
    log.stage(staged(3, 2, "b"))
    with pytest.raises(QuotaExceededError):
        log.commit(replace(commit(3), app="another"))


def test_commit_of_parts_without_rows_is_known_when_it_is_sent_again(log, monkeypatch):
    """By its version; and by its parts where its producer has given way to another one."""
    monkeypatch.setattr(limits, "APPS_COUNT_MAX", 1)
    log.stage(staged(1, count=0, body=b""))
    log.stage(staged(2, 2, "b"))
    first = log.commit(commit(1, 2))
    again = log.commit(commit(1, 2))
    assert (first.seq, True) == (again.seq, again.duplicate)
    log.append(rows(1, txn=txn("other")))
    again = log.commit(commit(1, 2))
    assert (first.seq, True) == (again.seq, again.duplicate)
    log.check()


def test_commit_of_a_stream_without_rows_that_has_no_place_is_refused_whole(log, monkeypatch):
    """It could not be known when it is sent again."""
    monkeypatch.setattr(limits, "APPS_COUNT_MAX", 1)
    log.append(rows(1, txn=txn("other")))
    log.stage(staged(1, count=0, body=b""))
    log.stage(staged(2, 2, "b"))
    head = log.head()
    with pytest.raises(QuotaExceededError):
        log.commit(commit(1, 2))
    assert head == log.head()
    log.check()


def test_commit_staged_anew_is_known_although_one_of_its_producers_gave_way(log, monkeypatch):
    """A stream that got no row is passed over: the other one tells."""
    monkeypatch.setattr(limits, "APPS_COUNT_MAX", 1)
    log.stage(staged(1, count=0, body=b""))
    log.stage(staged(2, 2, "b"))
    first = log.commit(commit(1, 2))
    log.append(rows(1, txn=txn("other")))
    log.stage(staged(3, count=0, body=b""))
    log.stage(staged(4, 2, "b"))
    again = log.commit(commit(3, 4))
    assert (first.seq, True) == (again.seq, again.duplicate)
    log.check()
