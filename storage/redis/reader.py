"""Reading the Results Structure in Redis: snapshots in one call, hits by segment and by group."""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final

from psoup.engine.errors import NotFoundError, gone_query
from psoup.engine.log.operation import QueryId
from psoup.engine.results.composites import CompositePage
from psoup.engine.results.contract import (
    Checkpoint,
    Counts,
    Cut,
    Gen,
    ResultsStatistics,
    Snapshot,
    StreamBatches,
)
from psoup.engine.results.delta import (
    BatchRecord,
    ClauseKey,
    ClauseRecord,
    QueryRecord,
    StreamRecord,
    clause_sharers,
)
from psoup.engine.results.page import Page
from psoup.engine.results.segment_blocks import KeptRows, rows_by_chunk
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.storage import keys, refusals
from psoup.storage.encoding.record_cache import Records, open_batch, open_expired
from psoup.storage.redis.calls.client import Argument, RedisClient
from psoup.storage.redis.calls.composites import KeptPages, fetch_of_clause, fetch_published
from psoup.storage.redis.calls.hits import fetch_pages
from psoup.storage.redis.calls.tidy import scan_hash
from psoup.storage.redis.carried_clock import CarriedClock
from psoup.storage.redis.fsck.check import check_results
from psoup.storage.redis.served import Served, ServedPosition

_PAST_ALL: Final = 2**53 - 1
"""A seq past that of any batch."""


def is_held(batch: BatchRecord, stream: StreamRecord) -> bool:
    """Return whether a row of the batch is held; the record of one that is not goes a little later."""
    return batch.first_row + max(batch.rows, 1) > stream.dropped_row


