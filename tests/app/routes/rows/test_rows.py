"""Rows over HTTP: every format says the same, refusals list the rows, nothing of a refused batch stays."""

import gzip
import io

import pyarrow as pa
import pytest
import zstandard

from psoup.app.wire.rows.body import ARROW, COLUMNS, CSV, JSON, NDJSON
from psoup.engine.tuples.arrow import ARROW_TYPES
from psoup.engine.tuples.schema import ColumnType
from tests.app.support import START_US, Api, assert_problem, row

pytestmark = pytest.mark.anyio

SCHEMA = pa.schema(
    [
        pa.field("ts", ARROW_TYPES[ColumnType.TIMESTAMP], nullable=False),
        pa.field("sym", pa.string()),
        pa.field("px", pa.float64()),
        pa.field("qty", pa.int64()),
        pa.field("up", pa.bool_()),
    ]
)
TABLE = {
    "ts": [START_US, START_US + 500_000],
    "sym": ['a"b,\n', ""],
    "px": [0.1, None],
    "qty": [-(2**63), 2**63 - 1],
    "up": [True, None],
}


def arrow_body(columns: dict[str, object], schema: pa.Schema, **options: object) -> bytes:
    sink = io.BytesIO()
    batch = pa.RecordBatch.from_pydict(columns, schema=schema)
    settings = pa.ipc.IpcWriteOptions(**options)
    with pa.ipc.new_stream(sink, schema, options=settings) as writer:
        writer.write_batch(batch)
    return sink.getvalue()


BODIES = {
    JSON: (
        b'[{"ts":"2026-11-21T11:00:00+01:00","sym":"a\\"b,\\n","px":0.1,"qty":-9223372036854775808,"up":true},'
        b'{"ts":1795255200500000,"sym":"","qty":9223372036854775807}]'
    ),
    NDJSON: (
        b'{"ts":1795255200000000,"sym":"a\\"b,\\n","px":0.1,"qty":-9223372036854775808,"up":true}\n\n'
        b'{"ts":"2026-11-21t10:00:00.5z","sym":"","px":null,"qty":9223372036854775807}'
    ),
    CSV: (
        b"qty,sym,ts,px,up\r\n"
        b'-9223372036854775808,"a""b,\n",2026-11-21T10:00:00Z,0.1,true\r\n'
        b'9223372036854775807,"",2026-11-21T10:00:00.500000Z,,\r\n'
    ),
    ARROW: arrow_body(TABLE, SCHEMA),
    COLUMNS: (
        b'{"qty":[-9223372036854775808,9223372036854775807],"ts":["2026-11-21T10:00:00Z",1795255200500000],'
        b'"px":[0.1,null],"sym":["a\\"b,\\n",""],"up":[true,null]}'
    ),
}
EXPECTED = [
    {"ts": "2026-11-21T10:00:00.000000Z", "sym": 'a"b,\n', "px": 0.1, "qty": -(2**63), "up": True},
    {"ts": "2026-11-21T10:00:00.500000Z", "sym": "", "px": None, "qty": 2**63 - 1, "up": None},
]


@pytest.mark.services
@pytest.mark.parametrize("media_type", BODIES)
async def test_rows_of_each_format_come_back_as_the_same_values(api: Api, media_type):
    """The same rows in JSON, NDJSON, CSV, Arrow and JSON by columns are the same tuples."""
    await api.declare()
    query_id = await api.register("SELECT * FROM trades")
    answer = await api.body(BODIES[media_type], media_type)
    assert 200 == answer.status_code, answer.text
    assert {
        "stream": "trades",
        "accepted": 2,
        "duplicate": False,
        "seq": 3,
        "now": "2026-11-21T10:00:00.500000Z",
    } == answer.json()
    assert "3" == answer.headers["psoup-seq"]
    assert api.service.store.durability == answer.headers["psoup-durability"]
    assert EXPECTED == (await api.results(query_id, meta=0))["rows"]


@pytest.mark.parametrize("media_type", BODIES)
async def test_rows_of_all_formats_have_one_digest(api: Api, media_type):
    """A producer may repeat its batch in another format and another order: it is the same content."""
    await api.declare()
    txn = {"Psoup_Txn_App": "a", "Psoup_Txn_Version": "7"}
    reversed_lines = b"\n".join(reversed(BODIES[NDJSON].split(b"\n")))
    await api.body(reversed_lines, NDJSON, **txn)
    answer = await api.body(BODIES[media_type], media_type, **txn)
    assert (200, True, 0) == (
        answer.status_code,
        answer.json()["duplicate"],
        answer.json()["accepted"],
    )


@pytest.mark.parametrize("encode", [("gzip", gzip.compress), ("zstd", zstandard.compress)])
async def test_rows_compressed_are_decoded(api: Api, encode):
    """Bodies in gzip and zstd are stored as what they hold; cut short they are refused."""
    name, compress = encode
    await api.declare()
    body = compress(BODIES[NDJSON])
    assert 200 == (await api.body(body, NDJSON, Content_Encoding=name)).status_code
    assert_problem(await api.body(body[:-4], NDJSON, Content_Encoding=name), "bad-body")
    assert 2 == await api.count()


