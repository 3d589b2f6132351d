"""Records of the Results Structure, and the delta: what one turn of the fold changes, as absolute values.

Records are what a store keeps at the applied position; together with the batches in the log they are the
whole state of the engine, so they are the checkpoint a restart begins from.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from typing import Final, TypeVar

from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.parameters import RegisteredText
from psoup.engine.query.window import Window
from psoup.engine.results.clause_pages import ClausePages
from psoup.engine.results.composites import CompositeKey, CompositePage
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import MatchBlock
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.schema import StreamId, StreamSchema
from psoup.engine.tuples.value_type import value_type

CHUNKS: Final = SEGMENT_ROWS // CHUNK_ROWS
"""Chunks of a segment."""

Key = TypeVar("Key")
Record = TypeVar("Record")


@value_type
class StreamRecord:
    """A stream at the applied position.

    A tuple is retained iff its row >= `floor_row` and its time >= `floor_us` (None = no bound). Rows below
    `dropped_row` (a multiple of SEGMENT_ROWS) are no longer held at all; in between they are readable
    for page tokens handed out earlier.

    Attributes:
        rows: tuples ever accepted; the next row number.
        bytes: size of the retained batches' values.
        high_water_us: largest tuple time seen; None before the first tuple.
        floor_row, floor_us: retention's two bounds; both only grow.
        forgotten_us: largest tuple time among rows below `floor_row`, None if there are none.
        arrival_us: arrival time of the last batch, None before the first.
        queries: standing queries that read it.
        replaced_seq: the last operation that gave a query over it another definition; 0 = none has.
    """

    stream_id: StreamId
    schema: StreamSchema
    rows: int = 0
    bytes: int = 0
    high_water_us: int | None = None
    floor_row: int = 0
    floor_us: int | None = None
    forgotten_us: int | None = None
    dropped_row: int = 0
    arrival_us: int | None = None
    queries: int = 0
    replaced_seq: Seq = Seq(0)

    @property
    def complete_from_us(self) -> int | None:
        """Return the time from which nothing has been forgotten; None = nothing ever was."""
        bounds = [] if self.floor_us is None else [self.floor_us]
        if self.forgotten_us is not None:
            bounds.append(self.forgotten_us + 1)
        return max(bounds, default=None)

    def grown(
        self, *, rows: int, size: int, newest_us: int | None, arrival_us: int
    ) -> "StreamRecord":
        """Return the record behind a batch of so many rows, whose values count `size` bytes.

        `newest_us` is the largest of their times; None = the batch is empty. Written out, as are the two below:
        `dataclasses.replace` takes longer than building a batch of one row into the stream.
        """
        high_water_us = self.high_water_us
        if high_water_us is None or (newest_us is not None and newest_us > high_water_us):
            high_water_us = newest_us
        return StreamRecord(
            self.stream_id,
            self.schema,
            self.rows + rows,
            self.bytes + size,
            high_water_us,
            self.floor_row,
            self.floor_us,
            self.forgotten_us,
            self.dropped_row,
            arrival_us,
            self.queries,
            self.replaced_seq,
        )

    def keeping(
        self, *, size: int, floor_row: int, floor_us: int | None, forgotten_us: int | None
    ) -> "StreamRecord":
        """Return the record with these floors, above which values count `size` bytes."""
        return StreamRecord(
            self.stream_id,
            self.schema,
            self.rows,
            size,
            self.high_water_us,
            floor_row,
            floor_us,
            forgotten_us,
            self.dropped_row,
            self.arrival_us,
            self.queries,
            self.replaced_seq,
        )

    def counting(self, queries: int) -> "StreamRecord":
        """Return the record with this number of standing queries."""
        return StreamRecord(
            self.stream_id,
            self.schema,
            self.rows,
            self.bytes,
            self.high_water_us,
            self.floor_row,
            self.floor_us,
            self.forgotten_us,
            self.dropped_row,
            self.arrival_us,
            queries,
            self.replaced_seq,
        )


@value_type
class Suspension:
    """A clause that ran over a bound: since which operation nothing more is looked for, and why."""

    since_seq: Seq
    reason: str


@value_type
class JoinRecord:
    """What is kept of a clause over several streams.

    Attributes:
        group: the group whose composite tuples it shares: the id of the clause that began it.
        fronts: for each source, the rows in whole chunks when the clause came. Composites all of whose parts lie
            below are in pages of its own, the others in pages of the group.
        suspended: None while it is alive.
    """

    group: ClauseId
    fronts: tuple[int, ...]
    suspended: Suspension | None = None


ClauseKey = tuple[str, tuple[StreamId, ...], Materialize]
"""Canonical text, streams, materialize: clauses equal in all three share one evaluation and one result."""


@value_type
class ClauseRecord:
    """A standing query clause.

    Attributes:
        text: its canonical text.
        streams: in FROM order.
        materialize: what is kept of its hits.
        kept_row: hits are kept for whole chunks from this row on; those of earlier rows are evaluated.
        block_row: hits in chunks from this row on are in the blocks of the stream, those in earlier ones in
            pages of its own. Both rows begin a chunk, and `kept_row` is not the larger.
        join: of a clause over several streams whose composite tuples are kept; None where they are found when
            it is invoked, and for clauses over one stream.
    """

    clause_id: ClauseId
    text: str
    streams: tuple[StreamId, ...]
    materialize: Materialize = Materialize.AUTO
    kept_row: int = 0
    block_row: int = 0
    join: JoinRecord | None = None

    @property
    def key(self) -> ClauseKey:
        """What makes two clauses the same one."""
        return self.text, self.streams, self.materialize

    @property
    def paged_segments(self) -> range:
        """Return the segments in which it may have pages of its own."""
        if self.kept_row == self.block_row:
            return range(0)
        return range(self.kept_row // SEGMENT_ROWS, -(-self.block_row // SEGMENT_ROWS))

    def keeps(self, chunk: int, rows: int) -> bool:
        """Return whether hits in this chunk are kept, of a stream that has had `rows` rows."""
        if self.materialize is Materialize.NONE:
            return False
        return self.kept_row <= chunk * CHUNK_ROWS and (chunk + 1) * CHUNK_ROWS <= rows


@value_type
class QueryRecord:
    """A handle: one row of the registry and of the WindowsTable."""

    query_id: QueryId
    seq: Seq
    clause_id: ClauseId
    canonical: str
    window: Window
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    ranges: tuple[int | None, ...] = ()
    """As in `BoundQuery`."""
    text: RegisteredText | None = None
    """The text that was registered, where it has parameters, or names of its own for streams that it joins."""
    version: int = 1
    """How many definitions it has had."""
    defined_seq: Seq = Seq(0)
    """The operation that replaced its definition last; 0 = it has the one it was registered with."""
    ttl_us: int | None = None
    """How long it stands without being used; None = for ever."""
    expires_us: int | None = None
    """When it expires unless it is used before; set where `ttl_us` is."""
    amended_seq: Seq = Seq(0)
    """The operation that last gave it other labels or another time to live and left its definition; 0 = none has."""

    @property
    def definition_seq(self) -> Seq:
        """Return the operation that brought the definition it has."""
        return self.defined_seq or self.seq

    @property
    def changed_seq(self) -> Seq:
        """Return the last operation that has made it what it is. Renewals do not count."""
        return max(self.definition_seq, self.amended_seq)


def clause_sharers(
    key: ClauseKey, clauses: Iterable[ClauseRecord], queries: Iterable[QueryRecord]
) -> int:
    """Return how many of the queries have the clause of this key."""
    found = {one.clause_id for one in clauses if one.key == key}
    return sum(query.clause_id in found for query in queries)


@value_type
class BatchRecord:
    """Where a batch lies: row `first_row + i` of the stream is tuple `first_tuple_id + i`, in entry `seq`.

    Attributes:
        bytes: size of its values.
        oldest_us, newest_us: smallest and largest of its tuple times; of an empty batch its arrival time.
    """

    stream_id: StreamId
    seq: Seq
    first_row: int
    rows: int
    bytes: int
    first_tuple_id: TupleId
    oldest_us: int
    newest_us: int

    @property
    def past_row(self) -> int:
        """Row number past the batch's last."""
        return self.first_row + self.rows


