"""Retention: what the floors forget, when a Tick is due, and when tuples are let go."""

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from psoup.engine import expire
from psoup.engine.engine import Engine
from psoup.engine.limits import (
    CHUNK_ROWS,
    FOLD_AT_ONCE_BYTES_MAX,
    FOLD_AT_ONCE_ROWS_MAX,
    RETIRED_SEGMENTS_MAX,
    RETIRED_US,
    SEGMENT_ROWS,
)
from psoup.engine.log.operation import Declare, Materialize, QueryId, Register, Rows, Tick
from psoup.engine.results.delta import StreamRecord
from psoup.engine.results.hits import ClauseId
from psoup.engine.state.state import StreamState
from psoup.engine.tuples.arrow import arrow_schema, encode_batch
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    Retention,
    StreamId,
    StreamSchema,
)
from tests.engine.batches import SCHEMA, Operations, schema_keeping

STREAM = StreamId(1)
ROW_BYTES = 8 + 9 + 5


def dated(*times_us):
    return [(time_us, 1, None) for time_us in times_us]


def spanning(first_us, past_us, stream_id=STREAM, name="s"):
    """Return the same of times that follow each other, as a batch, made of whole columns."""
    times, schema = np.arange(first_us, past_us), arrow_schema(SCHEMA)
    cells = [pa.array(times), pa.array(np.ones_like(times)), pa.nulls(len(times))]
    columns = [one.cast(field.type) for one, field in zip(cells, schema, strict=True)]
    body = encode_batch(pa.record_batch(columns, schema=schema))
    return Rows(stream_id, name, len(times), body)


class Fold:
    """An engine over one stream; `record` is what is published of it."""

    def __init__(self, schema, arrival_us=0):
        self.op, self.engine = Operations(arrival_us), Engine()
        self.record = StreamRecord(STREAM, schema)
        self.apply(self.op(Declare(schema)))

    def apply(self, operation):
        delta = self.engine.apply(operation)
        self.engine.check()
        self.record = delta.streams.get(STREAM, self.record)
        self.engine.published()
        return delta

    def send(self, *times_us, after_us=1):
        return self.apply(self.op.rows(dated(*times_us), after_us=after_us))

    def send_span(self, first_us, past_us):
        return self.apply(self.op(spanning(first_us, past_us)))

    def oldest_us(self):
        """The smallest time that is retained."""
        return self.engine.source.oldest(
            STREAM,
            floor_row=self.record.floor_row,
            floor_us=self.record.floor_us,
            past_row=self.record.rows,
        )

    def tick(self, after_us):
        return self.apply(self.op(Tick(), after_us=after_us))


def test_expire_by_rows_keeps_exactly_the_last_ones():
    """The floor stands N rows before the end, within batches as well."""
    fold = Fold(schema_keeping(rows=3))
    floors = []
    for times in [(5, 9), (1,), (2, 3, 4, 8)]:
        fold.send(*times)
        floors.append((fold.record.floor_row, fold.record.forgotten_us))
    assert [(0, None), (0, None), (4, 9)] == floors
    assert 10 == fold.record.complete_from_us


def test_expire_oldest_time_follows_both_floors():
    """The oldest retained time is that of a tuple both bounds keep, and None where nothing is kept."""
    fold = Fold(schema_keeping(rows=3, time_us=100))
    seen = [fold.oldest_us()]
    for times in [(50, 20, 70), (30,), (125,), (300,)]:
        fold.send(*times)
        seen.append(fold.oldest_us())
    assert [None, 20, 20, 30, 300] == seen


