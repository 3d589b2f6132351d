"""A publish cut off between any two of its calls: nothing of it shows, and the next start tidies up."""

import pytest

from engine import limits
from engine.errors import IntegrityError
from engine.limits import SEGMENT_ROWS
from engine.log.operation import Content, Drop, Remove, Tick
from engine.tuples.schema import StreamId
from storage.errors import StoreUnavailableError
from storage.redis_client import RedisClient
from tests.storage.driver import apply_next, assert_shows, delta, do
from tests.storage.fold import Fold
from tests.storage.samples import declare, query_id, register, rows

pytestmark = pytest.mark.redis


class Cut:
    """Lets so many calls of Functions through, then none; `lost`: the last one's answer is lost."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, calls: int, *, lost: bool) -> None:
        self.calls = calls
        call = RedisClient.call

        def counted(client, function, keys, arguments=(), **options):
            if function in {"psoup_stage", "psoup_publish"}:
                self.calls -= 1
                if self.calls < 0:
                    if lost and self.calls == -1:
                        call(client, function, keys, arguments, **options)
                    raise StoreUnavailableError("cut off")
            return call(client, function, keys, arguments, **options)

        monkeypatch.setattr(RedisClient, "call", counted)

    @property
    def happened(self) -> bool:
        return self.calls < 0


def filled(store, fold: Fold) -> None:
    """A stream of two clauses, some segments long, and a second stream."""
    do(store, fold, [declare("a"), declare("b"), rows(1, count=SEGMENT_ROWS + 5_000)])
    do(store, fold, [register(1, 1, sql="one"), register(2, 1, sql="two"), register(3, 2, "b")])
    do(store, fold, [rows(1, count=9_000)])


CHANGES: dict[str, list[Content]] = {
    "register": [register(4, 1, sql="three"), register(5, 1, sql="one", name="n")],
    "rows": [rows(1, count=9_000), rows(2, "b", count=70_000)],
    "expire": [rows(1, count=SEGMENT_ROWS), rows(1, count=SEGMENT_ROWS)],
    "remove": [Remove(query_id(1)), register(6, 1, sql="four")],
    "declare": [declare("c"), register(7, 8, "c"), rows(8, "c", count=2 * SEGMENT_ROWS)],
    "drop": [Drop(StreamId(1), "a", (query_id(1), query_id(2))), declare("a", 2)],
}


@pytest.mark.parametrize("lost", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("change", CHANGES)
def test_publish_cut_off_anywhere_is_folded_again(server, tmp_path, monkeypatch, change, lost):
    """Whatever call is the last one, the restarted engine shows the old state, then the new one."""
    monkeypatch.setattr(limits, "PUBLISH_WRITES_MAX", 4)
    for calls in range(100):
        store, fold = server.empty_store(tmp_path / str(calls)), Fold(rows_kept=SEGMENT_ROWS)
        filled(store, fold)
        for content in CHANGES[change]:
            store.log.append(content)
        before = store.results.cut().seq
        with monkeypatch.context() as patch:
            cut = Cut(patch, calls, lost=lost)
            lead = fold.copy()
            try:
                apply_next(store, lead)
            except StoreUnavailableError:
                assert cut.happened
        restarted = server.store(tmp_path / str(calls))
        if restarted.results.cut().seq == before:
            assert_shows(restarted, fold, chunks=60)
            apply_next(restarted, fold)
            assert_shows(restarted, fold, chunks=60)
        else:
            assert_shows(restarted, lead, chunks=60)
        if not cut.happened:
            return
    raise AssertionError("it is published in fewer calls")


@pytest.mark.parametrize("writes_max", [4, 1_000])
def test_publish_again_after_a_lost_answer_is_done(embedded_store, monkeypatch, writes_max):
    """The same process sends the same delta again: it is found to be published, and tidied."""
    monkeypatch.setattr(limits, "PUBLISH_WRITES_MAX", writes_max)
    fold = Fold(rows_kept=SEGMENT_ROWS)
    filled(embedded_store, fold)
    for calls in range(60):
        seq = embedded_store.log.append(rows(1, count=SEGMENT_ROWS)).seq
        (operation,) = embedded_store.log.read(seq - 1, operations_max=1, bytes_max=1)
        change = fold.apply(operation)
        with monkeypatch.context() as patch:
            cut = Cut(patch, calls, lost=True)
            try:
                embedded_store.results.publish(change)
            except StoreUnavailableError:
                assert cut.happened
        if not cut.happened:
            return
        embedded_store.results.publish(change)
        embedded_store.results.check()
    raise AssertionError("it is published in fewer calls")


def test_publish_of_another_delta_after_a_lost_answer_is_refused(embedded_store, monkeypatch):
    """Only the very delta whose answer was lost may be found published."""
    fold = Fold()
    do(embedded_store, fold, [declare("a")])
    for _ in range(3):
        embedded_store.log.append(Tick())
    with monkeypatch.context() as patch:
        Cut(patch, 0, lost=True)
        with pytest.raises(StoreUnavailableError):
            embedded_store.results.publish(delta(1, 2, 1))
    with pytest.raises(IntegrityError):
        embedded_store.results.publish(delta(1, 3, 1))
    embedded_store.results.publish(delta(1, 2, 1))
    with pytest.raises(IntegrityError):
        embedded_store.results.publish(delta(1, 2, 1))


def test_publish_cut_off_is_not_counted(server, tmp_path, monkeypatch):
    """Queries that are staged are neither counted nor among a stream's readers."""
    store, fold = server.empty_store(tmp_path), Fold()
    filled(store, fold)
    before = store.results.counts(), store.results.readers(StreamId(1))
    assert 3 == before[0].queries
    for content in CHANGES["register"]:
        store.log.append(content)
    monkeypatch.setattr(limits, "PUBLISH_WRITES_MAX", 1)
    Cut(monkeypatch, 4, lost=False)
    with pytest.raises(StoreUnavailableError):
        apply_next(store, fold)
    assert 3 < server.client.fetch_one("HLEN", "{ps}:q"), "one is staged"
    assert before == (store.results.counts(), store.results.readers(StreamId(1)))
