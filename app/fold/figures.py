"""Counters of a fold since its start, the last readings of its engine's memory and joins, and what others were told."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from psoup.app.backend.contract import Phase
from psoup.app.figures.clause_tally import ClauseTally
from psoup.app.figures.engine import Figures, write_figures
from psoup.app.figures.footprint import NOTHING, Footprint, footprint
from psoup.app.figures.join_tally import JoinTally
from psoup.app.fold.lease import LeaseStatistics
from psoup.app.fold.publishing import PublishStatistics
from psoup.engine import limits
from psoup.engine.engine import EngineStatistics
from psoup.engine.log.operation import Operation, Rows
from psoup.engine.results.contract import Gen, ResultsStatistics
from psoup.engine.results.delta import Delta
from psoup.engine.results.text_bytes import HeldBytes
from psoup.engine.store.errors import TRANSIENT_ERRORS
from psoup.engine.tuples.batch import Seq

NOTHING_WRITTEN: Final = ResultsStatistics(0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class FoldStatistics:
    """Where a loop stands, and what it has done since its start.

    Attributes:
        phase, gen: where it stands, in which history.
        turns: those that had something to fold.
        lag_us: how long ago the oldest operation arrived that is read and not applied; 0 where there is none.
        lease: how often it was renewed.
        figures: everything that API workers are told.
    """

    phase: Phase
    gen: Gen
    turns: int
    lag_us: int
    lease: LeaseStatistics
    figures: Figures


class FoldFigures:
    """The figures of one fold. Whoever folds counts and notes, any thread reads; counters only grow."""

    def __init__(self) -> None:
        """Begin at 0."""
        self.operations = self.tuples = self.body_bytes = 0
        self.ticks = self.retries = self.voided = self.chunks_shared = 0
        self.footprint: Footprint = NOTHING
        self.joins = JoinTally()
        self.clauses = ClauseTally()
        self._due_s: float | None = None

    def count(self, operation: Operation, delta: Delta) -> int:
        """Count an applied operation and what it has found. Return the bytes of its body."""
        self.operations += 1
        if delta.blocks or delta.pages or delta.composites or delta.dropped_clauses:
            self.clauses.note(delta)
        content = operation.content
        if not isinstance(content, Rows):
            return 0
        self.tuples += content.rows
        self.body_bytes += len(content.body)
        return len(content.body)

    def is_due(self, at_s: float) -> bool:
        """Return whether `note` is due, once in FIGURES_EVERY_S."""
        return self._due_s is None or at_s >= self._due_s

    def note(self, engine: EngineStatistics, held: HeldBytes, *, at_s: float) -> None:
        """Read memory, joins and shared chunks of the engine, hits in this process. Cost: O(join groups + clauses)."""
        self._due_s = at_s + limits.FIGURES_EVERY_S
        self.footprint = footprint(engine, held)
        self.chunks_shared = engine.eddy.shared_out
        self.joins.note(engine.eddy.joins)
        self.clauses.sum_up()

    def figures(
        self,
        *,
        applied: Seq,
        published: Seq,
        publishing: PublishStatistics,
        written: ResultsStatistics,
    ) -> Figures:
        """Return all figures: counters as they are, memory and joins as they were last noted.

        Args:
            applied: position of the fold.
            published: position up to which it has published.
            publishing: counters of its publishes.
            written: counters of the store's Results Structure.
        """
        return Figures(
            applied=applied,
            published=published,
            operations=self.operations,
            tuples=self.tuples,
            body_bytes=self.body_bytes,
            ticks=self.ticks,
            retries=self.retries,
            voided=self.voided,
            publishes=publishing.publishes,
            publish_s=publishing.seconds,
            publish_s_max=publishing.seconds_max,
            pages_written=written.pages_written,
            result_bytes=written.page_bytes_written,
            chunks_shared=self.chunks_shared,
            footprint=self.footprint,
            joins=self.joins.reading,
            clauses=self.clauses.largest,
        )

    def check(self) -> None:
        """Raise AssertionError if a counter is negative, or a join group is counted twice. For tests."""
        counters = (self.operations, self.tuples, self.body_bytes, self.ticks, self.retries)
        if min(*counters, self.voided) < 0 or self.voided > self.operations:
            raise AssertionError("counters only grow, and void operations are folded ones")
        self.joins.check()
        self.clauses.check()


class FiguresTold:
    """What other processes were told last: figures that are the same are not told again. Used by the fold's thread."""

    def __init__(self, tell: Callable[[bytes], None]) -> None:
        """Begin with nothing told. `tell` is the store's."""
        self._tell = tell
        self._last = b""

    def tell(self, figures: Figures) -> None:
        """Tell figures that are news; while the store does not answer they are told later."""
        told = write_figures(figures)
        if told == self._last:
            return
        with contextlib.suppress(*TRANSIENT_ERRORS):
            self._tell(told)
            self._last = told

    def forget(self) -> None:
        """Tell the next figures whatever they are: the store may have lost the last ones."""
        self._last = b""