PageKey = tuple[ClauseId, int]
"""Clause and chunk number (`row // CHUNK_ROWS`)."""

RunKey = tuple[ClauseId, int]
"""Clause and run (`row // RUN_ROWS`)."""

BlockKey = tuple[StreamId, int]
"""Stream and chunk number."""


@value_type
class Delta:
    """What operations `(expect, seq]` change. Every value is absolute; applying it twice is harmless.

    Order of application does not matter: no key is both written and dropped.

    Attributes:
        expect: the applied seq this delta follows.
        seq: the applied seq after it.
        arrival_us: arrival time of operation `seq`.
        streams, clauses, queries, batches: records written.
        blocks: the hits of all clauses in chunks that have become whole.
        pages: the hits of fresh clauses in chunks that were whole before; some of them may lie in segments
            of `dropped_pages`.
        dropped_streams, dropped_clauses, dropped_queries: records removed, with all that hangs on them
            (a stream's batch records, a clause's pages).
        dropped_batches: batch records removed because no row of theirs is held any more.
        dropped_segments: segments that are no longer held: their blocks are removed.
        dropped_pages: clauses and segments of theirs that are no longer held: their pages are removed.
        composites: what joins have found; written once, like blocks.
        altered: streams among those written that are declared otherwise than before.
        dropped_composites: pages of composites of which no tuple is held any more, or no clause stands.
        expired: queries that are remembered to have expired, and when (µs).
        forgotten: expired queries that are remembered no more.
    """

    expect: Seq
    seq: Seq
    arrival_us: int
    streams: Mapping[StreamId, StreamRecord] = field(default_factory=dict)
    clauses: Mapping[ClauseId, ClauseRecord] = field(default_factory=dict)
    queries: Mapping[QueryId, QueryRecord] = field(default_factory=dict)
    batches: Mapping[tuple[StreamId, Seq], BatchRecord] = field(default_factory=dict)
    blocks: Mapping[BlockKey, MatchBlock] = field(default_factory=dict)
    pages: Mapping[RunKey, ClausePages] = field(default_factory=dict)
    dropped_streams: frozenset[StreamId] = frozenset()
    dropped_clauses: frozenset[ClauseId] = frozenset()
    dropped_queries: frozenset[QueryId] = frozenset()
    dropped_batches: frozenset[tuple[StreamId, Seq]] = frozenset()
    dropped_segments: frozenset[tuple[StreamId, int]] = frozenset()
    dropped_pages: frozenset[tuple[ClauseId, int]] = frozenset()
    composites: Mapping[CompositeKey, CompositePage] = field(default_factory=dict)
    dropped_composites: frozenset[CompositeKey] = frozenset()
    altered: frozenset[StreamId] = frozenset()
    expired: Mapping[QueryId, int] = field(default_factory=dict)
    forgotten: frozenset[QueryId] = frozenset()


