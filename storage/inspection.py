"""A store as it lies there, read for a comparison: no token, no Functions, nothing written, nobody asked to open it.

Records are read all of one instant, so this may go on beside an engine that publishes. What it drops afterwards is
noticed (`has_moved`). What lies in the store is taken for damaged where it cannot be decoded.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from psoup.engine import limits
from psoup.engine.errors import IntegrityError
from psoup.engine.log.operation import Operation
from psoup.engine.results.composites import CompositePage
from psoup.engine.results.contract import Checkpoint
from psoup.engine.results.delta import BatchRecord, ClauseRecord, StreamRecord
from psoup.engine.results.page import Page
from psoup.engine.store.address import StoreUrlError, read_store_address
from psoup.engine.store.contract import Durability
from psoup.engine.store.errors import StoreUnsuitableError
from psoup.engine.tuples.batch import Seq
from psoup.engine.verify.difference import Difference
from psoup.storage import keys
from psoup.storage.embedded.folder import FolderLock, unusable
from psoup.storage.embedded.server import EmbeddedServer
from psoup.storage.encoding.record_cache import open_clause, open_stream
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.composites import fetch_of_clause
from psoup.storage.redis.calls.hits import fetch_pages
from psoup.storage.redis.fsck.catalogue import catalogue_faults, index_faults
from psoup.storage.redis.fsck.histories import history_faults
from psoup.storage.redis.fsck.log import log_faults
from psoup.storage.redis.fsck.parts import part_faults
from psoup.storage.redis.fsck.records import DAMAGED, read_records
from psoup.storage.redis.fsck.results import result_fault
from psoup.storage.redis.fsck.seals import seal_faults
from psoup.storage.redis.log import RedisLog

TRIES: Final = 5
"""So often is looked for a moment in which nothing is published."""

Answer = TypeVar("Answer")


class Inspection:
    """One store, and its records as they were when it was opened."""

    def __init__(self, client: RedisClient, stop: Callable[[], None]) -> None:
        """Read the records.

        Args:
            client: connections to the server.
            stop: ends what was started for it.

        Raises:
            StoreUnsuitableError: there is no psoup in it, or one of another layout.
            StoreUnavailableError, RecoveringError: no answer.
        """
        self._client = client
        self._stop = stop
        self._log = RedisLog(client)
        self._records = read_records(client)
        self.keys_compared = False
        """Whether there was a moment without a publish, in which keys and records could be compared."""

    @property
    def checkpoint(self) -> Checkpoint:
        """The records of applied operations, all of one instant, without composites."""
        return self._records.checkpoint

    @property
    def head(self) -> Seq:
        """The last operation of the log at that instant."""
        return self._records.head

    def operations(
        self, records: Sequence[BatchRecord]
    ) -> Iterator[tuple[BatchRecord, Operation | str | None]]:
        """Yield the entry of each batch (`Kept.operations`), some together where all of them can be read."""
        for at in range(0, len(records), limits.FOLD_OPERATIONS_MAX):
            part = records[at : at + limits.FOLD_OPERATIONS_MAX]
            try:
                entries = list(self._log.read_at([record.seq for record in part]))
            except DAMAGED:
                yield from ((record, self._operation(record)) for record in part)
            else:
                yield from zip(part, entries, strict=True)

    def pages(self, clause: ClauseRecord, chunks: Sequence[int]) -> Mapping[int, Page]:
        """Return hits (`Kept.pages`)."""
        return _decoded(lambda: fetch_pages(self._client, clause, chunks), "Its hits")

    def composites(self, clause: ClauseRecord) -> Sequence[CompositePage]:
        """Return composites (`Kept.composites`)."""
        return _decoded(lambda: fetch_of_clause(self._client, clause), "Composites of its group")

    def has_moved(self, clause: ClauseRecord, streams: Sequence[StreamRecord]) -> bool:
        """Return whether the clause has changed, or one of its streams has lost rows, since then."""
        ids = [stream.stream_id for stream in streams]
        record, found, declarations = self._client.fetch_together(
            [
                ("HGET", keys.CLAUSES, clause.clause_id),
                ("HMGET", keys.STREAMS, *ids),
                ("HMGET", keys.DECLARATIONS, *ids),
            ]
        )
        if record is None or None in found or open_clause(clause.clause_id, record) != clause:
            return True
        now = map(open_stream, ids, found, declarations)
        return any(
            later.dropped_row != stream.dropped_row
            for later, stream in zip(now, streams, strict=True)
        )

    def structure(self) -> Iterator[Difference]:
        """Yield what is wrong with the log, its catalogue, and with how keys refer to each other.

        Cost: O(everything), in bounded pieces; the keys of results are looked at only where nothing is published for
        long enough.
        """
        checkpoint = self._records.checkpoint
        yield from self._records.faults
        for faults in (
            seal_faults(self._client),
            log_faults(self._client),
            part_faults(self._client),
            history_faults(self._client),
            index_faults(self._client),
            catalogue_faults(self._client, checkpoint),
            self._key_faults(),
        ):
            yield from _readable(faults)

    def close(self) -> None:
        """Let go of the store; a server that was started for it ends. Twice is harmless."""
        self._client.close()
        self._stop()

    def _operation(self, record: BatchRecord) -> Operation | str | None:
        """Return one batch's entry, why it cannot be read, or None where it went meanwhile."""
        try:
            (entry,) = self._log.read_at([record.seq])
        except KeyError:
            batches = keys.batches(record.stream_id)
            held = self._client.fetch_one("HEXISTS", batches, record.seq)
            return "the log has no such entry" if held else None
        except IntegrityError as error:
            return error.detail
        except DAMAGED as error:
            return f"its entry cannot be read ({type(error).__name__})"
        return entry

    def _key_faults(self) -> Iterator[Difference]:
        """Compare keys with records, in a moment in which nothing is published."""
        for _ in range(TRIES):
            records = read_records(self._client)
            fault = result_fault(self._client, records.checkpoint)
            applied, untidy = self._client.fetch_one("HMGET", keys.META, "applied", "untidy")
            self.keys_compared = int(applied) == records.checkpoint.cut.seq and untidy is None
            if self.keys_compared or fault is None:
                self.keys_compared = True
                yield from () if fault is None else (fault,)
                return