@pytest.mark.services
@pytest.mark.parametrize(
    ("body", "media_type"),
    [
        (b"[]", JSON),
        (b"\n", NDJSON),
        (b"ts,sym", CSV),
        (b"ts\n", CSV),
        (arrow_body({name: [] for name in TABLE}, SCHEMA), ARROW),
        (b'{"ts":[],"px":[]}', COLUMNS),
    ],
)
async def test_rows_of_an_empty_batch_are_committed(api: Api, body, media_type):
    """A batch without rows takes its position like any other."""
    await api.declare()
    answer = await api.body(body, media_type)
    assert (200, 0, 2) == (answer.status_code, answer.json()["accepted"], answer.json()["seq"])


JSON_ERRORS = [
    ({"qty": 2**63}, "/qty", "out-of-range", "9223372036854775808"),
    ({"qty": 2**64}, "/qty", "out-of-range", "18446744073709551616"),
    ({"qty": "12"}, "/qty", "type-mismatch", '"12"'),
    ({"qty": 1.5}, "/qty", "type-mismatch", "1.5"),
    ({"qty": True}, "/qty", "type-mismatch", "true"),
    ({"px": 2**53 + 1}, "/px", "out-of-range", "9007199254740993"),
    ({"px": 2**70}, "/px", "out-of-range", "1180591620717411303424"),
    ({"up": 1}, "/up", "type-mismatch", "1"),
    ({"sym": 5}, "/sym", "type-mismatch", "5"),
    ({"sym": "a\0"}, "/sym", "invalid-text", '"a\\u0000"'),
    ({"nope": 1}, "/nope", "unknown-column", "1"),
    ({"ts": None}, "/ts", "missing", "null"),
    ({"ts": "2026-11-21T10:00:00"}, "/ts", "type-mismatch", '"2026-11-21T10:00:00"'),
    ({"ts": "2026-02-30T10:00:00Z"}, "/ts", "out-of-range", '"2026-02-30T10:00:00Z"'),
    (
        {"ts": "2026-11-21T10:00:00.1234567Z"},
        "/ts",
        "type-mismatch",
        '"2026-11-21T10:00:00.1234567Z"',
    ),
    ({"ts": 10**18}, "/ts", "out-of-range", "1000000000000000000"),
    (
        {"ts": "2026-11-22T10:00:00.000001Z"},
        "/ts",
        "too-far-in-future",
        '"2026-11-22T10:00:00.000001Z"',
    ),
]


@pytest.mark.parametrize(("members", "pointer", "code", "got"), JSON_ERRORS)
async def test_rows_with_a_wrong_value_are_rejected_whole(api: Api, members, pointer, code, got):
    """One wrong value refuses its batch, says where it is, and leaves nothing behind."""
    await api.declare()
    wrong = {"ts": START_US, **members}
    body = assert_problem(await api.rows([row(), wrong]), "rows-rejected", errors_total=1)
    error = body["errors"][0]
    assert "line" not in error
    assert (1, pointer, code, got) == tuple(
        error[name] for name in ("index", "pointer", "code", "got")
    )
    assert 0 == await api.count()
    assert 200 == (await api.rows([row()])).status_code


async def test_rows_too_long_are_rejected(api: Api):
    """A text past 8 KiB, and a row past 32 KiB of texts that fit singly, are rejected."""
    texts = [{"name": f"t{i}", "type": "string"} for i in range(5)]
    await api.declare(columns=texts, time=None)
    body = assert_problem(await api.rows({"t0": "é" * 4_097}), "rows-rejected")
    assert [("/t0", "too-long")] == [(e["pointer"], e["code"]) for e in body["errors"]]
    assert 200 == (await api.rows({"t0": "é" * 4_096})).status_code
    body = assert_problem(await api.rows({f"t{i}": "x" * 8_000 for i in range(5)}), "rows-rejected")
    assert [("", "too-long")] == [(e["pointer"], e["code"]) for e in body["errors"]]


