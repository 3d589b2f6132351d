"""All groups of join clauses: which group a clause belongs to, and which groups a stream's tuples enter."""

from collections.abc import Iterator

from psoup.engine.clauses.join_group import JoinGroup
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.join_shape import GroupKey, shape_of
from psoup.engine.results.hits import ClauseId
from psoup.engine.results.match_block import Keeping
from psoup.engine.tuples.schema import StreamId


class JoinGroups:
    """The groups, in order of the clauses that began them."""

    def __init__(self) -> None:
        """Begin without clauses."""
        self._groups: dict[GroupKey, JoinGroup] = {}
        self._of_clause: dict[ClauseId, JoinGroup] = {}

    def __len__(self) -> int:
        """Return the number of clauses."""
        return len(self._of_clause)

    def __contains__(self, clause_id: ClauseId) -> bool:
        """Return whether a clause meets tuples here."""
        return clause_id in self._of_clause

    def __iter__(self) -> Iterator[JoinGroup]:
        """Yield the groups."""
        yield from self._groups.values()

    def build(
        self,
        clause_id: ClauseId,
        clause: StandingQueryClause,
        group_id: ClauseId,
        keeping: Keeping,
    ) -> None:
        """Keep a clause in its group; where there is none yet, `group_id` names it."""
        shape = shape_of(clause)
        group = self._groups.get(shape.key)
        if group is None:
            group = self._groups[shape.key] = JoinGroup(group_id, shape)
        assert group.group_id == group_id, "clauses of one shape are in one group"
        group.build(clause_id, clause, keeping)
        self._of_clause[clause_id] = group

    def evict(self, clause_id: ClauseId) -> None:
        """Forget a clause, and its group with the last one; one that is not here is nothing."""
        group = self._of_clause.pop(clause_id, None)
        if group is None:
            return
        group.evict(clause_id)
        if not len(group):
            del self._groups[group.shape.key]

    def of_clause(self, clause_id: ClauseId) -> JoinGroup:
        """Return the group that a clause is in."""
        return self._of_clause[clause_id]

    def fitting(self, clause: StandingQueryClause) -> ClauseId | None:
        """Return the id of the group that a clause would join; None = there is none yet."""
        group = self._groups.get(shape_of(clause).key)
        return None if group is None else group.group_id

    def entered_by(self, stream_id: StreamId) -> Iterator[tuple[JoinGroup, int]]:
        """Yield the groups that a stream's tuples enter, with each place that it has in FROM."""
        for group in self._groups.values():
            for place, stream in enumerate(group.shape.streams):
                if stream == stream_id:
                    yield group, place

    def check(self) -> None:
        """Assert that groups have their clauses, and each group's invariants."""
        for key, group in self._groups.items():
            assert key == group.shape.key
            assert len(group), "a group goes with its last clause"
            group.check()
        assert len(self._of_clause) == sum(map(len, self._groups.values()))
