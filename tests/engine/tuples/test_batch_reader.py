"""Reading logged bodies: what pyarrow reads, without pyarrow where psoup wrote them."""

import struct
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given, strategies as st

from psoup.engine.errors import IntegrityError
from psoup.engine.limits import BODY_PLANS_MAX
from psoup.engine.tuples import ipc
from psoup.engine.tuples.arrow import arrow_schema, columns_from_arrow, decode_batch, encode_batch
from psoup.engine.tuples.batch import Seq, TupleBatch, TupleId
from psoup.engine.tuples.batch_reader import FEW_TEXTS, BatchReader
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    StreamId,
    StreamSchema,
)
from tests import strategies
from tests.engine.batches import SCHEMA, body_of
from tests.world import record_batch

ALL_TYPES = StreamSchema(
    "all",
    tuple(ColumnSchema(kind.value, kind) for kind in ColumnType),
    None,
    ClockKind.SERVER,
)


@st.composite
def drawn(draw):
    schema = draw(strategies.schemas())
    return schema, [draw(strategies.batches(schema)) for _ in range(draw(st.integers(1, 3)))]


def read(reader: BatchReader, body: bytes, *, arrival_us: int = 99) -> TupleBatch:
    return reader.batch(
        body,
        stream_id=StreamId(1),
        first_tuple_id=TupleId(40),
        seq=Seq(3),
        arrival_us=arrival_us,
    ).whole()


def arrow_of(count: int) -> pa.RecordBatch:
    """Return `count` rows of ALL_TYPES with a NULL in every column but where there is only one row."""
    values: dict[ColumnType, list[object]] = {
        ColumnType.INT64: [i - 2 for i in range(count)],
        ColumnType.FLOAT64: [i / 7 for i in range(count)],
        ColumnType.BOOL: [i % 3 == 0 for i in range(count)],
        ColumnType.STRING: ["", "ä", "two", "ä"] * count,
        ColumnType.TIMESTAMP: [i * 1_000 for i in range(count)],
    }
    arrays = []
    for kind, field in zip(ColumnType, arrow_schema(ALL_TYPES), strict=True):
        held = values[kind][:count]
        if count > 1:
            held[count // 2] = None
        arrays.append(pa.array(held, field.type))
    return pa.record_batch(arrays, schema=arrow_schema(ALL_TYPES))


def assert_reads_as_pyarrow_does(reader: BatchReader, body: bytes) -> None:
    batch = read(reader, body)
    expected = columns_from_arrow(reader.schema, decode_batch(reader.schema, body))
    for column, wanted in zip(batch.columns, expected, strict=True):
        assert (wanted.type, wanted.to_list()) == (column.type, column.to_list())
        assert wanted.values.tolist() == column.values.tolist(), "under NULL as well"
        assert wanted.values.dtype == column.values.dtype
        assert (wanted.valid is None) == (column.valid is None)
        assert wanted.dictionary == column.dictionary


@given(drawn())
@example((ALL_TYPES, [[], []]))
def test_reader_of_any_batches_oracle_reads_what_pyarrow_reads(made):
    """Values, what lies under NULL, dictionaries in their order: for one batch after the other."""
    schema, batches = made
    reader = BatchReader(schema)
    for rows in [*batches, *batches]:
        assert_reads_as_pyarrow_does(reader, encode_batch(record_batch(schema, rows)))


@pytest.mark.parametrize("count", [1, 2, 7, 8, 9, FEW_TEXTS, FEW_TEXTS + 1, 200])
def test_reader_of_every_type_reads_it_without_pyarrow(monkeypatch, count):
    """No body that `encode_batch` writes needs a stream to be opened, few rows or many."""
    batch = arrow_of(count)
    body = encode_batch(batch)
    assert_reads_as_pyarrow_does(BatchReader(ALL_TYPES), body)

    def refusing(*_):
        raise AssertionError("it was not understood")

    monkeypatch.setattr("psoup.engine.tuples.batch_reader.decode_batch", refusing)
    held = read(BatchReader(ALL_TYPES), body)
    assert [99] * count == held.times_us.tolist(), "undated tuples are dated by their arrival"
    for column, array in zip(held.columns, batch.columns, strict=True):
        plain = array.cast(pa.int64()) if column.type is ColumnType.TIMESTAMP else array
        assert plain.to_pylist() == column.to_list()


@pytest.mark.parametrize("count", [1, 5])
def test_reader_of_bodies_of_before_columns_were_added_reads_null_in_them(monkeypatch, count):
    """Without pyarrow too; a body of fewer columns than the first declaration had, or of others, is none."""
    batch, first = arrow_of(count), 2
    wide = replace(ALL_TYPES, added=len(ALL_TYPES.columns) - first)
    reader = BatchReader(wide)
    for width in (first, len(wide.columns), first + 1, first):
        body = encode_batch(batch.select(range(width)))
        assert_reads_as_pyarrow_does(reader, body)
        columns = read(reader, body).columns
        assert [[None] * count] * (len(wide.columns) - width) == [
            column.to_list() for column in columns[width:]
        ]
    for damaged in (batch.select([0]), batch.select([0, 2]), batch.select([0, 1, 3])):
        with pytest.raises(IntegrityError):
            read(reader, encode_batch(damaged))
    monkeypatch.delattr("psoup.engine.tuples.batch_reader.decode_batch")
    assert count == len(read(BatchReader(wide), encode_batch(batch.select(range(first)))))


def test_reader_dates_tuples_by_their_time_column():
    """Declared times date the tuples, ids follow the first one, names find their columns."""
    batch = read(BatchReader(SCHEMA), body_of([(7, 1, "x"), (5, None, None)]))
    assert ([7, 5], 40, 99) == (batch.times_us.tolist(), batch.first_tuple_id, batch.arrival_us)
    assert ([1, None], 2) == (batch.column("a").to_list(), len(batch))
    with pytest.raises(KeyError):
        batch.column("missing")


def rewritten(batch: pa.RecordBatch, *, batches: int = 1, **options: object) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        for _ in range(batches):
            writer.write_batch(batch)
    body: bytes = sink.getvalue().to_pybytes()
    return body


@pytest.mark.parametrize(
    "options",
    [
        {"compression": "zstd"},
        {"use_legacy_format": True},
        {"metadata_version": pa.ipc.MetadataVersion.V4},
    ],
    ids=["compressed", "legacy", "version 4"],
)
def test_reader_of_a_stream_in_another_manner_leaves_it_to_pyarrow(options):
    """Whoever wrote the log: what is valid is read."""
    batch = arrow_of(50)
    assert_reads_as_pyarrow_does(BatchReader(ALL_TYPES), rewritten(batch, **options))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not Arrow",
        body_of([(1, 1, "x")])[:40],
        body_of([(1, 1, "x")])[:-40] + ipc.END,
        encode_batch(pa.record_batch({"a": [1]})),
        rewritten(decode_batch(SCHEMA, body_of([(1, 1, "x")])), batches=2),
        rewritten(decode_batch(SCHEMA, body_of([(1, 1, "x")])), batches=0),
    ],
    ids=["empty", "text", "torn", "cut in its values", "other columns", "two batches", "no batch"],
)
def test_reader_of_other_bytes_refuses_them(body):
    """Bytes that are not one batch of the stream are damage, said so by type, first or later."""
    reader = BatchReader(SCHEMA)
    with pytest.raises(IntegrityError):
        read(reader, body)
    assert [1] == read(reader, body_of([(1, 1, "x")])).times_us.tolist()
    with pytest.raises(IntegrityError):
        read(reader, body)


