"""Operations: what they say is the same in NDJSON, CSV and Arrow, and a column cannot hide them."""

import csv
import io
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest

from psoup.app.errors import NotAcceptableError
from psoup.app.wire.answers.changes import Changes, encode_changes
from psoup.app.wire.answers.encoding import RowSet, meta_columns
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

END = {"cursor": "AQ", "count": 3}
VALUES = Column(ColumnType.INT64, np.array([7, 8]), np.array([True, False]))


def rows(*, name: str = "val", meta: bool = True, length: int = 2) -> RowSet:
    columns = ((name, VALUES.part(slice(length))),)
    ids = meta_columns(np.arange(1, length + 1), None) if meta else ()
    return RowSet((*ids, *columns), length)


def changes(of: RowSet, **members: object) -> Changes:
    given: dict[str, object] = {"reset": False, "removed": [], "keep": None, "end": END}
    return Changes(of, **(given | members))  # type: ignore[arg-type]


def operations(body: bytes, form: str) -> list[tuple[str, str | None]]:
    """Return the operations and the ids that they name."""
    found: list[dict[str, Any]]
    if form == "csv":
        found = [
            {name: cell or None for name, cell in row.items()}
            for row in csv.DictReader(io.StringIO(body.decode()))
        ]
    else:
        found = pa.ipc.open_stream(body).read_all().to_pylist()
    return [(one["_op"], one["_id"]) for one in found]


def test_ndjson_says_each_operation_on_a_line():
    """`reset`, `keep`, `remove`, rows, `end`, in this order; each line is an object."""
    body = encode_changes(changes(rows(), reset=True, keep=["5"], removed=["6"]), "ndjson")
    assert [
        {"op": "reset"},
        {"op": "keep", "_ids": ["5"]},
        {"op": "remove", "_id": "6"},
        {"op": "row", "_id": "1", "_x": None, "val": 7},
        {"op": "row", "_id": "2", "_x": None, "val": None},
        {"op": "end", "cursor": "AQ", "count": 3},
    ] == [orjson.loads(line) for line in body.splitlines()]


@pytest.mark.parametrize("form", ["csv", "arrow"])
def test_columns_say_the_same_operations(form):
    """One row an operation; those that name no row have no id."""
    body = encode_changes(changes(rows(), reset=True, keep=["4", "5"], removed=["6"]), form)
    assert [
        ("reset", None),
        ("keep", "4"),
        ("keep", "5"),
        ("remove", "6"),
        ("row", "1"),
        ("row", "2"),
        ("end", None),
    ] == operations(body, form)


@pytest.mark.parametrize("form", ["csv", "arrow"])
def test_columns_of_no_change_are_their_end(form):
    """The columns are named all the same."""
    body = encode_changes(changes(rows(length=0)), form)
    assert [("end", None)] == operations(body, form)


def test_csv_without_ids_has_as_many_cells_in_each_line():
    """With `meta=0` there is no column of ids, and lines stay as long as the header."""
    body = encode_changes(changes(rows(meta=False), reset=True, removed=["6"]), "csv")
    assert ["_op,val", "reset,", "remove,", "row,7", "row,", "end,"] == body.decode().splitlines()


@pytest.mark.parametrize(("form", "name"), [("ndjson", "op"), ("csv", "_op"), ("arrow", "_op")])
def test_column_that_would_hide_the_operations_is_refused(form, name):
    """The message names the column and what to do; the other formats are those to ask for."""
    with pytest.raises(NotAcceptableError, match="name the column otherwise with AS") as refused:
        encode_changes(changes(rows(name=name)), form)
    supported = refused.value.extras["supported"]
    assert isinstance(supported, list)
    assert "application/json" in supported
    other = "csv" if form == "ndjson" else "ndjson"
    assert encode_changes(changes(rows(name=name)), other)
