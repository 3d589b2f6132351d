"""Join clauses in their groups, and the entrants that meet them: whole chunks of tuples, and fresh clauses.

**Exactly once.** Kept are the composites of a clause whose parts all lie in whole chunks. A chunk enters when it is
whole, once for each place that its stream has in FROM, and probes the chunks that were whole before it. Where its
stream stands in FROM again, earlier places have the chunk itself already, later ones do not. So the composite of any
rows is found by the last of its chunks, at the last of that chunk's places, and by no other. A fresh clause finds the
composites whose chunks are whole when it comes.
Source: Chandrasekaran & Franklin 2002, 2.2; Madden et al., SIGMOD 2002 (CACQ), 3.2 (build before probe).
"""

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from psoup.engine.clauses.join_group import JoinGroup
from psoup.engine.clauses.join_groups import JoinGroups
from psoup.engine.data.source import DatedRows
from psoup.engine.eddy.join_routing import ByFanOut, JoinRouting, Route, every_route
from psoup.engine.joins.clause_join import conditions_of, taken_from
from psoup.engine.joins.join import Join, OverrunError
from psoup.engine.joins.side import Rows, Side, lightest
from psoup.engine.kernels.bits import Words
from psoup.engine.kernels.gather import ascends
from psoup.engine.kernels.join import count_slots
from psoup.engine.kernels.order import sorted_places
from psoup.engine.limits import CHUNK_ROWS, JOIN_ENTRANT_BYTES_MAX, JOIN_MATCHES_MAX, JOIN_STEPS_MAX
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.join_shape import JoinPlan
from psoup.engine.results.composites import CompositePage
from psoup.engine.results.hits import ClauseId
from psoup.engine.sources.stored_tuples import StoredTuples
from psoup.engine.tuples.schema import StreamId

Found = TypeVar("Found")

HeldFrom = Callable[[StreamId], int]
"""From a stream to the first of its rows that is held."""


@dataclass(frozen=True, slots=True)
class Joined:
    """The composites that one entrant found for a group.

    Attributes:
        group: the group.
        entrant: the place in FROM where a chunk entered; the number of places for a fresh clause.
        number: of the chunk; the clause's id.
        pages: the composites, in order of their latest part's time.
        overrun: clauses that want more than is allowed, and why; none of their composites is in the pages.
    """

    group: ClauseId
    entrant: int
    number: int
    pages: tuple[CompositePage, ...]
    overrun: tuple[tuple[ClauseId, str], ...]


@dataclass(frozen=True, slots=True)
class JoinGroupStatistics:
    """Counters of a group of join clauses.

    Attributes:
        group: its id.
        streams: ids in FROM order.
        factors: join factors.
        clauses: standing.
        entrants: chunks and clauses joined.
        fresh_rows, candidates, semijoined, intermediates, results, steps: as `JoinCounts`.
        routes: by entering source the last route, as steps.
        fan_outs: (of, to, partners of a row on average).
    """

    group: int
    streams: tuple[StreamId, ...]
    factors: tuple[str, ...]
    clauses: int
    entrants: int
    fresh_rows: int
    candidates: int
    semijoined: int
    intermediates: int
    results: int
    steps: int
    routes: tuple[tuple[int, tuple[tuple[int, int], ...]], ...]
    fan_outs: tuple[tuple[int, int, float], ...]