def test_expire_by_bytes_lets_the_oldest_batches_go():
    """Whole batches go, oldest first, until the rest fits; the newest stays, however large."""
    fold = Fold(schema_keeping(bytes=4 * ROW_BYTES))
    seen = []
    for times in [(1, 2), (3, 4), (5,), (6, 7, 8, 9, 10), (11,)]:
        fold.send(*times)
        seen.append((fold.record.floor_row, fold.record.bytes // ROW_BYTES))
    assert [(0, 2), (0, 4), (2, 3), (5, 5), (10, 1)] == seen


def test_expire_keeps_few_segments_of_what_is_let_go():
    """A stream that fills segments faster than they retire holds RETIRED_SEGMENTS_MAX of them."""
    fold = Fold(schema_keeping(rows=1))
    for _ in range(RETIRED_SEGMENTS_MAX + 3):
        fold.send_span(0, SEGMENT_ROWS)
    assert 2 * SEGMENT_ROWS == fold.record.dropped_row
    assert RETIRED_SEGMENTS_MAX + 1 == fold.engine.statistics().rows_held // SEGMENT_ROWS


def test_expire_by_time_follows_the_high_water_mark():
    """high-water 100, kept 30:   70 |####| 100

    The floor never sinks, and a late tuple below it is never shown."""  # noqa: D209, D415
    fold = Fold(schema_keeping(time_us=30))
    floors = [fold.record.floor_us]
    for times in [(50, 100), (60, 65)]:
        fold.send(*times)
        floors.append(fold.record.floor_us)
    assert [None, 70, 70] == floors
    fold.send(120)
    assert (90, 0) == (fold.record.floor_us, fold.record.floor_row)
    assert not fold.engine.due(10**15)


def test_expire_by_time_on_the_server_clock_follows_arrivals():
    """Every operation moves the floor, a Tick too; a Tick is due exactly when it forgets a tuple."""
    fold = Fold(schema_keeping(time_us=30, clock=ClockKind.SERVER), arrival_us=1_000)
    fold.send(990, 1_010, after_us=0)
    assert 971 == fold.record.floor_us
    assert [False, True] == [fold.engine.due(at) for at in (1_020, 1_021)]
    fold.tick(after_us=30)
    assert (1_001, 0) == (fold.record.floor_us, fold.record.floor_row)
    assert [False, True] == [fold.engine.due(at) for at in (1_040, 1_041)]
    fold.tick(after_us=30)
    assert (2, 0) == (fold.record.floor_row, fold.record.bytes)
    assert not fold.engine.due(10**15)


def test_expire_lets_whole_segments_go_when_they_have_been_out_long_enough():
    """Hits first, then tuples, RETIRED_US after the last row left retention; not a segment more."""
    fold = Fold(schema_keeping(rows=10))
    text, kept = "SELECT * FROM s", Materialize.PARTIAL
    fold.apply(fold.op(Register(QueryId("q"), text, {"s": STREAM})))
    fold.send(*range(CHUNK_ROWS + 5))
    fold.apply(fold.op(Register(QueryId("r"), text, {"s": STREAM}, materialize=kept)))
    fold.send_span(0, SEGMENT_ROWS - 5 - (CHUNK_ROWS + 5))
    fold.send(*range(10))
    assert (SEGMENT_ROWS - 5, 0) == (fold.record.floor_row, fold.record.dropped_row)
    fold.send(*range(5))
    left_us = fold.op.arrival_us
    assert SEGMENT_ROWS == fold.record.floor_row
    assert [False, True] == [fold.engine.due(left_us + RETIRED_US + i) for i in (-1, 0)]
    early = fold.tick(after_us=RETIRED_US - 1)
    assert (frozenset(), frozenset()) == (early.dropped_segments, early.dropped_pages)
    assert 0 == fold.record.dropped_row
    late = fold.tick(after_us=1)
    assert {(STREAM, 0)} == late.dropped_segments
    assert {(ClauseId(4), 0)} == late.dropped_pages, "the other clause has no pages of its own"
    assert {(STREAM, Seq(3)), (STREAM, Seq(5))} == late.dropped_batches
    assert SEGMENT_ROWS == fold.record.dropped_row
    assert 15 == fold.engine.statistics().rows_held + 5
    assert not fold.engine.due(10**15)


def test_expire_of_a_batch_across_segments_lets_its_first_part_go():
    """A full segment dated out goes although its batch reaches into the next one."""
    fold = Fold(schema_keeping(time_us=100))
    fold.send(*([1] * SEGMENT_ROWS), 1_000)
    assert (SEGMENT_ROWS, 1) == (fold.record.floor_row, fold.record.forgotten_us)
    assert (SEGMENT_ROWS + 1) * ROW_BYTES == fold.record.bytes
    gone = fold.tick(after_us=RETIRED_US)
    assert (SEGMENT_ROWS, frozenset()) == (fold.record.dropped_row, gone.dropped_batches)


def test_expire_lets_a_batch_go_whose_end_a_segment_dated_out_takes_along(monkeypatch):
    """Its newest row is too far back, and its last ones go with a segment, which may be dropped at once."""
    monkeypatch.setattr(expire, "RETIRED_SEGMENTS_MAX", 0)
    fold = Fold(schema_keeping(rows=SEGMENT_ROWS + 10, time_us=500))
    fold.send(5_000, *([4_100] * (SEGMENT_ROWS + 99)))
    assert 90 == fold.record.floor_row
    gone = fold.send(*([4_100] * (SEGMENT_ROWS - 100)), *([5_000] * 20))
    assert (2 * SEGMENT_ROWS, 2 * SEGMENT_ROWS) == (fold.record.floor_row, fold.record.dropped_row)
    assert {(STREAM, Seq(2))} == gone.dropped_batches
    assert (SEGMENT_ROWS - 80) * ROW_BYTES == fold.record.bytes
    fold.send(5_001)
    assert (2 * SEGMENT_ROWS, 5_000) == (fold.record.floor_row, fold.record.forgotten_us)


def test_expire_due_looks_past_segments_that_are_out_or_stay():
    """Of three segments one is out already, one goes next, one stays: a Tick is due when the second goes."""
    fold = Fold(schema_keeping(time_us=100, clock=ClockKind.SERVER))
    fold.send(*([1] * SEGMENT_ROWS), *([150] * SEGMENT_ROWS), 10**6, after_us=200)
    assert (SEGMENT_ROWS, 101) == (fold.record.floor_row, fold.record.floor_us)
    assert [False, True] == [fold.engine.due(at) for at in (250, 251)]
    fold.send(3, after_us=60)
    assert (2 * SEGMENT_ROWS, 161) == (fold.record.floor_row, fold.record.floor_us)
    assert not fold.engine.due(10**6)


def test_expire_due_does_not_count_tuples_that_are_out_already_behind_some_that_stay():
    """A segment wholly dated out, behind one that is retained, is forgotten once."""
    fold = Fold(schema_keeping(time_us=100, clock=ClockKind.SERVER))
    fold.send(*([10**6] * SEGMENT_ROWS), *([1] * SEGMENT_ROWS), after_us=200)
    assert (0, 101) == (fold.record.floor_row, fold.record.floor_us)
    assert not fold.engine.due(250)
    assert fold.engine.due(10**6 + 101)


@pytest.mark.parametrize("kept", [{"rows": 5}, {"bytes": 5 * ROW_BYTES}, {"time_us": 50}])
def test_expire_floors_never_sink(kept):
    """Whatever comes in, in whatever order, what was forgotten stays forgotten."""
    fold = Fold(schema_keeping(**kept))
    floors = [(fold.record.floor_row, fold.record.floor_us)]
    for i in range(30):
        fold.send(*[(i * 37 + j * 11) % 200 for j in range(i % 4)])
        floors.append((fold.record.floor_row, fold.record.floor_us))
    rows = [row for row, _ in floors]
    dates = [date for _, date in floors if date is not None]
    assert (sorted(rows), sorted(dates)) == (rows, dates)


@pytest.mark.parametrize("seed", range(3))
def test_expire_of_settled_streams_differential_changes_nothing(monkeypatch, seed):
    """Streams that are passed over as settled are those that applying retention would leave as they are."""
    rng = Random(seed)
    schemas = [
        replace(schema_keeping(name="a", rows=CHUNK_ROWS), clock=ClockKind.SERVER),
        replace(schema_keeping(name="b", time_us=RETIRED_US // 3), clock=ClockKind.SERVER),
        schema_keeping(name="c", time_us=50, bytes=20_000 * ROW_BYTES),
    ]
    op = Operations()
    operations = [op(Declare(schema)) for schema in schemas]
    for _ in range(30):
        after_us = rng.choice([1, 1, 20, RETIRED_US // 4])
        stream = rng.choice([0, 1, 2, None])
        if stream is None:
            operations.append(op(Tick(), after_us=after_us))
            continue
        first = op.arrival_us - rng.choice([0, 3, 40])
        past = first + rng.choice([0, 1, 2, SEGMENT_ROWS + 1])
        name = schemas[stream].name
        content = spanning(first, past, StreamId(stream + 1), name)
        operations.append(op(content, after_us=after_us))
    operations += [op(Tick(), after_us=RETIRED_US) for _ in range(2)]

    def deltas():
        engine = Engine()
        found = []
        for operation in operations:
            found.append(engine.apply(operation))
            engine.published()
        engine.check()
        return found

    passing_over = deltas()
    assert any(delta.dropped_segments for delta in passing_over), "there is something to expire"
    monkeypatch.setattr(StreamState, "is_settled", property(lambda _: False))
    assert deltas() == passing_over


@pytest.mark.parametrize("clock", ClockKind)
@pytest.mark.parametrize(
    "kept",
    [
        {"time_us": 30},
        *(
            pytest.param(kept, marks=pytest.mark.no_cover)
            for kept in ({"rows": 5}, {"bytes": 100 * ROW_BYTES}, {})
        ),
    ],
)
def test_operation_that_takes_little_lets_few_batches_go(monkeypatch, clock, kept):
    """Whatever times come: one that would let many go, or complete a chunk, is not said to take little."""
    most = 40 if "bytes" in kept else 3  # texts count as many bytes as the body has
    monkeypatch.setattr(expire, "FOLD_AT_ONCE_BATCHES_MAX", most)
    random, said = Random(7), {True: 0, False: 0}
    fold = Fold(schema_keeping(clock=clock, **kept))
    for _ in range(400):
        jump = random.choice([0, 1, 1, 2, 200])
        times = [
            fold.op.arrival_us + random.randrange(jump + 1) for _ in range(random.choice([1, 2]))
        ]
        operation = fold.op.rows(dated(*times), after_us=random.choice([1, 1, 2, 100]))
        stream = fold.engine._state.streams[STREAM]
        before = len(stream.retained)
        little = fold.engine.takes_little(operation)
        fold.apply(operation)
        gone = before + 1 - len(stream.retained)
        said[little] += 1
        assert gone <= most or not little
    assert said[True] > 100
    assert bool(said[False]) == ("time_us" in kept)


@pytest.mark.parametrize("kept_by", ["rows", "bytes", "time_us"])
def test_operation_that_takes_little_leaves_segments_as_they_are(monkeypatch, kept_by):
    """One row behind large batches may push one of them out, and that many segments, each with its hits."""
    per_row = {"rows": 1, "bytes": ROW_BYTES, "time_us": 1}[kept_by]
    batch = SEGMENT_ROWS + 7
    monkeypatch.setattr(expire, "RETIRED_SEGMENTS_MAX", 2)
    kept: dict[str, Any] = {kept_by: 2 * batch * per_row}
    fold = Fold(schema_keeping(**kept))
    said, left = {True: 0, False: 0}, {True: 0, False: 0}

    def send(rows):
        first = fold.record.rows
        operation = fold.op(spanning(first, first + rows))
        little, before = fold.engine.takes_little(operation), fold.record
        delta = fold.apply(operation)
        assert not little or not delta.dropped_segments
        floors = fold.record.floor_row, before.floor_row
        assert not little or floors[0] - floors[1] <= FOLD_AT_ONCE_ROWS_MAX
        said[little] += 1
        left[little] += floors[0] // SEGMENT_ROWS - floors[1] // SEGMENT_ROWS

    for _ in range(4):
        send(batch)
        send(batch)
        for _ in range(16):
            send(1)
    assert fold.record.dropped_row
    assert said[True] > 30
    assert left[True] == 0 < left[False]


def test_operation_that_takes_much_is_known():
    """A chunk that becomes whole, more than a few bytes or rows, anything but rows, a stream that is not there."""
    (bit,) = (ColumnSchema("b", ColumnType.BOOL, nullable=False),)
    bits, op = StreamSchema("s", (bit,), None, ClockKind.SERVER, Retention()), Operations()
    engine = Engine()
    engine.apply(op(Declare(bits)))
    for rows, little in ((FOLD_AT_ONCE_ROWS_MAX, True), (FOLD_AT_ONCE_ROWS_MAX + 1, False)):
        body = encode_batch(pa.record_batch([pa.array([True] * rows)], schema=arrow_schema(bits)))
        assert len(body) < FOLD_AT_ONCE_BYTES_MAX
        assert little == engine.takes_little(op(Rows(STREAM, "s", rows, body)))
    fold = Fold(schema_keeping())
    fold.send(*range(CHUNK_ROWS - 2))
    one, two, many = (fold.op.rows(dated(*range(count))) for count in (1, 2, 400))
    found = [fold.engine.takes_little(operation) for operation in (one, two, many, fold.op(Tick()))]
    assert [True, False, False, False] == found
    assert not Engine().takes_little(one)
