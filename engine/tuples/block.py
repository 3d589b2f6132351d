"""A block: the unit in flight, rows x lineage. What the eddy routes from operator to operator.

The rows of a block are one chunk, its lineage a tile of slots. What was prepared for the chunk is shared by
all tiles over it.
"""

from dataclasses import dataclass

from psoup.engine.tuples.chunk import Chunk
from psoup.engine.tuples.lineage import Lineage


@dataclass(frozen=True, slots=True)
class Block:
    """The rows of `chunk`, and what each can still satisfy."""

    chunk: Chunk
    lineage: Lineage
