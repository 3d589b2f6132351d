"""All Data SteMs together: the `TupleSource` of the process that folds."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from psoup.engine.data.data_stem import DataSteM
from psoup.engine.data.source import DatedRows, PartneredRows, RowSpan, Tuples
from psoup.engine.errors import PageExpiredError
from psoup.engine.joins.clause_join import joining, joining_count, partnered
from psoup.engine.kernels.bits import positions
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.query.join_shape import JoinPlan
from psoup.engine.tuples.batch import Batch
from psoup.engine.tuples.schema import StreamId


class StoredTuples:
    """The Data SteMs of all streams: the `TupleSource` of the process that folds."""

    def __init__(self) -> None:
        """Begin without streams."""
        self._stems: Mapping[StreamId, DataSteM] = {}

    def __getitem__(self, stream_id: StreamId) -> DataSteM:
        """Return the Data SteM of a stream that is held."""
        return self._stems[stream_id]

    def hold(self, stream_id: StreamId, stem: DataSteM) -> None:
        """Hold one more stream."""
        self._stems = {**self._stems, stream_id: stem}

    def build(self, batch: Batch) -> int:
        """Append a batch to its stream, which is held from then on; return the row number of the first tuple."""
        if batch.stream_id not in self._stems:
            self.hold(batch.stream_id, DataSteM(batch.schema))
        return self._stems[batch.stream_id].build(batch)

    def release(self, stream_id: StreamId) -> None:
        """Hold a stream no longer; readers at work keep what they have."""
        self._stems = {held: stem for held, stem in self._stems.items() if held != stream_id}

    def reach(
        self,
        stream_id: StreamId,
        first_row: int,
        past_row: int,
        begin_us: int | None,
        end_us: int,
    ) -> Sequence[RowSpan]:
        """Return the runs of rows that may be dated `[begin_us, end_us]` (`reach`)."""
        return self._stem(stream_id).reach_between(first_row, past_row, begin_us, end_us)

    def oldest(
        self, stream_id: StreamId, *, floor_row: int, floor_us: int | None, past_row: int
    ) -> int | None:
        """Return the smallest time among rows `[floor_row, past_row)` dated `floor_us` or later.

        Cost: O(segments), and O(rows) of those that a floor or the end cuts.
        """
        stem = self._stems.get(stream_id)
        found = [
            segment.oldest(floor_row - base, past_row - base, floor_us)
            for base, segment in (stem.based() if stem is not None else ())
        ]
        return min((time_us for time_us in found if time_us is not None), default=None)

    def matching(
        self, stream_id: StreamId, clause: StandingQueryClause, first_row: int, past_row: int
    ) -> NDArray[np.int64]:
        """Return the rows among `[first_row, past_row)` that satisfy the clause, ascending.

        Raises PageExpiredError if one of these rows is not held any more.
        """
        first_chunk, words, _ = self._stem(stream_id).probe(clause, first_row, past_row)
        return positions(words) + first_chunk * CHUNK_ROWS

    def joining(self, plan: JoinPlan, spans: Sequence[DatedRows]) -> NDArray[np.int64]:
        """Return the composite tuples that satisfy a clause over several sources (`TupleSource.joining`)."""
        return joining(self._stem, plan, spans)

    def joining_count(self, plan: JoinPlan, spans: Sequence[DatedRows]) -> int:
        """Return how many `joining` returns (`TupleSource.joining_count`)."""
        return joining_count(self._stem, plan, spans)

    def partnered(
        self, plan: JoinPlan, spans: Sequence[DatedRows], source: int | None
    ) -> PartneredRows | None:
        """Return composites as rows of one source with their partners (`TupleSource.partnered`)."""
        return partnered(self._stem, plan, spans, source)

    def times(self, stream_id: StreamId, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the tuple times of `rows`. Raises PageExpiredError if one is not held any more."""
        return self._stem(stream_id).gathering.times(rows)

    def tuples(self, stream_id: StreamId, names: Sequence[str], rows: NDArray[np.int64]) -> Tuples:
        """Return the tuples of `rows`. Raises PageExpiredError if one is not held any more."""
        return self._stem(stream_id).gathering.tuples(names, rows)

    def tuples_between(
        self, stream_id: StreamId, names: Sequence[str], first_row: int, past_row: int
    ) -> Tuples:
        """Return the tuples of rows of one segment, as views (`TupleSource.tuples_between`)."""
        return self._stem(stream_id).gathering.tuples_between(names, first_row, past_row)

    def _stem(self, stream_id: StreamId) -> DataSteM:
        stem = self._stems.get(stream_id)
        if stem is None:
            raise PageExpiredError
        return stem
