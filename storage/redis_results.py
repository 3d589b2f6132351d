"""The Results Structure in Redis: deltas through Functions, snapshots in one call, hits by segment and by group."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from engine.limits import SEGMENT_ROWS
from engine.log.operation import QueryId
from engine.results.composites import CompositePage
from engine.results.contract import Checkpoint, Counts, Cut, Gen, ResultsStatistics, Snapshot
from engine.results.delta import BatchRecord, ClauseRecord, Delta, QueryRecord, StreamRecord
from engine.results.hits import ClauseId
from engine.results.page import Page
from engine.tuples.batch import Seq
from engine.tuples.schema import StreamId
from storage import keys, refusals
from storage.carried_clock import CarriedClock
from storage.cluster import ClusterMemory
from storage.encoding import decode_batch, decode_clause, decode_query, decode_stream
from storage.errors import StoreUnavailableError
from storage.redis_check import check_results
from storage.redis_client import RedisClient
from storage.redis_composites import composite_fields, fetch_of_clause, fetch_published
from storage.redis_hits import fetch_pages
from storage.redis_tidy import Untidy, scan_hash, stage, tidy
from storage.redis_writes import Fields, Garbage, Write, delta_writes, fit_one_call, flattened


class RedisResults:
    """The Results Structure in Redis. One thread publishes, any number read."""

    def __init__(self, client: RedisClient, known: ClusterMemory, *, now_us: int) -> None:
        """Use an opened store, whose clock has just said `now_us`. `known` is told of every applied seq."""
        self._client = client
        self._known = known
        self._clock = CarriedClock(now_us)
        self._unanswered: tuple[Seq, Seq] | None = None
        self._lock = threading.Lock()
        self._publishes = 0
        self._pages_written = 0
        self._page_bytes_written = 0
        self._reads = 0

    def publish(self, delta: Delta) -> None:
        """Apply the delta atomically (`ResultsStructure.publish`).

        After StoreUnavailableError or RecoveringError publish the same delta again: whether it had been
        applied is then found out.
        """
        try:
            self._publish(delta)
        except StoreUnavailableError:
            self._unanswered = delta.expect, delta.seq
            raise
        self._unanswered = None
        self._known.saw_head(delta.seq)
        self._known.saw_applied(delta.seq)
        with self._lock:
            self._publishes += 1
            self._pages_written += sum(map(len, delta.pages.values()))
            self._pages_written += sum(map(len, delta.blocks.values()))
            self._page_bytes_written += sum(page.nbytes for page in delta.pages.values())
            self._page_bytes_written += sum(block.nbytes for block in delta.blocks.values())
            self._pages_written += len(delta.composites)
            self._page_bytes_written += sum(page.nbytes for page in delta.composites.values())

    def cut(self) -> Cut:
        """Return the present position."""
        return self._list()[0]

    def now_us(self) -> int:
        """Return the store's clock as it was last seen, carried on since. Asks nobody."""
        return self._clock.now_us()

    def snapshot(self, query_id: QueryId) -> Snapshot:
        """Return one query at one cut; NotFoundError if it is not standing."""
        (snapshot,) = self.snapshots([query_id])
        if snapshot is None:
            raise refusals.query_not_found()
        return snapshot

    def snapshots(self, query_ids: Sequence[QueryId]) -> Sequence[Snapshot | None]:
        """Return several queries, all at one cut; None for one that is not standing. One call."""
        self._count_read()
        answer = self._client.view(
            "psoup_read",
            [keys.META, keys.QUERIES, keys.CLAUSES, keys.STREAMS, keys.DECLARATIONS],
            query_ids,
        )
        cut = self._cut(answer)
        found, flat = answer[5:]
        decoded = map(decode_stream, flat[::2], flat[1::2])
        streams = {stream.stream_id: stream for stream in decoded}
        snapshots: list[Snapshot | None] = []
        for row in found:
            if row is None:
                snapshots.append(None)
                continue
            query, clause = decode_query(row[0]), decode_clause(row[1])
            read = tuple(streams[stream_id] for stream_id in clause.streams)
            snapshots.append(Snapshot(cut, query, clause, read))
        return snapshots

    def pages(self, clause: ClauseRecord, chunks: Sequence[int]) -> Mapping[int, Page]:
        """Return the clause's hits in those of `chunks` where it has any (`fetch_pages`)."""
        self._count_read()
        return fetch_pages(self._client, clause, chunks)

    def composites(self, clause: ClauseRecord) -> Sequence[CompositePage]:
        """Return the pages of the clause's group and its own ones (`fetch_of_clause`)."""
        self._count_read()
        return fetch_of_clause(self._client, clause)

    def streams(self) -> Sequence[StreamRecord]:
        """Return all streams, ascending by name."""
        _, (records, declarations) = self._list(keys.STREAMS, keys.DECLARATIONS)
        streams = (decode_stream(record, declarations[key]) for key, record in records.items())
        return sorted(streams, key=lambda stream: stream.schema.name)

    def stream(self, name: str) -> StreamRecord:
        """Return the stream in force under this name; NotFoundError if there is none."""
        for stream in self.streams():
            if stream.schema.name == name:
                return stream
        raise refusals.stream_not_found()

    def queries(self) -> Sequence[QueryRecord]:
        """Return all standing queries, ascending by seq."""
        cut, (records,) = self._list(keys.QUERIES)
        return _queries(cut, records)

    def query(self, query_id: QueryId) -> QueryRecord:
        """Return one standing query; NotFoundError if there is none."""
        return self.snapshot(query_id).query

    def readers(self, stream_id: StreamId) -> Sequence[QueryRecord]:
        """Return the standing queries that read this stream, ascending by seq."""
        cut, (clauses, queries) = self._list(keys.CLAUSES, keys.QUERIES)
        reading = {
            clause.clause_id
            for clause in map(decode_clause, clauses.values())
            if stream_id in clause.streams
        }
        return [query for query in _queries(cut, queries) if query.clause_id in reading]

    def counts(self) -> Counts:
        """Return how many streams and queries there are.

        Streams are written together with the applied seq, queries may be staged before it. While any
        are, META's `untidy` stands, and the queries are read to tell them apart: seconds in a large
        publish, else one round trip of four numbers.
        """
        _, untidy, streams, queries = self._client.fetch_together(
            [
                ("FCALL_RO", "psoup_list", 1, keys.META),
                ("HGET", keys.META, "untidy"),
                ("HLEN", keys.STREAMS),
                ("HLEN", keys.QUERIES),
            ]
        )
        if untidy is None:
            return Counts(streams, queries)
        cut, (stream_records, query_records) = self._list(keys.STREAMS, keys.QUERIES)
        return Counts(len(stream_records), len(_queries(cut, query_records)))

    def checkpoint(self) -> Checkpoint:
        """Return everything but the hits over single streams. Nothing may be published meanwhile: asserted."""
        cut, (records, queries) = self._list(keys.CLAUSES, keys.QUERIES)
        decoded = sorted(map(decode_clause, records.values()), key=lambda c: c.clause_id)
        clauses = tuple(clause for clause in decoded if clause.clause_id <= cut.seq)
        streams = self.streams()
        batches = [
            batch
            for stream_id in sorted(stream.stream_id for stream in streams)
            for batch in self._batches(stream_id, cut)
        ]
        by_id = {stream.stream_id: stream for stream in streams}
        composites = fetch_published(self._client, clauses, by_id)
        assert self.cut().seq == cut.seq, "a checkpoint is read while nothing is published"
        return Checkpoint(
            cut=cut,
            streams=tuple(streams),
            clauses=clauses,
            queries=tuple(_queries(cut, queries)),
            batches=tuple(batches),
            composites=composites,
        )

    def statistics(self) -> ResultsStatistics:
        """Return counters of this object."""
        with self._lock:
            return ResultsStatistics(
                self._publishes, self._pages_written, self._page_bytes_written, self._reads
            )

    def check(self) -> None:
        """Assert that records and pages refer to each other and that nothing else is left lying."""
        check_results(self._client, self.checkpoint())

    def _publish(self, delta: Delta) -> None:
        garbage = self._garbage(delta)
        writes = delta_writes(delta)
        after = [*writes.after, *garbage.removed()]
        if fit_one_call(writes.before, writes.moving, after):
            # In the order of a reader's questions: nothing refers to what is not there yet.
            self._judge(delta, self._move(delta, [*writes.before, *writes.moving, *after]))
            return
        untidy = Untidy.of(delta).text
        in_the_way = stage(self._client, writes.before, applied=delta.expect, untidy=untidy)
        if in_the_way is None:
            moving = [*writes.moving, *garbage.noted()]
            in_the_way = self._move(delta, moving, untidy=untidy)
        if not self._judge(delta, in_the_way):
            return
        after += garbage.forgotten()
        in_the_way = stage(self._client, after, applied=delta.seq, untidy=untidy, done=True)
        self._judge(delta, in_the_way)

    def _move(self, delta: Delta, writes: Sequence[Write], *, untidy: str = "") -> int | None:
        """Move the applied seq together with `writes`. Return the applied seq if another one is."""
        written, arguments = flattened(writes, key_count=3)
        answer = self._client.call(
            "psoup_publish",
            [keys.META, keys.HEAD, keys.SIZES, *written],
            [delta.expect, delta.seq, delta.arrival_us, untidy, *arguments],
        )
        if answer[0] == b"AHEAD":
            raise refusals.publish_past_head(head=int(answer[1]), seq=delta.seq)
        return int(answer[1]) if answer[0] == b"BADSEQ" else None

    def _judge(self, delta: Delta, in_the_way: int | None) -> bool:
        """Return whether the delta is still to be applied; raise if it cannot be.

        A delta whose answer was lost may turn out to be published: then only what it left is tidied.
        """
        if in_the_way is None:
            return True
        lost = self._unanswered == (delta.expect, delta.seq)
        if not lost or in_the_way != delta.seq:
            raise refusals.publish_out_of_order(applied=in_the_way, expect=delta.expect)
        tidy(self._client)
        return False

    def _garbage(self, delta: Delta) -> Garbage:
        """Return where there may be hits of the clauses and streams that `delta` drops, and its composites."""
        if not (delta.dropped_clauses or delta.dropped_streams or delta.dropped_composites):
            return Garbage()
        clause_ids = sorted(delta.dropped_clauses)
        values = self._client.fetch_one("HMGET", keys.CLAUSES, *clause_ids) if clause_ids else []
        clauses = [decode_clause(value) for value in values if value is not None]
        composites: dict[ClauseId, list[Fields]] = {}
        groups = {key[0] for key in delta.dropped_composites}
        for key, names in composite_fields(self._client, groups).items():
            if key in delta.dropped_composites:
                composites.setdefault(key[0], []).append(names)
        return Garbage(
            {c.clause_id: c.paged_segments for c in clauses if c.paged_segments},
            {
                stream.stream_id: range(
                    stream.dropped_row // SEGMENT_ROWS, -(-stream.rows // SEGMENT_ROWS)
                )
                for stream in self.streams()
                if stream.stream_id in delta.dropped_streams
            },
            composites,
        )

    def _batches(self, stream_id: StreamId, cut: Cut) -> list[BatchRecord]:
        """Return the stream's batch records up to `cut`, ascending by seq."""
        held = scan_hash(self._client, keys.batches(stream_id))
        records = (decode_batch(stream_id, Seq(int(seq)), value) for seq, value in held.items())
        return sorted((r for r in records if r.seq <= cut.seq), key=lambda r: r.seq)

    def _list(self, *hashes: str) -> tuple[Cut, list[dict[bytes, bytes]]]:
        """Return the present position and each hash whole, all of one instant."""
        answer = self._client.view("psoup_list", [keys.META, *hashes])
        pairs = [dict(zip(flat[::2], flat[1::2], strict=True)) for flat in answer[5:]]
        return self._cut(answer), pairs

    def _cut(self, answer: Sequence[Any]) -> Cut:
        """Return the position in front of an answer of psoup_read and psoup_list."""
        gen, applied, arrival_us, now_us = map(int, answer[1:5])
        self._clock.saw(now_us)
        return Cut(Gen(gen), Seq(applied), arrival_us, max(now_us, arrival_us))

    def _count_read(self) -> None:
        with self._lock:
            self._reads += 1


def _queries(cut: Cut, records: Mapping[bytes, bytes]) -> list[QueryRecord]:
    """Return the queries that are published; staged ones have a later seq."""
    decoded = (decode_query(value) for value in records.values())
    return sorted((query for query in decoded if query.seq <= cut.seq), key=lambda q: q.seq)
