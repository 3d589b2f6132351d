"""What state modules owe the eddy: build, probe, evict, and an account of themselves.

A SteM holds one side of the join. An entrant is built into its own SteM and then probes the others; the
order, and that it happens exactly once, is the eddy's business (`engine/eddy/eddy.py`).
Source: Chandrasekaran & Franklin 2002, 2.2 and 2.3; Madden et al., SIGMOD 2002 (CACQ), 3.
"""

from dataclasses import dataclass
from typing import Protocol

from engine.query.value_set import ValueSet
from engine.tuples.block import Block
from engine.tuples.chunk import ChunkColumn
from engine.tuples.lineage import Lineage, Slot


@dataclass(frozen=True, slots=True)
class Passed:
    """What one operator did with one block: how much it looked at, and how much of it went on.

    A grouped filter counts clauses that some row of the block can still satisfy, a residual factor rows.
    """

    seen: int
    left: int


class Narrowing(Protocol):
    """One way to narrow the lineage of a block: a grouped filter, or one residual factor."""

    @property
    def indexed(self) -> bool:
        """Return whether one pass serves any number of clauses."""
        ...

    def narrow(self, block: Block) -> Passed:
        """Clear the bits of clauses that a tuple cannot satisfy; never set one."""
        ...


class AttributeFilter(Protocol):
    """A SteM of factors: all that standing clauses ask of one attribute, by slot."""

    def __len__(self) -> int:
        """Return the number of slots with a factor."""
        ...

    def build(self, slot: Slot, values: ValueSet) -> None:
        """Keep the factor of a slot that has none yet."""
        ...

    def probe(self, column: ChunkColumn, lineage: Lineage) -> None:
        """Clear slot s of row i wherever s has a factor that value i does not satisfy."""
        ...

    def evict(self, slot: Slot) -> None:
        """Forget the factor of a slot that has one: the slot passes from now on."""
        ...

    def check(self) -> None:
        """Assert the invariants. For tests."""
        ...
