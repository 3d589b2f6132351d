"""Partials of units that were just made of their rows, and the contract by which they are."""

from typing import Protocol

from psoup.engine.aggregates.groups import Groups
from psoup.engine.aggregates.partials.chunk_rows import ChunkRows
from psoup.engine.aggregates.partials.partial import PartialRun
from psoup.engine.tuples.value_type import value_type

Chunks = tuple[int, int]
"""The chunks `[first, past)`."""


class TooManyGroupsError(Exception):
    """Partials are not worth keeping: reading the rows again is as fast, or they do not fit the cache.

    Attributes:
        of_chunks: whether those of whole segments may be.
    """

    def __init__(self, *, of_chunks: bool = False) -> None:
        """Take which partials have too many groups."""
        super().__init__("partials have too many groups")
        self.of_chunks = of_chunks


@value_type
class MadeUnits:
    """Partials of units that follow each other, made of their rows.

    Attributes:
        groups: of all these rows.
        run: the partials; they know a group by its place among these.
        rows: which rows of the stream these are, by chunk.
    """

    groups: Groups
    run: PartialRun
    rows: ChunkRows


class Maker(Protocol):
    """Makes partials of rows. Raises TooManyGroupsError."""

    def chunks(self, first: int, past: int) -> MadeUnits:
        """Return the partials of the chunks `[first, past)` of one segment."""
        ...

    def segment(self, first: int, past: int) -> MadeUnits:
        """Return the partial of the chunks `[first, past)` together, which are a segment."""
        ...
