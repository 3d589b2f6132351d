"""psoup's ways to joins: a node whose streams meet, asked, fed with chunks, or filled from the beginning."""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.node import COUNT, ROWS, Node
from benchmarks.ways import Way, counts_answer, pairs_answer
from benchmarks.workloads import ROWS_RETAINED, Values, record_batch, slices
from benchmarks.workloads_joins import Table, within
from psoup.engine.data.source import DatedRows
from psoup.engine.eddy.join_entrants import JoinGroupStatistics
from psoup.engine.eddy.join_routing import JoinRouting
from psoup.engine.invocation.shaped import grouped_invocation
from psoup.engine.invoke import Answer, Request
from psoup.engine.joins.join import Join
from psoup.engine.limits import CHUNK_ROWS, RETIRED_US
from psoup.engine.log.operation import Materialize, QueryId, Rows
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.join_shape import JoinPlan, Step
from psoup.engine.tuples.arrow import encode_batch
from psoup.engine.tuples.schema import StreamSchema

Pair = tuple[Values, Values]
"""Row numbers of both parts of composites."""
FOREVER_US = 2**62


class JoinNode(Node):
    """A node with several streams. Rows are dated by their numbers, in seconds, in all of them."""

    def __init__(
        self, schemas: Sequence[StreamSchema], *, routing: JoinRouting | None = None
    ) -> None:
        """Declare the streams."""
        super().__init__(routing=routing)
        for schema in schemas:
            self.declare(schema)

    def arrivals(
        self, name: str, columns: Mapping[str, Values], *, first: int = 0, rows: int = ROWS_RETAINED
    ) -> list[Rows]:
        """Return the operations that bring rows of a stream, the first of them dated `first` seconds."""
        stream_id, schema = self._streams[name]
        found = []
        for part in slices(columns, rows=rows):
            batch = record_batch(schema, part, first=first)
            first += batch.num_rows
            found.append(Rows(stream_id, name, batch.num_rows, encode_batch(batch)))
        return found

    def fill(self, table: Table) -> None:
        """Add all rows of a table."""
        for rows in self.arrivals(table.name, table.columns):
            self.ingest(rows)

    def plan(self, text: str) -> JoinPlan:
        """Return how to join the clause of a text over the streams declared."""
        return JoinPlan(bind(text, self._streams).clause)

    def span(self, name: str, first_row: int, past_row: int) -> DatedRows:
        """Return these rows of a stream, of any time."""
        return DatedRows(self._streams[name][0], first_row, past_row, None, FOREVER_US)

    def pairs(self, plan: JoinPlan, spans: Sequence[DatedRows]) -> NDArray[np.int64]:
        """Return the composites among these rows, in no order: what an invocation begins with."""
        return self.engine.source.joining(plan, spans)


class Fed(Way):
    """A way that feeds a node; what its joins have done can be asked afterwards."""

    node: JoinNode

    def joined(self) -> JoinGroupStatistics:
        """Feed it once, and return what its one group has done."""
        self.run(self.setup())
        (group,) = self.node.engine.statistics().eddy.joins
        return group


class Arriving(Fed):
    """Takes the same whole chunks of one stream in every run, past the rows of others, which stay.

    They are dated after these. It retains the rows of one run, so the counts that are the answer are those of the run.
    """

    def __init__(
        self,
        arriving: Table,
        others: Sequence[Table],
        texts: Sequence[str],
        *,
        asked: int | None = None,
        routing: JoinRouting | None = None,
        semi_join: bool = True,
    ) -> None:
        """Store the others and register the queries; the answer is that of the first `asked`, or of all."""
        self._arriving = arriving
        schemas = [arriving.retaining(len(arriving)), *(one.schema for one in others)]
        self.node = JoinNode(schemas, routing=routing)
        for one in others:
            self.node.fill(one)
        self._query_ids = [
            self.node.register_text(text, materialize=Materialize.PARTIAL) for text in texts
        ]
        self._asked = asked
        self._semi_join = semi_join
        self._given = max(map(len, others))

    def setup(self) -> list[Rows]:
        """Return the run's operations; what retention let go of long enough ago goes now."""
        self.node.tick(after_us=RETIRED_US)
        arriving = self._arriving
        found = self.node.arrivals(arriving.name, arriving.columns, first=self._given)
        self._given += len(arriving)
        return found

    def run(self, state: list[Rows]) -> None:
        """Ingest them."""
        if self._semi_join:
            self._take(state)
        else:
            with without_semi_join():
                self._take(state)

    def answer(self, outcome: None) -> bytes:
        """Return the counts."""
        return counts_answer(self.node.counts(self._query_ids[: self._asked]))

    def _take(self, state: list[Rows]) -> None:
        for rows in state:
            self.node.ingest(rows)


class Filling(Fed):
    """Takes chunk after chunk of one stream past the rows of others, on a node made anew for every run."""

    def __init__(
        self,
        arriving: Table,
        others: Sequence[Table],
        text: str,
        *,
        routing: Callable[[], JoinRouting],
    ) -> None:
        """Take the tables, the query, and what makes a routing that has learned nothing."""
        self._arriving, self._others = arriving, others
        self._text, self._routing = text, routing

    def setup(self) -> tuple[list[Rows], QueryId]:
        """Store the others and register the query."""
        schemas = [self._arriving.schema, *(one.schema for one in self._others)]
        self.node = JoinNode(schemas, routing=self._routing())
        for one in self._others:
            self.node.fill(one)
        query_id = self.node.register_text(self._text, materialize=Materialize.PARTIAL)
        arriving = self._arriving
        batches = self.node.arrivals(
            arriving.name,
            arriving.columns,
            first=max(map(len, self._others)),
            rows=CHUNK_ROWS,
        )
        return batches, query_id

    def run(self, state: tuple[list[Rows], QueryId]) -> QueryId:
        """Ingest them."""
        batches, query_id = state
        for rows in batches:
            self.node.ingest(rows)
        return query_id

    def answer(self, outcome: QueryId) -> bytes:
        """Return the count."""
        return counts_answer([self.node.count(outcome)])


