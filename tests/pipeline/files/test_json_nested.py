"""Objects and arrays inside JSON rows, and the features of GeoJSON."""

import pytest

from psoup.pipeline.errors import DataFileError
from tests.pipeline.files.conftest import inferred

NESTED = '{"u":{"id":1,"home":{"city":"x"}},"tags":[1,{"a":2}]}\n{"u":null}\n{"u":{"id":2}}\n'


def test_objects_are_flattened_and_arrays_are_not(write):
    """Names are joined by an underscore; absent members are NULL; both are said."""
    found = inferred(write("a.ndjson", NESTED))
    assert {"u_id": "int64", "u_home_city": "string", "tags": "string"} == found.types
    assert [(1, "x", '[1,{"a":2}]'), (None, None, None), (2, None, None)] == found.rows
    assert "objects are flattened (u, u_home), into the columns u_id, u_home_city" in found.notes[0]
    assert "arrays are kept as JSON text: tags" == found.notes[1]


def test_objects_stay_whole_where_that_is_asked(write):
    """--no-flatten for all, a declared or typed column for one."""
    found = inferred(write("a.ndjson", NESTED), flatten=False)
    assert {"u": "string", "tags": "string"} == found.types
    assert '{"id":1,"home":{"city":"x"}}' == found.rows[0][0]


def test_member_that_is_an_object_in_some_rows_alone_is_text(write):
    """No value is lost, and no column is made of half of them."""
    path = write("a.ndjson", '{"a":{"b":1},"n":1}\n{"a":5,"n":2}\n{"a":null,"n":3}\n')
    found = inferred(path)
    assert {"a": "string", "n": "int64"} == found.types
    assert [(1, '{"b":1}'), (2, "5"), (3, None)] == found.rows


def test_members_that_would_be_one_column_are_refused(write):
    """a.b and a_b in one row: nothing is overwritten."""
    with pytest.raises(DataFileError, match="--no-flatten") as caught:
        inferred(write("a.ndjson", '{"n":1}\n{"a":{"b":1},"a_b":2}\n'))
    assert (2, "a_b") == (caught.value.line, caught.value.column)


@pytest.mark.parametrize("levels", [40, 600, 100_000])
@pytest.mark.parametrize("name", ["a.ndjson", "a.json"])
def test_nesting_without_an_end_is_refused(write, name, levels):
    """A sentence with the line, however deep: in objects and in arrays."""
    for begin, end in (('{"a":', "}"), ("[", "]")):
        content = '{"n":1}\n{"a":' + begin * levels + "1" + end * levels + "}\n"
        with pytest.raises(
            DataFileError, match=r"nested (deeper|too deeply)|depth limit"
        ) as caught:
            inferred(write(name, content))
        assert 2 == caught.value.line


@pytest.mark.parametrize("name", ["a.ndjson", "a.json"])
def test_half_a_surrogate_pair_is_refused(write, name):
    """A whole pair is a letter; half of one cannot be written in UTF-8."""
    found = inferred(write(name, '{"a":"\\ud83d\\ude00"}'))
    assert [("\U0001f600",)] == found.rows
    with pytest.raises(DataFileError, match=r"surrogate|not JSON"):
        inferred(write(name, '{"a":1}\n{"a":["\\ud83d"]}'))


FEATURES = (
    '{"type":"FeatureCollection","metadata":{"count":3},"features":[\n'
    '{"type":"Feature","id":"us1","properties":{"mag":1.5,"lon":"kept","net":{"x":1}},'
    '"geometry":{"type":"Point","coordinates":[-122.5,38.1,7.2]}},\n'
    '{"type":"Feature","properties":{"mag":null,"id":7},"geometry":null},\n'
    '{"type":"Feature","properties":null,"geometry":{"type":"LineString","coordinates":[[0,0],[1,1]]}}\n'
    '],"bbox":[1,2]}'
)


@pytest.mark.parametrize("name", ["a.json", "a.geojson", "a.geojson.gz"])
def test_features_are_rows(write, name):
    """Properties, id, a point's coordinates; another shape is text; a property of a taken name is renamed."""
    found = inferred(write(name, FEATURES))
    assert {
        "id": "string",
        "mag": "float64",
        "properties_lon": "string",
        "net_x": "int64",
        "lon": "float64",
        "lat": "float64",
        "depth": "float64",
        "geometry": "string",
    } == found.types
    line = '{"type":"LineString","coordinates":[[0,0],[1,1]]}'
    assert [
        ("us1", 1.5, "kept", 1, -122.5, 38.1, 7.2, None),
        ("7", None, None, None, None, None, None, None),
        (None, None, None, None, None, None, None, line),
    ] == found.rows
    assert found.notes[0].startswith("each feature is a row")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (FEATURES[: FEATURES.rindex("\n")], "cut short"),
        (FEATURES[:300], "not JSON"),
        ('{"type":"FeatureCollection","features":[{"type":"Point"}]}', "not GeoJSON"),
        ('{"type":"FeatureCollection","features":[7]}', "has to be an object"),
        ('{"type":"FeatureCollection"}', "not GeoJSON"),
        ("[1]", "has to be an object"),
    ],
)
def test_what_is_not_geojson_is_refused(write, content, reason):
    """Cut short, or something else than features."""
    with pytest.raises(DataFileError, match=reason):
        inferred(write("a.geojson", content))