def merge(deltas: Sequence[Delta]) -> Delta:
    """Return the delta that does what these do one after the other, for one publish.

    What a later one drops is no longer written; what it writes is not dropped by an earlier one either: ids are
    never reused, but for a handle that an attempt given up long before registers after its removal. Cost: O(records
    of all).
    """
    for first, second in itertools.pairwise(deltas):
        assert second.expect == first.seq, "deltas are merged in the order of the log"
    streams = frozenset[StreamId]().union(*(delta.dropped_streams for delta in deltas))
    clauses = frozenset[ClauseId]().union(*(delta.dropped_clauses for delta in deltas))
    queries: dict[QueryId, QueryRecord | None] = {}
    for delta in deltas:
        queries |= dict.fromkeys(delta.dropped_queries) | dict(delta.queries)
    batches = frozenset[tuple[StreamId, Seq]]().union(*(d.dropped_batches for d in deltas))
    segments = frozenset[tuple[StreamId, int]]().union(*(d.dropped_segments for d in deltas))
    pages = frozenset[tuple[ClauseId, int]]().union(*(delta.dropped_pages for delta in deltas))
    composites = frozenset[CompositeKey]().union(*(delta.dropped_composites for delta in deltas))
    forgotten = frozenset[QueryId]().union(*(delta.forgotten for delta in deltas))
    return Delta(
        expect=deltas[0].expect,
        seq=deltas[-1].seq,
        arrival_us=deltas[-1].arrival_us,
        streams=_written((delta.streams for delta in deltas), streams),
        clauses=_written((delta.clauses for delta in deltas), clauses),
        queries={query_id: one for query_id, one in queries.items() if one is not None},
        batches={
            key: batch
            for key, batch in _written((delta.batches for delta in deltas), batches).items()
            if key[0] not in streams
        },
        blocks={
            (stream_id, chunk): block
            for delta in deltas
            for (stream_id, chunk), block in delta.blocks.items()
            if stream_id not in streams and (stream_id, chunk // CHUNKS) not in segments
        },
        pages={
            (clause_id, run): held
            for delta in deltas
            for (clause_id, run), held in delta.pages.items()
            if clause_id not in clauses and (clause_id, held.last_segment) not in pages
        },
        dropped_streams=streams,
        dropped_clauses=clauses,
        dropped_queries=frozenset(query_id for query_id, one in queries.items() if one is None),
        dropped_batches=batches,
        dropped_segments=segments,
        dropped_pages=pages,
        composites=_written((delta.composites for delta in deltas), composites),
        dropped_composites=composites,
        altered=frozenset[StreamId]().union(*(delta.altered for delta in deltas)) - streams,
        expired=_written((delta.expired for delta in deltas), forgotten),
        forgotten=forgotten,
    )


def _written(parts: Iterable[Mapping[Key, Record]], dropped: frozenset[Key]) -> dict[Key, Record]:
    return {key: one for part in parts for key, one in part.items() if key not in dropped}
