"""`TupleSource`: row numbers of a stream to their columns. Whoever holds tuples can answer invocations.

A row number counts a stream's tuples from 0 in the order of the log and is never reused. Row r lies in
segment `r // SEGMENT_ROWS`. A stream's rows once written never change.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.query.clause import StandingQueryClause
from engine.tuples.batch import Column
from engine.tuples.schema import StreamId


class TupleSource(Protocol):
    """Tuples by row number. Safe to read from other threads while rows are being appended."""

    def segments(
        self, stream_id: StreamId, *, begin_us: int | None, end_us: int | None, past_row: int
    ) -> Sequence[int]:
        """Return the numbers of held segments below row `past_row` that may hold tuples dated
        `[begin_us, end_us]` (both inclusive, None = open), ascending. A superset is allowed.
        Empty if the stream is not held.
        """  # noqa: D205
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

    def times(self, stream_id: StreamId, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tuple times of `rows`. Raises PageExpiredError if one is not held any more."""
        ...

    def tuple_ids(self, stream_id: StreamId, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tuple ids of `rows`. Raises PageExpiredError if one is not held any more."""
        ...

    def columns(
        self, stream_id: StreamId, names: Sequence[str], rows: NDArray[np.int64]
    ) -> dict[str, Column]:
        """Return the named columns at `rows`. Raises PageExpiredError if one is not held any more."""
        ...
