"""A residual factor as an operator of the eddy: it narrows blocks and is counted."""

from typing import Final

from psoup.engine.data.contract import Narrowing
from psoup.engine.eddy.policy import OperatorCounts
from psoup.engine.tuples.block import Block

NOTHING_COUNTED: Final = OperatorCounts(0, 0)


class Operator:
    """One step on a block's way, and how much came in and went on."""

    __slots__ = ("_before", "_left", "_seen", "step")

    def __init__(self, step: Narrowing, before: OperatorCounts = NOTHING_COUNTED) -> None:
        """Begin with nothing counted but what others have counted `before`."""
        self.step = step
        self._before = before
        self._seen = 0
        self._left = 0

    def apply(self, block: Block) -> None:
        """Narrow the block and count."""
        passed = self.step.narrow(block)
        self._seen += passed.seen
        self._left += passed.left

    def counts(self) -> OperatorCounts:
        """Return the counts that a policy decides by."""
        return OperatorCounts(self._before.seen + self._seen, self._before.left + self._left)

    def beside(self) -> "Operator":
        """Return an operator that goes on from these counts, for one chunk."""
        return Operator(self.step, self.counts())

    def add(self, beside: "Operator") -> None:
        """Add what an operator has counted since it was made by `beside`."""
        self._seen += beside._seen  # noqa: SLF001 - of its own class
        self._left += beside._left  # noqa: SLF001 - of its own class
