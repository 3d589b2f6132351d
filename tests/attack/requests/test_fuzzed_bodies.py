"""Bodies of rows, damaged at random: each is read, or refused by a typed error, and nothing of a refused one is kept.

Arrow streams, JSON in all its forms and CSV; plain, and within gzip and zstd. Seeded: a failure names its seed.
"""

import gzip
import io
import random
from collections.abc import Callable

import orjson
import pyarrow as pa
import pytest
import zstandard

from psoup.app.http.problems import PROBLEM_TYPES
from psoup.app.wire.content import decode_body
from psoup.app.wire.rows.body import ARROW, COLUMNS, CSV, JSON, MEDIA_TYPES, NDJSON, read_rows
from psoup.engine import limits
from psoup.engine.errors import EngineError
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from tests.app.support import START_US, row, running

SCHEMA = StreamSchema(
    name="s",
    columns=tuple(ColumnSchema(kind.value, kind, nullable=True) for kind in ColumnType),
    time=None,
    clock=ClockKind.SERVER,
    retention=Retention(),
    future_us=limits.FUTURE_US_DEFAULT,
)
VALUES = {
    ColumnType.INT64: [0, -(2**63), 2**63 - 1, None],
    ColumnType.FLOAT64: [0.5, -1e300, 7.0, None],
    ColumnType.BOOL: [True, False, None, True],
    ColumnType.STRING: ["", 'a"b\n', "é𝄞", "x" * 40],
    ColumnType.TIMESTAMP: [0, 10**15, None, 10**12],
}
MARKS = [b"\0", b"\xff", b'"', b"\n", b",", b"[", b"{", b"}", b"]", b"-", b"1e999", b"9" * 40, b"\\u0000", b"\xff\xff\xff\xff"]  # fmt: skip
CODES = {"bad-body", "body-too-large", "rows-rejected"}


def arrow_body(chance: random.Random) -> bytes:
    """Return a stream of a few batches, of which texts are plain or of a dictionary that grows."""
    schema = arrow_schema(SCHEMA)
    place = schema.get_field_index(ColumnType.STRING.value)
    grows = chance.random() < 0.5
    if grows:
        coded = pa.dictionary(pa.int32(), pa.string())
        schema = schema.set(place, pa.field(ColumnType.STRING.value, coded))
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=chance.random() < 0.5)
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        for turn in range(chance.randrange(4)):
            arrays = []
            for field, (kind, values) in zip(schema, VALUES.items(), strict=True):
                if grows and kind is ColumnType.STRING:
                    known = pa.array([f"t{i}" for i in range(turn + 2)])
                    codes = pa.array([0, turn, turn + 1, 0], pa.int32())
                    arrays.append(pa.DictionaryArray.from_arrays(codes, known))
                else:
                    arrays.append(pa.array(values, field.type))
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
    return sink.getvalue()


def json_rows() -> list[dict[str, object]]:
    """Return the values as rows."""
    names = [kind.value for kind in VALUES]
    return [dict(zip(names, some, strict=True)) for some in zip(*VALUES.values(), strict=True)]


def csv_body(_: random.Random) -> bytes:
    """Return the values that CSV can say, some within quotes."""
    return b'int64,float64,bool,string,timestamp\r\n1,0.5,true,"a ""b"",\n",0\n,,,"",\n-5,7,false,x,10\n'


MAKERS: dict[str, Callable[[random.Random], bytes]] = {
    ARROW: arrow_body,
    JSON: lambda _: orjson.dumps(json_rows()),
    NDJSON: lambda _: b"\n".join(map(orjson.dumps, json_rows())),
    COLUMNS: lambda _: orjson.dumps({kind.value: values for kind, values in VALUES.items()}),
    CSV: csv_body,
}


def messages_of(stream: bytes) -> list[bytes]:
    """Return the messages of an Arrow stream, one after the other, and what ends it."""
    source = pa.BufferReader(stream)
    found: list[bytes] = []
    at = 0
    while True:
        try:
            pa.ipc.read_message(source)
        except EOFError:
            return [*found, stream[at:]]
        found.append(stream[at : source.tell()])
        at = source.tell()


