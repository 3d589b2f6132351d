"""Explain: of a tuple that is stored, or of rows that are given, why a query answers them or does not."""

from collections.abc import Mapping, Sequence

import numpy as np

from psoup.engine.asking.explanation import Explainer, Explanation, Row
from psoup.engine.asking.row_place import row_of
from psoup.engine.checkpoint import checkpoint
from psoup.engine.data.source import TupleSource
from psoup.engine.errors import NotFoundError, PageExpiredError
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.position.answer import NO_PART, PagePosition, PartPosition, Request
from psoup.engine.invocation.position.pinning import newest, pinned
from psoup.engine.invocation.several_streams.join_finding import refuse_suspended
from psoup.engine.invocation.shaped.shaped_query import ShapedQuery
from psoup.engine.log.operation import QueryId
from psoup.engine.query.clause import Source
from psoup.engine.results.contract import ResultsReader, Snapshot
from psoup.engine.sources.stored_tuples import StoredTuples
from psoup.engine.tuples.batch import TupleBatch
from psoup.engine.tuples.schema import ClockKind
from psoup.engine.tuples.value_type import value_type

TupleIds = Sequence[int | None]
"""Of the parts of a row, in FROM order; None = LEFT JOIN has none. One alone = of a tuple."""

NOT_HELD = (
    "No row of this query has this id in memory: it was never there, retention has dropped it, or it is of another"
    " stream. `_id` in the answers of a query that selects rows is such an id."
)


@value_type
class Explained:
    """Why a query answers a row, or a tuple in each place that it may take, at an instant.

    Attributes:
        snapshot: of the query.
        sources: those of FROM, as its author calls them where that is known.
        now_us: the instant.
        explanations: of the row; or of each tuple in a place.
    """

    snapshot: Snapshot
    sources: tuple[Source, ...]
    now_us: int
    explanations: tuple[Explanation, ...]


def explain(
    results: ResultsReader,
    source: TupleSource,
    *,
    query_id: QueryId,
    tuple_ids: TupleIds,
    now_us: int | None,
    cache: InvocationCache,
) -> Explained:
    """Return why a query answers a stored row, or does not, at an instant.

    Args:
        results: where hits are kept.
        source: where tuples are held.
        query_id: the query.
        tuple_ids: of all parts of the row; or of one tuple, which is explained for each place in FROM of its stream.
        now_us: the instant; None = NOW.
        cache: of this process.

    Raises:
        NotFoundError: the query is not standing, or a tuple is not held.
        NowOutOfRangeError: as `invoke`.
        QuerySuspendedError: the query joins streams, and ran over a bound.

    Cost: some reads for each tuple; where the query has a row window or a LEFT JOIN, that of an invocation.
    """
    checkpoint()
    snapshot = results.snapshot(query_id)
    refuse_suspended(snapshot)
    at = pinned(snapshot, Request(limit=1, now_us=now_us))
    if at is None:
        raise NotFoundError(NOT_HELD)
    reading = cache.reading(snapshot)

    def shows(rows: Sequence[Row]) -> bool:
        query = _ShownRows(results, source, snapshot, cache, reading=reading, at=at)
        return query.contains(rows)

    predicates = cache.written_predicates(snapshot)
    explainer = Explainer(source, snapshot, reading, predicates, at=at, shows=shows)
    try:
        if len(tuple_ids) == 1 and len(snapshot.streams) > 1:
            return Explained(
                snapshot,
                predicates.sources,
                at.now_us,
                _of_tuple(source, snapshot, explainer, tuple_ids),
            )
        lacks = reading.shape.left_join is not None
        rows = _rows(source, snapshot, tuple_ids, lacks_last=lacks)
        return Explained(snapshot, predicates.sources, at.now_us, (explainer.whole(rows),))
    except PageExpiredError:  # retention has overtaken it
        raise NotFoundError(NOT_HELD) from None


def explain_given(
    snapshot: Snapshot, given: Mapping[int, TupleBatch], *, cache: InvocationCache
) -> Explained:
    """Return what a query would make of rows that are not stored, were they appended now.

    Args:
        snapshot: of the query.
        given: one tuple for each place in FROM, or for some of them.
        cache: of this process.

    Returns:
        The explanation of the row that they make; or, where places are left out, of each tuple alone. What row windows
        and LEFT JOIN make of other tuples is left out.
    """
    refuse_suspended(snapshot)
    reading, stored = cache.reading(snapshot), StoredTuples()
    predicates = cache.written_predicates(snapshot)
    rows = {place: stored.build(batch) for place, batch in sorted(given.items())}
    at = _at(snapshot, given)
    explainer = Explainer(stored, snapshot, reading, predicates, at=at, shows=lambda _: True)
    if len(rows) == len(snapshot.streams):
        whole = explainer.whole(list(rows.values()))
        return Explained(snapshot, predicates.sources, at.now_us, (whole,))
    alone = [explainer.alone(place, row) for place, row in rows.items()]
    return Explained(snapshot, predicates.sources, at.now_us, tuple(alone))


class _ShownRows(ShapedQuery):
    """The rows that row windows and LEFT JOIN leave of the hits of a query."""

    __slots__ = ()

    def contains(self, rows: Sequence[Row]) -> bool:
        """Return whether the answer has a row. Cost: that of an invocation."""
        wanted = np.array([NO_PART if row is None else row for row in rows])
        visible = np.atleast_2d(self._shown.visible())
        return bool((visible == wanted[:, None]).all(axis=0).any())


def _rows(
    source: TupleSource, snapshot: Snapshot, tuple_ids: TupleIds, *, lacks_last: bool
) -> list[Row]:
    """Return the rows of all parts; only the last of a LEFT JOIN may be missing. Raises NotFoundError."""
    if len(tuple_ids) != len(snapshot.streams):
        raise NotFoundError(NOT_HELD)
    rows: list[Row] = []
    for place, (stream, tuple_id) in enumerate(zip(snapshot.streams, tuple_ids, strict=True)):
        if tuple_id is None and lacks_last and place == len(tuple_ids) - 1:
            rows.append(None)
            continue
        row = None if tuple_id is None else row_of(source, stream, tuple_id)
        if row is None:
            raise NotFoundError(NOT_HELD)
        rows.append(row)
    return rows


def _of_tuple(
    source: TupleSource, snapshot: Snapshot, explainer: Explainer, tuple_ids: TupleIds
) -> tuple[Explanation, ...]:
    """Return the explanation of a tuple in each place of its stream. Raises NotFoundError."""
    (tuple_id,) = tuple_ids
    found = []
    for place, stream in enumerate(snapshot.streams):
        row = None if tuple_id is None else row_of(source, stream, tuple_id)
        if row is not None:
            found.append(explainer.alone(place, row))
    if not found:
        raise NotFoundError(NOT_HELD)
    return tuple(found)


def _at(snapshot: Snapshot, given: Mapping[int, TupleBatch]) -> PagePosition:
    """Return the position of an answer as it would be with these tuples: they move a NOW that is a high-water mark."""
    now_us = newest(snapshot)
    if now_us is None or snapshot.streams[0].schema.clock is ClockKind.HIGH_WATER:
        times = [int(batch.times_us[0]) for batch in given.values()]
        now_us = max([*times, *([] if now_us is None else [now_us])])
    parts = tuple([PartPosition(len(given), 0, one.floor_us) for one in snapshot.streams])
    now_us = snapshot.query.window.rounded(now_us)
    return PagePosition(snapshot.cut.gen, snapshot.cut.seq, now_us, parts, None, (0,) * len(parts))
