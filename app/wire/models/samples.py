"""The latest rows of a stream, as they travel."""

from typing import Any

import numpy as np
from pydantic import BaseModel, Field

from psoup.app.wire.answers.cells import Ids
from psoup.app.wire.answers.encoding import RowSet, json_rows
from psoup.app.wire.models.queries import OutputAnswer
from psoup.engine import limits
from psoup.engine.data.source import Tuples
from psoup.engine.tuples.schema import StreamSchema


class SampleAnswer(BaseModel):
    """The latest rows of a stream, the newest last."""

    stream: str
    columns: list[OutputAnswer]
    rows: list[dict[str, Any]] = Field(description="With `_id`, the id of the tuple.")
    count: int = Field(description="Rows that the stream holds.")


def describe_sample(schema: StreamSchema, tuples: Tuples, *, count: int) -> dict[str, object]:
    """Return the members of `SampleAnswer`: the last of these tuples, as many as an answer may hold."""
    rows = _rows(schema, tuples)
    while rows.length > 1 and (size := rows.estimate_bytes()) > limits.SAMPLE_BYTES_MAX:
        fitting = min(rows.length * limits.SAMPLE_BYTES_MAX // size, rows.length - 1)
        rows = _rows(schema, tuples.take(np.arange(len(tuples.times))[-max(1, fitting) :]))
    return {
        "stream": schema.name,
        "columns": [{"name": one.name, "type": one.type.value} for one in schema.columns],
        "rows": json_rows(rows),
        "count": count,
    }


def _rows(schema: StreamSchema, tuples: Tuples) -> RowSet:
    columns = [(one.name, tuples.columns[one.name]) for one in schema.columns]
    return RowSet((("_id", Ids(tuples.tuple_ids)), *columns), len(tuples.times))
