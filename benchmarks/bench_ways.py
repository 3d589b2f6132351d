"""The verbs of the engine as a library, each beside DuckDB on the same tuples.

- declare: a stream, and a table.
- ingest: one batch past all standing queries. DuckDB twice: as one writes it (a range join with a table
  of queries), and in the strongest form we know (a bit string of queries per value of each attribute;
  it leaves one bit string per tuple, where the others leave the tuples of each query).
- register: one new query over all stored tuples.
- invoke: the rows of a window, and their count.
"""

import functools
from collections.abc import Iterator, Sequence

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks import workloads
from benchmarks.bench import Contender, Contest, Size
from benchmarks.node import Node
from benchmarks.workloads import STREAM, IntervalQuery
from engine.invoke import Answer, Request
from engine.limits import PAGE_ROWS_MAX
from engine.log.operation import QueryId

WINDOW_S = 4_096
"""One tuple a second: the window shows about every sixth of so many tuples."""


def contests(size: Size) -> Iterator[Contest]:
    """Yield one contest per verb."""
    yield declare()
    yield ingest(queries=size.pick(smoke=20, full=4_096), rows=size.pick(smoke=300, full=8_192))
    stored = size.pick(smoke=5_000, full=65_536)
    yield register(rows=stored)
    yield from invoke(rows=stored)


def declare() -> Contest:
    """Declare one stream."""

    def ours(node: Node) -> str:
        node.declare(STREAM)
        return STREAM.name

    def theirs(database: duckdb.DuckDBPyConnection) -> str:
        _create(database)
        return STREAM.name

    contenders = [
        Contender("psoup", Node, ours, str.encode),
        Contender("DuckDB, CREATE TABLE", duckdb.connect, theirs, str.encode),
    ]
    return Contest("declare", "streams", 1, contenders)


def ingest(*, queries: int, rows: int) -> Contest:
    """Add one batch while many queries stand. The answer: how many tuples satisfy each."""
    asked = workloads.interval_queries(queries)
    (batch,) = workloads.batches(1, rows=rows)

    def node() -> tuple[Node, list[QueryId]]:
        one = Node()
        one.declare(STREAM)
        return one, [one.register(query.sql()) for query in asked]

    def ours(state: tuple[Node, list[QueryId]]) -> tuple[Node, list[QueryId]]:
        state[0].ingest(batch)
        return state

    def counts(state: tuple[Node, list[QueryId]]) -> bytes:
        return _counts([len(state[0].hits(query_id)) for query_id in state[1]])

    contenders = [
        Contender("psoup", node, ours, counts),
        Contender(
            "DuckDB, a bit string of queries per value",
            lambda: _bit_tables(asked),
            functools.partial(_probe_bit_tables, batch),
            lambda database: _counts_of_bits(database, queries),
        ),
        Contender(
            "DuckDB, range join with a table of queries",
            lambda: _query_table(asked),
            functools.partial(_probe_query_table, batch),
            lambda database: _counts_of_pairs(database, queries),
        ),
    ]
    return Contest(f"ingest past {queries:,} queries", "tuples", rows, contenders)


def register(*, rows: int) -> Contest:
    """Register one query over stored tuples. The answer: the rows that satisfy it."""
    (query,) = workloads.interval_queries(1)
    node, database = _stored(rows)
    standing: list[QueryId] = []

    def alone() -> Node:
        while standing:  # a clause that stands already would be shared, at no cost
            node.remove(standing.pop())
        return node

    def ours(_: Node) -> QueryId:
        standing.append(node.register(query.sql()))
        return standing[-1]

    def theirs(_: None) -> None:
        database.execute(
            f"CREATE OR REPLACE TABLE found AS SELECT row_number FROM {STREAM.name}"
            f" WHERE {query.where}"
        )

    def found(_: None) -> bytes:
        table = database.execute("SELECT row_number FROM found ORDER BY row_number")
        return bytes(table.fetchnumpy()["row_number"].astype(np.int64).tobytes())

    contenders = [
        Contender("psoup", alone, ours, lambda query_id: node.hits(query_id).tobytes()),
        Contender("DuckDB, CREATE TABLE AS SELECT", lambda: None, theirs, found),
    ]
    return Contest("register over stored tuples", "stored tuples", rows, contenders)


