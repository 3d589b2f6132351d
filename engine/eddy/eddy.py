"""The eddy: one join for fresh data and for fresh queries.

A fresh batch is a block of new rows against all clauses of its stream; a fresh query is blocks of stored rows
against one clause. Both are routed through the same operators until every lineage is settled: a bit that no
operator cleared is a hit.

**Exactly once.** An entrant is built into its own SteM first and then probes the other, in one step that no
other entrant interrupts (one operation of the log). So a tuple and a clause meet exactly once: when the
later of the two comes in. Building does not probe and probing does not build, so nothing meets itself.
Neither order nor policy can change what is found, only how much is looked at.
Source: Chandrasekaran & Franklin 2002, 2.2 and 4.1; Madden et al., SIGMOD 2002 (CACQ), 3.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from engine.eddy.operators import Operator
from engine.eddy.policy import BySelectivity, RoutingPolicy
from engine.kernels.bits import Words
from engine.limits import CHUNK_ROWS
from engine.query.clause import StandingQueryClause
from engine.results.hits import ClauseId, HitBatch
from engine.stems.contract import Narrowing
from engine.stems.data_stem import DataSteM, StoredTuples
from engine.stems.query_stem import QuerySteM, StreamClauses
from engine.tuples.batch import TupleBatch
from engine.tuples.block import Block
from engine.tuples.schema import StreamId


@dataclass(frozen=True, slots=True)
class FreshData:
    """New tuples, to meet every standing clause over their stream."""

    batch: TupleBatch


@dataclass(frozen=True, slots=True)
class FreshQuery:
    """A new clause, to meet every tuple of its stream from row `first_row` on."""

    clause_id: ClauseId
    clause: StandingQueryClause
    first_row: int


Fresh = FreshData | FreshQuery


@dataclass(frozen=True, slots=True)
class EddyStatistics:
    """Counters: blocks routed, rows that entered, hits found, operators standing."""

    blocks: int
    rows: int
    hits: int
    operators: int


class Eddy:
    """Routes blocks through the SteMs. Holds no tuples and no clauses of its own, only counts."""

    def __init__(
        self,
        *,
        query_stem: QuerySteM,
        tuples: StoredTuples,
        policy: RoutingPolicy | None = None,
    ) -> None:
        """Join these two sides; without a `policy`, by measured selectivity."""
        self._query_stem = query_stem
        self._tuples = tuples
        self._policy = policy or BySelectivity()
        self._operators: dict[StreamId, dict[Narrowing, Operator]] = {}
        self._blocks = 0
        self._rows = 0
        self._hits = 0

    def join(self, *, fresh: Fresh) -> Iterator[HitBatch]:
        """Build the entrant into its SteM, and return its hits, block by block as they are taken.

        The hits have to be taken to the end before anything else enters. Those of one clause ascend by
        row; a hit batch of fresh data lies in one chunk of rows.
        """
        if isinstance(fresh, FreshData):
            return self._join_data(fresh.batch)
        clauses = self._query_stem.build(fresh.clause_id, fresh.clause)
        stem = self._tuples[fresh.clause.sources[0].stream_id]
        blocks = stored_blocks(stem, fresh.first_row, clauses.live)
        return self._settle(blocks, clauses, [Operator(step) for step in clauses.steps()])

    def rejoin(self, stream_id: StreamId, first_row: int) -> Iterator[HitBatch]:
        """Return the hits of all clauses over the stored rows from `first_row` on; builds nothing.

        For a restart: both sides are there already, and the pages of the open chunk are needed again.
        """
        clauses = self._query_stem.probe(stream_id)
        if clauses is None:
            return iter(())
        operators = [Operator(step) for step in clauses.steps()]
        blocks = stored_blocks(self._tuples[stream_id], first_row, clauses.live)
        return self._settle(blocks, clauses, operators)

    def forget(self, stream_id: StreamId) -> None:
        """Drop the counts of a stream's operators; without any, does nothing."""
        self._operators.pop(stream_id, None)

    def statistics(self) -> EddyStatistics:
        """Return counters."""
        standing = sum(len(operators) for operators in self._operators.values())
        return EddyStatistics(self._blocks, self._rows, self._hits, standing)

    def _join_data(self, batch: TupleBatch) -> Iterator[HitBatch]:
        first_row = self._tuples[batch.stream_id].build(batch)
        clauses = self._query_stem.probe(batch.stream_id)
        if clauses is None:
            self.forget(batch.stream_id)
            return iter(())
        operators = self._standing(batch.stream_id, clauses)
        return self._settle(fresh_blocks(batch, first_row, clauses.live), clauses, operators)

    def _standing(self, stream_id: StreamId, clauses: StreamClauses) -> list[Operator]:
        """Return the operators of a stream, with what they have counted in earlier joins."""
        known = self._operators.get(stream_id, {})
        kept = {step: known.get(step) or Operator(step) for step in clauses.steps()}
        self._operators[stream_id] = kept
        return list(kept.values())

    def _settle(
        self, blocks: Iterator[Block], clauses: StreamClauses, operators: list[Operator]
    ) -> Iterator[HitBatch]:
        """Route each block until its lineage is settled; yield what is left of it."""
        for block in blocks:
            self._blocks += 1
            self._rows += len(block)
            for place in self._policy.order([operator.counts() for operator in operators]):
                if not len(block):
                    break
                operators[place].apply(block)
            for slot, positions in block.lineage.hits():
                self._hits += len(positions)
                yield HitBatch(clauses.slots[slot][0], block.rows_at(positions))


def fresh_blocks(batch: TupleBatch, first_row: int, live: Words) -> Iterator[Block]:
    """Yield the batch, whose first row got the number `first_row`, cut where chunks of rows end."""
    past_row = first_row + len(batch)
    columns = {
        schema.name: column
        for schema, column in zip(batch.schema.columns, batch.columns, strict=True)
    }
    start = first_row
    while start < past_row:
        past = min(past_row, (start // CHUNK_ROWS + 1) * CHUNK_ROWS)
        some = slice(start - first_row, past - first_row)
        yield Block(
            first_row=start,
            rows=past - start,
            columns=lambda name, some=some: columns[name].part(some),  # type: ignore[misc]
            live=live,
        )
        start = past


def stored_blocks(stem: DataSteM, first_row: int, live: Words) -> Iterator[Block]:
    """Yield the rows held from `first_row` on, one block per segment."""
    for stored in stem.probe(first_row):
        yield Block(first_row=stored.first_row, rows=stored.rows, columns=stored.columns, live=live)
