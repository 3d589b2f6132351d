"""The eddy: one join for fresh data and for fresh queries.

Fresh tuples are a chunk of new rows, joined with all clauses of their stream. A fresh query is one clause, joined with
the stored rows. Operators clear bits of the lineage until it is settled; a bit that is left is a hit.

**Exactly once.** An entrant is built into its own SteM first and then probes the other, in one step that no
other entrant interrupts (one operation of the log). Tuples probe a chunk at a time, when it is whole: 4,096
rows share every look-up. So a chunk and a clause meet exactly once: the clause meets the chunks that were
whole when it came, and every later chunk meets the clause. Rows of the chunk that is still open meet a clause
when it is invoked. Order and policy change only the work, never the hits.
Chunks and clauses over several streams meet in `join_entrants.py`, by the same rule.
Source: Chandrasekaran & Franklin 2002, 2.2 and 4.1; Madden et al., SIGMOD 2002 (CACQ), 3.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

from psoup.engine.clauses.query_stem import QuerySteM, keeping_of
from psoup.engine.clauses.stream_clauses import StreamClauses
from psoup.engine.data.contract import Narrowing
from psoup.engine.data.data_stem import DataSteM
from psoup.engine.data.source import DatedRows
from psoup.engine.eddy.join_entrants import HeldFrom, Joined, JoinEntrants, JoinGroupStatistics
from psoup.engine.eddy.join_routing import JoinRouting
from psoup.engine.eddy.match_threads import ChunkSettler, MatchThreads
from psoup.engine.eddy.operators import Operator
from psoup.engine.eddy.policy import BySelectivity, RoutingPolicy
from psoup.engine.eddy.settling import PrecomputedHits
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.results.clause_pages import RUN_ROWS, ClausePages
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import MatchBlock
from psoup.engine.sources.stored_tuples import StoredTuples
from psoup.engine.tuples.batch import Batch
from psoup.engine.tuples.schema import StreamId
from psoup.engine.tuples.value_type import value_type


@value_type
class FreshData:
    """New tuples: every chunk that they complete meets every standing clause that reads their stream.

    `held_from` tells the first row of a stream that a join may still take.
    """

    batch: Batch
    held_from: HeldFrom


@dataclass(frozen=True, slots=True)
class FreshQuery:
    """A new clause over one stream, to meet its whole chunks from row `first_row` on; None = none of them."""

    clause_id: ClauseId
    clause: StandingQueryClause
    materialize: Materialize
    first_row: int | None


@dataclass(frozen=True, slots=True)
class FreshJoin:
    """A new clause over several streams, to meet the rows of these spans, all in whole chunks, in its group."""

    clause_id: ClauseId
    clause: StandingQueryClause
    materialize: Materialize
    group_id: ClauseId
    spans: Sequence[DatedRows]


@dataclass(frozen=True, slots=True)
class Matches:
    """The hits of all clauses in one chunk of fresh rows."""

    chunk: int
    block: MatchBlock


@dataclass(frozen=True, slots=True)
class EddyStatistics:
    """Counters: chunks settled, rows of theirs, clauses with hits in a chunk, residual operators standing.

    `shared_out` are the chunks that several threads settled together, `scratch_bytes` the memory they write into.
    """

    blocks: int
    rows: int
    matched: int
    operators: int
    shared_out: int
    scratch_bytes: int
    joins: tuple[JoinGroupStatistics, ...] = ()


class Eddy:
    """Routes blocks through the SteMs. Holds no tuples and no clauses of its own, only counts."""

    def __init__(
        self,
        *,
        query_stem: QuerySteM,
        tuples: StoredTuples,
        policy: RoutingPolicy | None = None,
        routing: JoinRouting | None = None,
        precomputed: PrecomputedHits | None = None,
        match_threads: MatchThreads | None = None,
    ) -> None:
        """Join these two sides; without a `policy`, by measured selectivity, without a `routing`, by fan-out.

        Hits that `precomputed` has ready are taken from there; `match_threads` settle chunks beside the one that calls.
        """
        self._precomputed = precomputed
        self._query_stem = query_stem
        self._tuples = tuples
        self._settler = ChunkSettler(policy or BySelectivity(), match_threads)
        self._joins = JoinEntrants(tuples, query_stem.groups, routing)
        self._operators: dict[StreamId, dict[Narrowing, Operator]] = {}
        self._blocks = 0
        self._rows = 0
        self._matched = 0

    @overload
    def join(self, *, fresh: FreshData) -> Iterator[Matches | Joined]: ...

    @overload
    def join(self, *, fresh: FreshQuery) -> Iterator[ClausePages]: ...

    @overload
    def join(self, *, fresh: FreshJoin) -> Iterator[Joined]: ...

    def join(
        self, *, fresh: FreshData | FreshQuery | FreshJoin
    ) -> Iterator[Matches | Joined] | Iterator[ClausePages] | Iterator[Joined]:
        """Build the entrant into its SteM, and return its hits as they are taken: by chunk, by run of chunks.

        The hits have to be taken to the end before anything else enters.
        """
        if isinstance(fresh, FreshData):
            return self._join_data(fresh)
        group_id = fresh.group_id if isinstance(fresh, FreshJoin) else None
        self._query_stem.build(fresh.clause_id, fresh.clause, fresh.materialize, group_id)
        if isinstance(fresh, FreshJoin):
            return iter([self._joins.join_query(fresh.clause_id, fresh.clause, fresh.spans)])
        return iter(()) if fresh.first_row is None else self._join_query(fresh, fresh.first_row)

    def forget(self, stream_id: StreamId) -> None:
        """Drop the counts of a stream's operators; without any, does nothing."""
        self._operators.pop(stream_id, None)

    def statistics(self) -> EddyStatistics:
        """Return counters."""
        standing = sum(len(operators) for operators in self._operators.values())
        return EddyStatistics(
            blocks=self._blocks,
            rows=self._rows,
            matched=self._matched,
            operators=standing,
            shared_out=self._settler.shared_out,
            scratch_bytes=self._settler.scratch_bytes,
            joins=self._joins.statistics(),
        )

    def _join_data(self, fresh: FreshData) -> Iterator[Matches | Joined]:
        batch = fresh.batch
        stem = self._tuples[batch.stream_id]
        first, past = stem.build(batch) // CHUNK_ROWS, stem.past_row // CHUNK_ROWS
        if first == past:
            return iter(())
        return self._join_chunks(stem, batch.stream_id, range(first, past), fresh.held_from)

    def _join_chunks(
        self, stem: DataSteM, stream_id: StreamId, whole: range, held_from: HeldFrom
    ) -> Iterator[Matches | Joined]:
        """Yield what each chunk that is whole now finds: among the clauses of its stream, then in each group."""
        clauses = self._query_stem.probe(stream_id)
        blocks: Iterator[MatchBlock] = iter(())
        if clauses is None:
            self.forget(stream_id)
        else:
            blocks = self._blocks_of(stem, stream_id, whole, clauses)
        overrun: set[ClauseId] = set()
        for number in whole:
            if clauses is not None:
                block = next(blocks)
                self._blocks += 1
                self._rows += CHUNK_ROWS
                self._matched += len(block)
                yield Matches(number, block)
            yield from self._joins.join_chunk(stream_id, number, held_from, overrun)

    def _blocks_of(
        self, stem: DataSteM, stream_id: StreamId, whole: range, clauses: StreamClauses
    ) -> Iterator[MatchBlock]:
        """Yield the hits of the clauses in each chunk: those that are ready, and the others as they are settled."""
        ready: dict[int, MatchBlock] = {}
        if self._precomputed is not None:
            for number in whole:
                block = self._precomputed.block(stream_id, number)
                if block is not None:
                    ready[number] = block
        rest = [number for number in whole if number not in ready]
        operators = self._standing(stream_id, clauses)
        settled = self._settler.blocks(rest, stem.chunk, clauses, operators)
        for number in whole:
            yield ready[number] if number in ready else next(settled)

    def _join_query(self, fresh: FreshQuery, first_row: int) -> Iterator[ClausePages]:
        """Yield the clause's pages, run by run, where there are any."""
        stem = self._tuples[fresh.clause.sources[0].stream_id]
        keeping = keeping_of(fresh.clause, fresh.materialize)
        past_row = stem.past_row // CHUNK_ROWS * CHUNK_ROWS
        for run in range(first_row // RUN_ROWS, -(-past_row // RUN_ROWS)):
            begin, end = max(first_row, run * RUN_ROWS), min(past_row, (run + 1) * RUN_ROWS)
            pages = None
            if self._precomputed is not None:
                pages = self._precomputed.pages(fresh.clause_id, run)
            if pages is None:
                pages = ClausePages.of(*stem.probe(fresh.clause, begin, end), keeping)
            assert pages.chunks == range(begin // CHUNK_ROWS, end // CHUNK_ROWS), "all of the run"
            self._blocks += len(pages.counts)
            self._rows += end - begin
            matched = len(pages)
            self._matched += matched
            if matched:
                yield pages

    def _standing(self, stream_id: StreamId, clauses: StreamClauses) -> list[Operator]:
        """Return the operators of a stream, with what they have counted in earlier joins."""
        known = self._operators.get(stream_id, {})
        steps = clauses.residuals.values()
        kept: dict[Narrowing, Operator] = {
            step: known.get(step) or Operator(step) for step in steps
        }
        self._operators[stream_id] = kept
        return list(kept.values())