def invoke(*, rows: int) -> Iterator[Contest]:
    """Invoke one query: its rows, and their count."""
    (query,) = workloads.interval_queries(1)
    node, database = _stored(rows)
    query_id = node.register(query.sql(window_s=WINDOW_S))
    newest = f"(SELECT max(ts) FROM {STREAM.name})"
    where = f"{query.where} AND ts >= {newest} - INTERVAL {WINDOW_S} SECOND AND ts <= {newest}"

    def ours(request: Request) -> Answer:
        return node.invoke(query_id, request)

    def shown(answer: Answer) -> bytes:
        return b"".join(column.values.tobytes() for _, column in answer.columns)

    def theirs(_: None) -> dict[str, np.ndarray]:
        return database.execute(
            f"SELECT epoch_us(ts) AS ts, a, b FROM {STREAM.name} WHERE {where} ORDER BY ts"
        ).fetchnumpy()

    def count(_: None) -> int:
        row = database.execute(f"SELECT count(*) FROM {STREAM.name} WHERE {where}").fetchone()
        assert row is not None
        return int(row[0])

    yield Contest(
        "invoke, rows of a window",
        "stored tuples",
        rows,
        [
            Contender("psoup", lambda: Request(limit=PAGE_ROWS_MAX), ours, shown),
            Contender(
                "DuckDB, SELECT",
                lambda: None,
                theirs,
                lambda found: b"".join(found[name].tobytes() for name in ("ts", "a", "b")),
            ),
        ],
    )
    yield Contest(
        "invoke, count of a window",
        "stored tuples",
        rows,
        [
            Contender(
                "psoup",
                lambda: Request(limit=1, count_only=True),
                ours,
                lambda answer: str(answer.count).encode(),
            ),
            Contender(
                "DuckDB, SELECT count(*)", lambda: None, count, lambda found: str(found).encode()
            ),
        ],
    )


def _stored(rows: int) -> tuple[Node, duckdb.DuckDBPyConnection]:
    """Return both sides with the same tuples in them."""
    (batch,) = workloads.batches(1, rows=rows)
    node, database = Node(), duckdb.connect()
    node.declare(STREAM)
    node.ingest(batch)
    _create(database)
    _insert(database, batch)
    return node, database


def _create(database: duckdb.DuckDBPyConnection) -> None:
    database.execute(
        f"CREATE TABLE {STREAM.name} (row_number BIGINT, ts TIMESTAMPTZ, a BIGINT, b BIGINT)"
    )


def _insert(database: duckdb.DuckDBPyConnection, batch: pa.RecordBatch) -> None:
    tuples = pa.table(batch).add_column(0, "row_number", pa.array(range(batch.num_rows)))
    database.register("arrived", tuples)
    database.execute(f"INSERT INTO {STREAM.name} SELECT * FROM arrived")


def _query_table(asked: Sequence[IntervalQuery]) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect()
    _create(database)
    queries = pa.table(
        {
            "query": range(len(asked)),
            **{
                bound: [getattr(query, bound) for query in asked]
                for bound in ("low_a", "high_a", "low_b", "high_b")
            },
        }
    )
    database.register("asked", queries)
    database.execute("CREATE TABLE queries AS SELECT * FROM asked")
    database.execute("CREATE TABLE hits (query BIGINT, row_number BIGINT)")
    return database


def _probe_query_table(
    batch: pa.RecordBatch, database: duckdb.DuckDBPyConnection
) -> duckdb.DuckDBPyConnection:
    _insert(database, batch)
    database.execute(
        f"INSERT INTO hits SELECT query, row_number FROM {STREAM.name}, queries"
        " WHERE a BETWEEN low_a AND high_a AND b BETWEEN low_b AND high_b"
    )
    return database


def _counts_of_pairs(database: duckdb.DuckDBPyConnection, queries: int) -> bytes:
    found = database.execute("SELECT query FROM hits").fetchnumpy()["query"]
    return _counts(np.bincount(found, minlength=queries).tolist())


def _bit_tables(asked: Sequence[IntervalQuery]) -> duckdb.DuckDBPyConnection:
    database = duckdb.connect()
    _create(database)
    for name in ("a", "b"):
        bits = [
            "".join(
                "01"[getattr(query, f"low_{name}") <= value <= getattr(query, f"high_{name}")]
                for query in asked
            )
            for value in range(workloads.DOMAIN)
        ]
        database.register("bits", pa.table({"value": range(workloads.DOMAIN), "bits": bits}))
        database.execute(f"CREATE TABLE bits_{name} AS SELECT value, bits::BIT AS bits FROM bits")
    database.execute("CREATE TABLE hits (row_number BIGINT, bits BIT)")
    return database


def _probe_bit_tables(
    batch: pa.RecordBatch, database: duckdb.DuckDBPyConnection
) -> duckdb.DuckDBPyConnection:
    _insert(database, batch)
    database.execute(
        f"INSERT INTO hits SELECT row_number, bits_a.bits & bits_b.bits FROM {STREAM.name}"
        " JOIN bits_a ON a = bits_a.value JOIN bits_b ON b = bits_b.value"
    )
    return database


def _counts_of_bits(database: duckdb.DuckDBPyConnection, queries: int) -> bytes:
    found = database.execute("SELECT bits::VARCHAR AS bits FROM hits").fetchnumpy()["bits"]
    ones = np.frombuffer("".join(found).encode(), dtype=np.uint8).reshape(-1, queries) - ord("0")
    return _counts(ones.sum(axis=0, dtype=np.int64).tolist())


def _counts(found: Sequence[int]) -> bytes:
    return np.asarray(found, dtype=np.int64).tobytes()
