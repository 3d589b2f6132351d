"""What the answers over one stream and over several have in common: their select list and what is around it."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.source import Tuples, TupleSource
from psoup.engine.invocation.cache import InvocationCache, Order, Table, Whole
from psoup.engine.invocation.changes import Finder, changed
from psoup.engine.invocation.distinct import shown_once
from psoup.engine.invocation.position.answer import (
    BEFORE_ALL_US,
    Answer,
    PagePosition,
    Request,
    Since,
)
from psoup.engine.invocation.position.arrivals import clock_brings, ticks
from psoup.engine.invocation.position.continuing import before_all, continues, is_complete
from psoup.engine.invocation.position.pinning import earliest
from psoup.engine.query.reading import Names, Reading
from psoup.engine.query.values.evaluate import evaluate
from psoup.engine.query.values.expression import ColumnRef
from psoup.engine.results.contract import ResultsReader, Snapshot
from psoup.engine.results.segment_hits import NO_ROWS
from psoup.engine.tuples.batch import Column

Rows = NDArray[np.int64]
Found = TypeVar("Found")


def outputs(reading: Reading, parts: Sequence[Tuples]) -> tuple[tuple[str, Column], ...]:
    """Return the select list computed for n rows.

    Args:
        reading: of a query over p streams, whose select list is over rows.
        parts: for each of these n tuples, with the columns that the select list reads of it.
    """
    count = len(parts[0].times)
    found = [
        (
            output.name,
            parts[expression.source].columns[expression.name]
            if isinstance(expression := output.expression, ColumnRef)
            else evaluate(expression, lambda ref: parts[ref.source].columns[ref.name], count),
        )
        for output in reading.shape.outputs
    ]
    if reading.shape.distinct:
        found = [(name, shown_once(column)) for name, column in found]
    return tuple(found)


def answer_at(
    snapshot: Snapshot,
    at: PagePosition,
    whole: Whole,
    *,
    window_us: tuple[int | None, int | None],
    tuple_ids: Rows,
    columns: tuple[tuple[str, Column], ...],
    leaves_us: Rows | None,
    following: PagePosition | None,
    row_ids: NDArray[np.bytes_] | None = None,
    of_past: bool,
    brings: bool,
    left_join: bool,
) -> Answer:
    """Return a page as an answer.

    Args:
        snapshot: of the query.
        at: where the page begins.
        whole: what pages say of the whole answer.
        window_us: the ends of the query's window at the position's instant.
        tuple_ids: ids of the rows of the page.
        columns: their values; () for a count.
        leaves_us: when they leave.
        following: where the next page begins; None = there is none.
        row_ids: digests of the rows, of DISTINCT.
        of_past: whether the instant was asked for: no client goes on from there.
        brings: whether the clock alone may show rows that no client has.
        left_join: whether the query has a LEFT JOIN.
    """
    cut, since, begins = snapshot.cut, at.since, not at.offset
    # What is said of rows may be another where they stay: with rows that are to come, or that retention drops.
    changes_us = whole.changes_us if ticks(snapshot) else None
    state = (*whole.state, at.complete_from_us, changes_us)
    complete = snapshot.query.window.is_fixed and is_complete(snapshot, at, left_join=left_join)
    if complete:
        state = (*state, "complete")
    stands: Since | None = None
    if following is None and not of_past:
        stands = since if whole.unchanged else _standing(at, whole)
    return Answer(
        cut if cut.seq == at.seq else replace(cut, seq=at.seq),
        snapshot.query,
        at.now_us,
        window_us[0],
        window_us[1],
        whole.count,
        at.complete_from_us,
        columns,
        tuple_ids,
        leaves_us,
        at,
        following,
        begins and since is None,
        whole.removed if begins else None,
        whole.keep if begins else None,
        whole.unchanged,
        stands,
        whole.changes_us,
        state,
        complete,
        row_ids,
        brings,
        whole.overflowed,
        whole.content,
        snapshot,
    )


def _standing(at: PagePosition, whole: Whole) -> Since:
    """Return where the client of an answer stands."""
    position = at.gen, at.seq, at.now_us, at.parts
    return Since(*position, whole.changes_us, whole.count, whole.content)


def full_whole(
    at: PagePosition,
    count: int,
    newest_rows: Sequence[int | None],
    enters_us: int | None,
    leaves_us: int | None,
    *,
    first_us: int | None,
) -> Whole:
    """Return what the pages of a full answer say of it.

    A row that enters by arriving has a larger number in one of its streams than all that were visible; one that
    enters or leaves by the clock moves the next instant of its kind. Where retention cuts the window its floors are
    part of the state: rows it drops may have been shown since, and rows of DISTINCT then leave earlier. So answers
    whose states are equal have equal rows, in the same order.

    Args:
        at: the position of the answer.
        count: its rows.
        newest_rows: for each stream the largest row number among those visible, or any that only grows as it does.
        enters_us: when the clock brings the next row.
        leaves_us: when the clock takes the next row.
        first_us: when it takes the next tuple that is shown. For DISTINCT that may be earlier: the row stays, but
            stands where the next of its equals does.
    """
    floors = () if at.complete_from_us is None else tuple([part[1:] for part in at.parts])
    state = (at.gen, *newest_rows, enters_us, first_us, count, floors)
    return Whole(count, earliest(enters_us, leaves_us), state)


def nothing_yet(
    source: TupleSource, snapshot: Snapshot, *, request: Request, cache: InvocationCache
) -> Answer:
    """Return the answer of a query over rows whose streams have no tuple to tell NOW by."""
    since = request.since
    if since is not None and not continues(snapshot, BEFORE_ALL_US, since):
        since = None
    stands = before_all(snapshot) if since is None else since
    columns: tuple[tuple[str, Column], ...] = ()
    streams = snapshot.streams
    if not request.count_only:
        reading = cache.reading(snapshot)
        columns = outputs(reading, tuples_of_nothing(source, snapshot, reading.names))
    return Answer(
        cut=snapshot.cut,
        query=snapshot.query,
        now_us=None,
        begin_us=None,
        end_us=None,
        count=0,
        complete_from_us=None,
        columns=columns,
        tuple_ids=NO_ROWS if len(streams) == 1 else np.empty((len(streams), 0), dtype=np.int64),
        leaves_us=None,
        at=None,
        next=None,
        reset=since is None,
        unchanged=since is not None,
        stands=stands,
        state=("nothing", stands.gen),
    )


def tuples_of_nothing(source: TupleSource, snapshot: Snapshot, names: Names) -> list[Tuples]:
    """Return no tuples, by source, with these columns of each."""
    return [
        source.tuples(stream.stream_id, some, NO_ROWS)
        for stream, some in zip(snapshot.streams, names, strict=True)
    ]


class SettledFinder(Finder, Protocol):
    """Finds rows, and sees to it that nothing was dropped meanwhile."""

    def settled(self, look: Callable[[], Found]) -> Found:
        """Return what `look` finds, and remember what was read for it."""
        ...


class AnsweredQuery:
    """One query at one position, being answered. Used by one thread, once."""

    __slots__ = ("_at", "_cache", "_results", "_snapshot", "_source", "_window_us", "reading")

    def __init__(
        self,
        results: ResultsReader,
        source: TupleSource,
        snapshot: Snapshot,
        cache: InvocationCache,
        *,
        reading: Reading,
        at: PagePosition,
    ) -> None:
        """Bind the query's window to the position's instant; `reading` is of the snapshot's query."""
        self._results = results
        self._source = source
        self._snapshot = snapshot
        self._cache = cache
        self._at = at
        self._window_us = snapshot.query.window.bind(at.now_us)
        self.reading = reading

    def _changed(self, finding: SettledFinder, limit: int) -> Order | None:
        """Return what has changed, in order; None where the answer is a full one, as from now on it is."""
        at, since, distinct = self._at, self._at.since, self.reading.shape.distinct
        assert since is not None
        order = finding.settled(lambda: changed(finding, at, since, limit=limit, distinct=distinct))
        if order is None:
            self._at = at.full()
        return order

    def _answer(
        self,
        order: Order | Table,
        *,
        tuple_ids: Rows,
        columns: tuple[tuple[str, Column], ...],
        leaves_us: Rows | None,
        request: Request,
        following: PagePosition | None = None,
        row_ids: NDArray[np.bytes_] | None = None,
    ) -> Answer:
        """Return a page of the answer whose rows, or groups, are in `order`; the others as in `answer_at`."""
        return answer_at(
            self._snapshot,
            self._at.behind(self._at.offset, order.oldest_rows),
            order.whole,
            window_us=self._window_us,
            tuple_ids=tuple_ids,
            columns=columns,
            leaves_us=leaves_us,
            following=following,
            row_ids=row_ids,
            of_past=request.now_us is not None,
            brings=self._clock_brings(),
            left_join=self.reading.shape.left_join is not None,
        )

    def _clock_brings(self) -> bool:
        """Return whether the clock alone may show rows that no client has: groups have others when one leaves."""
        reading = self.reading
        if reading.selects_only or (reading.shape.keys is None and reading.shape.delta == "rows"):
            return clock_brings(self._snapshot)
        return ticks(self._snapshot)
