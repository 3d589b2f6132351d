"""The standing queries over one stream, in the index in which tuples meet clauses: which of them does a row hit?

The engine's own Query SteM belongs to the thread that folds, and lacks what is evaluated when it is asked for. So a
process that is asked builds one more, of the same parts, of all queries over the stream: rows meet it as a chunk of
tuples meets the engine's. Of a join it has what is asked of this stream alone, in each place of FROM that it takes.
"""

import heapq
import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from psoup.engine.clauses.stream_clauses import StreamClauses
from psoup.engine.eddy.operators import Operator
from psoup.engine.eddy.policy import BySelectivity
from psoup.engine.eddy.settling import settle
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import QueryId
from psoup.engine.query.clause import BoundQuery, StandingQueryClause
from psoup.engine.query.join_shape import sides_of
from psoup.engine.query.reading import Reading
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import Form, Harvest, Keeping, MatchBlock
from psoup.engine.tuples.batch import Seq, TupleBatch
from psoup.engine.tuples.chunk import Chunk, padded
from psoup.engine.tuples.lineage import Slot
from psoup.engine.tuples.schema import StreamId
from psoup.engine.tuples.value_type import value_type

Sides = tuple[StandingQueryClause, ...]
"""What a query asks of the stream, in each place of FROM that it takes: a row that satisfies one of them is a hit."""


@value_type
class RowMatches:
    """The queries that a row hits: the first of them in the order of their registration, and how many there are."""

    queries: tuple[QueryId, ...]
    total: int


class _Entry:
    """Queries that ask the same of the stream."""

    __slots__ = ("queries", "slots")

    def __init__(self, slots: tuple[Slot, ...]) -> None:
        self.slots = slots
        self.queries: dict[QueryId, Seq] = {}
        """By the position of their registration, in its order."""


class StandingQueries:
    """The queries over one stream. For one thread at a time."""

    def __init__(self, stream_id: StreamId) -> None:
        """Begin without queries."""
        self.stream_id = stream_id
        self._clauses = StreamClauses()
        self._entries: list[_Entry | None] = []
        self._free: list[int] = []
        self._numbers: dict[Sides, int] = {}
        self._sides: dict[QueryId, Sides] = {}
        self._defined: dict[QueryId, Seq] = {}
        self._counts = np.zeros(1, dtype=np.int64)
        self._first = np.zeros(1, dtype=np.int64)
        self._harvest = Harvest()

    def __len__(self) -> int:
        """Return the number of queries."""
        return len(self._sides)

    def __iter__(self) -> Iterator[tuple[QueryId, Seq]]:
        """Yield the queries, each with the position of its definition."""
        yield from self._defined.items()

    def build(self, query_id: QueryId, bound: BoundQuery, *, seq: Seq, defined_seq: Seq) -> None:
        """Keep a query; what its handle stood for before goes.

        Args:
            query_id: its handle.
            bound: its definition.
            seq: the position of its registration, by which hits are ordered.
            defined_seq: the position of its definition: later than `seq` where it was replaced.

        Cost: O(factors); of a query that asks what others do, O(1).
        """
        self.evict(query_id)
        sides = sides_over(bound, self.stream_id)
        number = self._numbers.get(sides)
        if number is None:
            number = self._begin(sides)
        entry = self._entries[number]
        assert entry is not None, "a number has its entry"
        is_latest = seq > next(reversed(entry.queries.values()), 0)
        entry.queries[query_id] = seq
        if not is_latest:
            entry.queries = dict(sorted(entry.queries.items(), key=lambda pair: pair[1]))
        self._sides[query_id] = sides
        self._defined[query_id] = defined_seq
        self._count(number, entry)

    def evict(self, query_id: QueryId) -> None:
        """Forget a query; one that is not kept is nothing."""
        sides = self._sides.pop(query_id, None)
        if sides is None:
            return
        del self._defined[query_id]
        number = self._numbers[sides]
        entry = self._entries[number]
        assert entry is not None, "a number has its entry"
        del entry.queries[query_id]
        if entry.queries:
            self._count(number, entry)
            return
        for slot in entry.slots:
            self._clauses.evict(slot)
        del self._numbers[sides]
        self._entries[number] = None
        self._free.append(number)

    def probe(self, batch: TupleBatch, *, limit: int) -> list[RowMatches]:
        """Return for each row of a batch, up to CHUNK_ROWS, the queries that it hits, the first `limit` of them.

        Cost: that of one chunk's probe, whatever the number of rows; and O(entries hit) for each row.
        """
        count = len(batch)
        assert count <= CHUNK_ROWS, "rows meet the index as one chunk"
        chunk = Chunk(0, lambda name: padded(batch.column(name)))
        self._harvest.clear()  # something may have broken off before
        block = settle(
            chunk,
            self._clauses.index,
            self._clauses.clause_ids,
            self._clauses.wanted,
            operators=[Operator(step) for step in self._clauses.residuals.values()],
            policy=BySelectivity(),
            harvest=self._harvest,
        )
        return [self._matches(entries, limit) for entries in entries_by_row(block, count)]

    def check(self) -> None:
        """Assert that entries, slots and counts agree. For tests."""
        self._clauses.check()
        kept = {number: one for number, one in enumerate(self._entries) if one is not None}
        assert sorted([*kept, *self._free]) == list(range(len(self._entries)))
        assert sorted(self._numbers.values()) == sorted(kept)
        assert {query_id for one in kept.values() for query_id in one.queries} == set(self._sides)
        assert set(self._defined) == set(self._sides), "what is kept has a definition"
        assert sum(len(one.slots) for one in kept.values()) == len(self._clauses.slots)
        for number, entry in kept.items():
            seqs = list(entry.queries.values())
            assert seqs == sorted(seqs), "in the order of their registration"
            assert (len(seqs), seqs[0]) == (self._counts[number], self._first[number])
            for slot in entry.slots:
                assert self._clauses.slots[slot][0] == number, "a slot leads to its entry"

    def _begin(self, sides: Sides) -> int:
        """Return the number of an entry that is new."""
        number = self._free.pop() if self._free else len(self._entries)
        clause_id = ClauseId(number)
        slots = [self._clauses.build(clause_id, side, Keeping.SMALLER) for side in sides]
        if number == len(self._entries):
            self._entries.append(None)
            if number == len(self._counts):
                self._counts = np.append(self._counts, np.zeros_like(self._counts))
                self._first = np.append(self._first, np.zeros_like(self._first))
        self._entries[number] = _Entry(tuple(slots))
        self._numbers[sides] = number
        return number

    def _count(self, number: int, entry: _Entry) -> None:
        self._counts[number] = len(entry.queries)
        self._first[number] = next(iter(entry.queries.values()))

    def _matches(self, entries: NDArray[np.int64], limit: int) -> RowMatches:
        """Return the queries of entries. Each entry has one at least: the first ones lie in the first entries."""
        total = int(self._counts[entries].sum())
        if len(entries) > limit:
            entries = entries[np.argpartition(self._first[entries], limit)[:limit]]
        entries = entries[np.argsort(self._first[entries])]
        found = [one.queries for one in map(self._entries.__getitem__, entries.tolist()) if one]
        if int(self._counts[entries].sum()) == len(found):  # each has one
            return RowMatches(tuple([next(iter(one)) for one in found]), total)
        ordered = heapq.merge(*(one.items() for one in found), key=lambda pair: pair[1])
        return RowMatches(tuple([one for one, _ in itertools.islice(ordered, limit)]), total)


