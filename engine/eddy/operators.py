"""A residual factor as an operator of the eddy: it narrows blocks and is counted."""

from psoup.engine.data.contract import Narrowing
from psoup.engine.eddy.policy import OperatorCounts
from psoup.engine.tuples.block import Block


class Operator:
    """One step on a block's way, and how much came in and went on."""

    __slots__ = ("_left", "_seen", "step")

    def __init__(self, step: Narrowing) -> None:
        """Begin with nothing counted."""
        self.step = step
        self._seen = 0
        self._left = 0

    def apply(self, block: Block) -> None:
        """Narrow the block and count."""
        passed = self.step.narrow(block)
        self._seen += passed.seen
        self._left += passed.left

    def counts(self) -> OperatorCounts:
        """Return the counts that a policy decides by."""
        return OperatorCounts(self._seen, self._left)
