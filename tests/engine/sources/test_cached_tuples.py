"""Cached tuples against those of the engine, whatever is asked in whatever order, however little there is room for."""

import threading
from contextlib import suppress
from dataclasses import replace
from functools import partial
from random import Random

import numpy as np
import pytest

from psoup.engine.data.source import DatedRows
from psoup.engine.errors import PageExpiredError
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.position.answer import Request
from psoup.engine.invoke import invoke
from psoup.engine.limits import CHUNK_ROWS, RETIRED_US, SEGMENT_ROWS, TUPLES_CACHE_BYTES_MAX
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.query.join_shape import JoinPlan
from psoup.engine.sources.cached_stem import CachedSteM
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from tests.engine.sources.growing_streams import CLAUSES, JOINS, Growing, begun
from tests.patience import WAIT_S
from tests.reference_values import Row


@pytest.mark.parametrize("seed", range(6))
def test_cached_tuples_differential_are_those_of_the_engine(seed):
    """Every method, while tuples come and go, with room for everything, for some segments, or for none."""
    growing = begun(seed, bytes_max=(TUPLES_CACHE_BYTES_MAX, 12_000_000, 1)[seed % 3])
    for _ in range(12):
        growing.grow()
        for _ in range(3):
            growing.compare()
        growing.cached.check()
    counted = growing.cached.statistics()
    assert counted.rows_loaded > 0
    assert counted.misses > 0
    assert seed % 3 == 2 or counted.hits > 0


@pytest.mark.parametrize(
    "bytes_max", [TUPLES_CACHE_BYTES_MAX, pytest.param(1, marks=pytest.mark.slow)]
)
def test_invoke_over_cached_tuples_differential_answers_as_the_engine_does(bytes_max):
    """Counts, pages, joins and DISTINCT, out of what is published and what is in the log."""
    growing = begun(11, bytes_max=bytes_max)
    world = growing.world
    sqls = [f"{sql} BEGIN (NOW - 0.3) END (NOW)" for sql in CLAUSES]
    sqls += [f"SELECT DISTINCT t FROM r WHERE k < {k} BEGIN (NOW - 2) END (NOW)" for k in (9, 400)]
    handles = [world.register(sql) for sql in [*sqls, *JOINS[:2]]]
    mine, other = InvocationCache(BoundQueries()), InvocationCache(BoundQueries())
    for count in (1, 70_000, 5):
        growing.send("r", count)
        growing.send("s", 30)
        world.clock.advance(growing.at_us - world.clock.now_us())
        for query_id in handles:
            for request in (Request(1), Request(1_000), Request(1, count_only=True)):
                ask = partial(invoke, world.store.results, query_id=query_id, request=request)
                expected = ask(growing.stored, cache=mine)
                found = ask(growing.cached, cache=other)
                assert shown(expected) == shown(found)


def shown(answer):
    """Return what is to be seen of an answer."""
    listed = [(name, column.to_list()) for name, column in answer.columns]
    leaves_us = None if answer.leaves_us is None else answer.leaves_us.tolist()
    return answer.count, answer.next, answer.tuple_ids.tolist(), leaves_us, listed


def test_reach_over_a_long_stream_reads_nothing_and_its_rows_a_segment_or_two():
    """Small batches date chunks exactly: a window over the last tuples leaves all earlier segments where they are."""
    growing = begun(12)
    for _ in range(60):
        growing.send("r", 6_000)
    stream_id, _ = growing.world.streams["r"]
    record = growing.record("r")
    asked = stream_id, record.floor_row, record.rows, growing.at_us - 100_000, 2**62
    runs = growing.cached.reach(*asked)
    assert 0 == growing.cached.statistics().segments
    assert runs[0][0] >= record.rows - 6 * CHUNK_ROWS
    rows = np.concatenate([np.arange(first, past) for first, past, _ in runs])
    growing.cached.times(stream_id, rows)
    assert growing.cached.statistics().segments <= 2


