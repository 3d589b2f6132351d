"""From the id of a tuple to its row in a stream: tuple ids ascend with rows, and nothing else says where one lies."""

import numpy as np

from psoup.engine.data.source import TupleSource
from psoup.engine.results.delta import StreamRecord


def row_of(source: TupleSource, stream: StreamRecord, tuple_id: int) -> int | None:
    """Return the row of a tuple that retention keeps; None where the stream keeps none of this id.

    Raises PageExpiredError if tuples left retention while they were read. Cost: a read for each of log(rows) steps.
    """
    first, past = stream.floor_row, stream.rows
    while first < past:
        middle = (first + past) // 2
        tuples = source.tuples(stream.stream_id, (), np.array([middle]))
        found = int(tuples.tuple_ids[0])
        if found == tuple_id:
            dated = stream.floor_us is None or int(tuples.times[0]) >= stream.floor_us
            return middle if dated else None
        if found < tuple_id:
            first = middle + 1
        else:
            past = middle
    return None
