"""The naive twin: what psoup has to answer, computed from scratch with loops and dicts.

`Reference` folds the same operations as the engine and answers every invocation by walking over every
tuple, or over every combination of one from each stream. It shares nothing with the engine but types and
the binder: no columns, no SteMs, no stored hits, no numpy. Whatever differs from it is wrong, here or there.
"""

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from psoup.engine.log.operation import (
    Alter,
    Declare,
    Drop,
    Expire,
    Operation,
    QueryId,
    Register,
    Remove,
    Replace,
    Rows,
)
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.factor import BooleanFactor
from psoup.engine.query.values.expression import Value
from psoup.engine.query.window import Window, windows_of
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import ClockKind, StreamId
from tests.reference_left_join import alone_rows, passes
from tests.reference_row_windows import Stretch, holds, stretches
from tests.reference_shapes import ShapedRow, shaped
from tests.reference_streams import (
    ReferenceStream,
    ReferenceTuple,
    declare_otherwise,
    declared,
    decoded,
    forget,
)
from tests.reference_values import judge_of, sources_of
from tests.reference_windows import Span, bounds, first_rounded, rounded


@dataclass(frozen=True, slots=True)
class ReferenceQuery:
    """A standing query: when it was registered, and what it asks."""

    seq: Seq
    bound: BoundQuery
    streams: tuple[StreamId, ...]


Composite = tuple[ReferenceTuple, ...]
"""One tuple of each source, in FROM order."""

AnswerRow = tuple[str, int | None, tuple[Value | None, ...]]
"""`_id`, `_x` in microseconds, the select list's values."""


@dataclass(frozen=True)
class Asked:
    """A query at one instant: the window of each source, and what of its tuples lies inside."""

    bound: BoundQuery
    now_us: int
    complete_from_us: int | None
    windows: tuple[Window, ...]
    spans: tuple[Span, ...]
    retained: tuple[list[ReferenceTuple], ...]
    """What retention has kept of each source."""

    @functools.cached_property
    def stretches(self) -> tuple[dict[int, Stretch], ...]:
        """By source and tuple id, when its windows show a tuple."""
        row_windows = self.bound.shape.row_windows or (None,) * len(self.retained)
        return tuple(
            stretches(kept, self.windows[place], row_windows[place], place)
            for place, kept in enumerate(self.retained)
        )

    @functools.cached_property
    def sides(self) -> tuple[list[ReferenceTuple], ...]:
        """The tuples of each source inside its windows."""
        return tuple(
            [
                one
                for one in kept
                if one.time_us <= self.now_us
                and inside(one, span)
                and one.tuple_id in some
                and holds(some[one.tuple_id], self.now_us)
            ]
            for kept, span, some in zip(self.retained, self.spans, self.stretches, strict=True)
        )

    @functools.cached_property
    def coming(self) -> tuple[list[ReferenceTuple], ...]:
        """The same and those that the windows will show though nothing arrives."""
        return tuple(
            [
                one
                for one in kept
                if one.tuple_id in some
                and ((out := some[one.tuple_id][1]) is None or out > self.now_us)
            ]
            for kept, some in zip(self.retained, self.stretches, strict=True)
        )


@dataclass(frozen=True, slots=True)
class Answer:
    """What an invocation has to answer, all pages together."""

    seq: Seq
    now_us: int | None
    begin_us: int | None
    end_us: int | None
    complete_from_us: int | None
    rows: tuple[AnswerRow, ...]


class OutOfRangeError(Exception):
    """`now=` lies outside `[oldest_us, newest_us]`."""

    def __init__(self, oldest_us: int | None, newest_us: int | None) -> None:
        super().__init__(f"now= outside [{oldest_us}, {newest_us}]")
        self.oldest_us = oldest_us
        self.newest_us = newest_us