class JoinEntrants:
    """Routes entrants through the sources of the groups they enter. Holds no tuples and no clauses of its own."""

    def __init__(
        self, tuples: StoredTuples, groups: JoinGroups, routing: JoinRouting | None = None
    ) -> None:
        """Join these tuples for these groups; without a `routing`, by measured fan-out."""
        self._tuples = tuples
        self._groups = groups
        self._routing = routing or ByFanOut()

    def join_chunk(
        self, stream_id: StreamId, chunk: int, held_from: HeldFrom, overrun: set[ClauseId]
    ) -> Iterator[Joined]:
        """Yield what a chunk that is whole now finds, group by group, place by place.

        `overrun` are the clauses that earlier chunks of the batch had too much for; those of this one are added.
        """
        for group, place in self._groups.entered_by(stream_id):
            streams = group.shape.streams
            spans = [
                self._span_beside(streams, source, place, chunk, held_from)
                for source in range(len(streams))
            ]
            found = self._enter(group, place, chunk, spans, overrun)
            overrun.update(clause_id for clause_id, _ in found.overrun)
            if found.pages or found.overrun:
                yield found

    def join_query(
        self, clause_id: ClauseId, clause: StandingQueryClause, spans: Sequence[DatedRows]
    ) -> Joined:
        """Return the composites of a fresh clause among the rows of these spans."""
        group = self._groups.of_clause(clause_id)
        group.entrants += 1
        plan = JoinPlan(clause)
        sides = taken_from(self._tuples.__getitem__, plan, spans)
        fresh = lightest(sides)
        entrant = (group.group_id, group.shape.count, int(clause_id))

        def found(route: Route) -> list[Rows]:
            join = Join(
                group.shape, sides, conditions_of(plan), group.counts, steps_max=JOIN_STEPS_MAX
            )
            rows: list[Rows] = []
            count = 0
            for some in join.run(route, fresh=fresh):
                rows.append(some.rows)
                count += some.rows.shape[1]
                if count > JOIN_MATCHES_MAX:
                    break
            return rows

        try:
            rows = self._by_some_route(group, fresh, found)
        except OverrunError:
            return Joined(*entrant, (), ((clause_id, too_dear()),))
        if sum(some.shape[1] for some in rows) > JOIN_MATCHES_MAX:
            return Joined(*entrant, (), ((clause_id, too_many()),))
        words = [np.tile(group.bits([clause_id]), (some.shape[1], 1)) for some in rows]
        return Joined(*entrant, self._pages(group, rows, words), ())

    def statistics(self) -> tuple[JoinGroupStatistics, ...]:
        """Return the counters of every group."""
        return tuple(map(_statistics, self._groups))

    def _span_beside(
        self, streams: Sequence[StreamId], source: int, place: int, chunk: int, held_from: HeldFrom
    ) -> tuple[int, int]:
        """Return the rows of a source that a chunk which enters at `place` meets."""
        if source == place:
            return chunk * CHUNK_ROWS, (chunk + 1) * CHUNK_ROWS
        stream_id = streams[source]
        if stream_id == streams[place]:
            past = chunk + 1 if source < place else chunk
        else:
            past = self._tuples[stream_id].past_row // CHUNK_ROWS
        return held_from(stream_id), past * CHUNK_ROWS

    def _enter(
        self,
        group: JoinGroup,
        place: int,
        chunk: int,
        spans: Sequence[tuple[int, int]],
        without: set[ClauseId],
    ) -> Joined:
        """Join a chunk; where clauses want too much, again without them."""
        group.entrants += 1
        alive = group.everyone & ~group.bits(without)
        overrun: list[tuple[ClauseId, str]] = []
        while alive.any():
            sides = [
                group.side(source, self._tuples[group.shape.streams[source]], *span, alive)
                for source, span in enumerate(spans)
            ]
            try:
                found = functools.partial(self._found, group, sides, place)
                rows, words, going, reason = self._by_some_route(group, place, found)
            except OverrunError as error:
                going, reason = _offenders(error, alive), too_dear()
            else:
                if not going.any():
                    pages = self._pages(group, rows, words)
                    return Joined(group.group_id, place, chunk, pages, tuple(overrun))
            overrun += [(clause_id, reason) for clause_id in group.clauses_of(going)]
            alive = alive & ~going
        return Joined(group.group_id, place, chunk, (), tuple(overrun))

    def _found(
        self, group: JoinGroup, sides: Sequence[Side], place: int, route: Route
    ) -> tuple[list[Rows], list[Words], Words, str]:
        """Return composites with their lineage, and the bits of clauses that have more than are allowed, and why."""
        conditions = group.conditions()
        join = Join(group.shape, sides, conditions, group.counts, steps_max=JOIN_STEPS_MAX)
        width = len(group.everyone)
        total_max = JOIN_ENTRANT_BYTES_MAX // (8 * (group.shape.count + 2 + width))
        counts = np.zeros(width * 64, dtype=np.int64)
        rows: list[Rows] = []
        words: list[Words] = []
        total = counted = 0
        for found in join.run(route, fresh=place):
            assert found.words is not None, "a group has lineage"
            rows.append(found.rows)
            words.append(found.words)
            total += len(found.words)
            if total <= min(JOIN_MATCHES_MAX, total_max):
                continue  # nobody has more than all have together
            for some in words[counted:]:
                count_slots(some, np.ones(len(some), dtype=np.int64), counts)
            counted = len(words)
            if counts.max() > JOIN_MATCHES_MAX:
                return rows, words, _bits_over(counts, JOIN_MATCHES_MAX), too_many()
            if total > total_max:
                return rows, words, _most(counts), too_large()
        return rows, words, np.zeros(width, dtype=np.uint64), ""

    def _by_some_route(
        self, group: JoinGroup, fresh: int, found: Callable[[Route], Found]
    ) -> Found:
        """Return what is found by the route that the policy chooses, or by the first of all that is not too dear.

        A policy goes by counts that a restart forgets. What is too dear by every route is so in every fold.

        Raises OverrunError, that of the first route of all, if none is short enough.
        """
        chosen = self._route(group, fresh)
        overruns: dict[Route, OverrunError] = {}
        for route in (chosen, *every_route(group.shape, fresh)):
            if route not in overruns:
                try:
                    made = found(route)
                except OverrunError as error:
                    overruns[route] = error
                else:
                    group.routes[fresh] = route
                    return made
        raise overruns[min(overruns)]

    def _route(self, group: JoinGroup, fresh: int) -> Route:
        for seen in group.counts.by_step.values():
            seen.fade()
        last = group.routes.get(fresh)
        route = self._routing.route(group.shape, fresh, group.counts, last)
        group.routes[fresh] = route
        return route

    def _pages(
        self, group: JoinGroup, rows: Sequence[Rows], words: Sequence[Words]
    ) -> tuple[CompositePage, ...]:
        """Return composites in pages, in order of their latest part's time."""
        if not rows:
            return ()
        every, lineage = rows[0], words[0]
        if len(rows) > 1:
            every, lineage = np.concatenate(rows, axis=1), np.concatenate(words)
        earliest, latest = self._dated(group.shape.streams, every)
        order = _in_order(every, latest)
        if order is not None:
            every, lineage = every.take(order, axis=1), lineage[order]
            earliest, latest = earliest[order], latest[order]
        pages = []
        for begin in range(0, len(latest), CHUNK_ROWS):
            some = slice(begin, begin + CHUNK_ROWS)  # copied: a page goes without the others
            own = earliest[some].copy(), latest[some].copy()
            pages.append(group.page(every[:, some].copy(), lineage[some], *own))
        return tuple(pages)

    def _dated(self, streams: Sequence[StreamId], rows: Rows) -> tuple[Rows, Rows]:
        """Return the smallest and the largest time among the parts of each of (n, p) composites."""
        earliest = latest = self._tuples[streams[0]].gathering.times(rows[0])
        for stream_id, own in zip(streams[1:], rows[1:], strict=True):
            times = self._tuples[stream_id].gathering.times(own)
            earliest, latest = np.minimum(earliest, times), np.maximum(latest, times)
        return earliest, latest


