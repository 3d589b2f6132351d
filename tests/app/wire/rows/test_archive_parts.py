"""Parts of histories: what is taken, what is refused and why, and that a refusal changes nothing."""

import gzip
import struct
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from psoup.app.errors import BodyTooLargeError
from psoup.app.wire.rows.archive_parts import read_part
from psoup.app.wire.rows.body import ARROW
from psoup.engine import limits
from psoup.engine.log.operation import QueryId
from tests.app.archive_job import (
    LEADING,
    PX,
    ask,
    claim,
    forgetting,
    part,
    prices,
    put,
    queued,
    tell,
)
from tests.app.support import START_US, Api, assert_problem

pytestmark = pytest.mark.anyio
T = START_US
JOIN = "SELECT a.px FROM trades a, trades b WHERE a.sym = b.sym"


async def claimed(api: Api, **more: Any) -> str:
    """Return the handle of a history that is claimed."""
    given = await forgetting(api, **more)
    history_id = str((await ask(api, given.query_id)).json()["history"]["id"])
    await claim(api, history_id)
    return history_id


def stream(schema: pa.Schema, *batches: pa.RecordBatch, **options: Any) -> bytes:
    """Return an Arrow stream of these batches."""
    sink = pa.BufferOutputStream()
    written = pa.ipc.IpcWriteOptions(**options)
    with pa.ipc.new_stream(sink, schema, options=written) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return bytes(sink.getvalue().to_pybytes())


def sharing(body: bytes, columns: int, size: int) -> bytes:
    """Return a stream of one batch whose last columns have their values, `size` bytes, in one place."""
    source = pa.BufferReader(body)
    pa.ipc.read_message(source)
    at = source.tell()
    message = pa.ipc.read_message(source)
    metadata, values = bytearray(message.metadata.to_pybytes()), message.body.to_pybytes()
    lengths = [i for i in range(8, len(metadata) - 7, 8) if metadata[i : i + 8] == word(size)]
    kept, *others = [i - 8 for i in lengths[-columns:]]
    for other in others:
        metadata[other : other + 8] = metadata[kept : kept + 8]
    past = struct.unpack_from("<q", metadata, kept)[0] + size
    assert metadata.count(word(len(values))) == 1
    metadata = metadata.replace(word(len(values)), word(past))
    framed = b"\xff" * 4 + struct.pack("<i", len(metadata)) + metadata
    return b"".join([body[:at], framed, values[:past], b"\xff" * 4, bytes(4)])


def word(number: int) -> bytes:
    """Return a number as a stream's metadata have it."""
    return struct.pack("<q", number)


def fields(*changed: tuple[int, pa.Field]) -> pa.Schema:
    """Return the schema of a part with other fields at these places."""
    listed = [pa.field(name, kind) for name, kind in [*LEADING, *PX]]
    for place, other in changed:
        listed[place] = other
    return pa.schema(listed)


GROUPS = "SELECT sym, SUM(qty) AS total FROM trades GROUP BY sym"
NUMBERED = [("_row", pa.int64()), *LEADING[1:]]
GROUP_OUTPUTS = [("sym", pa.string()), ("total", pa.int64())]
ONE, TWO = "0123456789abcdef01234567", "f" * 24


@pytest.mark.services
async def test_parts_of_groups_are_numbered_and_warn_of_what_overflows(api: Api):
    """Ids are those that the job sends; the answer warns on each page, also on one without rows."""
    given = await forgetting(api, sql=GROUPS)
    await ask(api, given.query_id)
    (record,) = await queued(api)
    await claim(api, record["id"])
    rows: list[tuple[Any, ...]] = [(0, ONE, START_US, "a", None), (1, TWO, None, None, 3)]
    for number, row in enumerate(rows):
        sent = await put(api, record["id"], number, part([row], GROUP_OUTPUTS, leading=NUMBERED))
        assert 204 == sent.status_code, sent.text
    end = {"state": "done", "parts": 2, "rows": 2, "overflowed": ["SUM(qty)", "SUM(other)"]}
    assert 200 == (await tell(api, record["id"], **end)).status_code
    page = (await ask(api, given.query_id, limit=1)).json()
    following = (await api.get(page["next"])).json()
    assert [(ONE, "a", None), (TWO, None, 3)] == [
        (row["_id"], row["sym"], row["total"]) for row in page["rows"] + following["rows"]
    ]
    counted = (await ask(api, given.query_id, count="only")).json()
    for answer in (page, following, counted):
        (warning,) = answer["warnings"]
        assert "SUM(qty)." in warning["detail"]
        assert "other" not in warning["detail"]