def test_reach_is_exact_once_rows_were_read():
    """A batch of many chunks dates them alike; who has read those that are whole knows better, even later."""
    growing = begun(13, bytes_max=1)
    stream_id, _ = growing.world.streams["r"]
    end_us = growing.world.clock.now_us() + 500_000
    whole = growing.record("r").rows // CHUNK_ROWS * CHUNK_ROWS
    asked = stream_id, 0, whole, None, end_us
    before = growing.cached.reach(*asked)
    growing.cached.times(stream_id, np.arange(whole))
    assert 0 == growing.cached.statistics().segments
    assert growing.stored.reach(*asked) == growing.cached.reach(*asked) != before


def test_segments_used_longest_ago_are_let_go_past_the_bound():
    """What is held stays below the bound, and what was used last stays."""
    growing = begun(14, bytes_max=9_000_000)
    growing.send("r", 2 * SEGMENT_ROWS)
    stream_id, _ = growing.world.streams["r"]
    for number in (0, 1, 0, 2, 0):
        growing.cached.times(stream_id, np.array([number * SEGMENT_ROWS]))
        growing.cached.check()
        assert growing.cached.statistics().nbytes <= 9_000_000
    loaded = growing.cached.statistics().rows_loaded
    growing.cached.times(stream_id, np.array([7]))
    assert loaded == growing.cached.statistics().rows_loaded == 3 * SEGMENT_ROWS


def test_rows_that_are_dropped_and_streams_that_are_gone_are_refused():
    """As the engine refuses them; of a new stream nothing older is held."""
    growing = begun(15)
    stream_id, _ = growing.world.streams["r"]
    clause = bind(CLAUSES[1], growing.world.streams).clause
    growing.send("r", 5 * SEGMENT_ROWS)
    for _ in range(2):
        growing.world.clock.advance(RETIRED_US)
        growing.world.tick()
    record = growing.record("r")
    assert record.dropped_row >= SEGMENT_ROWS
    rows, span = np.array([5, record.rows - 1]), DatedRows(stream_id, 0, record.rows, None, 2**62)
    join = JoinPlan(bind("SELECT a.k FROM r a, r b WHERE a.k = b.k", growing.world.streams).clause)
    calls = [
        lambda: growing.cached.times(stream_id, rows),
        lambda: growing.cached.tuples(stream_id, ["k"], rows),
        lambda: growing.cached.matching(stream_id, clause, 5, record.rows),
        lambda: growing.cached.reach(stream_id, 5, record.rows, None, 2**62),
        lambda: growing.cached.joining(join, [span, span]),
    ]
    everything = {"floor_row": 0, "floor_us": None, "past_row": record.rows}
    for call in calls:
        with pytest.raises(PageExpiredError):
            call()
    assert growing.cached.oldest(stream_id, **everything) is not None
    with pytest.raises(PageExpiredError):
        growing.cached.times(stream_id, np.array([record.rows]))
    growing.world.drop("r")
    growing.cached.forget()
    assert 0 == growing.cached.statistics().streams
    for call in calls:
        with pytest.raises(PageExpiredError):
            call()
    assert growing.cached.oldest(stream_id, **everything) is None


def test_batches_that_the_log_has_trimmed_are_refused():
    """The worker has not seen the delta that drops them."""
    growing = begun(16)
    stream_id, _ = growing.world.streams["r"]
    growing.cached.reach(stream_id, 0, 9, None, 2**62)
    seqs = [one.seq for one in growing.world.store.results.batches(stream_id, Seq(0)).batches]
    growing.world.store.log.trim(batches=seqs, below=Seq(0))
    with pytest.raises(PageExpiredError):
        growing.cached.times(stream_id, np.array([5]))
    asked = {"floor_row": 3, "floor_us": None, "past_row": growing.record("r").rows}
    assert growing.cached.oldest(stream_id, **asked) is not None, (
        "as the batches that are whole say"
    )