def _in_order(rows: Rows, latest: Rows) -> Rows | None:
    """Return the order of (n, p) composites by their latest time; None = they are in order.

    Ties stay as they came where two sources can only be met in one order. Of more, by rows: a route, which hangs on
    counts that a restart forgets, leaves no trace in the pages.
    """
    if len(rows) > 2:
        return np.lexsort((*rows[::-1], latest))
    return None if ascends(latest) else sorted_places(latest)


def too_many() -> str:
    """Return why a clause is suspended that has too many matches."""
    return f"more than {JOIN_MATCHES_MAX:,} matches of one chunk or registration"


def too_dear() -> str:
    """Return why a clause is suspended whose matches take too many steps to find."""
    return f"more than {JOIN_STEPS_MAX:,} steps for one chunk or registration"


def too_large() -> str:
    """Return why clauses are suspended that find the most where all of a group together find too much."""
    return f"the most of more than {JOIN_ENTRANT_BYTES_MAX:,} bytes of matches that its group has in one chunk"


def _offenders(error: OverrunError, alive: Words) -> Words:
    """Return the bits of the clauses whose rows want the most, within half of it: all where that is not told."""
    if error.words is None or error.steps is None:
        return alive
    weights = np.zeros(len(alive) * 64, dtype=np.int64)
    if error.before is not None:
        weights += error.before
    count_slots(error.words, error.steps, weights)
    return _most(weights)


def _most(numbers: Rows) -> Words:
    """Return the bits of the slots that have at least about half of what the one with the most has."""
    return _bits_over(numbers, max(0, int(numbers.max()) // 2 - 1))


def _bits_over(numbers: Rows, bound: int) -> Words:
    """Return the bits of the slots whose numbers are larger than a bound."""
    words = np.zeros(len(numbers) // 64, dtype=np.uint64)
    for slot in np.flatnonzero(numbers > bound).tolist():
        words[slot >> 6] |= np.uint64(1) << np.uint64(slot & 63)
    return words


def _statistics(group: JoinGroup) -> JoinGroupStatistics:
    counts = group.counts
    return JoinGroupStatistics(
        group=group.group_id,
        streams=group.shape.streams,
        factors=group.shape.texts,
        clauses=len(group),
        entrants=group.entrants,
        fresh_rows=counts.fresh_rows,
        candidates=counts.candidates,
        semijoined=counts.semijoined,
        intermediates=counts.intermediates,
        results=counts.results,
        steps=counts.steps,
        routes=tuple(sorted(group.routes.items())),
        fan_outs=tuple((*step, seen.fan_out) for step, seen in sorted(counts.by_step.items())),
    )
