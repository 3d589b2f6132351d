"""The Results Structure against the tuples it was made of: everything is computed anew, and compared.

Batches are read as the log keeps them and compared with their records, streams with their batches, handles with
their texts. Then each clause is evaluated over the columns and compared, chunk by chunk, with the hits that are
kept, joins over whole chunks with the composites that are. Nothing is taken from an engine that runs: the tuples
are built anew, and clauses meet them one by one by the way of invocations, not by the one that found the hits.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import DatedRows
from psoup.engine.errors import AnswerTooLargeError, EngineError, IntegrityError
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize, Operation
from psoup.engine.query.bind.binder import Bind, bind
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.join_shape import JoinPlan
from psoup.engine.query.values.value_set import INT64_MAX
from psoup.engine.results.contract import Checkpoint
from psoup.engine.results.delta import CHUNKS, BatchRecord, ClauseRecord, QueryRecord, StreamRecord
from psoup.engine.results.page import LIST_ROWS_MAX, Page
from psoup.engine.state.restore import bound_record, hold_batch
from psoup.engine.state.state import State, StreamState
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.engine.verify.difference import ComparedCounts, Difference, Kept
from psoup.engine.verify.records import batch_faults, query_fault, read_batch, stream_faults

Composites = NDArray[np.int64]
"""(p, n): the rows of n sources of p composites, ascending, each once."""


@dataclass(slots=True)
class Verification:
    """One comparison of a checkpoint with what a store holds.

    Attributes:
        checkpoint: records at one applied seq; its composites are not looked at.
        kept: the store.
        tally: what has been compared.
    """

    checkpoint: Checkpoint
    kept: Kept
    bind: Bind = bind
    tally: ComparedCounts = field(default_factory=ComparedCounts)
    _state: State = field(init=False)
    _damaged: set[StreamId] = field(default_factory=set)

    def __post_init__(self) -> None:
        """Begin with the streams, empty."""
        self._state = State(bind=self.bind)
        for record in sorted(self.checkpoint.streams, key=lambda one: one.stream_id):
            self._state.hold_stream(record)

    @property
    def count(self) -> int:
        """Return how many steps there are."""
        checkpoint = self.checkpoint
        return sum(map(len, (checkpoint.batches, checkpoint.streams, checkpoint.queries))) + len(
            checkpoint.clauses
        )

    def steps(self) -> Iterator[list[Difference]]:
        """Compare, and yield what each step finds.

        Cost: O(tuples) memory; each clause is evaluated over all tuples of its streams.
        """
        for record, entry in self.kept.operations(self.checkpoint.batches):
            self.tally.batches += 1
            yield list(self._of_batch(record, entry))
        for stream in self._state.streams.values():
            self.tally.streams += 1
            yield list(self._of_stream(stream))
        clauses = {record.clause_id: record for record in self.checkpoint.clauses}
        for query in self.checkpoint.queries:
            self.tally.queries += 1
            yield list(self._of_query(query, clauses.get(query.clause_id)))
        for clause in self.checkpoint.clauses:
            self.tally.clauses += 1
            yield self._of_clause(clause)

    # --- Records -----------------------------------------------------------------------------------

    def _of_batch(self, record: BatchRecord, entry: Operation | str | None) -> Iterator[Difference]:
        stream = self._state.streams.get(record.stream_id)
        if stream is None:
            yield Difference("batch", f"its stream {record.stream_id} is unknown", seq=record.seq)
            return
        name = stream.record.schema.name
        if not isinstance(entry, Operation):
            self._damaged.add(record.stream_id)
            if entry is not None:
                yield Difference("batch", entry, stream=name, seq=record.seq)
            return
        try:
            batch = read_batch(stream, record, entry)
            for text in batch_faults(stream, record, entry, batch):
                yield Difference("batch", text, stream=name, seq=record.seq)
            if record.stream_id not in self._damaged:
                hold_batch(self._state, record, entry)
                self.tally.tuples += record.rows
        except (EngineError, ValueError) as error:
            self._damaged.add(record.stream_id)
            text = error.detail if isinstance(error, EngineError) else str(error)
            yield Difference("batch", text, stream=name, seq=record.seq)

    def _of_stream(self, stream: StreamState) -> Iterator[Difference]:
        if stream.record.stream_id in self._damaged:
            return
        handles = [query.clause_id for query in self.checkpoint.queries]
        reading = {
            clause.clause_id
            for clause in self.checkpoint.clauses
            if stream.record.stream_id in clause.streams
        }
        queries = sum(clause_id in reading for clause_id in handles)
        name = stream.record.schema.name
        for text in stream_faults(stream, queries, self.checkpoint.cut.arrival_us):
            yield Difference("stream", text, stream=name)
        if stream.stem.past_row != stream.record.rows:
            self._damaged.add(stream.record.stream_id)

    def _of_query(self, query: QueryRecord, clause: ClauseRecord | None) -> Iterator[Difference]:
        known = self._state.streams
        read = () if clause is None else clause.streams
        streams = [known[stream_id].record for stream_id in read if stream_id in known]
        declared = {one.schema.name: (one.stream_id, one.schema) for one in streams}
        text = query_fault(query, clause, declared, self.bind)
        if text is not None:
            yield Difference(
                "query", text, query=query.query_id, clause=query.clause_id, seq=query.seq
            )

    # --- Results -----------------------------------------------------------------------------------

    def _of_clause(self, record: ClauseRecord) -> list[Difference]:
        """Return where kept results differ; nothing where they went while they were read."""
        known = self._state.streams
        if not known.keys() >= set(record.streams):
            return [Difference("clause", "a stream of it is unknown", clause=record.clause_id)]
        if not self._damaged.isdisjoint(record.streams):
            self.tally.left_out += 1
            return []
        try:
            bound = bound_record(self._state, record)
            # A clause of an earlier version has a select list in its text.
            if record.text not in (bound.clause.text, bound.canonical):
                raise IntegrityError("Its text is not in canonical form.")
            clause = bound.clause
            compared = self._composites if len(record.streams) > 1 else self._hits
            found = list(compared(record, clause))
        except AnswerTooLargeError:
            self.tally.left_out += 1
            return []
        except EngineError as error:
            found = [Difference("clause", error.detail, clause=record.clause_id)]
        streams = [known[stream_id].record for stream_id in record.streams]
        if found and self.kept.has_moved(record, streams):
            self.tally.moved += 1
            return []
        return found

    def _hits(self, record: ClauseRecord, clause: StandingQueryClause) -> Iterator[Difference]:
        stream = self._state.streams[record.streams[0]].record
        first = max(record.kept_row, stream.dropped_row) // CHUNK_ROWS
        past = stream.rows // CHUNK_ROWS
        if record.materialize is Materialize.NONE or first >= past:
            return
        pages = self.kept.pages(record, range(first, past))
        self.tally.chunks += past - first
        for begin in range(first, past, CHUNKS):
            end = min(begin + CHUNKS, past)
            expected = self._state.tuples.matching(
                stream.stream_id, clause, begin * CHUNK_ROWS, end * CHUNK_ROWS
            )
            cuts = expected.searchsorted(np.arange(begin, end + 1) * CHUNK_ROWS)
            for chunk, (low, high) in enumerate(itertools.pairwise(cuts.tolist()), start=begin):
                text = self._unlike_page(record, pages.get(chunk), expected[low:high], chunk)
                if text is not None:
                    yield Difference(
                        "hits",
                        text,
                        stream=stream.schema.name,
                        clause=record.clause_id,
                        chunk=chunk,
                        seq=self._seq_of(stream.stream_id, (chunk + 1) * CHUNK_ROWS - 1),
                    )

    def _unlike_page(
        self, record: ClauseRecord, page: Page | None, expected: NDArray[np.int64], chunk: int
    ) -> str | None:
        """Return how a clause's page differs from the rows that satisfy it, None = it does not."""
        if page is not None and not page.kept:
            self.tally.unkept += 1
            if record.materialize is not Materialize.AUTO or len(expected) <= LIST_ROWS_MAX:
                return f"not kept, though it has {len(expected)} hits"
            return None
        rows = np.empty(0, np.int64) if page is None else page.rows(chunk * CHUNK_ROWS)
        self.tally.hits += len(rows)
        if np.array_equal(rows, expected):
            return None
        missing, extra = np.setdiff1d(expected, rows), np.setdiff1d(rows, expected)
        return _told("rows", missing.tolist(), extra.tolist())

    def _composites(
        self, record: ClauseRecord, clause: StandingQueryClause
    ) -> Iterator[Difference]:
        """Compare composites of whole chunks: all that are kept are ones, and all that retention shows are kept."""
        join = record.join
        if join is None:
            return
        if join.suspended is not None:
            self.tally.suspended += 1
            return
        streams = [self._state.streams[stream_id].record for stream_id in record.streams]
        held = [
            DatedRows(one.stream_id, one.dropped_row, _whole(one), None, INT64_MAX)
            for one in streams
        ]
        kept, texts = self._kept_composites(record, held)
        expected = _ascending(self._joined(clause, held))
        retained = _ascending(self._joined(clause, [_retained(one) for one in streams]))
        missing, extra = _without(retained, kept), _without(kept, expected)
        if len(missing) or len(extra):
            texts.append(_told("composites", missing.tolist(), extra.tolist()))
        for text in texts:
            yield Difference("composites", text, clause=record.clause_id)

    def _kept_composites(
        self, record: ClauseRecord, held: Sequence[DatedRows]
    ) -> tuple[Composites, list[str]]:
        """Return the clause's composites in whole chunks that are held, and what is wrong with them by themselves."""
        found, faults = [np.empty((0, len(held)), np.int64)], list[str]()
        for page in self.kept.composites(record):
            places = page.places(record.clause_id)
            if len(places) and places[-1] >= len(page):
                faults.append("a page says that more composites satisfy it than it has")
                continue
            rows = page.rows[:, places]
            inside = np.ones(len(places), dtype=bool)
            for span, part in zip(held, rows, strict=True):
                inside &= (part >= span.first_row) & (part < span.past_row)
            rows, places = rows[:, inside], places[inside]
            times = [
                self._state.tuples.times(span.stream_id, part)
                for span, part in zip(held, rows, strict=True)
            ]
            dated = np.minimum.reduce(times), np.maximum.reduce(times)
            said = page.earliest[places], page.latest[places]
            if not all(map(np.array_equal, dated, said)):
                faults.append("a composite is dated otherwise than its parts")
            found.append(rows.T)
        every = np.concatenate(found)
        self.tally.composites += len(every)
        once = _ascending(every.T)
        if len(once) != len(every):
            faults.append(f"{len(every) - len(once)} composites are kept twice")
        return once, faults

    def _joined(self, clause: StandingQueryClause, spans: Sequence[DatedRows]) -> NDArray[np.int64]:
        if any(span.first_row >= span.past_row for span in spans):
            return np.empty((len(spans), 0), dtype=np.int64)
        return self._state.tuples.joining(JoinPlan(clause), spans)

    def _seq_of(self, stream_id: StreamId, row: int) -> Seq | None:
        """Return the batch that a row came with."""
        stream = self._state.streams[stream_id]
        for record in itertools.chain(stream.retired, stream.retained):
            if record.first_row <= row < record.first_row + record.rows:
                return record.seq
        return None


def _whole(stream: StreamRecord) -> int:
    """Return the row past the whole chunks of a stream."""
    return stream.rows // CHUNK_ROWS * CHUNK_ROWS


def _retained(stream: StreamRecord) -> DatedRows:
    """Return the tuples of whole chunks that are retained."""
    return DatedRows(stream.stream_id, stream.floor_row, _whole(stream), stream.floor_us, INT64_MAX)


def _ascending(rows: NDArray[np.int64]) -> Composites:
    """Return (n, p) rows as p composites, ascending, each once."""
    return np.unique(rows.T, axis=0)


def _without(some: Composites, others: Composites) -> Composites:
    """Return those of `some` that are not among `others`; both have each once."""
    every = np.concatenate([others, some, others])
    found, counts = np.unique(every, axis=0, return_counts=True)
    alone: Composites = found[counts == 1]
    return alone


def _told(what: str, missing: Sequence[object], extra: Sequence[object]) -> str:
    """Return how many are missing and too many, and the first of them."""
    parts = [
        f"{len(some):,} {what} {word}, first {some[0]}"
        for some, word in ((missing, "missing"), (extra, "too many"))
        if some
    ]
    return "; ".join(parts) or f"{what} in another order"
