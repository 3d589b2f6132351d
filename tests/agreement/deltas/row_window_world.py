"""Worlds of queries with row windows: rows as they are, groups, orders and limits over them; and their clients."""

import re

from tests.agreement.deltas.group_world import GroupWorld

WINDOWS = [
    "[ROWS 1]",
    "[ROWS 3]",
    "[ROWS 7]",
    "[PARTITION BY t ROWS 1]",
    "[PARTITION BY t ROWS 2]",
    "[PARTITION BY a % 2, t ROWS 2]",
    "[PARTITION BY a > 5 ROWS 3]",
]


class RowWindowWorld(GroupWorld):
    """One query and its clients, drawn from a seed; a source of it at least has a row window."""

    @property
    def keyed_by_values(self) -> bool:
        return self.shape.distinct

    @property
    def exact_changes(self) -> bool:
        shape = self.shape
        cut = shape.limit is not None or shape.offset
        return shape.keys is None and not shape.distinct and not cut

    def _sql(self) -> str:
        text = super()._sql()
        sources = [" FROM s AS x ", ", r AS y "] if self.join else [" FROM s "]
        chosen = self.rng.choice(sources)
        for source in sources:
            if source == chosen or self.rng.random() < 0.4:
                window = self.rng.choice(WINDOWS)
                # In place of the window of times that the source may have.
                text = re.sub(re.escape(source) + r"(\[RANGE [^]]*\])?", f"{source}{window} ", text)
        return text

    def _rows(self, listed: str, number: str, words: str) -> tuple[str, str]:
        shown, then = super()._rows(listed, number, words)
        return shown, then if self.rng.random() < 0.5 else ""
