"""The definition of a stream, as the body of `PUT /v1/streams/{name}`: from options, a file, or a description."""

import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import orjson

from psoup.client.errors import DefinitionError
from psoup.engine.tuples.schema import STREAM_NAME, ColumnSchema, ColumnType
from psoup.engine.tuples.time_unit import TimeUnit

_COLUMN: Final = re.compile(
    r"""\s*(?:"(?P<quoted>(?:[^"]|"")+)"|(?P<plain>[^\s,"]+))"""
    r"""\s+(?P<type>[A-Za-z0-9_]+)(?P<required>\s+not\s+null)?\s*(?:,|$)""",
    re.IGNORECASE,
)
_FORM: Final = (
    'Write it as "ts timestamp, id string, mag float64"; a name with blanks or signs stands in double quotes within it:'
    " '\"Total (USD)\" float64'."
)
_SQL_TYPES: Final = {kind.sql_name.lower(): kind for kind in ColumnType}
_SQL_TYPES["text"] = ColumnType.STRING


def check_stream_name(name: str) -> None:
    """Refuse a malformed name of a stream, which would lead to another path of the service.

    Raises:
        DefinitionError: says what is expected.
    """
    if not STREAM_NAME.fullmatch(name):
        raise DefinitionError(
            f"{name!r} is not a name of a stream: expected a letter or _ and up to 63 letters, digits or _."
        )


def read_definition(given: str) -> dict[str, Any]:
    """Return the definition in `--schema`: columns written out, or the path of a JSON file.

    Raises:
        DefinitionError: it is neither; says where it is malformed.
    """
    if given.endswith(".json") or (" " not in given.strip() and Path(given).is_file()):
        return _from_file(Path(given))
    return {"columns": [_column_body(column) for column in parse_columns(given)]}


def parse_columns(text: str) -> tuple[ColumnSchema, ...]:
    """Parse `name type [not null], ...`; a name with blanks is in double quotes.

    Raises:
        DefinitionError: names the first piece that is not a column.
    """
    columns = []
    at = 0
    while at < len(text):
        match = _COLUMN.match(text, at)
        if match is None:
            raise DefinitionError(f"The schema is not clear at {text[at:].strip()!r}. {_FORM}")
        name = match["plain"] or match["quoted"].replace('""', '"')
        nullable = match["required"] is None
        columns.append(ColumnSchema(name, _type_named(match["type"], name), nullable))
        at = match.end()
    if not columns:
        raise DefinitionError(f"The schema names no column. {_FORM}")
    return tuple(columns)


def definition_from(
    columns: Sequence[str],
    schema: str | None,
    *,
    not_null: Sequence[str] = (),
    unit: TimeUnit | None = None,
    **members: object | None,
) -> dict[str, Any]:
    """Return the definition that the options of a command line describe.

    Args:
        columns: `name:type` of each.
        schema: instead of them, as `read_definition` takes it.
        not_null: names of columns that allow no NULL; the time column never does.
        unit: unit of integers that are sent for timestamps.
        members: others, such as `time` and `retention`; None: not given. They override those of a JSON file.

    Raises:
        DefinitionError: neither or both of `columns` and `schema`, or one of them is unclear.
    """
    if bool(columns) == (schema is not None):
        raise DefinitionError(
            "Pass the columns by --column name:type, once for each, or by --schema."
        )
    given = (
        {"columns": [_column_option(text) for text in columns]}
        if schema is None
        else read_definition(schema)
    )
    named = {name: value for name, value in members.items() if value is not None}
    time = named.get("time", given.get("time"))
    if time is not None:
        names = [column.name for column in columns_of(given)]
        named["time"] = time = column_named(str(time), names, option="--time")
    declared = columns_of({**given, "time": time})
    unknown = [name for name in not_null if name not in {column.name for column in declared}]
    if unknown:
        raise DefinitionError(f"--not-null names {unknown[0]!r}, which is none of the columns.")
    made = [
        dataclasses.replace(
            column,
            nullable=column.nullable and column.name not in not_null,
            unit=unit if unit and column.type is ColumnType.TIMESTAMP else column.unit,
        )
        for column in declared
    ]
    kept = {name: value for name, value in given.items() if name != "columns"}
    return definition_body(made, **{**kept, **named})


