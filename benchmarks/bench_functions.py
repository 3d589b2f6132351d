"""Queries that each watch a value of a function of a text: a chunk past one to 10,000 `LOWER(sym) = '...'`.

Beside it what a column costs whose texts are in small letters already, and what it costs where no index takes the
condition, so that each query evaluates it by itself: past many queries for minutes, so that it is left out there.
"""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import functools
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from benchmarks.bench import Contender, Contest, Size
from benchmarks.node import Node
from benchmarks.ways import Way, contender, counts_answer
from benchmarks.ways_psoup import Feed
from benchmarks.workloads import ROWS_RETAINED, SEED, Columns, retaining
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema

STREAM: Final = StreamSchema(
    name="quoted",
    columns=(
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("sym", ColumnType.STRING),
    ),
    time="ts",
    clock=ClockKind.HIGH_WATER,
)
TEXTS: Final = 20_000
"""Of which tuples are drawn, and queries; some 3,700 occur in a chunk."""
NUMBERS: Final = (1, 1_000, 10_000)
EVALUATED_MAX: Final = 1_000
COUNTED: Final = 256
"""Queries that are asked for the answer."""
FUNCTION: Final = "LOWER(sym) = '{}'"
COLUMN: Final = "sym = '{}'"
EVALUATED: Final = "LOWER(sym) || '' = '{}'"


def contests(size: Size) -> Iterator[Contest]:
    """Yield the chunk past each number of queries."""
    for count in (2, 40) if size is Size.SMOKE else NUMBERS:
        yield past(count, rows=size.pick(smoke=300, full=CHUNK_ROWS))


def past(count: int, *, rows: int) -> Contest:
    """A chunk of texts past `count` queries. The answer is how many satisfy each of the first."""
    rng = np.random.default_rng([SEED, 11])
    texts = [f"Sym-{number:05d}x" for number in range(TEXTS)]
    columns = {"sym": np.array(texts)[rng.integers(0, TEXTS, rows)]}
    small = {"sym": np.strings.lower(columns["sym"])}
    asked = np.strings.lower(np.array(texts)[rng.permutation(TEXTS)[:count]]).tolist()

    def ours(title: str, where: str, given: Columns) -> Contender:
        return contender(title, functools.partial(fed, [where.format(one) for one in asked], given))

    found = [
        ours("psoup, LOWER(sym) = '...'", FUNCTION, columns),
        ours("psoup, small letters, sym = '...'", COLUMN, small),
    ]
    if count <= EVALUATED_MAX:
        found.append(ours("psoup, evaluated for each query", EVALUATED, columns))
    found.append(contender("DuckDB, join", lambda: Joined(asked, columns), needs="duckdb"))
    return Contest(
        f"functions-{count}",
        f"ingest {rows:,} texts past {count:,} queries LOWER(sym) = '...', a chunk",
        "tuples",
        rows,
        found,
    )


def fed(wheres: Sequence[str], columns: Columns) -> Feed:
    """Return a feed past queries of these conditions, whose window shows one run."""
    rows = len(columns["sym"])
    node = Node(retaining(STREAM, ROWS_RETAINED))
    window = f"BEGIN (NOW - INTERVAL '{rows - 1}' SECOND) END (NOW)"
    texts = [f"SELECT sym FROM {STREAM.name} WHERE {where} {window}" for where in wheres]
    query_ids = [node.register_text(one) for one in texts]
    return Feed(node, query_ids[:COUNTED], columns, batch_rows=rows)


class Joined(Way):
    """The tuples joined with a table of the queries' texts, which DuckDB hashes."""

    def __init__(self, asked: Sequence[str], columns: Columns) -> None:
        """Store both."""
        import duckdb
        import pyarrow as pa

        self._database = duckdb.connect()
        queries = pa.table({"query": np.arange(len(asked)), "text": pa.array(asked)})
        self._database.register("given", queries)
        self._database.execute("CREATE TABLE queries AS SELECT * FROM given")
        self._database.register("arrived", pa.table({"sym": pa.array(columns["sym"].tolist())}))
        self._count = len(asked)

    def run(self, state: None) -> None:
        """Find what each tuple satisfies, and keep it."""
        self._database.execute(
            "CREATE OR REPLACE TABLE hits AS SELECT query, sym FROM arrived JOIN queries ON lower(sym) = text"
        )

    def answer(self, outcome: None) -> bytes:
        """Return the counts."""
        counts = np.zeros(self._count, dtype=np.int64)
        found = self._database.execute("SELECT query, count(*) FROM hits GROUP BY query").fetchall()
        for query, hits in found:
            counts[query] = hits
        return counts_answer(counts[:COUNTED])
