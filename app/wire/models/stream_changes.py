"""Changes of a stream that holds rows: from the members that a client sends to the declaration they make."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from psoup.app.wire.models.streams import RetentionPatch, StreamPatchBody, column_from_body
from psoup.engine import limits
from psoup.engine.errors import IncompatibleChangeError, InvalidFieldError
from psoup.engine.tuples.schema import (
    ColumnSchema,
    Retention,
    StreamSchema,
    check_schema,
    column_errors,
)


def patched_schema(declared: StreamSchema, body: StreamPatchBody) -> StreamSchema:
    """Return a declaration with the changes that a client sent: an equal one where all of them are made already.

    Raises:
        InvalidFieldError: a member is wrong whatever the stream is, or there is none.
        IncompatibleChangeError: this stream cannot become so.
    """
    if not body.model_fields_set:
        raise InvalidFieldError(
            "The body changes nothing.", errors=[("", "expected retention, add_columns, or both")]
        )
    _check_types(declared, body.widen)
    added = [column_from_body(column) for column in body.add_columns]
    wrong = column_errors(added, "/add_columns")
    if wrong:
        raise InvalidFieldError(
            f"Columns to be added cannot be; the first: {wrong[0][1]}.", errors=wrong
        )
    schema = replace(
        declared,
        columns=(*declared.columns, *_fresh(declared, added)),
        retention=_patched_retention(declared.retention, body.retention),
    )
    if len(schema.columns) > limits.COLUMNS_COUNT_MAX:
        most = f"a stream has {limits.COLUMNS_COUNT_MAX} columns at most, this one {len(declared.columns)}"
        raise _incompatible([("/add_columns", most)])
    check_schema(schema)
    return schema


def _patched_retention(kept: Retention, given: RetentionPatch) -> Retention:
    parts = {"time": kept.time_us, "rows": kept.rows, "bytes": kept.bytes}
    parts |= {name: getattr(given, name) for name in given.model_fields_set}
    return Retention(parts["time"], parts["rows"], parts["bytes"])


def _fresh(declared: StreamSchema, added: Sequence[ColumnSchema]) -> list[ColumnSchema]:
    """Return the columns that a stream has not got yet; raise where it has another one of a name, or none may be so."""
    fresh: list[ColumnSchema] = []
    wrong: list[tuple[str, str]] = []
    for i, column in enumerate(added):
        known = declared.column(column.name)
        if known is not None and known != column:
            reason = f"the stream has a column of this name: {_described(known)}"
            wrong.append((f"/add_columns/{i}", reason))
        elif known is None and not column.nullable:
            reason = "an added column is nullable: it is NULL in the rows there are"
            wrong.append((f"/add_columns/{i}/nullable", reason))
        elif known is None:
            fresh.append(column)
    if wrong:
        raise _incompatible(wrong)
    return fresh


def _check_types(declared: StreamSchema, wanted: Mapping[str, str]) -> None:
    """Raise where a column would get another type than it has: rows and queries that are there were made with that."""
    wrong: list[tuple[str, str]] = []
    for name, kind in wanted.items():
        column = declared.column(name)
        if column is None:
            there = ", ".join(one.name for one in declared.columns)
            wrong.append((f"/widen/{name}", f"the stream has no such column; there are {there}"))
        elif column.type != kind:
            reason = f"the column is {column.type} and keeps its type: add one of another name, and send to that"
            wrong.append((f"/widen/{name}", reason))
    if wrong:
        raise _incompatible(wrong)


def _described(column: ColumnSchema) -> str:
    unit = "" if column.unit is None else f", integers count {column.unit}"
    return f"{column.type}, {'nullable' if column.nullable else 'not nullable'}{unit}"


def _incompatible(errors: Sequence[tuple[str, str]]) -> IncompatibleChangeError:
    return IncompatibleChangeError(
        f"The stream cannot be changed so; the first reason: {errors[0][1]}.", errors=errors
    )
