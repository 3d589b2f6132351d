"""Query SteM: all standing query clauses, in the form in which tuples meet them.

Clauses over one stream lie by stream (`stream_clauses.py`); clauses over several lie in groups with one FROM list and
the same join factors (`join_group.py`). It knows neither handles nor windows nor time: equal clauses are one clause
here. A clause whose hits are never kept meets no tuples and has no slot.
Source: Chandrasekaran & Franklin 2002, 2.3; Madden et al., SIGMOD 2002 (CACQ), 3.1-3.2.
"""

from dataclasses import dataclass

from psoup.engine.clauses.grouped_filter import GroupedFilters
from psoup.engine.clauses.join_groups import JoinGroups
from psoup.engine.clauses.stream_clauses import IndexMaker, StreamClauses
from psoup.engine.log.operation import Materialize
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.factor import AttributeFactor
from psoup.engine.query.join_graph import is_bounded
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import Keeping
from psoup.engine.tuples.lineage import Slot
from psoup.engine.tuples.schema import StreamId


@dataclass(frozen=True, slots=True)
class QuerySteMStatistics:
    """Counters: clauses that meet tuples, residual factors standing, slots in use or free.

    `index_bytes` is the size of the tables that tuples meet.
    """

    clauses: int
    residuals: int
    slots: int
    index_bytes: int


class QuerySteM:
    """All standing query clauses. `groups` are those over several streams."""

    def __init__(self, make_index: IndexMaker = GroupedFilters) -> None:
        """Begin without clauses; `make_index` makes the index of a stream's."""
        self._make_index = make_index
        self._streams: dict[StreamId, StreamClauses] = {}
        self._slots: dict[ClauseId, tuple[StreamId, Slot]] = {}
        self.groups = JoinGroups()

    def build(
        self,
        clause_id: ClauseId,
        clause: StandingQueryClause,
        materialize: Materialize,
        group_id: ClauseId | None = None,
    ) -> None:
        """Keep a clause, unless nothing is to be kept of its hits: a join is kept that has a `group_id`."""
        assert clause_id not in self._slots, "a clause is built once"
        if len(clause.sources) > 1:
            if group_id is not None:
                keeping = keeping_of(clause, materialize)
                self.groups.build(clause_id, clause, group_id, keeping)
            return
        if materialize is Materialize.NONE:
            return
        (source,) = clause.sources
        clauses = self._streams.get(source.stream_id)
        if clauses is None:
            clauses = self._streams[source.stream_id] = StreamClauses(self._make_index)
        slot = clauses.build(clause_id, clause, keeping_of(clause, materialize))
        self._slots[clause_id] = (source.stream_id, slot)

    def probe(self, stream_id: StreamId) -> StreamClauses | None:
        """Return the clauses that tuples of this stream have to meet; None = there are none."""
        return self._streams.get(stream_id)

    def evict(self, clause_id: ClauseId) -> None:
        """Forget a clause; one of which nothing is kept was never here."""
        self.groups.evict(clause_id)
        found = self._slots.pop(clause_id, None)
        if found is None:
            return
        stream_id, slot = found
        self._streams[stream_id].evict(slot)
        if not self._streams[stream_id].slots:
            del self._streams[stream_id]

    def statistics(self) -> QuerySteMStatistics:
        """Return counters."""
        streams = self._streams.values()
        return QuerySteMStatistics(
            clauses=len(self._slots) + len(self.groups),
            residuals=sum(len(one.residuals) for one in streams),
            slots=sum(one.width for one in streams),
            index_bytes=sum(one.index.nbytes for one in streams),
        )

    def check(self) -> None:
        """Assert that every clause is in the slot it is thought to be in, and each stream's invariants."""
        for clause_id, (stream_id, slot) in self._slots.items():
            assert clause_id == self._streams[stream_id].slots[slot][0], "a slot holds its clause"
        assert len(self._slots) == sum(len(one.slots) for one in self._streams.values())
        for clauses in self._streams.values():
            assert clauses.slots, "a stream without clauses is not kept"
            clauses.check()
        self.groups.check()


def keeping_of(clause: StandingQueryClause, materialize: Materialize) -> Keeping:
    """Return how a clause's hits are kept.

    `auto` keeps sparse hits, and hits that are costly to compute. Dense hits of factors over one attribute are not
    kept: a scan of the columns is as fast as reading a bitmap of many hits.
    """
    if materialize is Materialize.COMPLETE:
        return Keeping.LISTS
    if materialize is Materialize.PARTIAL or not is_cheap(clause):
        return Keeping.SMALLER
    return Keeping.SPARSE


def is_cheap(clause: StandingQueryClause) -> bool:
    """Return whether a scan of the columns decides the clause: every factor is over one attribute."""
    return all(isinstance(factor, AttributeFactor) for factor in clause.factors)


def is_join_kept(clause: StandingQueryClause, materialize: Materialize) -> bool:
    """Return whether the composites of a clause over several streams are kept.

    `auto` keeps those of a bounded join. Nearly every pair of tuples may satisfy an inequality: composites of such a
    join are computed when it is invoked.
    """
    if materialize is Materialize.AUTO:
        return is_bounded(clause)
    return materialize is not Materialize.NONE
