"""Declarations: what is refused, what makes two of them differ, and their form in the log."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given

from psoup.engine import limits
from psoup.engine.errors import InvalidFieldError
from psoup.engine.tuples.schema import (
    ClockKind,
    ColumnSchema,
    ColumnType,
    Retention,
    StreamSchema,
    check_schema,
    schema_from_dict,
    schema_to_dict,
)
from tests.engine.batches import SCHEMA
from tests.strategies import schemas

TS = ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False)


def changed(**members):
    return dataclasses.replace(SCHEMA, **members)


def pointers(refused):
    """Return the members that a refusal names."""
    listed: Any = refused.extras["errors"]
    return [error["pointer"] for error in listed]


@pytest.mark.parametrize(
    ("schema", "pointer"),
    [
        (changed(name="1st"), "/name"),
        (changed(name="a" * 65), "/name"),
        (changed(name="a b"), "/name"),
        (changed(columns=(), time=None, clock=ClockKind.SERVER), "/columns"),
        (changed(columns=(TS,) * 65), "/columns"),
        (changed(columns=(TS, ColumnSchema("", ColumnType.BOOL))), "/columns/1/name"),
        (changed(columns=(TS, ColumnSchema("a\n", ColumnType.BOOL))), "/columns/1/name"),
        (changed(columns=(TS, ColumnSchema("_id", ColumnType.BOOL))), "/columns/1/name"),
        (changed(columns=(TS, TS)), "/columns/1/name"),
        (changed(time="missing"), "/time"),
        (changed(time="a"), "/time"),
        (changed(columns=(ColumnSchema("ts", ColumnType.TIMESTAMP),)), "/time"),
        (changed(time=None), "/clock"),
        (changed(retention=Retention(time_us=0)), "/retention/time"),
        (changed(retention=Retention(rows=limits.RETENTION_ROWS_MAX + 1)), "/retention/rows"),
        (changed(retention=Retention(bytes=-1)), "/retention/bytes"),
        (changed(future_us=-1), "/future"),
    ],
)
def test_check_schema_of_what_cannot_be_kept_names_the_member(schema, pointer):
    """A declaration that cannot be is refused at the member that is wrong."""
    with pytest.raises(InvalidFieldError) as refused:
        check_schema(schema)
    assert pointer in pointers(refused.value)


def test_check_schema_names_every_fault_at_once():
    """A client corrects all of it in one go."""
    broken = changed(name="", time="missing", future_us=-1)
    with pytest.raises(InvalidFieldError) as refused:
        check_schema(broken)
    assert ["/name", "/time", "/future"] == pointers(refused.value)


@given(schemas())
def test_schema_to_dict_of_any_declaration_is_undone(schema):
    """A declaration that can be kept comes back from the log as the same value."""
    check_schema(schema)
    assert schema == schema_from_dict(schema_to_dict(schema))


def test_schema_column_and_time_index_are_found_by_exact_name():
    """Names are compared exactly; without a time column there is no index of it."""
    assert ColumnSchema("a", ColumnType.INT64) == SCHEMA.column("a")
    assert SCHEMA.column("A") is None
    assert (0, None) == (SCHEMA.time_index, changed(time=None).time_index)
    assert "BIGINT" == ColumnType.INT64.sql_name


def test_schema_equal_declarations_are_equal_values():
    """A schema is a value: the same declaration twice is the same."""
    again = StreamSchema("s", SCHEMA.columns, "ts", ClockKind.HIGH_WATER)
    assert again == SCHEMA