@pytest.mark.parametrize(
    ("numbers", "ids", "pointer"),
    [
        ([0, 2], [ONE, TWO], "/columns/0"),
        ([-1, 0], [ONE, TWO], "/columns/0"),
        ([None, 1], [ONE, TWO], "/columns/0"),
        ([0, 1], [ONE, "17"], "/columns/1"),
    ],
    ids=["a gap", "a negative number", "no number", "a tuple id"],
)
async def test_part_of_groups_out_of_order_is_refused(api: Api, numbers, ids, pointer):
    history_id = await claimed(api, sql=GROUPS)
    rows = [(number, name, None, "a", 1) for number, name in zip(numbers, ids, strict=True)]
    body = part(rows, GROUP_OUTPUTS, leading=NUMBERED)
    refused = assert_problem(await put(api, history_id, 0, body), "invalid-field")
    assert [pointer] == [one["pointer"] for one in refused["errors"]]


async def test_part_of_rows_in_an_order_has_their_tuple_ids(api: Api):
    """They are known by these, as without ORDER BY; a part with times is none of it."""
    history_id = await claimed(api, sql="SELECT px FROM trades ORDER BY px DESC LIMIT 3")
    dated = assert_problem(await put(api, history_id, 0, prices(0, 3)), "invalid-field")
    assert "_row, _id, _x" in dated["detail"]
    rows: list[tuple[Any, ...]] = [(0, "9", None, 9.0), (1, "8", None, 8.0)]
    assert 204 == (await put(api, history_id, 0, part(rows, leading=NUMBERED))).status_code


@pytest.mark.parametrize(
    ("name", "status"), [("12-", 204), ("12-7", 204), ("-7", 422), ("12", 422)]
)
async def test_part_of_a_left_join_may_lack_the_last_id(api: Api, name, status):
    sql = "SELECT a.px FROM trades a LEFT JOIN trades b ON a.sym = b.sym"
    history_id = await claimed(api, sql=sql)
    body = part([(0, name, None, 1.0)], leading=NUMBERED)
    assert status == (await put(api, history_id, 0, body)).status_code


US = pa.timestamp("us", tz="UTC")
COLUMNS = {
    "none": (pa.schema([]), "/columns/0"),
    "no outputs": (pa.schema([pa.field(*one) for one in LEADING]), "/columns/3"),
    "one more": (fields().append(pa.field("more", pa.int64())), "/columns/4"),
    "another name": (fields((3, pa.field("price", pa.float64()))), "/columns/3"),
    "another type": (fields((3, pa.field("px", pa.float32()))), "/columns/3"),
    "another order": (fields((0, fields().field(1)), (1, fields().field(0))), "/columns/0"),
    "milliseconds": (fields((0, pa.field("_time", pa.timestamp("ms", tz="UTC")))), "/columns/0"),
    "no zone": (fields((2, pa.field("_x", pa.timestamp("us")))), "/columns/2"),
    "another zone": (fields((2, pa.field("_x", pa.timestamp("us", tz="CET")))), "/columns/2"),
    "ids as numbers": (fields((1, pa.field("_id", pa.int64()))), "/columns/1"),
    "a dictionary": (
        fields((1, pa.field("_id", pa.dictionary(pa.int32(), pa.string())))),
        "/columns/1",
    ),
}


