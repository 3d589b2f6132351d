"""From the bytes of a body to kept matches, without HTTP: what the formats cost on the way in.

One thread reads, checks, appends, folds and publishes 16 bodies of 4,096 tuples past 4,096 interval queries.
The peer reads the same bodies with pyarrow, which checks less, and matches with DuckDB's bit strings.
"""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import functools
import io
from collections.abc import Iterator

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.json

from benchmarks.bench import Contest, Size
from benchmarks.node import Node
from benchmarks.ways import Way, contender, counts_answer
from benchmarks.workloads import (
    EPOCH_US,
    INTEGER,
    ROWS_RETAINED,
    SECOND_US,
    Columns,
    interval_queries,
    record_batch,
    retaining,
    slices,
    tuples,
)
from psoup.app.wire.rows.body import ARROW, MEDIA_TYPES, NDJSON, read_rows
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.tuples.arrow import arrow_schema, encode_batch

COLUMN_JSON = "application/vnd.psoup.columns+json"
AUTO = "psoup, auto"
PARTIAL = "psoup, partial"
BITS = "pyarrow, then DuckDB's bit strings"
NOW_US = EPOCH_US + 365 * 86_400 * SECOND_US
"""The server's clock: past all tuples, which would be refused if they came from its future."""
BATCH_ROWS = 4_096


def arrow_body(batch: pa.RecordBatch) -> bytes:
    """Return the batch as an Arrow IPC stream."""
    return encode_batch(batch)


def ndjson_body(batch: pa.RecordBatch) -> bytes:
    """Return one object per line."""
    return b"\n".join(orjson.dumps(row) for row in _plain(batch).to_pylist())


def columns_body(batch: pa.RecordBatch) -> bytes:
    """Return one object of arrays."""
    return orjson.dumps(_plain(batch).to_pydict())


def _plain(batch: pa.RecordBatch) -> pa.Table:
    """Return the batch with its times as RFC 3339 texts."""
    table = pa.table(batch)
    texts = np.datetime_as_string(table.column("ts").to_numpy(), unit="us")
    return table.set_column(0, "ts", pa.array([f"{text}Z" for text in texts.tolist()]))


def read_arrow(body: bytes) -> pa.Table:
    """Return an Arrow IPC stream as pyarrow reads it."""
    return pa.ipc.open_stream(body).read_all()


def read_ndjson(body: bytes) -> pa.Table:
    """Return lines of objects as pyarrow reads them, told what it finds."""
    told = pa.json.ParseOptions(explicit_schema=arrow_schema(INTEGER.stream))
    return pa.json.read_json(io.BytesIO(body), parse_options=told)


def read_columns(body: bytes) -> pa.Table:
    """Return an object of arrays as orjson and pyarrow read it."""
    read = orjson.loads(body)
    times = pa.array(np.array([text[:-1] for text in read.pop("ts")], dtype="datetime64[us]"))
    return pa.table({"ts": times, **read})


READERS = {"arrow": read_arrow, "ndjson": read_ndjson, "columns": read_columns}
FORMATS = {"arrow": (ARROW, arrow_body), "ndjson": (NDJSON, ndjson_body)}
if COLUMN_JSON in MEDIA_TYPES:
    FORMATS["columns"] = (COLUMN_JSON, columns_body)


def contests(size: Size) -> Iterator[Contest]:
    """Yield one contest per format the service takes."""
    queries, bodies = size.pick(smoke=24, full=4_096), size.pick(smoke=2, full=16)
    rows = size.pick(smoke=200, full=BATCH_ROWS)
    for name in FORMATS:
        yield one_format(name, queries=queries, rows=rows, bodies=bodies)


def one_format(name: str, *, queries: int, rows: int, bodies: int) -> Contest:
    """Bodies of one format, read and matched."""
    columns = tuples(INTEGER, rows * bodies)

    def ours(kept: Materialize) -> Way:
        return Reader(columns, name, rows=rows, queries=queries).register(kept)

    def theirs() -> Way:
        from benchmarks.ways_duckdb import BitTablesFromBodies

        _, write = FORMATS[name]
        parts = slices(columns, rows=rows)
        written = [
            write(record_batch(INTEGER.stream, part, first=number * rows))
            for number, part in enumerate(parts)
        ]
        return BitTablesFromBodies(
            INTEGER, interval_queries(INTEGER, queries), written, READERS[name], body_rows=rows
        )

    return Contest(
        f"wire-{name}",
        f"{name} bodies of {rows:,} tuples past {queries:,} interval queries",
        "tuples",
        rows * bodies,
        [
            contender(AUTO, functools.partial(ours, Materialize.AUTO)),
            contender(PARTIAL, functools.partial(ours, Materialize.PARTIAL)),
            contender(BITS, theirs, needs="duckdb"),
        ],
    )


class Reader(Way):
    """psoup from the bytes on. Answers how many tuples of the last body satisfy each query."""

    def __init__(self, columns: Columns, name: str, *, rows: int, queries: int) -> None:
        """Make the node; `rows` of the columns are a body."""
        self._columns, self._rows = columns, rows
        self._media_type, self._write = FORMATS[name]
        self._node = Node(retaining(INTEGER.stream, ROWS_RETAINED))
        self._query_ids: list[QueryId] = []
        self._queries = interval_queries(INTEGER, queries)
        self._given = 0

    def register(self, kept: Materialize) -> "Reader":
        """Register the queries, with a window of one body."""
        self._query_ids = [
            self._node.register(query, window_s=self._rows - 1, materialize=kept)
            for query in self._queries
        ]
        return self

    def setup(self) -> list[bytes]:
        """Return the run's bodies, dated after all before."""
        bodies = []
        for part in slices(self._columns, rows=self._rows):
            bodies.append(self._write(record_batch(INTEGER.stream, part, first=self._given)))
            self._given += self._rows
        return bodies

    def run(self, state: list[bytes]) -> None:
        """Read, check and ingest one body after the other, as the service does."""
        for body in state:
            batch = read_rows(body, self._media_type, INTEGER.stream, now_us=NOW_US)
            self._node.ingest(self._node.rows(batch))

    def answer(self, outcome: None) -> bytes:
        """Return the counts."""
        return counts_answer(self._node.counts(self._query_ids))