def inspect_store(url: str | None, *, data: Path, password_file: Path | None = None) -> Inspection:
    """Return the store at `url`, None = that of the data folder; its server is started where none runs.

    `password_file` as for `open_store`.

    Raises:
        StoreUrlError: the address is of no kind that can be looked at.
        StoreUnsuitableError: nothing is there, or it cannot be used.
        StoreUnavailableError, RecoveringError: no answer.
    """
    if url is not None:
        if not read_store_address(url).is_shared:
            raise StoreUrlError(
                "Only a store that others can read can be compared: write redis://host:6379/0,"
                " rediss://host:6379/0 or unix:///path/to/socket, or no address for the embedded server."
            )
        return _inspected(RedisClient(url, password_file=password_file), lambda: None)
    if not (data / "appendonlydir").is_dir():
        raise StoreUnsuitableError(f"There is no store in {data}. Name its folder with --data.")
    try:
        server = EmbeddedServer(data, Durability.FSYNC)
        if server.is_running:
            return _inspected(server.client, lambda: None)
        folder = FolderLock(data)
    except OSError as error:
        raise unusable(data, error) from error

    def stop() -> None:
        try:
            server.stop()
        finally:
            folder.close()

    with contextlib.ExitStack() as undo:
        undo.callback(stop)
        server.start()
        undo.pop_all()
    return _inspected(server.client, stop)


def _inspected(client: RedisClient, stop: Callable[[], None]) -> Inspection:
    try:
        return Inspection(client, stop)
    except BaseException:
        client.close()
        stop()
        raise


def _readable(faults: Iterator[Difference]) -> Iterator[Difference]:
    """Yield differences; what is too damaged to look further is one more."""
    try:
        yield from faults
    except DAMAGED as error:
        yield Difference(
            "keys", f"something cannot be read, and what follows it is not compared: {error}"
        )


def _decoded(read: Callable[[], Answer], what: str) -> Answer:
    try:
        return read()
    except IntegrityError:
        raise
    except DAMAGED as error:
        raise IntegrityError(f"{what} cannot be decoded ({type(error).__name__}).") from error
