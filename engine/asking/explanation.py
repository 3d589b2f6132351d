"""Why a row is in the answer of a query, or why it is not: each predicate, and the window.

A predicate is evaluated as the engine evaluates one that it cannot index, in three-valued logic. Whether the row
satisfies the condition is asked of the tuples' columns, or of the join, as an invocation does: so what is told of a row
and what an answer shows of it cannot differ.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from psoup.engine.data.source import DatedRows, Tuples, TupleSource
from psoup.engine.invocation.position.answer import NO_PART, PagePosition
from psoup.engine.invocation.shaped.grouping import columns_of
from psoup.engine.limits import TIMESTAMP_US_MAX
from psoup.engine.query.bind.predicates import Predicates
from psoup.engine.query.canonical import sql_expression
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.join_shape import sides_of
from psoup.engine.query.reading import Reading
from psoup.engine.query.values.evaluate import evaluate, truth
from psoup.engine.query.values.expression import ColumnRef, Expression, column_refs, sources_of
from psoup.engine.query.window import windows_of
from psoup.engine.results.contract import Snapshot
from psoup.engine.tuples.batch import Column, null_column
from psoup.engine.tuples.schema import ColumnType
from psoup.engine.tuples.value_type import value_type

Row: TypeAlias = int | None
"""A row number; None = a row of LEFT JOIN has no part of this source."""
Shows = Callable[[Sequence[Row]], bool]
"""From the parts of a row that satisfies the condition to whether the answer of a query that looks past hits has it."""


class Reason(StrEnum):
    """Why an answer shows a row or does not."""

    SHOWN = "shown"
    UNMATCHED = "unmatched"
    """The window would show it, and it does not satisfy the condition."""
    TO_COME = "to-come"
    GONE = "gone"
    NEVER = "never"
    """No instant of the window shows a tuple of its time."""
    DROPPED = "dropped"
    """It is older than what retention keeps."""
    REPLACED = "replaced"
    """Others hide it: newer tuples in a row window, or a partner of a row of LEFT JOIN that stands alone."""


@value_type
class ReadValue:
    """A column that a predicate reads, and its value in the row. `alias` is empty where FROM has one stream."""

    alias: str
    name: str
    type: ColumnType
    value: int | float | bool | str | None


@value_type
class Verdict:
    """What a predicate comes to for a row: TRUE, FALSE, or None for unknown."""

    sql: str
    read: tuple[ReadValue, ...]
    result: bool | None


@value_type
class Visibility:
    """When the window shows a row, `[enters_us, leaves_us)`; and whether the answer has it at an instant.

    Attributes:
        enters_us: None = no instant shows it.
        leaves_us: None = it never leaves.
        visible: whether the answer has it.
        reason: why, or why not.
        apart_us: from the instant to when it enters, or since it has left; 0 otherwise.
    """

    enters_us: int | None
    leaves_us: int | None
    visible: bool
    reason: Reason
    apart_us: int = 0

    def hidden(self, reason: Reason) -> "Visibility":
        """Return the same of a row that the answer does not have, for another reason than its instants."""
        return Visibility(self.enters_us, self.leaves_us, visible=False, reason=reason)


@value_type
class Explanation:
    """Whether a row satisfies the condition of a query, and when it is shown.

    Attributes:
        place: the source that is explained alone; None = the whole row.
        matches: whether it satisfies the condition, or all that is asked of this source alone.
        verdicts: of the predicates, or of those that read this source alone.
        visibility: of the row; of a source alone, whether its window shows the tuple.
    """

    place: int | None
    matches: bool
    verdicts: tuple[Verdict, ...]
    visibility: Visibility


class Explainer:
    """Explains rows of one query at one position. Used by one thread, once."""

    def __init__(
        self,
        source: TupleSource,
        snapshot: Snapshot,
        reading: Reading,
        predicates: Predicates,
        *,
        at: PagePosition,
        shows: Shows,
    ) -> None:
        """Bind the windows.

        Args:
            source: where the tuples to be explained are.
            snapshot: of the query.
            reading: its clause and shape.
            predicates: those of its condition.
            at: the position and the instant.
            shows: asked where the query looks past hits.
        """
        self._source = source
        self._streams = snapshot.streams
        self._reading = reading
        self._predicates = predicates
        self._at = at
        self._shows = shows
        query = snapshot.query
        self._windows = windows_of(query.window, query.ranges, len(snapshot.streams))

    def whole(self, rows: Sequence[Row]) -> Explanation:
        """Return the explanation of a row with these parts, in FROM order. Raises PageExpiredError."""
        parts = [self._tuples(place, row) for place, row in enumerate(rows)]
        matches = self._matches(rows, parts)
        held = [place for place, row in enumerate(rows) if row is not None]
        seen = together([self._seen(place, parts[place]) for place in held], self._at.now_us)
        if seen.visible and not matches:
            seen = seen.hidden(Reason.UNMATCHED)
        elif seen.visible and self._reading.shape.looks_past_hits and not self._shows(rows):
            seen = seen.hidden(Reason.REPLACED)
        asked = self._predicates.where
        if rows[-1] is not None:
            asked = (*self._predicates.on, *asked)
        verdicts = tuple([_verdict(one, parts.__getitem__) for one in asked])
        return Explanation(None, matches, verdicts, seen)

    def alone(self, place: int, row: int) -> Explanation:
        """Return the explanation of a tuple as a part of rows: what is asked of its source alone."""
        tuples = self._tuples(place, row)
        clause, asked = self._asked_alone(place)
        verdicts = tuple(
            [_verdict(one, lambda _: tuples) for one in asked if sources_of(one) == {place}]
        )
        stream_id = self._streams[place].stream_id
        matches = bool(len(self._source.matching(stream_id, clause, row, row + 1)))
        matches &= all(one.result is True for one in verdicts)
        seen = self._seen(place, tuples)
        if seen.visible and not matches:
            seen = seen.hidden(Reason.UNMATCHED)
        return Explanation(place, matches, verdicts, seen)

    def _asked_alone(self, place: int) -> tuple[StandingQueryClause, Sequence[Expression]]:
        """Return the clause of what is asked of a source alone, and the predicates it is among.

        What ON asks of the left of a LEFT JOIN keeps no tuple of it out of the answer.
        """
        reading, predicates = self._reading, self._predicates
        is_left = reading.shape.left_join is not None and place < len(self._streams) - 1
        clause = reading.left.clause if is_left else reading.clause
        asked = predicates.where if is_left else (*predicates.on, *predicates.where)
        return (clause if len(clause.sources) == 1 else sides_of(clause)[place]), asked

    def _matches(self, rows: Sequence[Row], parts: Sequence[Tuples]) -> bool:
        """Return whether a row satisfies the condition, also what WHERE asks of it after a LEFT JOIN."""
        left_join = self._reading.shape.left_join
        if left_join is None:
            return self._satisfies(self._reading, rows)
        joined = self._reading if rows[-1] is not None else self._reading.left
        if not self._satisfies(joined, rows[: len(joined.clause.sources)]):
            return False
        if left_join.rest is None:
            return True
        return bool(truth(left_join.rest, columns_of(parts), 1)[0])

    def _satisfies(self, reading: Reading, rows: Sequence[Row]) -> bool:
        """Return whether tuples, one of each source, satisfy a clause, as the engine finds out."""
        sources = reading.clause.sources
        spans = [
            DatedRows(source.stream_id, row, row + 1, None, TIMESTAMP_US_MAX)
            for source, row in zip(sources, rows, strict=True)
            if row is not None
        ]
        if len(spans) > 1:
            return bool(self._source.joining(reading.plan, spans).shape[1])
        (span,) = spans
        found = self._source.matching(span.stream_id, reading.clause, span.first_row, span.past_row)
        return bool(len(found))

    def _tuples(self, place: int, row: Row) -> Tuples:
        """Return the tuple of a row, with the columns that predicates read; NULLs for none."""
        read = {
            ref.name: ref.type
            for one in (*self._predicates.on, *self._predicates.where)
            for ref in column_refs(one)
            if ref.source == place
        }
        if row is None:
            nothing = np.full(1, NO_PART, dtype=np.int64)
            return Tuples(
                nothing, nothing, {name: null_column(kind, 1) for name, kind in read.items()}
            )
        return self._source.tuples(self._streams[place].stream_id, tuple(read), np.array([row]))

    def _seen(self, place: int, tuples: Tuples) -> Visibility:
        """Return when the window of a source shows a tuple, and whether it does now."""
        time_us, now_us = int(tuples.times[0]), self._at.now_us
        floor_us = self._at.parts[place].floor_us
        shown = self._windows[place].interval(time_us)
        if shown is None:
            return Visibility(None, None, visible=False, reason=Reason.NEVER)
        seen = seen_at(now_us, *shown)
        if floor_us is not None and time_us < floor_us:
            return seen.hidden(Reason.DROPPED)
        return seen


def seen_at(now_us: int, enters_us: int, leaves_us: int | None) -> Visibility:
    """Return whether what is shown in `[enters_us, leaves_us)` is shown at an instant."""
    if leaves_us is not None and leaves_us <= enters_us:
        return Visibility(enters_us, leaves_us, visible=False, reason=Reason.NEVER)
    if now_us < enters_us:
        return Visibility(
            enters_us, leaves_us, visible=False, reason=Reason.TO_COME, apart_us=enters_us - now_us
        )
    if leaves_us is not None and now_us >= leaves_us:
        return Visibility(
            enters_us, leaves_us, visible=False, reason=Reason.GONE, apart_us=now_us - leaves_us
        )
    return Visibility(enters_us, leaves_us, visible=True, reason=Reason.SHOWN)


def together(parts: Sequence[Visibility], now_us: int) -> Visibility:
    """Return when a row is shown whose parts are: from the last that enters to the first that leaves."""
    for one in parts:
        if one.reason in {Reason.NEVER, Reason.DROPPED}:
            return one
    enters_us = max(one.enters_us for one in parts if one.enters_us is not None)
    leaves_us = min((one.leaves_us for one in parts if one.leaves_us is not None), default=None)
    return seen_at(now_us, enters_us, leaves_us)


def _verdict(predicate: Expression, parts: Callable[[int], Tuples]) -> Verdict:
    """Return what a predicate comes to for one tuple of each source that it reads."""

    def column(ref: ColumnRef) -> Column:
        return parts(ref.source).columns[ref.name]

    (result,) = evaluate(predicate, column, 1).to_list()
    refs = sorted(column_refs(predicate), key=lambda ref: (ref.source, ref.name))
    read = [ReadValue(ref.alias, ref.name, ref.type, column(ref).to_list()[0]) for ref in refs]
    return Verdict(sql_expression(predicate), tuple(read), None if result is None else bool(result))
