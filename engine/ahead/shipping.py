"""How the clauses of a stream get to executors: what is large once, what changes in small pieces.

The settled tables of a Query SteM, where nearly all clauses are, change no more but for what they forget. So each is
sent once and serves every version of the clauses that has it; what goes with a version is the small tables of recent
clauses, which places of the others are forgotten, and the ids by slot.
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
from psoup.engine.tuples.schema import StreamId, StreamSchema

INLINE_BYTES_MAX = 256 * 1024
"""Tables up to this size go with each version: about as much as sending them apart would cost."""

Table = ClauseTable | PivotTable


class Sent(Protocol):
    """A value that executors have, or fetch once they need it (Spark's Broadcast)."""

    @property
    def value(self) -> Any:  # noqa: ANN401 - whatever was sent
        """Return it. Each process of an executor makes it once."""
        ...

    def destroy(self) -> None:
        """Remove it everywhere."""
        ...


class Carrier(Protocol):
    """What brings values to executors."""

    def send(self, value: object) -> Sent:
        """Bring a value to all of them. Raises ExecutorsError where it cannot."""
        ...

    def take_back(self, sent: Sent) -> None:
        """Remove a value everywhere; never raises."""
        ...


@dataclass(frozen=True, slots=True)
class SentTable:
    """A table that was sent apart: the how-manieth, and which of its places have been forgotten by now."""

    place: int
    gone: NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """The clauses of a stream at one version, as they travel: without the tables that were sent before.

    Attributes:
        schema: of the stream.
        attributes: as in `IndexTables`.
        clause_tables, pivot_tables: each itself, or where it is among the tables that were sent apart.
        clause_ids, wanted, residuals: as in `ClauseImage`.
    """

    schema: StreamSchema
    attributes: dict[str, int]
    clause_tables: tuple[ClauseTable | SentTable, ...]
    pivot_tables: tuple[PivotTable | SentTable, ...]
    clause_ids: NDArray[np.int64]
    wanted: NDArray[np.uint8]
    residuals: tuple[tuple[Expression, NDArray[np.int32]], ...]

    def image(self, tables: Sequence[Sent]) -> ClauseImage:
        """Return the clauses, given the tables that were sent apart. Cost: O(clauses) of tables that have forgotten."""

        def whole(one: Any) -> Any:  # noqa: ANN401 - a table of either kind
            if not isinstance(one, SentTable):
                return one
            table = tables[one.place].value
            return table.without(one.gone) if len(one.gone) else table

        return ClauseImage(
            IndexTables(
                self.attributes,
                [whole(one) for one in self.clause_tables],
                [whole(one) for one in self.pivot_tables],
            ),
            self.clause_ids,
            self.wanted,
            self.residuals,
        )


@dataclass(frozen=True, slots=True)
class SentClauses:
    """Where executors find the clauses of a stream: a Version, and the tables it speaks of."""

    version: Sent
    tables: tuple[Sent, ...]


class _Shipped:
    """What was last sent of one stream."""

    __slots__ = ("changes", "clauses", "sent", "tables")

    def __init__(self, clauses: StreamClauses) -> None:
        self.clauses = clauses
        self.changes = -1
        self.sent: SentClauses | None = None
        self.tables: list[tuple[Table, Sent]] = []
        """Those sent apart, in the order of `SentTable.place`; known by identity."""


@dataclass(frozen=True, slots=True)
class ShippingStatistics:
    """Counters since the start: versions and tables sent; and how many tables executors hold now."""

    versions: int
    tables: int
    held: int


class Shipping:
    """Sends the clauses of streams, and takes back what is not needed any more."""

    def __init__(self, carrier: Carrier) -> None:
        """Begin with nothing sent."""
        self._carrier = carrier
        self._streams: dict[StreamId, _Shipped] = {}
        self._versions = self._tables = 0

    def ship(
        self, stream_id: StreamId, schema: StreamSchema, clauses: StreamClauses
    ) -> SentClauses | None:
        """Return where executors find these clauses as they stand; None where their index cannot travel.

        Cost: nothing where none has come or gone since; else O(slots), and the tables that are new.
        """
        shipped = self._streams.get(stream_id)
        if shipped is None or shipped.clauses is not clauses:
            self._drop(stream_id)
            shipped = self._streams[stream_id] = _Shipped(clauses)
        if shipped.sent is None or shipped.changes != clauses.changes:
            image = ClauseImage.of(clauses)
            if image is None:
                return None
            self._renew(shipped, schema, image)
            shipped.changes = clauses.changes
        return shipped.sent

    def retain(self, standing: Callable[[StreamId], StreamClauses | None]) -> None:
        """Take back what was sent of clauses that stand no more."""
        for stream_id, shipped in list(self._streams.items()):
            if standing(stream_id) is not shipped.clauses:
                self._drop(stream_id)

    def close(self) -> None:
        """Take everything back."""
        for stream_id in list(self._streams):
            self._drop(stream_id)

    def statistics(self) -> ShippingStatistics:
        """Return counters."""
        held = sum(len(shipped.tables) for shipped in self._streams.values())
        return ShippingStatistics(self._versions, self._tables, held)

    def check(self) -> None:
        """Raise AssertionError unless everything that is held is sent. For tests."""
        for shipped in self._streams.values():
            known = [] if shipped.sent is None else list(shipped.sent.tables)
            if known != [sent for _, sent in shipped.tables]:
                raise AssertionError(
                    "executors are told of the tables that they hold, in this order"
                )

    def _renew(self, shipped: _Shipped, schema: StreamSchema, image: ClauseImage) -> None:
        """Send a version, and the tables of it that executors do not have; take back what it is without."""
        before, shipped.tables = shipped.tables, []
        clause_tables = tuple(self._placed(shipped, before, image.tables.clause_tables))
        pivot_tables = tuple(self._placed(shipped, before, image.tables.pivot_tables))
        version = Version(
            schema,
            dict(image.tables.attributes),
            clause_tables,
            pivot_tables,
            image.clause_ids,
            image.wanted,
            image.residuals,
        )
        old = shipped.sent
        tables = tuple(sent for _, sent in shipped.tables)
        shipped.sent = SentClauses(self._carrier.send(version), tables)
        self._versions += 1
        if old is not None:
            self._carrier.take_back(old.version)
        for table, sent in before:
            if _sent_of(table, shipped.tables) is None:
                self._carrier.take_back(sent)

    def _placed(
        self, shipped: _Shipped, before: Sequence[tuple[Table, Sent]], tables: Sequence[Any]
    ) -> Iterator[Any]:
        """Yield each table itself where it is small, else where it is among those sent apart."""
        for table in tables:
            if table.nbytes <= INLINE_BYTES_MAX:
                yield table
                continue
            sent = _sent_of(table, before)
            if sent is None:
                sent = self._carrier.send(table)
                self._tables += 1
            yield SentTable(len(shipped.tables), table.gone)
            shipped.tables.append((table, sent))

    def _drop(self, stream_id: StreamId) -> None:
        shipped = self._streams.pop(stream_id, None)
        if shipped is None:
            return
        if shipped.sent is not None:
            self._carrier.take_back(shipped.sent.version)
        for _, sent in shipped.tables:
            self._carrier.take_back(sent)


def _sent_of(table: Table, tables: Sequence[tuple[Table, Sent]]) -> Sent | None:
    """Return where this very table was sent, or None."""
    return next((sent for known, sent in tables if known is table), None)
