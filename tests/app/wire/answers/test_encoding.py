"""Rows to bytes: whole columns at once, against each row written on its own, byte for byte."""

import io
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st

from psoup.app.wire.answers import encoding
from psoup.app.wire.answers.cells import Ids
from psoup.app.wire.answers.encoding import (
    RowSet,
    json_arrays,
    json_rows,
    meta_columns,
    to_arrow,
    to_csv,
    to_ndjson,
)
from psoup.app.wire.answers.instants import instant_array, instants
from psoup.app.wire.scalars import format_instant
from psoup.engine import limits
from psoup.engine.tuples.batch import DTYPES, Column
from psoup.engine.tuples.schema import ColumnType

INSTANTS = st.integers(limits.TIMESTAMP_US_MIN, limits.TIMESTAMP_US_MAX)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["", ",", '"', "\\", "\n", "null", "é€😀", 'a","b', "x\x00y", "\x7f"]
)
FLOATS = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
    [0.0, -0.0, 1e-4, 9.999999999999999e-05, 1e15, 9999999999999998.0, 1e16, 1e22, 5e-324]
)
VALUES = {
    ColumnType.INT64: st.integers(-(2**63), 2**63 - 1),
    ColumnType.FLOAT64: FLOATS,
    ColumnType.BOOL: st.booleans(),
    ColumnType.STRING: TEXTS,
    ColumnType.TIMESTAMP: INSTANTS,
}
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=4)
ARBITRARY = {ColumnType.FLOAT64: math.nan, ColumnType.STRING: 2**31 - 1, ColumnType.BOOL: True}
"""What may lie under a NULL."""


def column_of(kind, values, *, unused=0):
    """Return a column of Python values, None for NULL; `unused` texts stand before those in use."""
    valid = np.array([value is not None for value in values], np.bool_)
    dictionary = None
    if kind is ColumnType.STRING:
        texts = list(dict.fromkeys(value for value in values if value is not None))
        dictionary = tuple(f"unused {i}" for i in range(unused)) + tuple(texts)
        values = [None if value is None else unused + texts.index(value) for value in values]
    under = ARBITRARY.get(kind, 2**63 - 1)
    filled = np.array([under if value is None else value for value in values], DTYPES[kind])
    return Column(kind, filled, None if valid.all() else valid, dictionary)


@st.composite
def columns_and_rows(draw):
    """Draw columns, and the same as rows of what JSON shows."""
    length = draw(st.integers(0, 12))
    names = draw(st.lists(NAMES, min_size=1, max_size=5, unique=True))
    columns, cells = [], []
    for name in names:
        kind = draw(st.sampled_from(list(ColumnType)))
        one = VALUES[kind] | st.none() if draw(st.booleans()) else VALUES[kind]
        values = draw(st.lists(one, min_size=length, max_size=length))
        columns.append((name, column_of(kind, values, unused=draw(st.sampled_from([0, 3, 300])))))
        cells.append([format_instant(v) if kind is ColumnType.TIMESTAMP else v for v in values])
    if draw(st.booleans()):
        many = st.lists(st.integers(1, 2**63 - 1), min_size=length, max_size=length)
        parts = draw(st.lists(many, min_size=1, max_size=4))
        ids = np.array(parts if len(parts) > 1 else parts[0], np.int64)
        columns = [("_id", Ids(ids)), *columns]
        cells = [["-".join(map(str, one)) for one in zip(*parts, strict=True)], *cells]
    rows = list(zip(*cells, strict=True))
    return RowSet(tuple(columns), length), rows


