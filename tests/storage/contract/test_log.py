"""The Log's contract, the same cases over every store."""

import pytest

from psoup.engine import limits
from psoup.engine.errors import (
    HasQueriesError,
    IntegrityError,
    NameTakenError,
    NotFoundError,
    OverloadedError,
    QuotaExceededError,
    StaleDeclarationError,
    StreamDiffersError,
    TxnContentDiffersError,
)
from psoup.engine.log.operation import Content, Drop, Operation, Remove, Tick
from psoup.engine.results.delta import Delta
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from tests.storage.driver import apply_all
from tests.storage.samples import declare, query_id, register, rows, txn


def test_append_of_each_kind_reads_back_as_appended(store):
    """What is appended comes back as its append said, equal, in order, with seqs 1, 2, 3 ..., and nothing is lost."""
    contents: list[Content] = [
        declare("a"),
        declare("b", columns=3),
        rows(1, body=b"\x00\xff body", txn=txn()),
        register(7, 1, name="naïve \u2603"),
        Tick(),
        register(8, 2, "b"),
        Remove(query_id(8)),
        Drop(StreamId(1), "a", (query_id(7),)),
    ]
    appended = [store.log.append(content) for content in contents]
    operations = store.log.read(0, operations_max=100, bytes_max=1_000)
    assert list(range(1, 9)) == [operation.seq for operation in operations]
    assert operations == [
        Operation(one.seq, one.arrival_us, one.first_tuple_id, content)
        for content, one in zip(contents, appended, strict=True)
    ]
    assert 8 == store.log.head()
    store.log.check()


def test_tuple_ids_of_batches_are_contiguous_over_streams(store):
    """A batch's tuples get the next ids, whichever stream it is for."""
    for content in (declare("a"), declare("b"), rows(1, count=3), rows(2, "b", count=0)):
        store.log.append(content)
    store.log.append(rows(2, "b", count=5))
    store.log.append(Tick())
    read = store.log.read(2, operations_max=10, bytes_max=1_000)
    assert [1, 4, 4, 9] == [operation.first_tuple_id for operation in read]


def test_declare_again_is_a_duplicate_of_the_first(store):
    """An identical declaration stores nothing and answers the original seq."""
    assert not store.log.append(declare("a", 2)).duplicate
    again = store.log.append(declare("a", 2))
    assert (1, True) == (again.seq, again.duplicate)
    assert 1 == store.log.head()


def test_declare_otherwise_is_refused(store):
    """Another declaration under a name in force is refused with the id of the one in force."""
    store.log.append(declare("a", 2))
    with pytest.raises(StreamDiffersError) as refused:
        store.log.append(declare("a", 3))
    assert {"stream_id": 1} == refused.value.extras


def test_drop_of_what_is_not_in_force_is_refused(store):
    """Unknown names, earlier ids and dropped streams are not found."""
    store.log.append(declare("a"))
    for stream_id, name in ((1, "b"), (2, "a")):
        with pytest.raises(NotFoundError):
            store.log.append(Drop(StreamId(stream_id), name))
    store.log.append(Drop(StreamId(1), "a"))
    with pytest.raises(NotFoundError):
        store.log.append(Drop(StreamId(1), "a"))


def test_drop_with_queries_wants_exactly_those(store):
    """A stream that is read is dropped only together with all who read it, and only them."""
    store.log.append(declare("a"))
    store.log.append(declare("b"))
    for number in (1, 2):
        store.log.append(register(number, 1))
    store.log.append(register(3, 2, "b"))
    with pytest.raises(HasQueriesError) as refused:
        store.log.append(Drop(StreamId(1), "a"))
    assert {"queries": 2} == refused.value.extras
    for listed in ((1,), (1, 3), (1, 2, 3), (1, 9)):
        with pytest.raises(StaleDeclarationError):
            store.log.append(Drop(StreamId(1), "a", tuple(map(query_id, listed))))
    store.log.append(Drop(StreamId(1), "a", (query_id(2), query_id(1))))
    with pytest.raises(NotFoundError):
        store.log.append(Remove(query_id(1)))
    store.log.append(Remove(query_id(3)))
    store.log.check()


def test_drop_lists_queries_of_a_stream_without_any_as_stale(store):
    """Listing queries where there are none means the caller looked too early."""
    store.log.append(declare("a"))
    with pytest.raises(StaleDeclarationError):
        store.log.append(Drop(StreamId(1), "a", (query_id(1),)))


def test_rows_for_an_earlier_declaration_are_refused(store):
    """A batch checked against a dropped declaration does not reach the stream's namesake."""
    store.log.append(declare("a"))
    store.log.append(Drop(StreamId(1), "a"))
    store.log.append(declare("a", 2))
    with pytest.raises(StaleDeclarationError):
        store.log.append(rows(1))
    assert 4 == store.log.append(rows(3)).seq


