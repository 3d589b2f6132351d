"""All records of a store at one instant, without a Function: what cannot be decoded, or is of no applied operation."""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from psoup.engine.errors import IntegrityError
from psoup.engine.log.operation import QueryId
from psoup.engine.results.contract import Checkpoint, Cut, Gen
from psoup.engine.results.delta import BatchRecord
from psoup.engine.store.errors import StoreUnsuitableError
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId
from psoup.engine.verify.difference import Difference
from psoup.storage import keys
from psoup.storage.encoding.record_cache import (
    open_batch,
    open_clause,
    open_expired,
    open_query,
    open_stream,
)
from psoup.storage.redis.calls.client import Command, RedisClient

DAMAGED: Final = (
    AssertionError,
    IntegrityError,
    KeyError,
    IndexError,
    TypeError,
    ValueError,
    struct.error,
)
"""What decoding raises for bytes that psoup did not write."""
HASHES: Final = (keys.CLAUSES, keys.QUERIES, keys.STREAMS, keys.DECLARATIONS, keys.EXPIRED)

Record = TypeVar("Record")


@dataclass(frozen=True, slots=True)
class InspectedRecords:
    """What a store said at one instant.

    Attributes:
        checkpoint: the records of applied operations, without composites.
        head: the last operation of the log.
        faults: records that are damaged, or are of no applied operation though no publish was under way.
    """

    checkpoint: Checkpoint
    head: Seq
    faults: tuple[Difference, ...]


def read_records(client: RedisClient) -> InspectedRecords:
    """Return all records of one instant. Cost: the server is held up for as long as it takes to write them down.

    Raises:
        StoreUnsuitableError: there is no psoup in the store, or one of another layout.
        IntegrityError: the position cannot be read.
        StoreUnavailableError, RecoveringError: no answer.
    """
    ids: list[bytes] = []
    while True:
        (fmt, gen, applied, arrival_us, untidy), clock, head, *flat = client.fetch_together(
            _everything(ids)
        )
        clauses, queries, streams, declarations, expired, *batches = map(_pairs, flat)
        if list(streams) == ids:
            break
        ids = list(streams)  # the batches of all streams, and no others
    _check_layout(fmt, head)
    try:
        head_seq, position = Seq(int(head)), (int(gen), int(applied), int(arrival_us or 0))
    except (TypeError, ValueError) as error:
        raise IntegrityError(f"{keys.META} or {keys.HEAD} is damaged: {error}") from error
    records = _Reading(Seq(position[1]), is_staged=untidy is not None)
    checkpoint = Checkpoint(
        cut=Cut(Gen(position[0]), records.applied, position[2], int(clock[0]) * 1_000_000),
        streams=records.of(
            "stream",
            streams,
            lambda key, row: open_stream(key, row, declarations[key]),
            lambda stream: stream.stream_id,
            lambda stream: stream.stream_id,
        ),
        clauses=records.of(
            "clause",
            clauses,
            open_clause,
            lambda clause: clause.clause_id,
            lambda clause: clause.clause_id,
        ),
        queries=records.of(
            "query",
            queries,
            open_query,
            lambda query: query.seq,
            lambda query: query.query_id,
        ),
        expired=dict(
            records.of("expired query", expired, _expired_of, lambda _: 0, lambda one: one[0])
        ),
        batches=tuple(
            batch
            for stream_id, rows in zip(ids, batches, strict=True)
            for batch in records.of(
                "batch", rows, _batch_of(stream_id), lambda one: one.seq, lambda one: one.seq
            )
        ),
    )
    return InspectedRecords(checkpoint, head_seq, tuple(records.faults))


class _Reading:
    """Decodes records, and notes which cannot be."""

    def __init__(self, applied: Seq, *, is_staged: bool) -> None:
        self.applied = applied
        self.faults: list[Difference] = []
        self._is_staged = is_staged

    def of(
        self,
        what: str,
        rows: dict[bytes, bytes],
        decode: Callable[[bytes, bytes], Record],
        seq_of: Callable[[Record], int],
        key_of: Callable[[Record], int | str],
    ) -> tuple[Record, ...]:
        """Return the records of a hash that are of applied operations, ascending; the others are faults."""
        found = []
        for key, row in rows.items():
            name = key.decode(errors="replace")
            try:
                record = decode(key, row)
                assert str(key_of(record)) == name
            except DAMAGED as error:
                why = f": {error.detail}" if isinstance(error, IntegrityError) else ""
                self.faults.append(Difference(what, f"the record under {name} is damaged{why}"))
                continue
            if seq_of(record) <= self.applied:
                found.append(record)
            elif not self._is_staged:
                text = f"the record under {name} is of operation {seq_of(record)}, and {self.applied} is applied"
                self.faults.append(Difference(what, text))
        return tuple(sorted(found, key=seq_of))


def _expired_of(key: bytes, row: bytes) -> tuple[QueryId, int]:
    return QueryId(key.decode()), open_expired(key, row)


def _batch_of(stream_id: bytes) -> Callable[[bytes, bytes], BatchRecord]:
    return lambda key, row: open_batch(StreamId(int(stream_id)), key, row)


def _check_layout(fmt: bytes | None, head: bytes | None) -> None:
    if fmt is None or head is None:
        raise StoreUnsuitableError("There is no psoup in this store: nothing to compare.")
    if fmt != str(keys.LAYOUT_VERSION).encode():
        raise StoreUnsuitableError(
            f"The store was written in layout {fmt.decode(errors='replace')}; this psoup reads {keys.LAYOUT_VERSION}."
            " Use the version that wrote it."
        )


def _everything(stream_ids: Sequence[bytes]) -> list[Command]:
    """Return the commands that read all records, given the ids of the streams."""
    batches = [keys.batches(StreamId(int(one))) for one in stream_ids]
    return [
        ("HMGET", keys.META, "fmt", "gen", "applied", "ts", "untidy"),
        ("TIME",),
        ("HGET", keys.HEAD, "seq"),
        *(("HGETALL", name) for name in (*HASHES, *batches)),
    ]


def _pairs(flat: list[bytes]) -> dict[bytes, bytes]:
    return dict(zip(flat[::2], flat[1::2], strict=True))
