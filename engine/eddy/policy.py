"""Which operator a block is routed to next. A policy sees counts, never data.

The order never changes an answer, only how much is evaluated for tuples that nobody will get.
Source: Babu et al., SIGMOD 2004 (A-Greedy): by selectivity; recomputed per block, so there is nothing to
detect and nothing to correct.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class OperatorCounts:
    """How many rows one operator has seen and left so far."""

    seen: int
    left: int

    @property
    def selectivity(self) -> float:
        """Share that comes through; 1 before anything was seen."""
        return self.left / self.seen if self.seen else 1.0


class RoutingPolicy(Protocol):
    """An order for a block's operators."""

    def order(self, counts: Sequence[OperatorCounts]) -> Sequence[int]:
        """Return the operators' positions in the order in which a block visits them."""
        ...


class Fixed:
    """The order in which the operators were made."""

    def order(self, counts: Sequence[OperatorCounts]) -> Sequence[int]:
        """Return the positions as they are."""
        return range(len(counts))


class BySelectivity:
    """The most selective first, which leaves the fewest rows to the others.

    Ties keep the order in which the operators were made, so that equal histories route equally.
    """

    def order(self, counts: Sequence[OperatorCounts]) -> Sequence[int]:
        """Return the positions by selectivity."""
        return sorted(range(len(counts)), key=lambda i: counts[i].selectivity)
