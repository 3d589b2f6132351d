"""psoup's ways: a node that takes batches, one that is asked, one that is given queries."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Sequence
from typing import Final

import numpy as np

from benchmarks.node import COUNT, ROWS, Node
from benchmarks.ways import Way, counts_answer, rows_answer
from benchmarks.workloads import (
    ATTRIBUTES,
    EPOCH_US,
    ROWS_RETAINED,
    SECOND_US,
    Columns,
    Domain,
    Query,
    retaining,
)
from psoup.engine.invoke import Answer
from psoup.engine.limits import CHUNK_ROWS, RETIRED_US, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize, QueryId, Rows
from psoup.engine.query.clause import BoundQuery
from psoup.engine.tuples.schema import StreamSchema

FILLED_SEGMENTS: Final = 4
"""One is retained, one grows, one may still be read after it was retained, one has been let go."""


class Feed(Way):
    """Takes the same tuples in every run, each time as later ones. Answers how many satisfy each query.

    The queries' window shows the tuples of one run, so that the answer is that of the run.
    """

    def __init__(
        self, node: Node, query_ids: Sequence[QueryId], columns: Columns, *, batch_rows: int
    ) -> None:
        """Take a node and those of its queries that are asked for the answer."""
        self._node = node
        self._query_ids = query_ids
        self._columns = columns
        self._batch_rows = batch_rows

    def fill(self) -> None:
        """Bring tuples until some are let go: from then on a batch is written where others were.

        So it is in a stream that goes on. Until then each page that is written is one that the process never had,
        which costs half as much as matching.
        """
        whole = {name: np.resize(values, SEGMENT_ROWS) for name, values in self._columns.items()}
        for _ in range(FILLED_SEGMENTS):
            self._node.tick(after_us=RETIRED_US)
            for rows in self._node.batches(whole, rows=SEGMENT_ROWS):
                self._node.ingest(rows)

    def setup(self) -> list[Rows]:
        """Let go what left retention with the runs before, and return the run's batches, encoded as a client would."""
        self._node.tick(after_us=RETIRED_US)
        return self._node.batches(self._columns, rows=self._batch_rows)

    def run(self, state: list[Rows]) -> None:
        """Ingest them, one after the other."""
        for rows in state:
            self._node.ingest(rows)

    def answer(self, outcome: None) -> bytes:
        """Return the counts of the queries asked."""
        return counts_answer(self._node.counts(self._query_ids))


def fed(
    schema: StreamSchema,
    queries: Sequence[Query],
    columns: Columns,
    *,
    batch_rows: int | None = None,
    window_rows: int | None = None,
    materialize: Materialize = Materialize.PARTIAL,
) -> Feed:
    """Return a feed past the queries: in one batch, all of it in the window, unless told otherwise."""
    rows = len(next(iter(columns.values())))
    node = Node(retaining(schema, ROWS_RETAINED))
    query_ids = [
        node.register(
            query, window_s=(window_rows or batch_rows or rows) - 1, materialize=materialize
        )
        for query in queries
    ]
    feed = Feed(node, query_ids, columns, batch_rows=batch_rows or rows)
    if rows >= CHUNK_ROWS:  # less meets no query
        feed.fill()
    return feed


def stored(schema: StreamSchema, columns: Columns) -> Node:
    """Return a node that holds the tuples."""
    node = Node(schema)
    for rows in node.batches(columns, rows=ROWS_RETAINED):
        node.ingest(rows)
    return node


class Asked(Way):
    """Invokes each query once in a run, for its rows or for their number."""

    def __init__(
        self,
        domain: Domain,
        queries: Sequence[Query],
        columns: Columns,
        *,
        window_rows: int,
        materialize: Materialize,
        count_only: bool = False,
        first: int = 0,
    ) -> None:
        """Store the tuples and register the queries, each with a window of the last rows.

        `first` is the row that the answer counts from.
        """
        self._first = first
        self._node = stored(domain.stream, columns)
        self._request = COUNT if count_only else ROWS
        self._query_ids = [
            self._node.register(query, window_s=window_rows - 1, materialize=materialize)
            for query in queries
        ]

    def run(self, state: None) -> list[Answer]:
        """Invoke all queries."""
        invoke, request = self._node.invoke, self._request
        return [invoke(query_id, request) for query_id in self._query_ids]

    def answer(self, outcome: list[Answer]) -> bytes:
        """Return the rows, or the counts."""
        if self._request is COUNT:
            return counts_answer([one.count for one in outcome])
        found = []
        for one in outcome:
            columns = dict(one.columns)
            numbers = (columns["ts"].values - EPOCH_US) // SECOND_US - self._first
            found.append((numbers, [columns[name].values for name in ATTRIBUTES]))
        return rows_answer(found)


class Registering(Way):
    """Registers queries over stored tuples: bound beforehand, or as texts. Answers their counts."""

    def __init__(
        self,
        node: Node,
        queries: Sequence[Query],
        *,
        as_text: bool = False,
        materialize: Materialize = Materialize.PARTIAL,
        asked: int | None = None,
    ) -> None:
        """Take a node that holds the tuples; the answer is that of the first `asked` queries, or of all."""
        self._node = node
        self._bound = [node.bound(query) for query in queries]
        self._as_text = as_text
        self._materialize = materialize
        self._asked = asked
        self._standing: list[QueryId] = []

    def setup(self) -> list[BoundQuery]:
        """Remove what the last run registered: a clause that stands already costs nothing."""
        while self._standing:
            self._node.remove(self._standing.pop())
        return self._bound

    def run(self, state: list[BoundQuery]) -> list[QueryId]:
        """Register all queries."""
        node, standing = self._node, self._standing
        for bound in state:
            if self._as_text:
                standing.append(node.register_text(bound.canonical))
            else:
                standing.append(node.register_bound(bound, materialize=self._materialize))
        return standing

    def answer(self, outcome: list[QueryId]) -> bytes:
        """Return the counts of those asked."""
        counts = counts_answer(self._node.counts(outcome[: self._asked]))
        self.setup()  # leaves nothing behind for whoever shares the node
        return counts
