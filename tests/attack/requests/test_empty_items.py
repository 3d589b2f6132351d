"""Bodies of items that hold nothing, or nothing that fits: each is cheap to send and has a cost of its own."""

import io
import json
from typing import Any

import pyarrow as pa
import pytest

from psoup.app.wire.rows.body import ARROW, COLUMNS, CSV, JSON, NDJSON
from psoup.engine import limits
from tests.attack.target import Target

WIDE = [{"name": f"c{i}", "type": "int64"} for i in range(limits.COLUMNS_COUNT_MAX)]
ROWS = "/v1/streams/wide/rows"
EMPTY = pa.RecordBatch.from_pylist([], schema=pa.schema([("c0", pa.int64())]))


@pytest.fixture(scope="module", autouse=True)
def stream(target: Target) -> None:
    """Declare the stream that is sent to."""
    answer = target.ask("PUT", "/v1/streams/wide", json={"columns": WIDE})
    assert answer.status_code in (200, 201), answer.text


def of_batches(count: int) -> bytes:
    """Return an Arrow stream of empty batches."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, EMPTY.schema) as writer:
        for _ in range(count):
            writer.write_batch(EMPTY)
    return sink.getvalue()


def of_fields(count: int) -> bytes:
    """Return an Arrow stream of a schema alone."""
    sink = io.BytesIO()
    pa.ipc.new_stream(sink, pa.schema([(str(i), pa.null()) for i in range(count)])).close()
    return sink.getvalue()


def send(target: Target, body: bytes, media_type: str) -> tuple[int, dict[str, Any]]:
    answer = target.ask("POST", ROWS, content=body, headers={"Content-Type": media_type})
    return answer.status_code, answer.json()


def test_arrow_stream_of_empty_batches_is_refused(target: Target):
    """Its messages are counted before Arrow reads them; as many as are allowed are taken."""
    status, problem = send(target, of_batches(100_000), ARROW)
    assert (413, "body-too-large") == (status, problem["code"])
    assert limits.ARROW_MESSAGES_MAX == problem["max_messages"]
    status, taken = send(target, of_batches(limits.ARROW_MESSAGES_MAX - 1), ARROW)
    assert (200, 0) == (status, taken["accepted"])
    assert 413 == send(target, of_batches(limits.ARROW_MESSAGES_MAX), ARROW)[0]


def test_arrow_schema_of_countless_fields_is_refused(target: Target):
    """Its metadata are weighed before Arrow reads them."""
    status, problem = send(target, of_fields(100_000), ARROW)
    assert (413, limits.ARROW_METADATA_BYTES_MAX) == (status, problem["max_bytes"])


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        (CSV, b"c0\n" + b"\n" * 8 * limits.MIB),
        (NDJSON, b"\n" * 8 * limits.MIB),
        (JSON, b"[" + b"{}," * 2_000_000 + b"{}]"),
        (JSON, b"[" + b" " * 8 * limits.MIB),
        (COLUMNS, b'{"c0":[' + b"[]," * 2_000_000 + b"[]]}"),
    ],
    ids=["CSV", "NDJSON", "JSON", "white space", "columns"],
)
def test_text_of_empty_items_is_refused(target: Target, media_type, body):
    """Empty lines and objects count as rows; white space is passed over at once."""
    status, problem = send(target, body, media_type)
    assert (status, problem["code"]) in {(413, "body-too-large"), (400, "bad-body")}


@pytest.mark.parametrize("media_type", [CSV, JSON, COLUMNS])
def test_values_that_do_not_fit_are_counted_up_to_a_bound(target: Target, media_type):
    """A million of them: the first are listed, and past 10,000 no more are looked for than may be listed."""
    names, count = [column["name"] for column in WIDE], 15_000
    if media_type == CSV:
        body = (",".join(names) + "\n" + (",".join("x" * len(names)) + "\n") * count).encode()
    elif media_type == JSON:
        row = json.dumps(dict.fromkeys(names, "x"))
        body = ("[" + ",".join([row] * count) + "]").encode()
    else:
        body = json.dumps({name: ["x"] * count for name in names}).encode()
    status, problem = send(target, body, media_type)
    assert (422, limits.ROW_ERRORS_SHOWN_MAX) == (status, len(problem["errors"]))
    most = limits.ROW_ERRORS_COUNTED_MAX + limits.ROW_ERRORS_SHOWN_MAX * len(names)
    assert limits.ROW_ERRORS_COUNTED_MAX <= problem["errors_total"] <= most
    assert (0, "/c0") == (problem["errors"][0]["index"], problem["errors"][0]["pointer"])