NARROWER = StreamSchema("s", SCHEMA.columns[:2], "ts", ClockKind.HIGH_WATER)
WITHOUT_TEXT = StreamSchema(
    "s", (*SCHEMA.columns[:2], SCHEMA.columns[1]), "ts", ClockKind.HIGH_WATER
)


@pytest.mark.parametrize("other", [NARROWER, WITHOUT_TEXT], ids=["fewer columns", "fewer buffers"])
def test_reader_of_a_message_that_belongs_to_another_schema_makes_no_plan(other):
    """Schema and message that do not fit each other are not guessed at."""
    own, foreign = (len(arrow_schema(one).serialize()) for one in (SCHEMA, other))
    arrays = [pa.array([1], field.type) for field in arrow_schema(other)]
    body = encode_batch(pa.record_batch(arrays, schema=arrow_schema(other)))
    spliced = body_of([(1, 1, "x")])[:own] + body[foreign:]
    assert None is BatchReader(SCHEMA)._plan(spliced)
    assert None is not BatchReader(other)._plan(body)


@pytest.mark.parametrize(
    ("told", "damaged"),
    [
        ((0, 2), (0, 1)),
        ((8, 72), (8, 71)),
        ((0, 2), (8, 2)),
        ((8, 72), (2**40, 72)),
        ((8, 72), (4, 72)),
    ],
    ids=["NULLs", "values", "harmless", "outside", "unaligned"],
)
def test_reader_of_buffers_that_are_too_short_makes_no_plan(told, damaged):
    """What is read lies in the buffers, whatever a message says."""
    body = encode_batch(arrow_of(9))
    places, changed = struct.pack("<qq", *told), struct.pack("<qq", *damaged)
    assert places in body
    plan = BatchReader(ALL_TYPES)._plan(body.replace(places, changed, 1))
    assert (plan is not None) == (damaged == (8, 2))


@pytest.mark.parametrize("count", [1, 2, FEW_TEXTS + 8])
def test_reader_of_a_body_damaged_in_any_byte_reads_or_refuses_it(count):
    """Whatever byte is another one, in the schema, the message or the values: tuples, or damage said by type."""
    body = body_of([(row, None if row == 1 else row, "ä") for row in range(count)])
    refused = 0
    for place, byte in enumerate(body):
        for damaged in {0, 127, 255, byte ^ 1, byte ^ 128} - {byte}:
            torn = body[:place] + bytes([damaged]) + body[place + 1 :]
            try:
                columns = read(BatchReader(SCHEMA), torn).columns
            except IntegrityError:
                refused += 1
            else:
                assert {count} == set(map(len, columns))
    assert refused > len(body)


