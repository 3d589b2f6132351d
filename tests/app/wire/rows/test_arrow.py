"""Rows as an Arrow stream that is not one whole stream: refused, whatever of it could have been read."""

import io
import struct

import pyarrow as pa
import pytest

from psoup.app.wire.rows.body import ARROW
from tests.app.support import START_US, Api, assert_problem

pytestmark = pytest.mark.anyio

SCHEMA = pa.schema([pa.field("ts", pa.timestamp("us", "UTC")), pa.field("sym", pa.string())])
END = b"\xff\xff\xff\xff\0\0\0\0"


def stream_of(batches: int, **options: bool) -> bytes:
    sink = io.BytesIO()
    batch = pa.RecordBatch.from_pydict({"ts": [START_US], "sym": ["a"]}, schema=SCHEMA)
    settings = pa.ipc.IpcWriteOptions(**options)
    with pa.ipc.new_stream(sink, SCHEMA, options=settings) as writer:
        for _ in range(batches):
            writer.write_batch(batch)
    return sink.getvalue()


ONE, TWO = stream_of(1), stream_of(2)
LEGACY_END = b"\0\0\0\0"
NOT_ONE_STREAM = {
    "two streams": (ONE + ONE, len(ONE)),
    "cut behind the first of two batches": (TWO[: len(ONE) - len(END)], len(ONE) - len(END)),
    "no mark of the end": (TWO.removesuffix(END), len(TWO) - len(END)),
    "half a mark": (TWO[:-4], None),
    "bytes behind the end": (ONE + b"x", len(ONE)),
    "zeros behind the end": (ONE + b"\0" * 8, len(ONE)),
    "the end alone": (END + ONE, len(END)),
}


@pytest.mark.parametrize("case", NOT_ONE_STREAM)
async def test_rows_as_arrow_that_are_not_one_whole_stream_are_bad_body(api: Api, case):
    """No row is dropped in silence: a stream without its end, or a body that goes on behind it, is 400."""
    body, offset = NOT_ONE_STREAM[case]
    await api.declare()
    problem = assert_problem(await api.body(body, ARROW), "bad-body")
    if offset is not None:
        assert offset == problem["offset"]
    assert 0 == await api.count()


@pytest.mark.parametrize("batches", [0, 1, 3])
@pytest.mark.parametrize("legacy", [False, True])
async def test_rows_as_arrow_in_several_batches_are_all_stored(api: Api, batches, legacy):
    """All batches up to the mark of the end count, in the present framing and in that before 0.15."""
    await api.declare()
    body = stream_of(batches, use_legacy_format=legacy)
    assert body.endswith(LEGACY_END if legacy else END)
    answer = await api.body(body, ARROW)
    assert (200, batches) == (answer.status_code, answer.json()["accepted"])


async def test_rows_as_arrow_errors_have_no_line(api: Api):
    """A line is for formats that have lines: neither a schema's error nor a row's has one in Arrow."""
    await api.declare()
    sink = io.BytesIO()
    wrong = pa.RecordBatch.from_pydict({"what": [1]})
    with pa.ipc.new_stream(sink, wrong.schema) as writer:
        writer.write_batch(wrong)
    late = pa.RecordBatch.from_pydict({"ts": [2**62], "sym": ["a"]}, schema=SCHEMA)
    rows = io.BytesIO()
    with pa.ipc.new_stream(rows, SCHEMA) as writer:
        writer.write_batch(late)
    for body, index in ((sink.getvalue(), None), (rows.getvalue(), 0)):
        problem = assert_problem(await api.body(body, ARROW), "rows-rejected")
        assert [index] == [error["index"] for error in problem["errors"]]
        assert "line" not in problem["errors"][0]


async def test_rows_as_arrow_with_a_length_past_the_body_are_bad_body(api: Api):
    """A message that claims more bytes than there are is not waited for."""
    await api.declare()
    body = ONE.removesuffix(END) + b"\xff\xff\xff\xff" + struct.pack("<i", 2**30)
    assert_problem(await api.body(body, ARROW), "bad-body")
