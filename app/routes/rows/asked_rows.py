"""Rows that are asked about and not stored: checked as rows that are sent, and as if they arrived now."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from psoup.app.wire.rows.body import JSON, read_rows
from psoup.engine.tuples.arrow import encode_batch
from psoup.engine.tuples.batch import Seq, TupleBatch, TupleId
from psoup.engine.tuples.batch_reader import BatchReader
from psoup.engine.tuples.schema import StreamId, StreamSchema


def asked_rows(
    rows: Sequence[Mapping[str, Any]],
    stream_id: StreamId,
    schema: StreamSchema,
    *,
    now_us: int,
    arrival_us: int,
) -> TupleBatch:
    """Return rows of a body as a batch of a stream.

    Args:
        rows: as a strict reader of JSON made them.
        stream_id: the stream's.
        schema: its declaration.
        now_us: the server's clock, for rows dated too far past it.
        arrival_us: dates rows that have no time of their own.

    Raises:
        RowsRejectedError: rows that do not fit the stream.
    """
    body = json.dumps(rows).encode()  # not orjson, which refuses numbers that the check tells of
    batch = BatchReader(schema).batch(
        encode_batch(read_rows(body, JSON, schema, now_us=now_us)),
        stream_id=stream_id,
        first_tuple_id=TupleId(1),
        seq=Seq(0),
        arrival_us=arrival_us,
    )
    return batch.whole()
