"""A publish cut off between any two of its calls: nothing of it shows, and the next start tidies up."""

import itertools
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from psoup.engine import limits
from psoup.engine.errors import EngineError, IntegrityError
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.log.operation import Content, Drop, Remove, Tick
from psoup.engine.store.errors import RecoveringError, StoreFullError, StoreUnavailableError
from psoup.engine.tuples.schema import StreamId
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.store import RedisStore
from tests.storage.driver import apply_next, assert_shows, delta, do, plain_pages
from tests.storage.fold import Fold
from tests.storage.joins import has_gone
from tests.storage.samples import declare, join, query_id, register, rows
from tests.stores import SharedServer

pytestmark = pytest.mark.redis
Fill = Callable[[RedisStore, Fold], None]


def cuts(changes: Iterable[str], *, also_lost: str) -> pytest.MarkDecorator:
    """Return each change, cut off before a call and behind it.

    What the server holds behind a call is what it holds before the next one: the suite has one change of which the
    answer is lost as well.
    """
    found = []
    for change, lost in itertools.product(changes, (False, True)):
        marks = [pytest.mark.slow] if lost and change != also_lost else []
        name = f"{change}-{'after' if lost else 'before'}"
        found.append(pytest.param(change, lost, marks=marks, id=name))
    return pytest.mark.parametrize(("change", "lost"), found)


UNTRACED = pytest.mark.no_cover
"""Of tests that publish the same changes again and again: others here cover the lines."""


class Cut:
    """Lets so many calls of Functions through, then none: `error`. `lost`: the last one's answer is lost."""

    def __init__(
        self,
        monkeypatch: pytest.MonkeyPatch,
        calls: int,
        *,
        lost: bool,
        error: type[EngineError] = StoreUnavailableError,
    ) -> None:
        self.calls = calls
        call = RedisClient.call

        def counted(client, function, keys, arguments=(), **options):
            if function in {"psoup_stage", "psoup_publish"}:
                self.calls -= 1
                if self.calls < 0:
                    if lost and self.calls == -1:
                        call(client, function, keys, arguments, **options)
                    raise error("cut off")
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


def joined(store, fold: Fold) -> None:
    """The same, and composites of two groups that lie in two pieces each."""
    filled(store, fold)
    do(store, fold, [join(11, {"a": 1}, "self x p"), rows(2, "b", count=3 * CHUNK_ROWS)])
    do(store, fold, [join(12, {"a": 1, "b": 2}, "join x p"), join(13, {"a": 1}, "self x q")])
    do(store, fold, [rows(1, count=5 * CHUNK_ROWS), rows(2, "b", count=3 * CHUNK_ROWS)])
    assert {(1, 2), (1,)} == {
        tuple(sorted(set(clause.streams)))
        for clause in fold.clauses.values()
        if clause.join is not None and fold.composites_of(clause)
    }


class Beginning:
    """A store that is filled once and put back as it was then as often as a test needs it."""

    def __init__(self, server: SharedServer, folder: Path, fill: Fill) -> None:
        self._server, self._folder = server, folder
        self._fold = Fold(rows_kept=SEGMENT_ROWS)
        fill(server.empty_store(folder), self._fold)
        ask = server.client.fetch_one
        self._held = {key: ask("DUMP", key) for key in ask("KEYS", "*")}

    def again(self) -> tuple[RedisStore, Fold]:
        """Return the store as it was filled, opened by its psoup, and what it holds."""
        self._server.client.fetch_one("FLUSHALL")
        for key, value in self._held.items():
            self._server.client.fetch_one("RESTORE", key, 0, value)
        return self.opened(), self._fold.copy()

    def opened(self) -> RedisStore:
        """Return the store as it is, opened by its psoup once more."""
        return self._server.store(self._folder)


CHANGES: dict[str, list[Content]] = {
    "register": [register(4, 1, sql="three"), register(5, 1, sql="one", name="n")],
    "rows": [rows(1, count=9_000), rows(2, "b", count=70_000)],
    "expire": [rows(1, count=SEGMENT_ROWS), rows(1, count=SEGMENT_ROWS)],
    "remove": [Remove(query_id(1)), register(6, 1, sql="four")],
    "declare": [declare("c"), register(7, 8, "c"), rows(8, "c", count=2 * SEGMENT_ROWS)],
    "drop": [Drop(StreamId(1), "a", (query_id(1), query_id(2))), declare("a", 2)],
}


JOINS: dict[str, list[Content]] = {
    "register": [join(14, {"a": 1}, "self x r"), join(15, {"a": 1, "b": 2}, "join x r")],
    "begin": [join(n, {"a": 1, "b": 2}, f"join {n} p") for n in range(16, 24)],
    "rows": [rows(1, count=9_000), rows(2, "b", count=2 * CHUNK_ROWS)],
    "expire": [rows(1, count=SEGMENT_ROWS), rows(1, count=9_000)],
    "remove": [Remove(query_id(11)), Remove(query_id(12)), join(16, {"a": 1}, "self x s")],
    "drop": [Drop(StreamId(2), "b", (query_id(3), query_id(12))), rows(1, count=9_000)],
}