@pytest.mark.parametrize("what", COLUMNS)
async def test_part_of_other_columns_is_refused(api: Api, what):
    """Names, types and order are the query's; the refusal says which is not."""
    schema, pointer = COLUMNS[what]
    history_id = await claimed(api)
    refused = await put(api, history_id, 0, stream(schema))
    assert pointer in [one["pointer"] for one in assert_problem(refused, "invalid-field")["errors"]]
    assert 0 == api.service.store.histories.statistics().nbytes


ROWS: dict[str, tuple[list[tuple[Any, ...]], str]] = {
    "no time": ([(None, "1", None, 1.0)], "/columns/0"),
    "no id": ([(T, None, None, 1.0)], "/columns/1"),
    "infinite": ([(T, "1", None, float("inf"))], "/columns/3"),
    "not a number": ([(T, "1", None, float("nan"))], "/columns/3"),
    "a late time": ([(limits.TIMESTAMP_US_MAX + 1, "1", None, 1.0)], "/columns/0"),
    "an early leave": ([(T, "1", limits.TIMESTAMP_US_MIN - 1, 1.0)], "/columns/2"),
    "an id of letters": ([(T, "1", None, 1.0), (T, "x", None, 1.0)], "/columns/1"),
    "an empty id": ([(T, "", None, 1.0)], "/columns/1"),
    "a negative id": ([(T, "-1", None, 1.0)], "/columns/1"),
    "a long id": ([(T, "1" * 19, None, 1.0)], "/columns/1"),
    "two ids": ([(T, "1-2", None, 1.0)], "/columns/1"),
    "a zero in front": ([(T, "01", None, 1.0)], "/columns/1"),
    "a line behind": ([(T, "1\n", None, 1.0)], "/columns/1"),
    "times backwards": ([(T + 1, "1", None, 1.0), (T, "2", None, 1.0)], "/rows"),
    "ids backwards": ([(T, "10", None, 1.0), (T, "9", None, 1.0)], "/rows"),
    "a row twice": ([(T, "1", None, 1.0), (T, "1", None, 1.0)], "/rows"),
}


@pytest.mark.parametrize("what", ROWS)
async def test_part_of_rows_that_no_answer_has_is_refused(api: Api, what):
    """Times, ids and values are those of an answer, in its order."""
    rows, pointer = ROWS[what]
    history_id = await claimed(api)
    refused = assert_problem(await put(api, history_id, 0, part(rows)), "invalid-field")
    assert [pointer] == [one["pointer"] for one in refused["errors"]]
    assert 0 == api.service.store.histories.statistics().nbytes


async def test_part_of_a_join_has_an_id_for_each_source(api: Api):
    """As numbers in FROM order: 9 comes before 10."""
    history_id = await claimed(api, sql=JOIN)
    for wrong in ("1", "1-2-3", "1--2", "-1-2"):
        refused = await put(api, history_id, 0, part([(T, wrong, None, 1.0)]))
        assert "2 tuple ids" in assert_problem(refused, "invalid-field")["errors"][0]["reason"]
    rows = [(T, one, None, 1.0) for one in ("9-10", "10-9", "10-10")]
    assert_problem(await put(api, history_id, 0, part(rows[::-1])), "invalid-field")
    assert 204 == (await put(api, history_id, 0, part(rows))).status_code
    assert 200 == (await tell(api, history_id, state="done", parts=1, rows=3)).status_code


async def test_parts_are_in_order_of_ids_as_numbers(api: Api):
    """Over parts as inside them."""
    history_id = await claimed(api)
    await put(api, history_id, 0, part([(T, "10", None, 1.0)]))
    await put(api, history_id, 1, part([(T, "9", None, 1.0)]))
    refused = await tell(api, history_id, state="done", parts=2, rows=2)
    assert_problem(refused, "history-parts-missing", parts=[1])
    await put(api, history_id, 1, part([(T, "11", None, 1.0)]))
    assert 200 == (await tell(api, history_id, state="done", parts=2, rows=2)).status_code


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"", "bad-body"),
        (b"PK\x03\x04", "bad-body"),
        (prices(0, 10)[:-8], "bad-body"),
        (prices(0, 10)[:200], "bad-body"),
        (prices(0, 10) + b"more", "bad-body"),
        (b"\xff\xff\xff\xff\xff\xff\xff\x7f" + prices(0, 10)[8:], "bad-body"),
    ],
)
async def test_part_that_is_no_arrow_stream_is_refused(api: Api, body, code):
    """Cut, damaged, or something else: a clear refusal, and nothing is kept."""
    history_id = await claimed(api)
    assert_problem(await put(api, history_id, 0, body), code)
    assert 0 == api.service.store.histories.statistics().nbytes