def csv_of(value):
    """Return one cell by the rules of the contract."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and (not value or set(value) & set(',"\r\n')):
        return '"' + value.replace('"', '""') + '"'
    return str(value)


FEWS = ("FEW_OBJECTS", "FEW_ARRAYS", "FEW_ARRAYS_OF_TEXTS", "FEW_LINES")


@pytest.fixture(params=["by columns", "by the kernel", "by rows"])
def way(request, monkeypatch):
    """Write every number of rows in one way, a few at a time."""
    for name in FEWS:
        monkeypatch.setattr(encoding, name, 1_000 if request.param == "by rows" else 0)
    monkeypatch.setattr(encoding, "MANY_ROWS", 0 if request.param == "by columns" else 1_000)
    monkeypatch.setattr(encoding, "_SLICE_ROWS", 5)
    return request.param


@pytest.mark.usefixtures("way")
@given(drawn=columns_and_rows())
def test_differential_rows_are_written_like_each_row_alone(drawn):
    """JSON objects and arrays, NDJSON and CSV have the bytes of a plain loop over rows."""
    rows, cells = drawn
    objects = [dict(zip(rows.names, one, strict=True)) for one in cells]
    assert orjson.dumps({"rows": objects}) == orjson.dumps({"rows": json_rows(rows)})
    assert orjson.dumps([*map(list, cells)]) == orjson.dumps(json_arrays(rows))
    assert b"".join(orjson.dumps(one) + b"\n" for one in objects) == to_ndjson(rows)
    lines = [[csv_of(name) for name in rows.names], *([csv_of(v) for v in one] for one in cells)]
    assert "".join(",".join(line) + "\n" for line in lines).encode() == to_csv(rows)


@given(drawn=columns_and_rows())
def test_rows_as_arrow_hold_the_same_values(drawn):
    """Arrow says of every cell what JSON says, timestamps and ids read as text."""
    rows, cells = drawn
    table = pa.ipc.open_stream(io.BytesIO(to_arrow(rows))).read_all()
    table.validate(full=True)
    assert rows.names == table.column_names
    found = []
    for column in table.columns:
        stamps = pa.types.is_timestamp(column.type)
        values = (column.cast(pa.int64()) if stamps else column).to_pylist()
        found.append([format_instant(value) for value in values] if stamps else values)
    assert cells == list(zip(*found, strict=True))


@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize(
    "length", [16, 17, 50, 51, 100, 150, 151, 1_000, 1_001, 3_000, 3_001, 16_384, 16_385]
)
def test_differential_pages_around_each_threshold_are_the_same(length, parts, monkeypatch):
    """Where the way changes, and where slices meet, the bytes do not show it."""
    rng = np.random.default_rng(length)
    valid = rng.random(length) < 0.9
    texts = tuple(f"S{i}" for i in range(500))
    columns = (
        *meta_columns(rng.integers(1, 10**12, (parts, length) if parts > 1 else length), None),
        ("i", Column(ColumnType.INT64, rng.integers(-(10**6), 10**12, length), valid)),
        ("f", Column(ColumnType.FLOAT64, 10.0 ** rng.uniform(-8, 20, length), valid)),
        ("s", Column(ColumnType.STRING, rng.integers(0, 500, length, np.int32), valid, texts)),
        ("t", Column(ColumnType.TIMESTAMP, rng.integers(-(10**16), 10**16, length), valid)),
        ("b", Column(ColumnType.BOOL, rng.random(length) < 0.5, valid)),
    )
    rows = RowSet(columns, length)
    writers = (to_ndjson, to_csv, lambda r: orjson.dumps([json_rows(r), json_arrays(r)]))
    found = [write(rows) for write in writers]
    for name in FEWS:
        monkeypatch.setattr(encoding, name, length)
    assert [write(rows) for write in writers] == found


@pytest.mark.parametrize("seed", range(4))
def test_differential_pages_of_nasty_values_have_the_bytes_of_plain_objects(seed):
    """A page as the kernel writes it: texts full of what ends others, every size of number, NULLs over anything."""
    rng = np.random.default_rng(seed)
    length = int(rng.integers(51, 300))
    pieces = ['"', "\\", ",", "]", "[", "null", "\n", "\x00", "\x7f", "é", "€", "😀", "x" * 7, "y" * 8, "\u2028", "/"]  # fmt: skip
    ends = np.iinfo(np.int64)
    instant_ends = (limits.TIMESTAMP_US_MIN, limits.TIMESTAMP_US_MAX, -1, 0, limits.DAY_US - 1)
    drawn: dict[ColumnType, Callable[[], Any]] = {
        ColumnType.STRING: lambda: "".join(rng.choice(pieces, rng.integers(0, 6))),
        ColumnType.INT64: lambda: int(
            rng.choice(
                np.array([ends.min, ends.max, 0, -1, rng.integers(ends.max) >> rng.integers(63)])
            )
        ),
        ColumnType.FLOAT64: lambda: float(
            rng.choice(
                [0.0, -0.0, 5e-324, 1.7976931348623157e308, -(10.0 ** rng.uniform(-300, 300))]
            )
        ),
        ColumnType.BOOL: lambda: bool(rng.random() < 0.5),
        ColumnType.TIMESTAMP: lambda: int(
            rng.choice(np.array([*instant_ends, rng.integers(instant_ends[0], instant_ends[1])]))
        ),
    }
    columns: list[tuple[str, Column | Ids]] = []
    cells: list[list[object]] = []
    for kind, draw in drawn.items():
        for nulls in (0.0, 0.3, 1.0):
            values = [None if rng.random() < nulls else draw() for _ in range(length)]
            columns.append((f'{kind.value}"\\é{nulls}', column_of(kind, values, unused=3)))
            stamps = kind is ColumnType.TIMESTAMP
            cells.append([format_instant(v) if stamps else v for v in values])
    for parts in (1, 2, 4):
        ids = rng.integers(1, ends.max, (parts, length)) >> rng.integers(0, 62, (parts, length))
        columns.append((f"_id{parts}", Ids(ids if parts > 1 else ids[0])))
        cells.append(["-".join(map(str, one)) for one in ids.T.tolist()])
    rows, names = RowSet(tuple(columns), length), [name for name, _ in columns]
    objects = [dict(zip(names, one, strict=True)) for one in zip(*cells, strict=True)]
    assert orjson.dumps(objects) == orjson.dumps(json_rows(rows))
    assert orjson.dumps([[*one.values()] for one in objects]) == orjson.dumps(json_arrays(rows))
    assert b"".join(orjson.dumps(one) + b"\n" for one in objects) == to_ndjson(rows)


@given(us=st.lists(INSTANTS | st.integers(0, 10**9), max_size=20))
@settings(deadline=None)
def test_differential_instants_of_a_column_are_those_of_scalars(us):
    """A column's texts, close together or centuries apart, are the texts of its values."""
    texts = instant_array(np.array(us, np.int64), before='é"', after='"')
    assert [f'é"{format_instant(one)}"' for one in us] == texts.to_pylist()
    texts.validate(full=True)
    assert [*map(format_instant, us)] == instants(np.array(us, np.int64))
    assert [*map(format_instant, us[::2])] == instants(np.array(us, np.int64)[::2])


@given(drawn=columns_and_rows(), repeat=st.sampled_from([1, 40]))
def test_estimate_is_the_same_for_few_and_for_many(drawn, repeat):
    """A page's estimate grows with its rows exactly: it does not depend on the way it is made."""
    rows, _ = drawn
    many = RowSet(
        tuple(
            (
                name,
                Ids(np.tile(c.values, repeat))
                if isinstance(c, Ids)
                else c.take(np.tile(np.arange(rows.length), repeat)),
            )
            for name, c in rows.columns
        ),
        rows.length * repeat,
    )
    assert repeat * rows.estimate_bytes() == many.estimate_bytes()
