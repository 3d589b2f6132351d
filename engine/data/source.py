"""`TupleSource`: the contract by which invocations and joins read tuples, by stream and row number.

A row number counts a stream's tuples from 0 in the order of the log and is never reused. Row r lies in
segment `r // SEGMENT_ROWS`. A stream's rows once written never change.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from psoup.engine.limits import SEGMENT_ROWS
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.join_shape import JoinPlan
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import StreamId
from psoup.engine.tuples.value_type import value_type

RowSpan = tuple[int, int, bool]
"""Rows `[first, past)`, and whether all of them are dated inside the span of time."""


@value_type
class DatedRows:
    """Rows `[first_row, past_row)` of a stream dated `[begin_us, end_us]`, both inclusive; `begin_us` None = open."""

    stream_id: StreamId
    first_row: int
    past_row: int
    begin_us: int | None
    end_us: int


@value_type
class Tuples:
    """The tuples of n rows.

    Attributes:
        times, tuple_ids: (n,) int64.
        columns: by name, n values each.
        ascending: whether times are known to ascend.
    """

    times: NDArray[np.int64]
    tuple_ids: NDArray[np.int64]
    columns: Mapping[str, Column]
    ascending: bool = False

    def take(self, places: NDArray[np.int64]) -> "Tuples":
        """Return those at these places, in that order."""
        columns = {name: column.take(places) for name, column in self.columns.items()}
        return Tuples(self.times[places], self.tuple_ids[places], columns)


@value_type
class PartnerSpans:
    """The partners that k rows have in another source: those of row i are `rows[low[i]:high[i]]`, one at least.

    Attributes:
        rows: (m,) row numbers in an order of the join key, maybe others beside partners.
        low, high: (k,).
    """

    rows: NDArray[np.int64]
    low: NDArray[np.int64]
    high: NDArray[np.int64]


@value_type
class PartneredRows:
    """The rows of one source that are part of composite tuples, and their partners.

    Each row with any one of its partners in each other source is a composite, and there are no others.

    Attributes:
        source: place of the source in FROM.
        rows: (k,) row numbers, ascending.
        partners: by source; None in the place of `source`.
    """

    source: int
    rows: NDArray[np.int64]
    partners: tuple[PartnerSpans | None, ...]


class TupleSource(Protocol):
    """Tuples by row number. Other threads may read while rows are appended."""

    def reach(
        self,
        stream_id: StreamId,
        first_row: int,
        past_row: int,
        begin_us: int | None,
        end_us: int,
    ) -> Sequence[RowSpan]:
        """Return the spans of rows among `[first_row, past_row)` that may be dated `[begin_us, end_us]`.

        Both instants are inclusive, `begin_us` None = open. Spans ascend; all rows outside of them are dated
        otherwise.

        Raises PageExpiredError if one of the rows is not held any more.
        """
        ...

    def oldest(
        self, stream_id: StreamId, *, floor_row: int, floor_us: int | None, past_row: int
    ) -> int | None:
        """Return the smallest time among held rows `[floor_row, past_row)` dated `floor_us` or later.

        None if there is none, or the stream is not held.
        """
        ...

    def matching(
        self, stream_id: StreamId, clause: StandingQueryClause, first_row: int, past_row: int
    ) -> NDArray[np.int64]:
        """Return the rows among `[first_row, past_row)` that satisfy the clause, ascending.

        Raises PageExpiredError if one of these rows is not held any more.
        """
        ...

    def joining(self, plan: JoinPlan, spans: Sequence[DatedRows]) -> NDArray[np.int64]:
        """Return the composite tuples that satisfy a clause over several sources: (n, p) rows, in any order.

        Args:
            plan: of a clause over n sources.
            spans: for each of them the rows that may be part of a composite.

        Raises:
            PageExpiredError: one of these rows is not held any more.
            AnswerTooLargeError: there are more than JOIN_ANSWER_ROWS_MAX, or it takes more than
                JOIN_STEPS_MAX steps to find them.
        """
        ...

    def joining_count(self, plan: JoinPlan, spans: Sequence[DatedRows]) -> int:
        """Return how many composites `joining` returns; where factors allow it without making them.

        Raises as `joining` does, but for the number of them where they are not made.
        """
        ...

    def partnered(
        self, plan: JoinPlan, spans: Sequence[DatedRows], source: int | None
    ) -> PartneredRows | None:
        """Return the composites that `joining` returns as rows of one source with their partners; none is made.

        None where factors do not allow it: where more is asked of composites than that each of the other sources is
        tied to this one by equalities and at most one band, whose bounds say all.

        Args:
            plan: of a clause over n sources.
            spans: for each of them the rows that may be part of a composite.
            source: whose rows; None = any source's.

        Raises as `joining` does, but for the number of composites.
        """
        ...

    def times(self, stream_id: StreamId, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tuple times of `rows`. Raises PageExpiredError if one is not held any more."""
        ...

    def tuples(self, stream_id: StreamId, names: Sequence[str], rows: NDArray[np.int64]) -> Tuples:
        """Return the tuples of `rows`, with the named columns.

        Raises PageExpiredError if one is not held any more.
        """
        ...

    def tuples_between(
        self, stream_id: StreamId, names: Sequence[str], first_row: int, past_row: int
    ) -> Tuples:
        """Return the tuples of the rows `[first_row, past_row)` of one segment, one at least, with the named columns.

        Raises PageExpiredError if one is not held any more. Cost: O(names): arrays are views, but for codes of texts.
        """
        ...


def by_segment(spans: Sequence[RowSpan]) -> Iterator[RowSpan]:
    """Yield spans, which ascend, cut where segments end."""
    for first_row, past_row, inside in spans:
        cuts = range((first_row // SEGMENT_ROWS + 1) * SEGMENT_ROWS, past_row, SEGMENT_ROWS)
        for begin, past in pairwise((first_row, *cuts, past_row)):
            yield begin, past, inside