def sides_over(bound: BoundQuery, stream_id: StreamId) -> Sides:
    """Return what a query asks of a stream alone, for each place that it takes in FROM.

    What ON asks of the left of a LEFT JOIN keeps no tuple of it out of the answer: WHERE alone counts there.
    """
    clause = bound.clause
    sides: Sides = (clause,)
    if len(clause.sources) > 1:
        sides = sides_of(clause)
        if bound.shape.left_join is not None:
            left = Reading(clause, bound.shape).left.clause
            sides = (*(sides_of(left) if len(left.sources) > 1 else (left,)), sides[-1])
    own = [
        StandingQueryClause("", (source,), side.factors)
        for source, side in zip(clause.sources, sides, strict=True)
        if source.stream_id == stream_id
    ]
    return tuple(own)


def entries_by_row(block: MatchBlock, rows: int) -> Iterator[NDArray[np.int64]]:
    """Yield for each of the first rows of a chunk the clauses that it hits, each once.

    Cost: O(hits), and for each row O(clauses with a bitmap).
    """
    lists, maps = block.forms == Form.LIST, block.forms == Form.BITMAP
    counts = block.counts[lists].astype(np.int64)
    begins = np.cumsum(counts) - counts
    places = np.repeat(block.places[lists] - begins, counts) + np.arange(int(counts.sum()))
    offsets, owners = block.offsets[places], np.repeat(block.clause_ids[lists], counts)
    order = np.argsort(offsets, kind="stable")
    edges = np.searchsorted(offsets[order], np.arange(rows + 1))
    bitmaps, mapped = block.bitmaps[block.places[maps]], block.clause_ids[maps]
    for row in range(rows):
        found = owners[order[edges[row] : edges[row + 1]]]
        if len(mapped):
            bits = (bitmaps[:, row >> 6] >> np.uint64(row & 63)) & np.uint64(1)
            found = np.concatenate((found, mapped[bits.astype(np.bool_)]))
        yield np.unique(found)