def test_tuples_of_a_stream_dropped_while_another_is_asked_for_are_held_no_longer():
    """The next stream that is asked for the first time is the occasion."""
    growing = begun(17)
    gone, _ = growing.world.streams["r"]
    growing.cached.times(gone, np.array([1]))
    growing.world.drop("r")
    left = growing.world.streams["s"][0]
    growing.cached.times(left, np.array([1]))
    assert 1 == growing.cached.statistics().streams


def test_threads_that_ask_at_once_while_tuples_come_read_the_same_as_the_engine():
    """Nobody reads a row that is not written, and each segment is read from the log once."""
    growing = begun(18)
    stream_id, _ = growing.world.streams["r"]
    clause = bind(CLAUSES[1], growing.world.streams).clause
    failures: list[BaseException] = []
    done = threading.Event()

    def ask(seed: int) -> None:
        rng = Random(seed)
        with suppress(PageExpiredError):
            while not done.is_set():
                rows = growing.record("r").rows
                first = rng.randrange(rows)
                past = min(rows, first + rng.choice([1, 9_000, 90_000]))
                try:
                    asked = stream_id, clause, first, past
                    found, expected = (
                        growing.cached.matching(*asked),
                        growing.stored.matching(*asked),
                    )
                    assert np.array_equal(expected, found)
                    some = np.arange(first, past, 7)
                    times = growing.cached.times(stream_id, some)
                    assert np.array_equal(growing.stored.times(stream_id, some), times)
                except AssertionError as failure:
                    failures.append(failure)
                    return

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for count in (900, 30_000, 1, 50_000) * 2:
        growing.send("r", count)
    done.set()
    for thread in threads:
        thread.join(WAIT_S)
        assert not thread.is_alive()
    assert not failures
    growing.cached.check()
    # A segment that was growing when the stream grew past it is read anew.
    assert growing.cached.statistics().rows_loaded <= 2 * growing.record("r").rows


def test_join_beside_a_segment_that_is_there_in_part_makes_no_index_of_rows_not_read():
    """The span has its rows, the window does not reach them; a later join does, and finds what there is."""
    growing = Growing(19)
    began_us = growing.at_us
    growing.send("s", 300)
    for _ in range(14):
        growing.send("r", 5_000)
    (r, _), (s, _) = growing.world.streams["r"], growing.world.streams["s"]
    growing.cached.times(r, np.array([69_999]))
    for _ in range(6):
        growing.send("r", 5_000)
    plan = JoinPlan(bind("SELECT r.k FROM r, s WHERE r.k = s.k", growing.world.streams).clause)
    beside = DatedRows(s, 0, 300, None, 2**62)
    for end_us in (began_us + 300_000, 2**62):
        spans = [DatedRows(r, 0, 100_000, None, end_us), beside]
        expected, found = (one.joining(plan, spans) for one in (growing.stored, growing.cached))
        assert sorted(expected.T.tolist()) == sorted(found.T.tolist())


def test_key_indexes_of_segments_let_go_while_they_are_joined_do_not_stay():
    """A join over more than there is room for makes indexes of segments that are gone already."""
    growing = Growing(20, bytes_max=6_000_000)
    growing.send("r", 3 * SEGMENT_ROWS)
    growing.send("s", 300)
    (r, _), (s, _) = growing.world.streams["r"], growing.world.streams["s"]
    plan = JoinPlan(bind(JOINS[0], growing.world.streams).clause)
    spans = [DatedRows(r, 0, 3 * SEGMENT_ROWS, None, 2**62), DatedRows(s, 0, 300, None, 2**62)]
    expected = growing.stored.joining(plan, spans)
    for _ in range(2):
        found = growing.cached.joining(plan, spans)
        assert sorted(expected.T.tolist()) == sorted(found.T.tolist())
        growing.cached.check()
        assert growing.cached.statistics().nbytes <= 6_000_000