class AskedJoins(Way):
    """Invokes each query once in a run: for the number of its rows, or for all of them, page by page."""

    def __init__(
        self,
        tables: Sequence[Table],
        texts: Sequence[str],
        *,
        window_rows: int | None = None,
        materialize: Materialize,
        count_only: bool = False,
    ) -> None:
        """Store the tables, of one length, and register the queries with a window of the last rows, or without."""
        self._node = JoinNode([one.schema for one in tables])
        for one in tables:
            self._node.fill(one)
        window = "" if window_rows is None else f" BEGIN (NOW - {window_rows - 1}) END (NOW)"
        self._query_ids = [
            self._node.register_text(text + window, materialize=materialize) for text in texts
        ]
        self._count_only = count_only

    def setup(self) -> None:
        """Move on to a position that nobody has asked about: an order that was made for the last is of no use."""
        self._node.tick()

    def run(self, state: None) -> list[list[Answer]]:
        """Invoke all queries."""
        if self._count_only:
            return [[self._node.invoke(query_id, COUNT)] for query_id in self._query_ids]
        return [list(self._pages(query_id)) for query_id in self._query_ids]

    def answer(self, outcome: list[list[Answer]]) -> bytes:
        """Return the counts, or the pairs of row numbers, which are the first two columns."""
        if self._count_only:
            return counts_answer([pages[0].count for pages in outcome])
        return pairs_answer([_both(pages) for pages in outcome])

    def _pages(self, query_id: QueryId) -> Iterator[Answer]:
        request: Request | None = ROWS
        while request is not None:
            page = self._node.invoke(query_id, request)
            yield page
            following = page.next
            request = None if following is None else Request(limit=ROWS.limit, position=following)


class GroupedJoin(Way):
    """Invokes a query with groups, whose join is not kept; of its composites, if these are asked for."""

    def __init__(self, tables: Sequence[Table], text: str, *, composites: bool) -> None:
        """Store the tables and register the query."""
        self._node = JoinNode([one.schema for one in tables])
        for one in tables:
            self._node.fill(one)
        self._query_id = self._node.register_text(text, materialize=Materialize.NONE)
        self._composites = composites

    def run(self, state: None) -> Answer:
        """Invoke it."""
        if not self._composites:
            return self._node.invoke(self._query_id, ROWS)
        with patch.object(grouped_invocation, "groups_of_partners", lambda *_: None):
            return self._node.invoke(self._query_id, ROWS)

    def answer(self, outcome: Answer) -> bytes:
        """Return the columns, in order of the groups."""
        return repr([column.to_list() for _, column in outcome.columns]).encode()


class Pairs(Way):
    """Finds the composites of each query among spans of rows, one join for each: no page, no order."""

    def __init__(
        self,
        tables: Sequence[Table],
        texts: Sequence[str],
        *,
        spans: Sequence[Sequence[tuple[int, int]]] | None = None,
        counted: bool = False,
    ) -> None:
        """Store the tables.

        Args:
            tables: both, in FROM order of all queries.
            texts: the queries.
            spans: for each join the rows of each table; None = all rows, once for each query.
            counted: whether the answer is the count of each query instead of the pairs of each join.
        """
        self._node = JoinNode([one.schema for one in tables])
        for one in tables:
            self._node.fill(one)
        plans = [self._node.plan(text) for text in texts]
        whole = [(0, len(one)) for one in tables]
        names = [one.name for one in tables]
        self._joins = [
            (plan, [self._node.span(name, *span) for name, span in zip(names, some, strict=True)])
            for plan in plans
            for some in ([whole] if spans is None else spans)
        ]
        self._counted = counted
        self._queries = len(texts)

    def run(self, state: None) -> list[NDArray[np.int64]]:
        """Join one after the other."""
        return [self._node.pairs(plan, spans) for plan, spans in self._joins]

    def answer(self, outcome: list[NDArray[np.int64]]) -> bytes:
        """Return the pairs of rows, or their numbers."""
        if self._counted:
            counts = np.array([found.shape[1] for found in outcome])
            return counts_answer(counts.reshape(self._queries, -1).sum(axis=1))
        return pairs_answer([(found[0], found[1]) for found in outcome])


class BarePairs(Pairs):
    """The composites of one query, none of it kept; the answer is how many there are of others that narrow it."""

    def __init__(
        self, tables: Sequence[Table], text: str, bounds: Sequence[tuple[int, int]]
    ) -> None:
        """Store the tables; `bounds` are those of attribute `a` of the first of them."""
        super().__init__(tables, [text])
        self._values = tables[0].columns["a"]
        self._bounds = bounds

    def answer(self, outcome: list[NDArray[np.int64]]) -> bytes:
        """Return the counts."""
        values = self._values[outcome[0][0]]
        return counts_answer([within(values, *bounds) for bounds in self._bounds])


@contextmanager
def without_semi_join() -> Iterator[None]:
    """Let joins build what has no partner further on, while this lasts."""

    def nothing(_join: Join, _step: Step) -> None:
        """Leave out nothing."""

    with patch.object(Join, "_semi_join", nothing):
        yield


def _both(pages: Sequence[Answer]) -> Pair:
    columns = [[column.values for _, column in page.columns[:2]] for page in pages]
    left, right = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    return left, right
