"""What the engine holds, in bytes: taken in the fold's thread now and then, read by anybody.

Counted are arrays and texts. The Python objects around them are not: a standing query has some 3 KB of them.
"""

from dataclasses import dataclass
from typing import Final

from psoup.engine.engine import EngineStatistics
from psoup.engine.results.live import HeldBytes


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes held, and how many clauses meet tuples.

    Attributes:
        tuples: of the columns of all streams, the room for rows to come among them.
        hits: of what is kept of matches between invocations.
        index: of the tables that tuples meet.
        texts: of standing queries and their clauses.
        clauses: those that meet tuples: what is kept of others is nothing.
    """

    tuples: int = 0
    hits: int = 0
    index: int = 0
    texts: int = 0
    clauses: int = 0

    @property
    def hits_per_clause(self) -> float | None:
        """Return the bytes of hits that fall to a clause; None without clauses."""
        return self.hits / self.clauses if self.clauses else None

    @property
    def index_per_clause(self) -> float | None:
        """Return the bytes of the index that fall to a clause; None without clauses."""
        return self.index / self.clauses if self.clauses else None


NOTHING: Final = Footprint()


def footprint(engine: EngineStatistics, held: HeldBytes) -> Footprint:
    """Return what is held, by the accounts of those who hold it. In the thread that folds."""
    return Footprint(
        tuples=engine.bytes_held,
        hits=held.hits,
        index=engine.query_stem.index_bytes,
        texts=held.texts,
        clauses=engine.query_stem.clauses,
    )