class Reference:
    """State(k): the fold of operations 1..k. Grows by `apply`, answers by `invoke`."""

    def __init__(self) -> None:
        """Begin before the first operation."""
        self.seq = Seq(0)
        self.arrival_us = 0
        self.streams: dict[StreamId, ReferenceStream] = {}
        self.queries: dict[QueryId, ReferenceQuery] = {}

    @classmethod
    def fold(cls, operations: Iterable[Operation]) -> "Reference":
        """Return the state after `operations`."""
        state = cls()
        for operation in operations:
            state.apply(operation)
        return state

    def apply(self, operation: Operation) -> None:
        """Fold one operation: the next one in the order of the log."""
        assert operation.seq == self.seq + 1, "operations are folded in order"
        self.seq = operation.seq
        self.arrival_us = operation.arrival_us
        match operation.content:
            case Declare(schema=schema):
                self.streams[StreamId(operation.seq)] = declared(schema)
            case Alter(stream_id=stream_id, schema=schema):
                declare_otherwise(self.streams[stream_id], schema)
            case Drop(stream_id=stream_id, queries=queries):
                del self.streams[stream_id]
                for query_id in queries:
                    del self.queries[query_id]
            case Rows() as rows:
                self._take(operation, rows)
            case Register() | Replace() as content:
                self._register(operation, content)
            case Remove(query_id=query_id) | Expire(query_id=query_id):
                del self.queries[query_id]
            case _:  # renewals and ticks change no answer
                pass
        for stream in self.streams.values():
            forget(stream, operation.arrival_us)

    def _register(self, operation: Operation, content: Register | Replace) -> None:
        query = content.query if isinstance(content, Replace) else content
        schemas = {name: (i, self.streams[i].schema) for name, i in query.streams.items()}
        bound = bind(query.sql, schemas)
        ids = tuple(source.stream_id for source in bound.clause.sources)
        self.queries[query.query_id] = ReferenceQuery(operation.seq, bound, ids)

    def _take(self, operation: Operation, rows: Rows) -> None:
        stream = self.streams[rows.stream_id]
        batch = []
        for taken, values in enumerate(decoded(stream.schema, rows.body)):
            time = stream.schema.time
            time_us = operation.arrival_us if time is None else values[time]
            assert isinstance(time_us, int)
            row, tuple_id = len(stream.tuples) + taken, operation.first_tuple_id + taken
            batch.append(ReferenceTuple(row, tuple_id, time_us, values))
            if stream.high_water_us is None or time_us > stream.high_water_us:
                stream.high_water_us = time_us
        if batch:
            stream.tuples += batch
            stream.batches.append(batch)

    # --- Invocation -------------------------------------------------------------------------------

    def now_us(self, query_id: QueryId, server_now_us: int) -> int | None:
        """Return the query's NOW: the server's clock, or the largest high-water mark of its streams."""
        streams = [self.streams[stream_id] for stream_id in self.queries[query_id].streams]
        if streams[0].schema.clock is ClockKind.SERVER:
            return max(server_now_us, self.arrival_us)
        marks = [one.high_water_us for one in streams if one.high_water_us is not None]
        return max(marks, default=None)

    def invoke(self, query_id: QueryId, *, server_now_us: int, at_us: int | None = None) -> Answer:
        """Return everything the query has to answer at this state.

        Args:
            query_id: a standing query.
            server_now_us: the server's clock.
            at_us: the instant asked for with `now=`; None = NOW.

        Raises:
            OutOfRangeError: `at_us` lies after NOW, or before what retention has kept.
        """
        asked = self.ask(query_id, server_now_us=server_now_us, at_us=at_us)
        if asked is None:
            none = shaped(self.queries[query_id].bound.shape, [])
            values = tuple((row.ids, row.leaves_us, row.values) for row in none)
            return Answer(self.seq, None, None, None, None, values)
        rows = [(row.ids, row.leaves_us, row.values) for row in self._shaped(asked)]
        begin_us, end_us = bounds(asked.bound.window, asked.now_us)
        complete_us = asked.complete_from_us
        return Answer(self.seq, asked.now_us, begin_us, end_us, complete_us, tuple(rows))

    def ask(self, query_id: QueryId, *, server_now_us: int, at_us: int | None) -> Asked | None:
        """Return what `invoke` looks at; None where there is no NOW yet. Raises as it does."""
        query = self.queries[query_id]
        window = query.bound.window
        streams = [self.streams[stream_id] for stream_id in query.streams]
        kept_from_us = [stream.complete_from_us() for stream in streams]
        now_us = newest_us = self.now_us(query_id, server_now_us)
        if at_us is not None:
            reach_us = max((us for us in kept_from_us if us is not None), default=None)
            if reach_us is not None:
                reach_us = first_rounded(window, reach_us)
            if reach_us is not None and newest_us is not None:
                reach_us = min(reach_us, rounded(window, newest_us))
            too_late = newest_us is not None and at_us > newest_us
            if too_late or (reach_us is not None and at_us < reach_us):
                raise OutOfRangeError(reach_us, newest_us)
            now_us = at_us
        if now_us is None:
            return None
        now_us = rounded(window, now_us)
        windows = windows_of(window, query.bound.ranges, len(streams))
        spans = tuple(bounds(window, now_us) for window in windows)
        missed_us = [
            kept_us
            for kept_us, (begin_us, _) in zip(kept_from_us, spans, strict=True)
            if kept_us is not None and (begin_us is None or begin_us < kept_us)
        ]
        complete_us = max(missed_us, default=None)
        kept = tuple(stream.retained() for stream in streams)
        return Asked(query.bound, now_us, complete_us, windows, spans, kept)

    def _shaped(self, asked: Asked) -> list[ShapedRow]:
        """Return the rows of the answer. Those of groups say when the clock changes them, so it looks ahead."""
        shape, factors = asked.bound.shape, asked.bound.clause.factors
        found = [_row(asked, parts) for parts in combined(asked.sides, factors)]
        if shape.keys is not None:
            found += [
                row
                for row in (_row(asked, parts) for parts in combined(asked.coming, factors))
                if row.enters_us is not None
            ]
        if shape.left_join is not None:
            right = self.streams[asked.bound.clause.sources[-1].stream_id].schema
            pairs = combined(asked.coming, factors)
            lefts = combined(asked.coming[:-1], shape.left_join.alone)
            stretches = asked.stretches
            alone = alone_rows(lefts, stretches, pairs, right=right, now_us=asked.now_us)
            found += [one for one in alone if one.enters_us is None or shape.keys is not None]
            found = [row for row in found if passes(shape.left_join, row)]
        return shaped(shape, found)


