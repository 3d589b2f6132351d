"""The clauses of a stream, broadcast to executors: large tables once, small changes with each version.

Nearly all clauses of a Query SteM stand in settled tables, which change only by forgetting clauses. So a settled table
is sent once and serves every version that has it. A version carries the small tables of recent clauses, the slots that
settled tables have forgotten, and the clause ids by slot.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from psoup.engine.clauses.image import ClauseImage
from psoup.engine.clauses.pivot_table import PivotTable
from psoup.engine.clauses.stream_clauses import StreamClauses
from psoup.engine.clauses.table import ClauseTable
from psoup.engine.clauses.table_probe import IndexTables
from psoup.engine.query.values.expression import Expression
from psoup.engine.tuples.chunk import Attribute
from psoup.engine.tuples.schema import ColumnSchema, StreamId, StreamSchema

INLINE_BYTES_MAX = 256 * 1024
"""Larger tables are broadcast by themselves; smaller ones go with each version, which costs about as much."""

Table = ClauseTable | PivotTable


class BroadcastValue(Protocol):
    """A value that executors fetch when a task first needs it, such as a Spark `Broadcast`."""

    @property
    def value(self) -> Any:  # noqa: ANN401 - whatever was sent
        """Return the value, which each process unpickles once."""
        ...

    def destroy(self) -> None:
        """Remove the value from all executors."""
        ...


class Broadcaster(Protocol):
    """Sends values to executors."""

    def send(self, value: object) -> BroadcastValue:
        """Send a value to all executors. Raises ExecutorsError if that fails."""
        ...

    def take_back(self, sent: BroadcastValue) -> None:
        """Remove a value from all executors. Never raises."""
        ...


@dataclass(frozen=True, slots=True)
class BroadcastTable:
    """A table that was broadcast by itself.

    Attributes:
        index: its place among the broadcast tables of the stream.
        gone: the slots that the table has forgotten since.
    """

    index: int
    gone: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class ClauseVersion:
    """The clauses of a stream at one version, without the tables that are broadcast by themselves.

    Attributes:
        schema: of the stream.
        attributes: as in `IndexTables`.
        clause_tables, pivot_tables: each table, or the BroadcastTable in its place.
        clause_ids, wanted, residuals: as in `ClauseImage`.
    """

    schema: StreamSchema
    attributes: dict[Attribute, int]
    clause_tables: tuple[ClauseTable | BroadcastTable, ...]
    pivot_tables: tuple[PivotTable | BroadcastTable, ...]
    clause_ids: NDArray[np.int64]
    wanted: NDArray[np.uint8]
    residuals: tuple[tuple[Expression, NDArray[np.int32]], ...]

    def image(self, tables: Sequence[BroadcastValue]) -> ClauseImage:
        """Return the clauses, given the broadcast tables. Cost: O(clauses) of tables that have forgotten some."""

        def whole(part: Any) -> Any:  # noqa: ANN401 - a table of either kind
            if not isinstance(part, BroadcastTable):
                return part
            table = tables[part.index].value
            return table.without(part.gone) if len(part.gone) else table

        return ClauseImage(
            IndexTables(
                self.attributes,
                [whole(part) for part in self.clause_tables],
                [whole(part) for part in self.pivot_tables],
            ),
            self.clause_ids,
            self.wanted,
            self.residuals,
        )


@dataclass(frozen=True, slots=True)
class BroadcastClauses:
    """Where executors find the clauses of a stream: a ClauseVersion, and the tables that it refers to."""

    version: BroadcastValue
    tables: tuple[BroadcastValue, ...]


class _StreamBroadcast:
    """The clauses of one stream as they were last sent."""

    __slots__ = ("changes", "clauses", "columns", "sent", "tables")

    def __init__(self, clauses: StreamClauses) -> None:
        self.clauses = clauses
        self.changes = -1
        self.columns: tuple[ColumnSchema, ...] = ()
        self.sent: BroadcastClauses | None = None
        self.tables: list[tuple[Table, BroadcastValue]] = []
        """Tables broadcast by themselves, ordered by `BroadcastTable.index` and compared by identity."""


@dataclass(frozen=True, slots=True)
class BroadcastStatistics:
    """Versions and tables sent since the start, and the tables that executors hold now."""

    versions: int
    tables: int
    held: int


class ClauseBroadcasts:
    """Sends the clauses of streams to executors, and removes what no version needs any more."""

    def __init__(self, broadcaster: Broadcaster) -> None:
        """Begin with nothing sent."""
        self._broadcaster = broadcaster
        self._streams: dict[StreamId, _StreamBroadcast] = {}
        self._versions = self._tables = 0

    def send(
        self, stream_id: StreamId, schema: StreamSchema, clauses: StreamClauses
    ) -> BroadcastClauses | None:
        """Return where executors find the clauses at their present version; None if their index cannot be sent.

        Cost: O(1) if no clause has come or gone since the last call, and no column has come; else O(slots) and the
            bytes of new tables.
        """
        stream = self._streams.get(stream_id)
        if stream is None or stream.clauses is not clauses:
            self._drop(stream_id)
            stream = self._streams[stream_id] = _StreamBroadcast(clauses)
        known = stream.sent is not None and stream.columns == schema.columns
        if not known or stream.changes != clauses.changes:
            image = ClauseImage.of(clauses)
            if image is None:
                return None
            self._send_version(stream, schema, image)
            stream.changes, stream.columns = clauses.changes, schema.columns
        return stream.sent

    def retain(self, standing: Callable[[StreamId], StreamClauses | None]) -> None:
        """Remove the clauses that are no longer the standing ones of their stream."""
        for stream_id, stream in list(self._streams.items()):
            if standing(stream_id) is not stream.clauses:
                self._drop(stream_id)

    def close(self) -> None:
        """Remove everything that was sent."""
        for stream_id in list(self._streams):
            self._drop(stream_id)

    def statistics(self) -> BroadcastStatistics:
        """Return counters."""
        held = sum(len(stream.tables) for stream in self._streams.values())
        return BroadcastStatistics(self._versions, self._tables, held)

    def check(self) -> None:
        """Raise AssertionError unless each version names the tables that executors hold, in order. For tests."""
        for stream in self._streams.values():
            known = [] if stream.sent is None else list(stream.sent.tables)
            if known != [sent for _, sent in stream.tables]:
                raise AssertionError("a version names the tables that executors hold, in order")

    def _send_version(
        self, stream: _StreamBroadcast, schema: StreamSchema, image: ClauseImage
    ) -> None:
        """Send a version and those of its tables that executors lack; remove the tables that it lacks."""
        before, stream.tables = stream.tables, []
        clause_tables = tuple(self._parts(stream, before, image.tables.clause_tables))
        pivot_tables = tuple(self._parts(stream, before, image.tables.pivot_tables))
        version = ClauseVersion(
            schema,
            dict(image.tables.attributes),
            clause_tables,
            pivot_tables,
            image.clause_ids,
            image.wanted,
            image.residuals,
        )
        old = stream.sent
        tables = tuple(sent for _, sent in stream.tables)
        stream.sent = BroadcastClauses(self._broadcaster.send(version), tables)
        self._versions += 1
        if old is not None:
            self._broadcaster.take_back(old.version)
        for table, sent in before:
            if _sent_of(table, stream.tables) is None:
                self._broadcaster.take_back(sent)

    def _parts(
        self,
        stream: _StreamBroadcast,
        before: Sequence[tuple[Table, BroadcastValue]],
        tables: Sequence[Any],
    ) -> Iterator[Any]:
        """Yield each small table itself, and a BroadcastTable for each large one."""
        for table in tables:
            if table.nbytes <= INLINE_BYTES_MAX:
                yield table
                continue
            sent = _sent_of(table, before)
            if sent is None:
                sent = self._broadcaster.send(table)
                self._tables += 1
            yield BroadcastTable(len(stream.tables), table.gone)
            stream.tables.append((table, sent))

    def _drop(self, stream_id: StreamId) -> None:
        stream = self._streams.pop(stream_id, None)
        if stream is None:
            return
        if stream.sent is not None:
            self._broadcaster.take_back(stream.sent.version)
        for _, sent in stream.tables:
            self._broadcaster.take_back(sent)


def _sent_of(table: Table, tables: Sequence[tuple[Table, BroadcastValue]]) -> BroadcastValue | None:
    """Return the broadcast of this very table; None if it was not sent."""
    return next((sent for known, sent in tables if known is table), None)