def columns_to_add(
    given: Sequence[str], *, unit: TimeUnit | None, alone: bool
) -> list[dict[str, Any]]:
    """Return the columns that `--add` names, `name:type` each.

    Args:
        given: the values of the option.
        unit: unit of integers that are sent for those that are timestamps.
        alone: whether no option stands beside it that says how a stream is declared.

    Raises:
        DefinitionError: one does not stand beside it, or a value or a type is none.
    """
    if not alone:
        raise DefinitionError(
            "--add gives columns to a stream that is there: of the options that declare one, --unit alone goes with it."
        )
    columns = [_column_option(text, "--add") for text in given]
    return [
        _column_body(
            dataclasses.replace(
                column, unit=unit if column.type is ColumnType.TIMESTAMP else column.unit
            )
        )
        for column in columns_of({"columns": columns})
    ]


def _column_option(given: str, option: str = "--column") -> dict[str, str]:
    name, colon, kind = given.rpartition(":")
    if not (name and colon and kind):
        raise DefinitionError(f"{option} is {given!r}: expected name:type, such as ts:timestamp.")
    return {"name": name, "type": kind.strip()}


def column_named(given: str, names: Iterable[str], *, option: str) -> str:
    """Return the column that an option names, in any case where that is clear, as in SQL.

    Raises:
        DefinitionError: there is no such column; names the nearest, and all.
    """
    listed = list(names)
    if given in listed:
        return given
    alike = [name for name in listed if name.casefold() == given.casefold()]
    if len(alike) == 1:
        return alike[0]
    folded = {name.casefold(): name for name in listed}
    near = difflib.get_close_matches(given.casefold(), folded, n=1)
    meant = f" Did you mean {folded[near[0]]!r}?" if near else ""
    raise DefinitionError(
        f"There is no column {given!r} for {option}.{meant} The columns are {', '.join(listed)}."
    )


def columns_of(definition: Mapping[str, Any]) -> tuple[ColumnSchema, ...]:
    """Return the columns of a definition, or of a service's description of a stream.

    Raises:
        DefinitionError: a member is missing or malformed.
    """
    time = definition.get("time")
    columns = definition.get("columns")
    if not isinstance(columns, Sequence) or isinstance(columns, str) or not columns:
        raise DefinitionError('The definition has no list "columns".')
    parsed = []
    for column in columns:
        if not isinstance(column, Mapping) or not isinstance(column.get("name"), str):
            raise DefinitionError(
                f'{column!r} is not a column: write {{"name": ..., "type": ...}}.'
            )
        name = column["name"]
        nullable = column.get("nullable")
        nullable = name != time if nullable is None else bool(nullable)
        kind = _type_named(str(column.get("type")), name)
        parsed.append(ColumnSchema(name, kind, nullable, _unit_named(column.get("unit"), name)))
    return tuple(parsed)


def definition_body(columns: Sequence[ColumnSchema], **members: object | None) -> dict[str, Any]:
    """Return the body of PUT, with these columns and the `members` that are not None."""
    body: dict[str, Any] = {"columns": [_column_body(column) for column in columns]}
    return body | {name: value for name, value in members.items() if value is not None}


def _column_body(column: ColumnSchema) -> dict[str, Any]:
    body: dict[str, Any] = {
        "name": column.name,
        "type": column.type.value,
        "nullable": column.nullable,
    }
    return body if column.unit is None else {**body, "unit": column.unit.value}


def _unit_named(given: object, column: str) -> TimeUnit | None:
    """Return the unit of integers for a timestamp; None: the definition has none."""
    try:
        return None if given is None else TimeUnit(str(given))
    except ValueError:
        expected = ", ".join(TimeUnit)
        raise DefinitionError(
            f"Column {column!r} has the unit {given!r}: expected one of {expected}."
        ) from None


def _type_named(given: str, column: str) -> ColumnType:
    """Return the type with this name, on the wire or in SQL."""
    kind = _SQL_TYPES.get(given.lower())
    if kind is not None:
        return kind
    try:
        return ColumnType(given.lower())
    except ValueError:
        expected = ", ".join(ColumnType)
        raise DefinitionError(
            f"Column {column!r} has the type {given!r}: expected one of {expected}."
        ) from None


def _from_file(path: Path) -> dict[str, Any]:
    try:
        definition = orjson.loads(path.read_bytes())
    except OSError as error:
        raise DefinitionError(f"{path} cannot be read: {error.strerror or error}.") from error
    except orjson.JSONDecodeError as error:
        raise DefinitionError(f"{path} is not JSON: {error}.") from error
    if not isinstance(definition, dict):
        raise DefinitionError(f'{path} is not an object with "columns".')
    columns_of(definition)
    return definition