def _row(asked: Asked, parts: Composite) -> ShapedRow:
    """Return a row of FROM, which is visible or yet to be; one that never will be stands as visible."""
    spans = [some.get(one.tuple_id) for one, some in zip(parts, asked.stretches, strict=True)]
    leaving_us = [span[1] for span in spans if span is not None and span[1] is not None]
    leaves_us = min(leaving_us, default=None)
    enters_us: int | None = None
    if all(spans):
        enters_us = max(span[0] for span in spans if span is not None)
        comes = enters_us > asked.now_us and (leaves_us is None or enters_us < leaves_us)
        enters_us = enters_us if comes else None
    order = (min(one.time_us for one in parts), *(one.tuple_id for one in parts))
    ids = "-".join(str(one.tuple_id) for one in parts)
    return ShapedRow(ids, order, [one.values for one in parts], leaves_us, enters_us)


def combined(
    sides: Sequence[Sequence[ReferenceTuple]], factors: Sequence[BooleanFactor]
) -> list[Composite]:
    """Return every combination of a tuple of each side for which all factors are TRUE.

    One loop inside the other; a factor is looked at as soon as every source it reads has its tuple.
    """
    found: list[Composite] = [()]
    for last, side in enumerate(sides):
        ready = [judge_of(one) for one in factors if max(sources_of(one), default=0) == last]
        found = [(*parts, one) for parts in found for one in side]
        for test in ready:
            found = [parts for parts in found if test([one.values for one in parts])]
    return found


def inside(one: ReferenceTuple, span: Span) -> bool:
    """Return whether a tuple is dated inside a span."""
    begin_us, end_us = span
    return (begin_us is None or begin_us <= one.time_us) and (
        end_us is None or one.time_us <= end_us
    )