@UNTRACED
@cuts(JOINS, also_lost="expire")
def test_publish_of_composites_cut_off_anywhere_shows_nothing_of_it(
    server, tmp_path, monkeypatch, change, lost
):
    """The process that goes on shows all of the old composites or of the new; so does the next, which tidies up."""
    monkeypatch.setattr("psoup.storage.encoding.composites.PIECE_CLAUSES", 1)
    monkeypatch.setattr(limits, "PUBLISH_WRITES_MAX", 30)
    beginning = Beginning(server, tmp_path, joined)
    for calls in range(100):
        store, fold = beginning.again()
        for content in JOINS[change]:
            store.log.append(content)
        before, lead = store.results.cut().seq, fold.copy()
        with monkeypatch.context() as patch:
            cut = Cut(patch, calls, lost=lost)
            try:
                apply_next(store, lead)
            except StoreUnavailableError:
                assert cut.happened
        assert fold.composites.keys() != lead.composites.keys()
        state = fold if store.results.cut().seq == before else lead
        for clause in lead.ever.values():
            shown = state.composites_of(clause) if clause.clause_id in state.clauses else []
            held = store.results.composites(clause)
            if state is lead:  # what is deleted behind the step may be there yet
                held = [page for page in held if not has_gone(page, state.read(clause))]
            assert plain_pages(shown) == plain_pages(held)
        restarted = beginning.opened()
        assert_shows(restarted, state, chunks=60)
        if state is fold:
            apply_next(restarted, fold)
            assert_shows(restarted, fold, chunks=60)
        if not cut.happened:
            return
    raise AssertionError("it is published in fewer calls")


def test_page_of_composites_in_pieces_goes_in_one_step(embedded_store, monkeypatch):
    """Wherever its removal is cut off, a reader has the whole of it or nothing."""
    monkeypatch.setattr("psoup.storage.encoding.composites.PIECE_CLAUSES", 1)
    fold = Fold(rows_kept=SEGMENT_ROWS)
    joined(embedded_store, fold)
    monkeypatch.setattr(limits, "PUBLISH_WRITES_MAX", 1)
    several = [key for key, page in fold.composites.items() if len(page.block) > 1]
    assert len(several) > 4
    for calls, gone in enumerate(several):
        clause = fold.clauses[gone[0]]
        old = plain_pages(fold.composites_of(clause))
        del fold.composites[gone]
        new = plain_pages(fold.composites_of(clause))
        seq = embedded_store.log.append(Tick()).seq
        change = delta(seq - 1, seq, seq, dropped_composites=frozenset({gone}))
        with monkeypatch.context() as patch:
            cut = Cut(patch, calls, lost=False)
            try:
                embedded_store.results.publish(change)
            except StoreUnavailableError:
                assert cut.happened
        assert plain_pages(embedded_store.results.composites(clause)) in (old, new)
        if cut.happened:
            embedded_store.results.publish(change)
        assert new == plain_pages(embedded_store.results.composites(clause))
    embedded_store.results.check()


@UNTRACED
@cuts(CHANGES, also_lost="rows")
def test_publish_cut_off_anywhere_is_folded_again(server, tmp_path, monkeypatch, change, lost):
    """Whatever call is the last one, the restarted engine shows the old state, then the new one."""
    monkeypatch.setattr(limits, "PUBLISH_WRITES_MAX", 4)
    beginning = Beginning(server, tmp_path, filled)
    for calls in range(100):
        store, fold = beginning.again()
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
        restarted = beginning.opened()
        if restarted.results.cut().seq == before:
            assert_shows(restarted, fold, chunks=60)
            apply_next(restarted, fold)
            assert_shows(restarted, fold, chunks=60)
        else:
            assert_shows(restarted, lead, chunks=60)
        if not cut.happened:
            return
    raise AssertionError("it is published in fewer calls")


@pytest.mark.parametrize(
    ("writes_max", "error"),
    [
        (4, StoreUnavailableError),
        (1_000, StoreUnavailableError),
        (4, RecoveringError),
        (4, StoreFullError),
    ],
)
def test_publish_again_after_a_lost_answer_is_done(embedded_store, monkeypatch, writes_max, error):
    """The same process sends the same delta again: it is found to be published, and tidied.

    As well where the server restarted, or its disk was full, between the call that moves and those that tidy.
    """
    monkeypatch.setattr(limits, "PUBLISH_WRITES_MAX", writes_max)
    fold = Fold(rows_kept=SEGMENT_ROWS)
    filled(embedded_store, fold)
    for calls in range(60):
        seq = embedded_store.log.append(rows(1, count=SEGMENT_ROWS)).seq
        (operation,) = embedded_store.log.read(seq - 1, operations_max=1, bytes_max=1)
        change = fold.apply(operation)
        with monkeypatch.context() as patch:
            cut = Cut(patch, calls, lost=error is StoreUnavailableError, error=error)
            try:
                embedded_store.results.publish(change)
            except error:
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
