"""Definitions of streams from text and from files."""

import orjson
import pytest

from psoup.client.errors import DefinitionError
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.definition import columns_of, definition_body, parse_columns, read_definition


def test_parse_columns_of_text_gives_names_types_and_nullability():
    """Names on the wire and names in SQL, quoted names, NOT NULL, any blanks."""
    found = parse_columns('ts timestamp NOT NULL, "id.orig h" VARCHAR,\n mag float64 , n BIGINT')
    expected = (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("id.orig h", ColumnType.STRING),
        ColumnSchema("mag", ColumnType.FLOAT64),
        ColumnSchema("n", ColumnType.INT64),
    )
    assert expected == found
    assert expected == columns_of(definition_body(found, time="ts", clock=None))


@pytest.mark.parametrize(
    "text", ["", "a", "a int64 b", "a int32", 'a int64, "b', "a int64,, b int64"]
)
def test_parse_columns_of_unclear_text_is_refused(text):
    """What is not a list of columns says where it is not."""
    with pytest.raises(DefinitionError):
        parse_columns(text)


def test_read_definition_of_a_file_keeps_every_member(tmp_path):
    """A JSON file as in PUT travels whole; its time column is not nullable by default."""
    definition = {
        "columns": [{"name": "ts", "type": "timestamp"}, {"name": "n", "type": "int64"}],
        "time": "ts",
        "retention": {"rows": 5},
    }
    path = tmp_path / "s.json"
    path.write_bytes(orjson.dumps(definition))
    assert definition == read_definition(str(path))
    assert [False, True] == [column.nullable for column in columns_of(definition)]


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", '{"columns":[{"name":1}]}', '{"columns":"ts"}']
)
def test_read_definition_of_a_broken_file_is_refused(tmp_path, content):
    """A file that is not a definition is refused before anything is sent."""
    path = tmp_path / "s.json"
    path.write_text(content)
    with pytest.raises(DefinitionError):
        read_definition(str(path))
    with pytest.raises(DefinitionError):
        read_definition(str(tmp_path / "none.json"))


def test_units_of_timestamps_are_part_of_a_definition():
    """They come back as they were written; a unit that is none is named with its column."""
    columns = [{"name": "ts", "type": "timestamp", "unit": "ms"}, {"name": "n", "type": "int64"}]
    body = definition_body(columns_of({"columns": columns, "time": "ts"}), time="ts")
    assert ["ms", None] == [column.get("unit") for column in body["columns"]]
    columns[0]["unit"] = "h"
    with pytest.raises(DefinitionError, match="'ts' has the unit 'h'"):
        columns_of({"columns": columns})
