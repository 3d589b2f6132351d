"""Which bodies of rows are checked in the event loop: those whose bytes bound the work; and what becomes of them."""

import json
from typing import Any
from unittest import mock

import pytest
from hypothesis import example, given, strategies as st

from psoup.app.backend.catalogue import Declaration
from psoup.app.routes.rows import received_rows
from psoup.app.routes.rows.received_rows import (
    SMALL_BYTES_MAX,
    SMALL_VALUES_MAX,
    check_rows,
    is_small,
)
from psoup.app.wire.rows.body import ARROW, COLUMNS, CSV, JSON, NDJSON
from psoup.engine import limits
from psoup.engine.errors import EngineError
from psoup.engine.kernels.json_bodies import FEW_ROWS_MAX
from psoup.engine.tuples.few_rows import FewRowsReader
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema
from psoup.engine.tuples.time_unit import TimeUnit

NOW_US = 1_790_000_000_000_000
DATED = StreamSchema(
    "s",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        *(ColumnSchema(kind.value, kind) for kind in ColumnType),
        *(ColumnSchema(unit.value, ColumnType.TIMESTAMP, unit=unit) for unit in TimeUnit),
    ),
    "ts",
    ClockKind.HIGH_WATER,
)
OPTIONAL = StreamSchema(
    "o", (ColumnSchema("a", ColumnType.STRING),), time=None, clock=ClockKind.SERVER
)
LATEST_US = NOW_US + DATED.future_us
VALUES: dict[str, list[Any]] = {
    "ts": [NOW_US, NOW_US, 0, "2026-01-05T10:00:00Z", LATEST_US, LATEST_US + 1, 1_790_000_000, "2026-01-05", None],
    "timestamp": [None, NOW_US, 1_790_000_000, 1_790_000_000_000, "1970-01-21T17:13:20Z", -1, 1.5],
    "int64": [7, -(2**63) + 1, -(2**63), 2**63 - 1, 2**63, 1.0, "7", True, None],
    "float64": [99.5, 0.1 + 0.2, -0.0, 3, 2**53 + 1, 1e308, True, "1", None],
    "bool": [True, False, None, 0],
    "string": ["ACME", "", "é", "a\nb", "a\0b", None, 5],
    "s": [1_790_000_000, 2**40, None, "2026-01-05T10:00:00Z"],
    "ms": [1_790_000_000_001, None],
    "us": [NOW_US, 2**62],
    "ns": [1_790_000_000_000_001_000, 1, None],
    "x": [1],
}  # fmt: skip
"""Of each column, and of one that is not declared; the first ones fit."""


def declaration(columns: int) -> Declaration:
    """Return a stream of so many columns."""
    declared = tuple(ColumnSchema(f"c{i}", ColumnType.INT64, nullable=True) for i in range(columns))
    return Declaration(StreamId(1), StreamSchema("s", declared, None, ClockKind.SERVER))


@pytest.mark.parametrize("media_type", [JSON, NDJSON, CSV, COLUMNS])
def test_a_text_is_small_by_its_bytes(media_type):
    """Up to the bound, and not beyond it."""
    assert is_small(b" " * SMALL_BYTES_MAX, media_type, declaration(1))
    assert not is_small(b" " * (SMALL_BYTES_MAX + 1), media_type, declaration(1))


def test_rows_of_many_columns_are_small_by_their_values():
    """`{},{},...` has a value for each column of each row, in three bytes a row."""
    columns = 64
    assert is_small(b" " * (SMALL_VALUES_MAX // columns), JSON, declaration(columns))
    assert not is_small(b" " * (SMALL_VALUES_MAX // columns + 1), JSON, declaration(columns))


def test_no_row_of_a_small_body_is_too_large():
    """Its texts are shorter than the body, so no row of it is measured."""
    assert SMALL_BYTES_MAX + 8 * limits.COLUMNS_COUNT_MAX <= limits.ROW_BYTES_MAX


def test_an_arrow_body_is_never_small():
    """It may be compressed: a few bytes of it may be many rows."""
    assert not is_small(b" ", ARROW, declaration(1))


@st.composite
def small_rows(draw):
    """Draw up to three rows, most of whose values fit."""
    usual = {name: values[:1] * 6 + values for name, values in VALUES.items()}
    names = st.lists(st.sampled_from(list(VALUES)[:-1] * 4 + ["x"]), unique=True, max_size=6)
    rows = [
        {name: draw(st.sampled_from(usual[name])) for name in ["ts", *draw(names)]}
        for _ in range(draw(st.integers(0, 3)))
    ]
    if rows and not draw(st.integers(0, 9)):
        del rows[-1]["ts"]
    return rows


@given(rows=small_rows(), media_type=st.sampled_from([JSON, NDJSON]), ascii_only=st.booleans())
@example(rows=[{"ts": LATEST_US + 1}], media_type=JSON, ascii_only=True)
@example(rows=[{"ts": NOW_US, "timestamp": 1_790_000_000}], media_type=JSON, ascii_only=True)
def test_differential_a_few_rows_are_kept_or_refused_as_many_are(rows, media_type, ascii_only):
    """The entry of the log, byte for byte, and the warnings; or each refusal: as of rows that pass through Arrow."""
    written = [json.dumps(row, ensure_ascii=ascii_only) for row in rows]
    body = ("\n".join(written) if media_type == NDJSON else f"[{','.join(written)}]").encode()
    found = outcome(body, media_type)
    with mock.patch.object(received_rows, "_FORMS", {}):
        assert outcome(body, media_type) == found


def outcome(body: bytes, media_type: str) -> object:
    """Return what becomes of rows, or what is said of them."""
    try:
        return check_rows(body, media_type, Declaration(StreamId(1), DATED), NOW_US, digested=False)
    except EngineError as error:
        return type(error), error.detail, error.extras


@pytest.mark.parametrize(("media_type", "written"), [(JSON, "[%s]"), (NDJSON, "%s")])
def test_many_rows_of_a_small_body_pass_through_arrow(media_type, written):
    """Each of their cells would be looked at in the event loop by Python code: rows without members, most of all."""
    reader, declared = FewRowsReader(OPTIONAL), Declaration(StreamId(1), OPTIONAL)
    separator = "," if media_type == JSON else "\n"
    for rows in (FEW_ROWS_MAX, FEW_ROWS_MAX + 1):
        body = (written % separator.join(["{}"] * rows)).encode()
        found = reader.read(body, received_rows._FORMS[media_type], latest_us=NOW_US)
        assert (rows > FEW_ROWS_MAX) == (found is None)
        assert rows == check_rows(body, media_type, declared, NOW_US, digested=False).rows


def test_rows_that_are_written_plainly_pass_by_arrow(monkeypatch):
    """One row of every type, and NULLs, in both forms."""
    row = {name: values[0] for name, values in VALUES.items() if name != "x"}
    bodies = {JSON: json.dumps(row).encode(), NDJSON: b'%b\n{"ts":0}' % json.dumps(row).encode()}
    expected = {media_type: outcome(body, media_type) for media_type, body in bodies.items()}
    monkeypatch.setattr(received_rows, "read_rows", lambda *_, **__: pytest.fail("it was used"))
    assert expected == {
        media_type: outcome(body, media_type) for media_type, body in bodies.items()
    }