def test_another_history_is_taken_note_of_amid_a_question_and_by_nobody_waited_for(monkeypatch):
    """The answer that tells of it comes to one who opens a stream, or while others make room."""
    growing = begun(21, bytes_max=1)
    stream_id, _ = growing.world.streams["r"]
    results, waited = growing.world.store.results, list[bool]()
    batches, let_go = results.batches, CachedSteM.let_go

    def forget() -> None:
        """Call `forget` as another thread would whose answer tells of the history."""
        thread = threading.Thread(target=growing.cached.forget, daemon=True)
        thread.start()
        thread.join(WAIT_S)
        waited.append(thread.is_alive())

    def telling(asked_id, after):
        found = batches(asked_id, after)
        forget()
        return found

    def letting_go(stem, numbers):
        forget()
        let_go(stem, numbers)

    with monkeypatch.context() as patch:
        patch.setattr(results, "batches", telling)
        with pytest.raises(PageExpiredError):
            growing.cached.times(stream_id, np.array([1]))
    assert 0 == growing.cached.statistics().streams, "what was read may be the earlier one's"
    with monkeypatch.context() as patch:
        patch.setattr(CachedSteM, "let_go", letting_go)
        growing.cached.times(stream_id, np.array([1]))
    assert [False, False] == waited


def test_entries_read_while_another_history_began_are_refused(monkeypatch):
    """The log may hold other batches in it under the same seqs: what was read is not told from them."""
    growing = begun(22)
    stream_id, _ = growing.world.streams["r"]
    results = growing.world.store.results
    growing.cached.reach(stream_id, 0, 9, None, 2**62)
    stem, cut = growing.cached._stem(stream_id), results.cut
    with monkeypatch.context() as patch:

        def told():
            growing.cached.forget()
            return cut()

        patch.setattr(results, "cut", told)
        with pytest.raises(PageExpiredError):
            growing.cached.times(stream_id, np.array([5]))
    assert 0 == len(stem.view.segments)
    expected = growing.stored.times(stream_id, np.array([5]))
    assert expected == growing.cached.times(stream_id, np.array([5]))


def test_cached_tuples_of_before_are_null_in_a_column_that_was_added():
    """Segments that are held get it when an answer needs it, or when batches come that have it, full or not."""
    growing = begun(3)
    world, cached = growing.world, growing.cached
    growing.send("r", SEGMENT_ROWS + 20)
    rows = np.arange(growing.record("r").dropped_row, growing.record("r").rows)
    stream_id, schema = world.streams["r"]
    cached.tuples(stream_id, ("k",), rows)
    loaded = cached.statistics().rows_loaded
    for name in ("more", "text"):
        kind = ColumnType.STRING if name == "text" else ColumnType.INT64
        schema = replace(schema, columns=(*schema.columns, ColumnSchema(name, kind)))
        world.alter(schema)
        nulls = cached.tuples(stream_id, (name,), rows).columns[name]
        assert [None] * len(rows) == nulls.to_list()
        clause = bind(f"SELECT k FROM r WHERE {name} IS NULL AND k >= 0", world.streams).clause
        assert len(rows) == len(
            cached.matching(stream_id, clause, int(rows[0]), len(rows) + int(rows[0]))
        )
        cached.check()
    assert loaded == cached.statistics().rows_loaded, "nothing was read again"
    world.alter(replace(schema, columns=(*schema.columns, ColumnSchema("last", ColumnType.BOOL))))
    last: Row = {
        "ts": growing.at_us,
        "i": 1,
        "f": 0.5,
        "t": "x",
        "k": 2,
        "more": 3,
        "text": "y",
        "last": True,
    }
    world.append("r", [last])
    both = np.array([rows[-1], rows[-1] + 1])
    for source in (cached, growing.stored):
        found = source.tuples(stream_id, ("more", "last"), both).columns
        assert ([None, 3], [None, True]) == (found["more"].to_list(), found["last"].to_list())
    join = JoinPlan(
        bind("SELECT a.k FROM r a, r b WHERE a.more = b.more AND b.last", world.streams).clause
    )
    spans = [DatedRows(stream_id, int(rows[0]), int(both[1]) + 1, None, growing.at_us * 2)] * 2
    assert [[both[1]], [both[1]]] == cached.joining(join, spans).tolist()
    cached.check()
