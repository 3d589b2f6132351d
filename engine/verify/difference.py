"""What a comparison finds, what it has compared, and what it needs of a store."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from psoup.engine.log.operation import Operation, QueryId
from psoup.engine.results.composites import CompositePage
from psoup.engine.results.delta import BatchRecord, ClauseRecord, StreamRecord
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.page import Page
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.value_type import value_type


@value_type
class Difference:
    """One thing that is not what it has to be: what, where, and how it differs."""

    what: str
    detail: str
    stream: str | None = None
    query: QueryId | None = None
    clause: ClauseId | None = None
    chunk: int | None = None
    seq: Seq | None = None


@dataclass(slots=True)
class ComparedCounts:
    """What has been compared so far, in words of the table that shows it.

    Attributes:
        chunks: pairs of a clause and a chunk whose hits are kept.
        unkept: those of them of which the columns tell.
        moved: clauses that were dropped, or lost segments, while they were compared.
        left_out: clauses that could not be compared, because a stream of theirs is damaged or their join too large.
    """

    streams: int = 0
    batches: int = 0
    tuples: int = 0
    queries: int = 0
    clauses: int = 0
    chunks: int = 0
    hits: int = 0
    unkept: int = 0
    composites: int = 0
    suspended: int = 0
    moved: int = 0
    left_out: int = 0


class Kept(Protocol):
    """What a store holds, read at or after the checkpoint. Every method raises IntegrityError for what is damaged."""

    def operations(
        self, records: Sequence[BatchRecord]
    ) -> Iterator[tuple[BatchRecord, Operation | str | None]]:
        """Yield the entry of each batch; a text says why it cannot be read; None = it was let go meanwhile."""
        ...

    def pages(self, clause: ClauseRecord, chunks: Sequence[int]) -> Mapping[int, Page]:
        """Return hits as `ResultsReader.pages` does."""
        ...

    def composites(self, clause: ClauseRecord) -> Sequence[CompositePage]:
        """Return composites as `ResultsReader.composites` does."""
        ...

    def has_moved(self, clause: ClauseRecord, streams: Sequence[StreamRecord]) -> bool:
        """Return whether the clause has changed, or one of its streams has lost rows, since these records."""
        ...