async def test_part_with_damaged_bytes_is_never_a_fault_of_the_service(api: Api):
    """Wherever bytes are flipped, it is taken as what it then says, or refused."""
    history_id = await claimed(api)
    whole, chance = prices(0, 10), np.random.default_rng(7)
    for _ in range(300):
        body = bytearray(whole)
        for place in chance.integers(0, len(body), 3):
            body[place] = chance.integers(0, 256)
        answer = await put(api, history_id, 0, bytes(body))
        assert answer.status_code in {204, 400, 413, 422}, answer.text


async def test_part_may_come_in_many_batches(api: Api):
    """What is kept of it is one; fields may say that they have no NULL, and have metadata."""
    history_id = await claimed(api)
    columns = [pa.field(name, kind, nullable=False) for name, kind in LEADING[:2]]
    schema = fields((0, columns[0]), (1, columns[1])).with_metadata({"from": "a job"})
    table = pa.ipc.open_stream(prices(0, 10)).read_all().cast(schema)
    assert (
        204
        == (
            await put(api, history_id, 0, stream(schema, *table.to_batches(max_chunksize=3)))
        ).status_code
    )
    assert 204 == (await put(api, history_id, 1, stream(fields()))).status_code
    done = await tell(api, history_id, state="done", parts=2, rows=10)
    assert 200 == done.status_code
    answer = (await ask(api, done.json()["query"])).json()
    assert [float(i) for i in range(10)] == [one["px"] for one in answer["rows"]]


async def test_part_may_be_compressed_as_a_whole_and_not_inside(api: Api):
    """By Content-Encoding, as rows."""
    history_id = await claimed(api)
    packed = gzip.compress(prices(0, 10))
    taken = await put(api, history_id, 0, packed, **{"Content-Encoding": "gzip"})
    assert 204 == taken.status_code
    table = pa.ipc.open_stream(prices(0, 10)).read_all()
    inside = stream(table.schema, *table.to_batches(), compression="zstd")
    refused = await put(api, history_id, 0, inside)
    assert_problem(refused, "bad-body", reason="compressed Arrow buffers")


async def test_part_over_a_limit_is_refused(api: Api, monkeypatch):
    """Of its bytes, of the answer's rows and bytes, and of all histories together."""
    history_id = await claimed(api)
    whole = len(prices(0, 10))
    monkeypatch.setattr(limits, "HISTORY_PART_BYTES_MAX", whole - 200)
    assert_problem(await put(api, history_id, 0, prices(0, 10)), "body-too-large")
    monkeypatch.undo()
    await put(api, history_id, 0, prices(0, 5))
    kept = api.service.store.histories.statistics().nbytes
    monkeypatch.setattr(limits, "HISTORY_ROWS_MAX", 9)
    assert_problem(await put(api, history_id, 1, prices(5, 10)), "answer-too-large", limit=9)
    monkeypatch.undo()
    monkeypatch.setattr(limits, "HISTORY_BYTES_MAX", kept + 10)
    problem = await put(api, history_id, 1, prices(5, 10))
    assert_problem(problem, "answer-too-large", limit=kept + 10)
    monkeypatch.undo()
    monkeypatch.setattr(limits, "HISTORIES_BYTES_MAX", kept + 10)
    problem = await put(api, history_id, 1, prices(5, 10))
    assert_problem(problem, "overloaded", reason="histories-bytes")
    assert kept == api.service.store.histories.statistics().nbytes


