"""The naive twins of the index of clauses: every factor compared with every value, nothing derived."""

import numpy as np

from psoup.engine.kernels.bits import CHUNK_WORDS
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.tuples.lineage import Lineage
from tests.engine.columns import satisfying
from tests.engine.kernels import twins


class PlainIndex:
    """Filtering switched off: nothing is settled here, every clause comes out as a lineage.

    `compared` counts the values it had to look at, one factor at a time.
    """

    compared = 0

    def __init__(self):
        self.clauses = {}

    def __len__(self):
        return len(self.clauses)

    def build(self, slot, factors, *, is_open):
        assert slot not in self.clauses
        self.clauses[slot] = tuple(factors), is_open

    def evict(self, slot):
        del self.clauses[slot]

    def release(self, attribute):
        assert all(one.attribute != attribute for some, _ in self.clauses.values() for one in some)

    def probe(self, chunk, wanted, harvest):
        slots = sorted(self.clauses)
        if not slots:
            return
        rows = [self.satisfying(chunk, self.clauses[slot][0]) for slot in slots]
        words = np.array([twins.words_from(some, CHUNK_WORDS) for some in rows])
        alive = np.array([bool(some) for some in rows])
        yield Lineage(np.array(slots, dtype=np.int32), words, alive)

    def satisfying(self, chunk, factors):
        """Return the rows that satisfy all factors, one by one."""
        left = set(range(CHUNK_ROWS))
        for factor in factors:
            values = chunk.column(factor.attribute).column.to_list()
            PlainIndex.compared += len(values)
            left &= satisfying(values, factor.values)
        return left

    @property
    def nbytes(self):
        return 0

    def check(self):
        assert all(isinstance(is_open, bool) for _, is_open in self.clauses.values())


class OpenIndex(PlainIndex):
    """An index that lets everything pass."""

    def satisfying(self, chunk, factors):
        return set(range(CHUNK_ROWS))