def damaged(body: bytes, chance: random.Random, *, arrow: bool) -> bytes:
    """Return the body with a few bits turned, bytes cut out, put in or put elsewhere, or messages shuffled."""
    if arrow and chance.random() < 0.3:
        messages = messages_of(body)
        chosen = [chance.choice(messages) for _ in range(chance.randrange(1, 6))]
        body = b"".join(chosen if chance.random() < 0.5 else [messages[0], *chosen, messages[-1]])
    text = bytearray(body)
    for _ in range(chance.choice((0, 1, 1, 2, 5, 20))):
        if not text:
            break
        at, kind = chance.randrange(len(text)), chance.randrange(5)
        past = min(len(text), at + chance.choice((1, 4, 8, 64)))
        if kind == 0:
            text[at] ^= 1 << chance.randrange(8)
        elif kind == 1:
            del text[at:past]
        elif kind == 2:
            text[at:at] = chance.choice(MARKS)
        elif kind == 3:
            text[at:at] = text[chance.randrange(len(text)) :][: past - at]
        else:  # lengths and offsets are numbers of four or eight bytes
            at -= at % 4
            number = chance.choice((0, -1, 1, 2**31 - 1, -(2**31), chance.randrange(2**20)))
            text[at : at + 4] = number.to_bytes(4, "little", signed=True)
    return bytes(text)


def fuzz(media_type: str, seed: int) -> tuple[bytes, str | None]:
    """Return a damaged body and its content encoding, damaged as well or not."""
    chance = random.Random(seed)
    body = damaged(MAKERS[media_type](chance), chance, arrow=media_type == ARROW)
    encoding = chance.choice((None, None, "gzip", "zstd"))
    if encoding is None:
        return body, None
    pack = gzip.compress if encoding == "gzip" else zstandard.ZstdCompressor().compress
    packed = pack(body)
    return (packed if chance.random() < 0.5 else damaged(packed, chance, arrow=False)), encoding


def read(media_type: str, seed: int) -> str | None:
    """Read a damaged body; return the code of its refusal, None where it was read."""
    body, encoding = fuzz(media_type, seed)
    try:
        if encoding is not None:
            body = decode_body(body, encoding, bytes_max=limits.MIB)
        batch = read_rows(body, media_type, SCHEMA, now_us=START_US)
    except EngineError as error:
        return error.code
    batch.validate(full=True)
    assert batch.schema.equals(arrow_schema(SCHEMA))
    return None


def check_many(media_type: str, seeds: range) -> None:
    """Read many; each is read or refused, and neither is what happens to all of them."""
    outcomes: dict[str | None, int] = {}
    for seed in seeds:
        try:
            code = read(media_type, seed)
        except Exception as error:
            raise AssertionError(f"{media_type}, seed {seed}") from error
        outcomes[code] = outcomes.get(code, 0) + 1
    assert set(outcomes) <= {None, *CODES}, outcomes
    assert {None, "bad-body"} <= set(outcomes), f"the fuzzer is too mild, or too rough: {outcomes}"


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_damaged_bodies_are_read_or_refused(media_type):
    """Nothing but the declared errors, whatever was damaged."""
    check_many(media_type, range(500))


@pytest.mark.slow
@pytest.mark.parametrize("media_type", MEDIA_TYPES)
def test_many_damaged_bodies_are_read_or_refused(media_type):
    """The same, a hundred thousand times."""
    check_many(media_type, range(1_000, 101_000))


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio alone."""
    return "asyncio"


@pytest.mark.anyio
async def test_nothing_of_a_refused_body_is_stored():
    """Over HTTP each damaged body is 200 with its rows, or a problem and none; the next request works."""
    async with running() as api:
        await api.declare(columns=[{"name": c.name, "type": c.type.value} for c in SCHEMA.columns], time=None)  # fmt: skip
        for seed in range(200, 240):
            for media_type in MEDIA_TYPES:
                body, encoding = fuzz(media_type, seed)
                before = await api.count()
                more = {} if encoding is None else {"Content_Encoding": encoding}
                answer = await api.body(body, media_type, **more)
                told = answer.json()
                accepted = told["accepted"] if answer.status_code == 200 else 0
                if answer.status_code != 200:
                    assert told["code"] in CODES, (media_type, seed)
                    assert PROBLEM_TYPES[told["code"]].status == answer.status_code
                assert before + accepted == await api.count(), (media_type, seed)
        await api.declare("trades_2")
        assert 200 == (await api.rows(row(), name="trades_2")).status_code
