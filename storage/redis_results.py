"""The Results Structure in Redis: deltas through Functions, snapshots in one call, pages by clause and segment."""

import threading
from collections.abc import Mapping, Sequence
from typing import Final

from engine.log.operation import QueryId
from engine.results.contract import Checkpoint, Counts, Cut, Gen, ResultsStatistics, Snapshot
from engine.results.delta import BatchRecord, Delta, QueryRecord, StreamRecord
from engine.results.hits import ClauseId
from engine.results.page import Page
from engine.tuples.batch import Seq
from engine.tuples.schema import StreamId
from storage import keys, refusals
from storage.cluster import ClusterMemory
from storage.encoding import (
    decode_batch,
    decode_clause,
    decode_page,
    decode_query,
    decode_stream,
)
from storage.errors import StoreUnavailableError
from storage.redis_check import check_results
from storage.redis_client import RedisClient
from storage.redis_tidy import scan_hash, segments_held, stage, tidy
from storage.redis_writes import (
    CHUNKS_PER_SEGMENT,
    Write,
    delta_writes,
    flattened,
    garbage_forgotten,
    garbage_noted,
)

SEGMENTS_PER_FETCH: Final = 256
"""Keys of pages asked for at once: 2 MiB of bitmaps at most."""


class RedisResults:
    """The Results Structure in Redis. One thread publishes, any number read."""

    def __init__(self, client: RedisClient, known: ClusterMemory) -> None:
        """Use an opened store. `known` is told of every applied seq."""
        self._client = client
        self._known = known
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
            self._pages_written += len(delta.pages)
            self._page_bytes_written += sum(page.nbytes for page in delta.pages.values())

    def cut(self) -> Cut:
        """Return the present position."""
        return self._list()[0]

    def snapshot(self, query_id: QueryId) -> Snapshot:
        """Return one query at one cut; NotFoundError if it is not standing."""
        self._count_read()
        answer = self._client.view(
            "psoup_read",
            [keys.META, keys.QUERIES, keys.CLAUSES, keys.STREAMS, keys.DECLARATIONS],
            [query_id],
        )
        if answer[0] == b"NOQUERY":
            raise refusals.query_not_found()
        query, clause, *streams = answer[5:]
        return Snapshot(
            cut=_cut(answer),
            query=decode_query(query),
            clause=decode_clause(clause),
            streams=tuple(
                decode_stream(record, declaration)
                for record, declaration in zip(streams[::2], streams[1::2], strict=True)
            ),
        )

    def pages(self, clause_id: ClauseId, chunks: Sequence[int]) -> Mapping[int, Page]:
        """Return the clause's pages among `chunks`, SEGMENTS_PER_FETCH segments a round trip."""
        self._count_read()
        wanted: dict[int, list[int]] = {}
        for chunk in chunks:
            wanted.setdefault(chunk // CHUNKS_PER_SEGMENT, []).append(chunk)
        segments = list(wanted)
        found: dict[int, Page] = {}
        for at in range(0, len(segments), SEGMENTS_PER_FETCH):
            part = segments[at : at + SEGMENTS_PER_FETCH]
            answers = self._client.fetch(
                [
                    (
                        "HMGET",
                        keys.pages(clause_id, segment),
                        *(chunk % CHUNKS_PER_SEGMENT for chunk in wanted[segment]),
                    )
                    for segment in part
                ]
            )
            for segment, values in zip(part, answers, strict=True):
                for chunk, value in zip(wanted[segment], values, strict=True):
                    if value is not None:
                        found[chunk] = decode_page(value)
        return found

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
        """Return everything but the pages. Nothing may be published meanwhile: asserted."""
        cut, (clauses, queries) = self._list(keys.CLAUSES, keys.QUERIES)
        streams = self.streams()
        batches = [
            batch
            for stream_id in sorted(stream.stream_id for stream in streams)
            for batch in self._batches(stream_id, cut)
        ]
        assert self.cut().seq == cut.seq, "a checkpoint is read while nothing is published"
        decoded = sorted(map(decode_clause, clauses.values()), key=lambda c: c.clause_id)
        return Checkpoint(
            cut=cut,
            streams=tuple(streams),
            clauses=tuple(clause for clause in decoded if clause.clause_id <= cut.seq),
            queries=tuple(_queries(cut, queries)),
            batches=tuple(batches),
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
        dropped = self._segments(delta)
        writes = delta_writes(delta, dropped)
        if writes.fit_one_call:
            # In the order of a reader's questions: nothing refers to what is not there yet.
            in_the_way = self._move(delta, [*writes.before, *writes.moving, *writes.after])
            self._judge(delta, in_the_way)
            return
        past = max((chunk // CHUNKS_PER_SEGMENT + 1 for _, chunk in delta.pages), default=0)
        gone = [chunk // CHUNKS_PER_SEGMENT for _, chunk in delta.dropped_chunks]
        untidy = f"{past} {min(gone, default=0)}"
        in_the_way = stage(self._client, writes.before, applied=delta.expect, untidy=untidy)
        if in_the_way is None:
            moving = [*writes.moving, *garbage_noted(dropped)]
            in_the_way = self._move(delta, moving, untidy=untidy)
        if not self._judge(delta, in_the_way):
            return
        after = [*writes.after, *garbage_forgotten(dropped)]
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

    def _segments(self, delta: Delta) -> dict[ClauseId, range]:
        """Return in which segments the clauses that `delta` drops may have pages."""
        clause_ids = sorted(delta.dropped_clauses)
        if not clause_ids:
            return {}
        values = self._client.fetch_one("HMGET", keys.CLAUSES, *clause_ids)
        clauses = [decode_clause(value) for value in values if value is not None]
        streams = {stream.stream_id: stream for stream in self.streams()}
        return {clause.clause_id: segments_held(streams[clause.streams[0]]) for clause in clauses}

    def _batches(self, stream_id: StreamId, cut: Cut) -> list[BatchRecord]:
        """Return the stream's batch records up to `cut`, ascending by seq."""
        held = scan_hash(self._client, keys.batches(stream_id))
        records = (decode_batch(stream_id, Seq(int(seq)), value) for seq, value in held.items())
        return sorted((r for r in records if r.seq <= cut.seq), key=lambda r: r.seq)

    def _list(self, *hashes: str) -> tuple[Cut, list[dict[bytes, bytes]]]:
        """Return the present position and each hash whole, all of one instant."""
        answer = self._client.view("psoup_list", [keys.META, *hashes])
        pairs = [dict(zip(flat[::2], flat[1::2], strict=True)) for flat in answer[5:]]
        return _cut(answer), pairs

    def _count_read(self) -> None:
        with self._lock:
            self._reads += 1


def _cut(answer: Sequence[bytes]) -> Cut:
    """Return the position in front of an answer of psoup_read and psoup_list."""
    gen, applied, arrival_us, now_us = map(int, answer[1:5])
    return Cut(Gen(gen), Seq(applied), arrival_us, max(now_us, arrival_us))


def _queries(cut: Cut, records: Mapping[bytes, bytes]) -> list[QueryRecord]:
    """Return the queries that are published; staged ones have a later seq."""
    decoded = (decode_query(value) for value in records.values())
    return sorted((query for query in decoded if query.seq <= cut.seq), key=lambda q: q.seq)