@pytest.mark.parametrize("count", [2, FEW_TEXTS, FEW_TEXTS + 1])
@pytest.mark.parametrize(
    "options",
    [{}, {"metadata_version": pa.ipc.MetadataVersion.V4}],
    ids=["as psoup writes", "version 4"],
)
def test_reader_of_texts_outside_their_bytes_refuses_them(count, options):
    """No text is looked for before the bytes, behind them or backwards, however many there are."""
    batch = decode_batch(SCHEMA, body_of([(row, row, "three") for row in range(count)]))
    body = rewritten(batch, **options)
    bounds = struct.pack(f"<{count + 1}i", *range(0, 5 * count + 1, 5))
    assert 1 == body.count(bounds)
    for place, bound in ((0, -4), (count, 2**31 - 1), (count, -1), (count // 2, 10**9)):
        damaged = bytearray(bounds)
        struct.pack_into("<i", damaged, 4 * place, bound)
        with pytest.raises(IntegrityError):
            read(BatchReader(SCHEMA), body.replace(bounds, damaged))
    text = body.replace(b"three", b"thr\xffe")
    with pytest.raises(IntegrityError):
        read(BatchReader(SCHEMA), text)


def test_reader_of_a_lone_text_outside_its_bytes_refuses_it():
    """Before the bytes, behind them, backwards, or no UTF-8."""
    body = body_of([(1, 1, "three")])
    place = body.rindex(struct.pack("<2i", 0, 5))
    assert ["three"] == read(BatchReader(SCHEMA), body).column("t").to_list()
    for first, past in ((-4, 5), (0, 6), (0, 2**31 - 1), (4, 2), (5, -1)):
        damaged = bytearray(body)
        struct.pack_into("<2i", damaged, place, first, past)
        with pytest.raises(IntegrityError):
            read(BatchReader(SCHEMA), bytes(damaged))
    with pytest.raises(IntegrityError):
        read(BatchReader(SCHEMA), body.replace(b"three", b"thr\xffe"))


def test_reader_of_ever_other_texts_keeps_few_plans():
    """Where every message differs, plans come and go and tuples are read all the same."""
    reader = BatchReader(SCHEMA)
    for length in range(2 * BODY_PLANS_MAX + 3):
        batch = read(reader, body_of([(length, length, "x" * length)]))
        assert ["x" * length] == batch.column("t").to_list()
        assert len(reader._plans) <= BODY_PLANS_MAX


@given(st.data())
def test_layout_of_damaged_metadata_never_leads_outside(data):
    """Whatever a message says: its buffers lie in the stream, whole words from its begin, or it is not read."""
    body = body_of([(1, 1, "x"), (2, None, None)])
    begin = len(arrow_schema(SCHEMA).serialize())
    metadata = bytearray(ipc.metadata_of(body, begin))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(metadata) - 4))
        if data.draw(st.booleans()):
            metadata[place] = data.draw(st.integers(0, 255))
        else:
            struct.pack_into("<i", metadata, place, data.draw(st.integers(-64, 400)))
    found = ipc.layout(bytes(metadata), begin)
    if found is not None:
        for buffer in found.buffers:
            assert 0 <= found.begin <= buffer.begin
            assert buffer.length >= 0 == buffer.begin % ipc.WORD_BYTES
            assert buffer.begin + buffer.length <= found.past - len(ipc.END)


def test_layout_of_metadata_damaged_in_any_byte_is_read_or_not():
    """A message whose parts lie outside itself is none: nothing is raised, whatever byte is another one."""
    begin = len(arrow_schema(SCHEMA).serialize())
    metadata = ipc.metadata_of(body_of([(1, 1, "x")]), begin)
    for place in range(len(metadata)):
        for damaged in (1, 64, 128, 255):
            torn = metadata[:place] + bytes([damaged]) + metadata[place + 1 :]
            found = ipc.layout(torn, begin)
            assert found is None or begin <= found.begin


def test_layout_of_a_batch_says_what_pyarrow_wrote():
    """Rows, NULLs of each column, and buffers that hold the values."""
    body = encode_batch(arrow_of(9))
    begin = len(arrow_schema(ALL_TYPES).serialize())
    found = ipc.layout(ipc.metadata_of(body, begin), begin)
    assert found is not None
    assert (9, (1, 1, 1, 1, 1), len(body)) == (found.rows, found.null_counts, found.past)
    held = found.buffers[1]
    values = np.frombuffer(body, np.int64, 9, held.begin)
    assert [-2, -1, 0, 1, 0, 3, 4, 5, 6] == np.where(np.arange(9) == 4, 0, values).tolist()
    assert None is ipc.layout(b"", 0)
    assert b"" == ipc.metadata_of(body, 4)