class RedisReader:
    """What is published, in Redis. Any number of threads read."""

    def __init__(
        self,
        client: RedisClient,
        *,
        now_us: int,
        served: ServedPosition | None = None,
        kept_bytes: int = 0,
    ) -> None:
        """Read a store.

        Args:
            client: connections to it.
            now_us: what its clock has just said.
            served: never answer from less than it has seen; None = whatever there is, is right.
            kept_bytes: of pages of composites kept between calls.
        """
        self._client = client
        self._clock = CarriedClock(now_us)
        self._served = served
        self._records = Records()
        self._kept_bytes = kept_bytes
        self.forget()
        self._lock = threading.Lock()
        self._publishes = 0
        self._pages_written = 0
        self._page_bytes_written = 0
        self._reads = 0

    def forget(self) -> None:
        """Forget what is kept: it may be another history's."""
        self._stream_ids: dict[str, StreamId] = {}
        self._pages = KeptPages(self._kept_bytes, threading.Lock())

    def cut(self) -> Cut:
        """Return the present position."""
        return self._list()[0]

    def now_us(self) -> int:
        """Return the store's clock as it was last seen, carried on since. Asks nobody."""
        return self._clock.now_us()

    def clock_behind_us(self) -> int:
        """Return how long the store's clock has to go to the latest that `now_us` has returned."""
        return self._clock.behind_us()

    def snapshot(self, query_id: QueryId) -> Snapshot:
        """Return one query at one cut (`ResultsReader.snapshot`)."""
        (snapshot,) = self.snapshots([query_id])
        if snapshot is None:
            (gone,) = self.gone([query_id])
            raise gone
        return snapshot

    def gone(self, query_ids: Sequence[QueryId]) -> Sequence[NotFoundError]:
        """Return what requests for queries are answered that are not standing (`ResultsReader.gone`)."""
        if not query_ids:
            return []
        values = self._client.fetch_one("HMGET", keys.EXPIRED, *query_ids)
        self._check_answer()
        return [
            gone_query(None if value is None else open_expired(query_id.encode(), value))
            for query_id, value in zip(query_ids, values, strict=True)
        ]

    def snapshots(self, query_ids: Sequence[QueryId]) -> Sequence[Snapshot | None]:
        """Return several queries, all at one cut; None for one that is not standing. One call."""
        self._count_read()
        cut, (found, flat) = self._view(
            "psoup_read",
            [keys.META, keys.QUERIES, keys.CLAUSES, keys.STREAMS, keys.DECLARATIONS],
            query_ids,
        )
        if self._served is not None:
            self._served.begin_answer(cut.gen)
        streams: dict[StreamId, StreamRecord] = {}
        rest = zip(flat[::2], flat[1::2], strict=True)
        snapshots: list[Snapshot | None] = []
        for query_id, row in zip(query_ids, found, strict=True):
            if row is None:
                snapshots.append(None)
                continue
            query = self._records.query(query_id.encode(), row[0])
            clause = self._records.clause(b"%d" % query.clause_id, row[1])
            for stream_id in clause.streams:  # each is answered once, in this order
                if stream_id not in streams:
                    kept = next(rest, (b"", b""))
                    streams[stream_id] = self._records.stream(b"%d" % stream_id, *kept)
            read = tuple(streams[stream_id] for stream_id in clause.streams)
            snapshots.append(Snapshot(cut, query, clause, read))
        return snapshots

    def pages(self, clause: ClauseRecord, chunks: Sequence[int]) -> Mapping[int, Page]:
        """Return the clause's hits in those of `chunks` where it has any (`fetch_pages`)."""
        self._count_read()
        found = fetch_pages(self._client, clause, chunks)
        self._check_answer()
        return found

    def hits(self, clause: ClauseRecord, first_chunk: int, past_chunk: int) -> Sequence[KeptRows]:
        """Return what `pages` does of consecutive chunks, as rows, in a part for each."""
        return rows_by_chunk(self.pages(clause, range(first_chunk, past_chunk)))

    def composites(self, clause: ClauseRecord) -> Sequence[CompositePage]:
        """Return the pages of the clause's group and its own ones (`fetch_of_clause`)."""
        self._count_read()
        found = fetch_of_clause(self._client, clause, self._pages)
        self._check_answer()
        return found

    def streams(self) -> Sequence[StreamRecord]:
        """Return all streams, ascending by name."""
        _, (records, declarations) = self._list(keys.STREAMS, keys.DECLARATIONS)
        streams = (
            self._records.stream(key, record, declarations.get(key, b""))
            for key, record in records.items()
        )
        ordered = sorted(streams, key=lambda stream: stream.schema.name)
        self._stream_ids = {stream.schema.name: stream.stream_id for stream in ordered}
        return ordered

    def stream(self, name: str) -> StreamRecord:
        """Return the stream in force under this name; NotFoundError if there is none.

        Cost: O(1) for a stream that has been listed before, else O(streams).
        """
        stream_id = self._stream_ids.get(name)
        if stream_id is not None:
            self._count_read()
            _, (record, declaration, _) = self._of_stream(stream_id, after=_PAST_ALL)
            if record is not None:
                stream = self._records.stream(b"%d" % stream_id, record, declaration or b"")
                if stream.schema.name == name:
                    return stream
        for stream in self.streams():
            if stream.schema.name == name:
                return stream
        raise refusals.stream_not_found()

    def batches(self, stream_id: StreamId, after: Seq) -> StreamBatches:
        """Return a stream and its batches from after a seq; NotFoundError if it is not in force.

        Cost: one round trip where some 5,000 operations have been applied since, else a scan of all its batches.
        """
        self._count_read()
        scanned: list[BatchRecord] = []
        while True:
            cut, (record, declaration, flat) = self._of_stream(stream_id, after=after)
            if record is None:
                raise refusals.stream_not_found()
            if flat is not None:
                break
            # What is published while it is scanned is asked for next: little, or it is scanned once more.
            scanned += [one for one in self._batches(stream_id, cut) if one.seq > after]
            after = cut.seq
        pairs = zip(flat[::2], flat[1::2], strict=True)
        latest = [open_batch(stream_id, seq, value) for seq, value in pairs]
        stream = self._records.stream(b"%d" % stream_id, record, declaration or b"")
        held = [one for one in (*scanned, *latest) if is_held(one, stream)]
        return StreamBatches(cut.seq, stream, tuple(held))

    def _of_stream(self, stream_id: StreamId, *, after: int) -> tuple[Cut, list[Any]]:
        """Return the cut, and what psoup_batches answers of a stream: record, declaration, batches after a seq."""
        return self._view(
            "psoup_batches",
            [keys.META, keys.STREAMS, keys.DECLARATIONS, keys.batches(stream_id)],
            [stream_id, after],
        )

    def queries(self) -> Sequence[QueryRecord]:
        """Return all standing queries, ascending by seq."""
        cut, (records,) = self._list(keys.QUERIES)
        return self._queries(cut, records)

    def query(self, query_id: QueryId) -> QueryRecord:
        """Return one standing query (`ResultsReader.query`)."""
        return self.snapshot(query_id).query

    def named(self, name: str) -> QueryRecord | None:
        """Return the standing query of this name; None = there is none. Two round trips."""
        query_id = self._client.fetch_one("HGET", keys.LOG_NAMES, keys.name_hash(name))
        if query_id is None:
            return None
        (snapshot,) = self.snapshots([QueryId(query_id.decode())])
        return None if snapshot is None else snapshot.query

    def readers(self, stream_id: StreamId) -> Sequence[QueryRecord]:
        """Return the standing queries that read this stream, ascending by seq."""
        cut, (clauses, queries) = self._list(keys.CLAUSES, keys.QUERIES)
        reading = {
            clause.clause_id
            for clause in map(self._records.clause, clauses, clauses.values())
            if stream_id in clause.streams
        }
        return [query for query in self._queries(cut, queries) if query.clause_id in reading]

    def sharing(self, key: ClauseKey) -> int:
        """Return how many standing queries share the clause of this key."""
        cut, (clauses, queries) = self._list(keys.CLAUSES, keys.QUERIES)
        known = map(self._records.clause, clauses, clauses.values())
        return clause_sharers(key, known, self._queries(cut, queries))

    def counts(self) -> Counts:
        """Return how many streams and queries there are.

        Streams are written together with the applied seq, queries may be staged before it. While any
        are, META's `untidy` stands, and the queries are read to tell them apart: seconds in a large
        publish, else one round trip of four numbers.
        """
        floor = self._floor()
        position, untidy, streams, queries = self._client.fetch_together(
            [
                ("FCALL_RO", "psoup_list", 1, keys.META),
                ("HGET", keys.META, "untidy"),
                ("HLEN", keys.STREAMS),
                ("HLEN", keys.QUERIES),
            ]
        )
        self._cut(position, floor)
        if untidy is None:
            return Counts(streams, queries)
        cut, (stream_records, query_records) = self._list(keys.STREAMS, keys.QUERIES)
        return Counts(len(stream_records), len(self._queries(cut, query_records)))

    def checkpoint(self) -> Checkpoint:
        """Return everything but the hits over single streams. Nothing may be published meanwhile: asserted."""
        cut, (records, queries, expired) = self._list(keys.CLAUSES, keys.QUERIES, keys.EXPIRED)
        read = map(self._records.clause, records, records.values())
        decoded = sorted(read, key=lambda c: c.clause_id)
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
            queries=tuple(self._queries(cut, queries)),
            batches=tuple(batches),
            composites=composites,
            expired={
                QueryId(field.decode()): open_expired(field, value)
                for field, value in expired.items()
            },
        )

    def statistics(self) -> ResultsStatistics:
        """Return counters of this object; of one that only reads nothing was published."""
        with self._lock:
            return ResultsStatistics(
                self._publishes, self._pages_written, self._page_bytes_written, self._reads
            )

    def check(self) -> None:
        """Assert that an inspection finds nothing in records and hits."""
        check_results(self._client)

    def _batches(self, stream_id: StreamId, cut: Cut) -> list[BatchRecord]:
        """Return the stream's batch records up to `cut`, ascending by seq."""
        held = scan_hash(self._client, keys.batches(stream_id))
        records = (open_batch(stream_id, seq, value) for seq, value in held.items())
        return sorted((r for r in records if r.seq <= cut.seq), key=lambda r: r.seq)

    def _list(self, *names: str) -> tuple[Cut, list[dict[bytes, bytes]]]:
        """Return the present position and each hash whole, all of one instant."""
        cut, hashes = self._view("psoup_list", [keys.META, *names])
        return cut, [dict(zip(flat[::2], flat[1::2], strict=True)) for flat in hashes]

    def _view(
        self, function: str, key_names: Sequence[str], arguments: Sequence[Argument] = ()
    ) -> tuple[Cut, list[Any]]:
        """Return the position of a Function's answer, and what comes behind it."""
        floor = self._floor()
        answer = self._client.view(function, key_names, arguments)
        return self._cut(answer, floor), answer[5:]

    def _floor(self) -> Served | None:
        return None if self._served is None else self._served.floor()

    def _cut(self, answer: Sequence[Any], floor: Served | None) -> Cut:
        """Return the position in front of an answer; RecoveringError if it is behind `floor`."""
        gen, applied, arrival_us, now_us = map(int, answer[1:5])
        if self._served is not None and floor is not None:
            self._served.saw(Gen(gen), Seq(applied), floor)
        self._clock.saw(now_us)
        return Cut(Gen(gen), Seq(applied), arrival_us, max(now_us, arrival_us))

    def _check_answer(self) -> None:
        """Raise unless what was just read is of the history that this thread's answer began in.

        A store that has lost hits knows nothing of them, which looks like none: so it is asked afterwards.
        """
        if self._served is not None:
            self._served.check_answer(self.cut().gen)

    def _queries(self, cut: Cut, records: Mapping[bytes, bytes]) -> list[QueryRecord]:
        """Return the queries that are published; staged ones have a later seq."""
        decoded = map(self._records.query, records, records.values())
        return sorted((query for query in decoded if query.seq <= cut.seq), key=lambda q: q.seq)

    def _count_read(self) -> None:
        with self._lock:
            self._reads += 1