def test_rows_under_a_committed_version_are_stored_once(store):
    """The same version again is a duplicate with the original's seq; other content is refused."""
    store.log.append(declare("a"))
    assert 2 == store.log.append(rows(1, txn=txn(version=5))).seq
    again = store.log.append(rows(1, txn=txn(version=5)))
    assert (2, True) == (again.seq, again.duplicate)
    with pytest.raises(TxnContentDiffersError) as refused:
        store.log.append(rows(1, txn=txn(version=5, content="other")))
    assert {"seq": 2} == refused.value.extras
    assert 2 == store.log.head()


def test_rows_below_the_last_version_are_duplicates(store):
    """Gaps are allowed; a version that was jumped over is a duplicate of an unknown seq."""
    store.log.append(declare("a"))
    store.log.append(rows(1, txn=txn(version=1)))
    store.log.append(rows(1, txn=txn(version=9)))
    skipped = store.log.append(rows(1, txn=txn(version=4, content="anything")))
    assert (0, True) == (skipped.seq, skipped.duplicate)
    first = store.log.append(rows(1, txn=txn(version=1)))
    assert (2, True) == (first.seq, first.duplicate)


def test_rows_of_a_version_whose_digest_is_forgotten_are_duplicates(store):
    """Digests of the last APP_DIGESTS_KEPT versions are known, no others."""
    store.log.append(declare("a"))
    for version in range(limits.APP_DIGESTS_KEPT + 1):
        store.log.append(rows(1, txn=txn(version=version, content=str(version))))
    forgotten = store.log.append(rows(1, txn=txn(version=0, content="other")))
    assert (0, True) == (forgotten.seq, forgotten.duplicate)
    with pytest.raises(TxnContentDiffersError):
        store.log.append(rows(1, txn=txn(version=1, content="other")))


def test_register_over_a_stream_not_in_force_is_refused(store):
    """Every stream of a query is in force under the id it was bound to."""
    store.log.append(declare("a"))
    for stream_id, name in ((2, "a"), (1, "b")):
        with pytest.raises(StaleDeclarationError):
            store.log.append(register(1, stream_id, name))


def test_register_under_a_name_is_once(store):
    """The same definition under a name answers the first handle; another one is refused."""
    store.log.append(declare("a"))
    first = store.log.append(register(1, 1, sql="one", name="n"))
    assert (2, False, None) == (first.seq, first.duplicate, first.query_id)
    again = store.log.append(register(2, 1, sql="one", name="n"))
    assert (2, True, query_id(1)) == (again.seq, again.duplicate, again.query_id)
    with pytest.raises(NameTakenError) as refused:
        store.log.append(register(3, 1, sql="two", name="n"))
    assert {"id": query_id(1)} == refused.value.extras
    store.log.append(Remove(query_id(1)))
    assert not store.log.append(register(3, 1, sql="two", name="n")).duplicate
    store.log.check()


def test_register_sent_again_under_its_handle_is_a_duplicate(store):
    """A registration whose answer was lost is recognised by its handle."""
    store.log.append(declare("a"))
    store.log.append(register(1, 1))
    again = store.log.append(register(1, 1))
    assert (2, True, query_id(1)) == (again.seq, again.duplicate, again.query_id)


def test_register_over_the_quota_is_refused(store, monkeypatch):
    """There are at most QUERIES_COUNT_MAX standing queries; a removal makes room."""
    monkeypatch.setattr(limits, "QUERIES_COUNT_MAX", 1)
    store.log.append(declare("a"))
    store.log.append(register(1, 1))
    with pytest.raises(QuotaExceededError) as refused:
        store.log.append(register(2, 1))
    assert {"limit": 1} == refused.value.extras
    store.log.append(Remove(query_id(1)))
    store.log.append(register(2, 1))


def test_remove_of_what_does_not_stand_is_refused(store):
    """A query is removed once."""
    with pytest.raises(NotFoundError):
        store.log.append(Remove(query_id(1)))


def test_append_over_a_full_backlog_is_refused_until_applied(store, monkeypatch):
    """BACKLOG_OPERATIONS_MAX operations may wait; duplicates are answered all the same."""
    monkeypatch.setattr(limits, "BACKLOG_OPERATIONS_MAX", 2)
    store.log.append(declare("a"))
    store.log.append(rows(1, txn=txn()))
    with pytest.raises(OverloadedError) as refused:
        store.log.append(Tick())
    assert {"reason": "backlog", "retry_after_s": 1} == refused.value.extras
    assert store.log.append(rows(1, txn=txn())).duplicate
    apply_all(store)
    assert 3 == store.log.append(Tick()).seq


def test_append_over_a_backlog_full_of_bytes_is_refused_until_applied(store, monkeypatch):
    """BACKLOG_BYTES_MAX bytes of bodies may wait."""
    monkeypatch.setattr(limits, "BACKLOG_BYTES_MAX", 10)
    store.log.append(declare("a"))
    store.log.append(rows(1, body=b"123456789"))
    store.log.append(rows(1, body=b"0"))
    with pytest.raises(OverloadedError):
        store.log.append(rows(1, body=b""))
    apply_all(store)
    store.log.append(rows(1, body=b""))
    store.log.check()