async def test_part_whose_columns_share_their_bytes_is_measured_as_it_is_read(
    api: Api, monkeypatch
):
    """A stream may say the same bytes for many columns: it is refused before they are all made."""
    wide = 20
    outputs = [(f"c{i}", pa.float64()) for i in range(wide)]
    sql = f"SELECT {', '.join(f'px AS {name}' for name, _ in outputs)} FROM trades"
    history_id = await claimed(api, sql=sql)
    rows = [(T + i, str(i + 1), None, *[0.5] * wide) for i in range(100)]
    body = sharing(part(rows, outputs), wide, 8 * len(rows))
    whole = pa.ipc.open_stream(body).read_all()
    assert 0.5 == whole["c0"][99].as_py() == whole["c19"][99].as_py()
    monkeypatch.setattr(
        "psoup.app.wire.rows.archive_parts.encode_batch", lambda _: pytest.fail("was made")
    )
    monkeypatch.setattr(limits, "HISTORY_PART_BYTES_MAX", whole.nbytes - 1)
    assert len(body) < whole.nbytes
    assert_problem(
        await put(api, history_id, 0, body), "body-too-large", max_bytes=whole.nbytes - 1
    )
    monkeypatch.undo()
    assert 204 == (await put(api, history_id, 0, body)).status_code


async def test_part_has_no_texts_that_no_tuple_has(api: Api):
    """A tuple's are of 8 KiB at most, and a literal is no longer than its query."""
    literal = "x" * (limits.STRING_BYTES_MAX + 1)
    history_id = await claimed(api, sql="SELECT sym FROM trades")
    column = [("sym", pa.string())]
    refused = await put(api, history_id, 0, part([(T, "1", None, literal)], column))
    (wrong,) = assert_problem(refused, "invalid-field")["errors"]
    assert ("/columns/3", True) == (wrong["pointer"], "8192 bytes" in wrong["reason"])
    for text in (literal[1:], None):
        assert (
            204 == (await put(api, history_id, 0, part([(T, "1", None, text)], column))).status_code
        )
    of_query = await api.register(f"SELECT '{literal}' AS sym FROM trades")
    history_id = str((await ask(api, of_query)).json()["history"]["id"])
    await claim(api, history_id)
    assert (
        204 == (await put(api, history_id, 0, part([(T, "1", None, literal)], column))).status_code
    )


async def test_part_needs_its_worker_number_and_type(api: Api):
    """Each refused before the body is looked at."""
    history_id = await claimed(api)
    for worker in ("", "short", "with space in it", "w" * 65):
        refused = await put(api, history_id, 0, prices(0, 1), **{"Psoup-Worker": worker})
        assert "Psoup-Worker" == assert_problem(refused, "invalid-field")["errors"][0]["pointer"]
    for number in ("-1", "x", "01x", str(limits.HISTORY_PARTS_MAX)):
        assert_problem(await put(api, history_id, number, prices(0, 1)), "invalid-field")
    typed = {"Content-Type": "application/json"}
    assert_problem(await put(api, history_id, 0, prices(0, 1), **typed), "unsupported-media")
    path = f"/v1/histories/{history_id}/parts/0"
    without = await api.send("PUT", path, content=prices(0, 1), headers={"Content-Type": ARROW})
    assert_problem(without, "invalid-field")
    last = str(limits.HISTORY_PARTS_MAX - 1)
    assert 204 == (await put(api, history_id, last, prices(0, 1))).status_code


async def test_part_that_is_kept_in_more_bytes_than_it_came_in_is_measured(api: Api, monkeypatch):
    """The bound is that of one value in the store."""
    given = await forgetting(api)
    snapshot = api.service.results.snapshot(QueryId(given.query_id))
    reading = api.service.invocations.reading(snapshot)
    body = prices(0, 10)
    kept = len(read_part(0, body, reading).body)
    monkeypatch.setattr(limits, "HISTORY_PART_BYTES_MAX", kept)
    assert 10 == read_part(0, body, reading).rows
    monkeypatch.setattr(limits, "HISTORY_PART_BYTES_MAX", kept - 1)
    with pytest.raises(BodyTooLargeError) as refused:
        read_part(0, body, reading)
    assert kept - 1 == refused.value.extras["max_bytes"]