@pytest.mark.services
async def test_rows_errors_first_hundred_are_shown_in_order(api: Api):
    """Errors are counted in full and shown in the order of rows, then of columns."""
    await api.declare()
    body = assert_problem(await api.rows([row(px="x", qty="y")] * 300), "rows-rejected")
    assert (600, 100) == (body["errors_total"], len(body["errors"]))
    shown = [(error["index"], error["pointer"]) for error in body["errors"]]
    assert [(i // 2, ("/px", "/qty")[i % 2]) for i in range(100)] == shown


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"ts,qty\n5,1\n5,x\n", [(1, 3, "/qty", "type-mismatch")]),
        (b'ts,sym,qty\n5,"a\nb",1\n5,,1.0\n', [(1, 4, "/qty", "type-mismatch")]),
        (b"ts,qty\n5,9223372036854775808\n", [(0, 2, "/qty", "out-of-range")]),
        (
            b"ts,px\n5,1e999\n5,nan\n",
            [(0, 2, "/px", "out-of-range"), (1, 3, "/px", "type-mismatch")],
        ),
        (b"ts,px\n5,9007199254740993\n", [(0, 2, "/px", "out-of-range")]),
        (b"ts,up\n5,True\n", [(0, 2, "/up", "type-mismatch")]),
        (b"qty\n5\n", [(None, 1, "/ts", "missing")]),
        (b"ts,what\n5,1\n", [(None, 1, "/what", "unknown-column")]),
        (b"ts,qty\n,1\n", [(0, 2, "/ts", "missing")]),
    ],
)
async def test_rows_as_csv_errors_carry_their_line(api: Api, body, expected):
    """In CSV an error names the line its record begins in; the header is line 1."""
    await api.declare()
    problem = assert_problem(await api.body(body, CSV), "rows-rejected")
    keys = ("index", "line", "pointer", "code")
    assert expected == [tuple(error[key] for key in keys) for error in problem["errors"]]
    assert 0 == await api.count()


@pytest.mark.parametrize(
    ("kind", "values", "code"),
    [
        (pa.int16(), [1, 2], None),
        (pa.uint32(), [1, 2**32 - 1], None),
        (pa.uint64(), [1, 2], "type-mismatch"),
        (pa.float64(), [1.0, 2.0], "type-mismatch"),
        (pa.null(), [None, None], None),
    ],
)
async def test_rows_as_arrow_widen_integers_without_loss(api: Api, kind, values, code):
    """Narrower integers are taken for int64; what could lose something is refused by its type."""
    await api.declare()
    schema = pa.schema([pa.field("qty", kind), SCHEMA.field("ts")])
    answer = await api.body(arrow_body({"qty": values, "ts": TABLE["ts"]}, schema), ARROW)
    if code is None:
        assert 200 == answer.status_code, answer.text
    else:
        body = assert_problem(answer, "rows-rejected")
        assert [(None, "/qty", code)] == [
            (e["index"], e["pointer"], e["code"]) for e in body["errors"]
        ]


@pytest.mark.parametrize(
    ("name", "kind", "values", "code"),
    [
        ("ts", pa.timestamp("ns", "UTC"), [1, 2], "type-mismatch"),
        ("ts", pa.timestamp("us"), [1, 2], "type-mismatch"),
        ("ts", pa.timestamp("us", "Europe/Berlin"), [1, 2], None),
        ("px", pa.float64(), [1.0, float("nan")], "out-of-range"),
        ("px", pa.float32(), [1.0, 2.5], None),
        ("sym", pa.large_string(), ["a", "b"], None),
        ("sym", pa.dictionary(pa.int8(), pa.string()), ["a", "b"], None),
        ("sym", pa.string(), ["a", "b\0"], "invalid-text"),
        ("sym", pa.binary(), [b"a", b"b"], "type-mismatch"),
        ("ts", pa.timestamp("us", "UTC"), [1, None], "missing"),
        ("ts", pa.timestamp("us", "UTC"), [1, 2**62], "out-of-range"),
    ],
)
async def test_rows_as_arrow_are_checked_by_type_and_value(api: Api, name, kind, values, code):
    """Fields fit by their type, values by what a stream holds."""
    await api.declare()
    columns = {"ts": [1, 2], name: values}
    fields = [pa.field(one, kind if one == name else SCHEMA.field(one).type) for one in columns]
    answer = await api.body(arrow_body(columns, pa.schema(fields)), ARROW)
    if code is None:
        assert 200 == answer.status_code, answer.text
    else:
        assert code == assert_problem(answer, "rows-rejected")["errors"][0]["code"]


async def test_rows_as_arrow_with_compressed_buffers_are_refused(api: Api):
    """Buffers that claim to decode to anything are not decoded."""
    await api.declare()
    body = arrow_body(TABLE, SCHEMA, compression="zstd")
    assert_problem(await api.body(body, ARROW), "bad-body", reason="compressed Arrow buffers")


async def test_rows_as_arrow_damaged_anywhere_never_break_the_service(api: Api):
    """Whatever byte of an Arrow stream is flipped, the answer is a 200 or a 4xx."""
    await api.declare()
    body = BODIES[ARROW]
    for place in range(0, len(body), 7):
        damaged = bytearray(body)
        damaged[place] ^= 0xFF
        answer = await api.body(bytes(damaged), ARROW)
        assert answer.status_code in (200, 400, 413, 422), (place, answer.text)


async def test_rows_dated_in_the_future_of_the_stream_are_its_own_choice(api: Api):
    """How far ahead of the clock a row may be dated is declared with the stream."""
    await api.declare(future="10s")
    assert 200 == (await api.rows(row(10))).status_code
    assert_problem(await api.rows(row(11)), "rows-rejected")