def test_read_stops_at_its_bounds(store):
    """At most so many operations and bytes, but one at least where there is one."""
    store.log.append(declare("a"))
    for _ in range(3):
        store.log.append(rows(1, body=b"12345"))

    def read(after, operations_max, bytes_max):
        found = store.log.read(after, operations_max=operations_max, bytes_max=bytes_max)
        return [operation.seq for operation in found]

    assert [1, 2, 3, 4] == read(0, 10, 15)
    assert [1, 2, 3] == read(0, 10, 14)
    assert [2] == read(1, 10, 1)
    assert [3, 4] == read(2, 2, 100)
    assert [] == read(4, 10, 100)
    assert [] == read(9, 10, 100)


def test_read_at_returns_the_operations_in_the_order_asked(store):
    """Single entries are found by seq; one that is not there is a KeyError."""
    store.log.append(declare("a"))
    store.log.append(rows(1, body=b"x"))
    found = list(store.log.read_at([2, 1]))
    assert [2, 1] == [operation.seq for operation in found]
    assert b"x" == found[0].content.body
    assert [] == list(store.log.read_at([]))
    with pytest.raises(KeyError):
        list(store.log.read_at([1, 3]))


def test_trim_forgets_batches_and_old_control_entries(store):
    """Batches go by name, control entries below the bound; what is not there is passed over."""
    store.log.append(declare("a"))
    for _ in range(4):
        store.log.append(rows(1, body=b"12"))
    store.log.append(Tick())
    apply_all(store)
    store.log.trim(batches=[3, 5, 5], below=1)
    store.log.trim(batches=[3], below=3)
    store.log.check()
    assert (6, 3, 4) == (
        store.log.head(),
        store.log.statistics().entries,
        store.log.statistics().bytes,
    )
    with pytest.raises(KeyError):
        list(store.log.read_at([1]))
    assert [4] == [o.seq for o in store.log.read(3, operations_max=9, bytes_max=99)]
    with pytest.raises(IntegrityError):
        store.log.read(0, operations_max=9, bytes_max=99)
    store.log.trim(batches=[2, 4], below=7)
    assert 0 == store.log.statistics().entries
    assert 7 == store.log.append(rows(1)).seq


def test_trim_of_what_is_not_applied_is_refused_whole(store):
    """An operation is forgotten only after its effects are published; nothing else goes either."""
    store.log.append(declare("a"))
    store.log.append(rows(1))
    apply_all(store)
    store.log.append(rows(1))
    with pytest.raises(IntegrityError):
        store.log.trim(batches=[2, 3], below=1)
    with pytest.raises(IntegrityError):
        store.log.trim(batches=[], below=4)
    assert 3 == store.log.statistics().entries


def test_trim_of_many_entries_takes_several_calls(store):
    """More than one Function call may carry is trimmed all the same."""
    store.log.append(declare("a"))
    for i in range(1_200):
        store.log.append(rows(1, count=0, body=b"") if i % 2 else Tick())
    apply_all(store)
    store.log.trim(batches=list(range(3, 1_202, 2)), below=1_202)
    assert 0 == store.log.statistics().entries
    store.log.check()


def test_statistics_count_appends_and_duplicates(store):
    """Entries, bytes of bodies, what was stored and what was not."""
    store.log.append(declare("a"))
    store.log.append(declare("a"))
    store.log.append(rows(1, body=b"123"))
    found = store.log.statistics()
    assert (2, 2, 3, 2, 1) == (
        found.head,
        found.entries,
        found.bytes,
        found.appended,
        found.duplicates,
    )


def test_arrival_times_never_decrease_when_the_clock_is_set_back(memory_store, clock):
    """A clock set back stops at the last arrival, in the log and in the position read."""
    first = memory_store.log.append(declare("a"))
    clock.advance(-3_600_000_000)
    second = memory_store.log.append(Tick())
    assert first.arrival_us == second.arrival_us
    memory_store.results.publish(Delta(expect=Seq(0), seq=second.seq, arrival_us=second.arrival_us))
    assert second.arrival_us == memory_store.results.cut().server_now_us


def test_controls_of_a_log_are_all_but_its_batches(store):
    """Between two positions, in order; those that were trimmed are left out."""
    contents = [declare("a"), rows(1), register(7, 1), Tick(), rows(1), Remove(query_id(7))]
    for content in contents:
        store.log.append(content)
    assert [1, 3, 4, 6] == [one.seq for one in store.log.controls(Seq(0), Seq(6))]
    assert contents[2:4] == [one.content for one in store.log.controls(Seq(1), Seq(5))]
    assert (
        [] == list(store.log.controls(Seq(4), Seq(5))) == list(store.log.controls(Seq(6), Seq(6)))
    )
    apply_all(store)
    store.log.trim(batches=[Seq(2)], below=Seq(4))
    assert [4, 6] == [one.seq for one in store.log.controls(Seq(0), Seq(6))]
