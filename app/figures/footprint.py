"""Bytes that an engine holds in memory: measured in the fold's thread now and then, read by any thread.

Arrays and texts are counted. The Python objects around them are not: a standing query has some 3 KB of them.
"""

from dataclasses import dataclass
from typing import Final

from psoup.engine.engine import EngineStatistics
from psoup.engine.results.text_bytes import HeldBytes


@dataclass(frozen=True, slots=True)
class Footprint:
    """Bytes in memory, and the number of clauses that they serve.

    Attributes:
        tuples: columns of all streams, with their room for further rows.
        hits: matches that are kept between invocations.
        index: tables in which tuples look up clauses.
        texts: texts of standing queries and of their clauses.
        clauses: clauses in the index; no others have hits in memory.
        scratch: what threads that match chunks write into.
    """

    tuples: int = 0
    hits: int = 0
    index: int = 0
    texts: int = 0
    clauses: int = 0
    scratch: int = 0

    @property
    def hits_per_clause(self) -> float | None:
        """Return the mean bytes of hits of a clause; None without clauses."""
        return self.hits / self.clauses if self.clauses else None

    @property
    def index_per_clause(self) -> float | None:
        """Return the mean bytes of the index for a clause; None without clauses."""
        return self.index / self.clauses if self.clauses else None


NOTHING: Final = Footprint()


def footprint(engine: EngineStatistics, held: HeldBytes) -> Footprint:
    """Return the footprint, from the statistics of the engine and of its hits. While nobody folds."""
    return Footprint(
        tuples=engine.bytes_held,
        hits=held.hits,
        index=engine.query_stem.index_bytes,
        texts=held.texts,
        clauses=engine.query_stem.clauses,
        scratch=engine.eddy.scratch_bytes,
    )
