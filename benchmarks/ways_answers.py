"""psoup's whole way to the aggregates of a window, and what standing aggregates cost where tuples arrive."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Sequence

import numpy as np

from benchmarks.node import ROWS, Node
from benchmarks.ways import Way
from benchmarks.ways_aggregates import Trades, found_answer
from benchmarks.ways_psoup import Feed
from benchmarks.workloads import INTEGER, ROWS_RETAINED, Columns, Query, record_batch, retaining
from psoup.engine.invoke import Answer
from psoup.engine.limits import RETENTION_BYTES_MAX, RETENTION_ROWS_MAX, SEGMENT_ROWS
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema

TRADES = StreamSchema(
    "trades",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("px", ColumnType.FLOAT64, nullable=False),
        ColumnSchema("sym", ColumnType.STRING, nullable=False),
    ),
    "ts",
    ClockKind.HIGH_WATER,
    Retention(rows=RETENTION_ROWS_MAX, bytes=RETENTION_BYTES_MAX),
)


def trading(some: Trades) -> Node:
    """Return a node that holds the rows, a second apart."""
    node, symbols = Node(TRADES), np.array(some.symbols)
    for first in range(0, len(some.prices), SEGMENT_ROWS):
        part = slice(first, first + SEGMENT_ROWS)
        columns = {"px": some.prices[part], "sym": symbols[some.codes[part]]}
        node.ingest(node.rows(record_batch(TRADES, columns, first=first)))
    return node


class Invoked(Way):
    """A standing query that is invoked: for the first time, or again and again."""

    def __init__(self, node: Node, listed: str, window_rows: int, *, again: int) -> None:
        """Register a query over a window of the last rows. A run asks `again` so often, 0 = once, first of all."""
        self._node = node
        self._again = again
        window = f"BEGIN (NOW - INTERVAL '{window_rows - 1}' SECOND) END (NOW)"
        self._query_id = node.register_text(f"SELECT {listed} {window}")
        if again:
            node.invoke(self._query_id, ROWS)

    def setup(self) -> None:
        """Forget what former invocations have left, if this is to be the first."""
        if not self._again:
            self._node.forget_answers()

    def run(self, state: None) -> Answer:
        """Invoke the query."""
        del state
        invoke, query_id = self._node.invoke, self._query_id
        for _ in range(max(self._again - 1, 0)):
            invoke(query_id, ROWS)
        return invoke(query_id, ROWS)

    def answer(self, outcome: Answer) -> bytes:
        """Return the rows."""
        values = [column.to_list() for _, column in outcome.columns]
        return found_answer(list(zip(*values, strict=True)))


def standing(
    queries: Sequence[Query], columns: Columns, *, shapes: Sequence[str], windows_s: Sequence[int]
) -> Feed:
    """Return a feed of one batch past queries, each of which stands once for each shape and window.

    Args:
        queries: their conditions.
        columns: of the batch.
        shapes: `SELECT` lists, and what stands behind WHERE; `{where}` between them.
        windows_s: for each of the shapes the seconds that its window shows.
    """
    node = Node(retaining(INTEGER.stream, ROWS_RETAINED))
    for number, query in enumerate(queries):
        for shape, window_s in zip(shapes, windows_s, strict=True):
            text = shape.format(where=f"FROM {INTEGER.stream.name} WHERE {query.where}")
            # Of another length for each condition: as many windows as there can be.
            length_s = window_s + number % 10
            node.register_text(f"{text} BEGIN (NOW - INTERVAL '{length_s}' SECOND) END (NOW)")
    rows = len(next(iter(columns.values())))
    asked = [node.register(query, window_s=rows - 1) for query in queries[:16]]
    return Feed(node, asked, columns, batch_rows=rows)
