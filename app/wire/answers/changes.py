"""What has changed since a cursor, as operations one after the other: NDJSON, CSV and Arrow.

A body is, in this order: `reset` where the client is to forget all rows; `keep` where it is to forget every row but
those named; `remove` for each row to be forgotten; `row` for each row to be taken; `end`, without which a body is not
whole. NDJSON has one object an operation, with the member `op`; CSV and Arrow have a leading column `_op`, one `keep`
for each row kept, and NULL in the columns that an operation has no use for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import orjson
import pyarrow as pa

from psoup.app.errors import NotAcceptableError
from psoup.app.wire.answers.encoding import (
    RowSet,
    arrow_batch,
    arrow_stream,
    csv_header,
    csv_lines,
    to_ndjson,
)
from psoup.app.wire.answers.negotiation import FORMATS
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

_COLUMN_OF: Final[Mapping[str, str]] = {"ndjson": "op", "csv": "_op", "arrow": "_op"}
"""What names an operation, by format."""


@dataclass(frozen=True, slots=True)
class Changes:
    """A page of what has changed.

    Attributes:
        rows: those that are new, or are not what they were; all that are visible where it is a reset.
        reset: the client forgets all rows first.
        removed: ids of rows that it forgets.
        keep: the ids of the only other rows that it keeps, at least one; None = it keeps all.
        end: members of the envelope, for formats that have no other place for them.
    """

    rows: RowSet
    reset: bool
    removed: Sequence[str]
    keep: Sequence[str] | None
    end: Mapping[str, Any]


def encode_changes(changes: Changes, form: str) -> bytes:
    """Return the operations; `form` is one of FORMATS but json.

    Raises:
        NotAcceptableError: the rows have a column that is named like what names an operation.
    """
    column = _COLUMN_OF[form]
    if column in changes.rows.names:
        raise _name_taken(column)
    rows = RowSet(
        ((column, _repeated("row", changes.rows.length)), *changes.rows.columns),
        changes.rows.length,
    )
    if form == "ndjson":
        return _ndjson(changes, rows)
    return _csv(changes, rows) if form == "csv" else _arrow(changes, rows)


def _ndjson(changes: Changes, rows: RowSet) -> bytes:
    first: list[Mapping[str, Any]] = []
    if changes.reset:
        first.append({"op": "reset"})
    if changes.keep is not None:
        first.append({"op": "keep", "_ids": changes.keep})
    first += [{"op": "remove", "_id": one} for one in changes.removed]
    last = {"op": "end", **changes.end}
    return b"".join((*map(_line, first), to_ndjson(rows), _line(last)))


def _csv(changes: Changes, rows: RowSet) -> bytes:
    has_ids = "_id" in rows.names
    others = len(rows.columns) - 1

    def line(op: str, row_id: str | None) -> bytes:
        cells = [op, row_id or "", *[""] * (others - 1)] if has_ids else [op, *[""] * others]
        return (",".join(cells) + "\n").encode()

    first = (line(*one) for one in _before_rows(changes))
    return b"".join((csv_header(rows), *first, csv_lines(rows), line("end", None)))


def _arrow(changes: Changes, rows: RowSet) -> bytes:
    """Return a stream of up to three record batches, those without rows left out."""
    batch = arrow_batch(rows)

    def operations(found: Sequence[tuple[str, str | None]]) -> pa.RecordBatch:
        known = {"_op": [op for op, _ in found], "_id": [row_id for _, row_id in found]}
        arrays = [
            pa.array(known[field.name], field.type)
            if field.name in known
            else pa.nulls(len(found), field.type)
            for field in batch.schema
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=batch.schema)

    batches = (operations(_before_rows(changes)), batch, operations([("end", None)]))
    return arrow_stream([one for one in batches if one.num_rows])


def _before_rows(changes: Changes) -> list[tuple[str, str | None]]:
    """Return the operations that stand before the rows, and the ids that they name."""
    found: list[tuple[str, str | None]] = [("reset", None)] if changes.reset else []
    found += [("keep", one) for one in changes.keep or ()]
    return found + [("remove", one) for one in changes.removed]


def _line(members: Mapping[str, Any]) -> bytes:
    return orjson.dumps(members, option=orjson.OPT_APPEND_NEWLINE)


def _repeated(text: str, length: int) -> Column:
    return Column(ColumnType.STRING, np.zeros(length, dtype=np.int32), None, (text,))


def _name_taken(column: str) -> NotAcceptableError:
    """Return the refusal of a format in which a column of the query would hide the operations."""
    free = [FORMATS[form] for form in FORMATS if _COLUMN_OF.get(form) != column]
    return NotAcceptableError(
        f"With a cursor this format names its operations {column}, and so does the query a column of its"
        " answer: name the column otherwise with AS, or take another format.",
        supported=free,
    )
