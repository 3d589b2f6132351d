"""Reading rows in bulk, against reading them one by one: it accepts no more, and refuses no less."""

import json
from random import Random
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, assume, example, given, settings, strategies as st

from psoup.app.wire.rows import (
    columns as tuples_columns,
    json as tuples_json,
    json_text as json_body,
)
from psoup.app.wire.rows.body import ARROW, COLUMNS, JSON, NDJSON, read_rows
from psoup.app.wire.rows.json_text import find_long_number
from psoup.app.wire.rows.values import RFC3339, fast_column, judge, texts_fit, timestamps_from_texts
from psoup.engine import limits
from psoup.engine.errors import EngineError
from psoup.engine.tuples.arrow import ARROW_TYPES, arrow_schema, encode_batch
from psoup.engine.tuples.digest import digest_rows
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema

SCHEMA = StreamSchema(
    "s",
    tuple(ColumnSchema(kind.value, kind) for kind in ColumnType),
    time=None,
    clock=ClockKind.SERVER,
)
MARK = json_body._BETWEEN.decode()
PIECES = st.sampled_from(
    ["{", "}", "[", "]", ",", ":", '"', "0", "1", MARK, MARK + "0", MARK[:-1], "8.260941335707461527e18",
     '{"a":1}', '{"a":"x', '"b":2}', "null", "\n", "\n", " ", "\r", "\\", "\t", '{"a":[1', "2]}", "],["]
)  # fmt: skip
VALUES = st.one_of(
    st.none(), st.booleans(), st.text(max_size=3), st.floats(allow_nan=False, allow_infinity=False),
    st.integers(-(2**64), 2**64), st.sampled_from([2**53, 2**53 + 1, 2**63, 1.0, limits.TIMESTAMP_US_MAX]),
    st.sampled_from(["2026-11-21T10:05:00Z", "2026-11-21t10:05:00.5+01:00", "2026-02-30T00:00:00Z",
                     "2026-11-21T10:05:00", "0001-01-01T00:00:00+01:00", "a\0b", "é" * 5_000]),
    st.lists(st.integers(), max_size=1),
)  # fmt: skip


@given(pieces=st.lists(PIECES, max_size=12))
def test_differential_lines_read_at_once_are_the_lines_read_one_by_one(pieces):
    """Whatever stands in a body, and wherever its lines end: no line is read that is not one JSON text."""
    body = "".join(pieces).encode()
    rows = json_body._loads_at_once(body)
    if rows is not None:
        lines = body.removesuffix(b"\n").split(b"\n")
        assert list(map(orjson.loads, lines)) == rows


@pytest.mark.parametrize(
    "body",
    [b'{"a":1}\n{"b":"x"}', b'{"a":1}\n{"b":"x"}\n', b" {} \r\n{}\r\n", b"{}", b"1\n[2]\nnull"],
)
def test_lines_that_are_json_are_read_at_once(body):
    """The fast way is taken for what it is meant for."""
    assert json_body._loads_at_once(body) == json_body._loads_by_line(body)


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":1\n"b":2}\n{"c":1},{"d":2}',
        b'{"a":[1\n2],"a":5}\n{"c":1},%s,{"d":2}' % MARK.encode(),
        b'{"a":[1\n2]}\n{"c":1},0,{"d":2}',
        b'{"a":"x\ny"}\n{}',
        b"{},{}",
        b"{}\n\n{}",
        b"{}],[{}\n{}",
        b"",
    ],
)
def test_lines_that_are_not_one_json_text_each_are_read_one_by_one(body):
    """Values over the end of a line, several in one line, and lines of none are left to the strict way."""
    assert json_body._loads_at_once(body) is None


@given(kind=st.sampled_from(list(ColumnType)), values=st.lists(VALUES, min_size=1, max_size=3))
def test_differential_few_values_make_the_column_that_many_make(kind, values):
    """A short column is accepted when a long one of the same values is, and holds the same."""
    column = ColumnSchema("c", kind)
    many = fast_column(column, values * 20)
    few = fast_column(column, values)
    wrong = any(judge(column, value) is not None for value in values)
    assert (wrong, wrong) == (few is None, many is None)
    if few is not None and many is not None:
        assert pa.concat_arrays([few] * 20).equals(many)
        assert ARROW_TYPES[kind] == few.type


@pytest.mark.parametrize(
    "text",
    ["2026-11-21T10:05Z", "2026-11-21T10:05.5+01:00", "2026-11-21Z", "2026-11-21T10:05:00Z\n", "2026-11-21T10:05:00+01:60",
     "2026-11-21T10:05:00+24:00", "0000-12-31T23:59:59-23:59", "0000-12-31T23:59:59-00:00", "2026-11-21T24:00:00Z", "2016-12-31T23:59:60Z"],
)  # fmt: skip
def test_instants_that_are_none_are_refused_in_any_number(text):
    """Without seconds, past the calendar or the clock, in the year 0: refused alone, among many, beside integers."""
    column = ColumnSchema("c", ColumnType.TIMESTAMP)
    assert judge(column, text) is not None
    for values in ([text], [text] * 20, [text, 5] * 20):
        assert fast_column(column, values) is None


@given(texts=st.lists(st.sampled_from(["2026-11-21T10:05:00.123456Z", "2026-11-21T10:05:00.12345é",
    "0000-00-00T00:00:00.000000Z", "2026-11-21 10:05:00.123456Z", "2026-11-21T10:05:00.123456z", "2026-11-21T10:05:00Z",
    "2026-11-21T10:05:00.1+01:00Z", "2026-11-21T10:05:0:.123456Z", "2026-11-21T10:05:0/.123456Z", None]), max_size=4),
    data=st.data())  # fmt: skip
def test_differential_usual_instants_are_judged_like_all(texts, data):
    """The short cut for the usual form says what the pattern of RFC 3339 and the calendar say."""
    texts = [
        text
        if text is None or data.draw(st.booleans())
        else text[:5] + data.draw(st.characters(codec="ascii", exclude_characters="\0")) + text[6:]
        for text in texts
    ]
    array = pa.array(texts, pa.string())
    matches = all(pc.match_substring_regex(array, RFC3339).to_pylist()[i] for i, t in enumerate(texts) if t is not None)  # fmt: skip
    found = timestamps_from_texts(array)
    column = ColumnSchema("c", ColumnType.TIMESTAMP)
    assert all(judge(column, text) is None for text in texts) == (found is not None)
    assert matches or found is None


@given(texts=st.lists(st.none() | st.sampled_from(["", "a", "a\0", "é" * 4_096, "é" * 4_096 + "a"])), cut=st.integers(0, 3))  # fmt: skip
@settings(deadline=None)
def test_texts_fit_looks_at_each_value_and_at_nothing_else(texts, cut):
    """NUL and length are those of the values of an array, also of a slice of it."""
    array = pa.array(texts, pa.string()).slice(cut)
    expected = all(t is None or ("\0" not in t and len(t.encode()) <= 8_192) for t in texts[cut:])
    assert expected == texts_fit(array)


def test_texts_fit_does_not_count_what_lies_under_a_null():
    """A NULL whose bytes hold NUL is a NULL."""
    offsets, data = pa.array([0, 1, 3], pa.int32()).buffers()[1], pa.py_buffer(b"a\0\0")
    array = pa.StringArray.from_buffers(2, offsets, data, pa.py_buffer(b"\1"))
    assert ["a", None] == array.to_pylist()
    assert texts_fit(array)


def test_texts_fit_looks_at_no_bytes_behind_the_last_offset():
    """Senders say how long a buffer is: Arrow takes one that ends within an offset behind those that count."""
    offsets, data = pa.py_buffer(np.array([0, 1], np.int32).tobytes() + b"\0"), pa.py_buffer(b"a")
    array = pa.StringArray.from_buffers(1, offsets, data)
    array.validate(full=True)
    assert texts_fit(array)


@given(texts=st.lists(st.sampled_from(["1" * 32, "1" * 33, "-", "e", '"', "\\", " ", "x"])))
def test_numbers_too_long_are_found_only_in_runs_that_are(texts):
    """Without a run of too many number characters there is no such literal."""
    body = "".join(texts).encode()
    runs = "".join(c if c in "0123456789+-.eE" else " " for c in body.decode()).split()
    assume(max(map(len, runs), default=0) <= limits.JSON_NUMBER_LENGTH_MAX)
    assert find_long_number(body) is None


@pytest.fixture(params=["quickly", "in full"])
def reading(request, monkeypatch):
    """Read bodies as they are read, or all of them the way of those that are not written plainly."""
    if request.param == "in full":
        for module in (tuples_json, tuples_columns):
            monkeypatch.setattr(module, "arrays_from_json_text", lambda *_: None)


@pytest.mark.parametrize("media_type", [JSON, NDJSON])
def test_rows_are_read_again_once_whatever_is_in_doubt(monkeypatch, media_type):
    """Values that are to be seen as they were written cost one more reading of their row, not one each."""
    read = []

    def exact(row, text):
        read.append(text)
        return json.loads(text)

    monkeypatch.setattr(json_body, "_exact", exact)
    columns = tuple(ColumnSchema(name, ColumnType.FLOAT64) for name in "abc")
    schema = StreamSchema("s", columns, time=None, clock=ClockKind.SERVER)
    row = f'{{"a":{2**64},"b":1e19,"c":{-(2**70)},"x":[{2**64}],"y":[1],"z":{2**64}}}'
    body = f"{row}\n{row}" if media_type == NDJSON else f"[{row},{row}]"
    with pytest.raises(EngineError) as refused:
        read_rows(body.encode(), media_type, schema, now_us=0)
    assert 2 * 5 == refused.value.extras["errors_total"]
    assert [row.encode()] * 2 == read


@given(
    rows=st.lists(st.dictionaries(st.sampled_from([*map(str, ColumnType), "x"]), VALUES), max_size=4),
    repeat=st.sampled_from([1, 30]),
)  # fmt: skip
@example(rows=[{"float64": [2**64]}], repeat=1)
@example(rows=[{"float64": 2**64}, {"float64": -(2**63) - 1}], repeat=30)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_differential_rows_of_any_shape_are_accepted_or_refused_like_each_alone(
    reading, rows, repeat
):
    """A batch is accepted when each of its rows is, and holds then what these hold."""
    lines = [json.dumps(one, ensure_ascii=False, separators=(",", ":")).encode() for one in rows]
    alone = []
    for line in lines:
        try:
            alone.append(read_rows(line, NDJSON, SCHEMA, now_us=0))
        except EngineError:
            alone.append(None)
    body = b"".join(line + b"\n" for line in lines * repeat)
    if None in alone or not lines:
        with pytest.raises(EngineError):
            read_rows(body, NDJSON, SCHEMA, now_us=0)
        return
    whole = read_rows(body, NDJSON, SCHEMA, now_us=0)
    table = pa.Table.from_batches(alone * repeat, arrow_schema(SCHEMA)).combine_chunks()
    assert table.equals(pa.Table.from_batches([whole]))
    assert whole.equals(read_rows(encode_batch(whole), ARROW, SCHEMA, now_us=0))


@given(
    rows=st.lists(st.dictionaries(st.sampled_from([*map(str, ColumnType)] * 3 + ["x"]), VALUES | st.integers(0, 9)), max_size=4),
    repeat=st.sampled_from([1, 30]), pick=st.randoms(use_true_random=False),
)  # fmt: skip
@example(rows=[{"int64": [10**32]}], repeat=1, pick=Random(0))
@example(rows=[{"int64": 1}, {"x": 10**32}], repeat=30, pick=Random(0))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_differential_columns_are_accepted_or_refused_like_the_rows_they_hold(
    reading, rows, repeat, pick
):
    """JSON by columns says what NDJSON and JSON say: one batch and digest, or one refusal, whatever its place."""
    rows = rows * repeat  # the explicit examples are used again
    names = [name for name in (*map(str, ColumnType), "x") if any(name in one for one in rows)]
    pick.shuffle(names)
    by_column = {name: [one.get(name) for one in rows] for name in names}
    found = [
        _outcome("\n".join(map(json.dumps, rows)) or "\n", NDJSON),
        _outcome(json.dumps(rows), JSON),
        _outcome(json.dumps(by_column), COLUMNS),
    ]
    if "x" in names and not isinstance(found[0], dict):
        assert [["/x"]] * 3 == [sorted({one["pointer"] for one in errors} & {"/x"}) for errors in found]  # fmt: skip
    elif names or not rows:  # without names there is no number of rows
        assert found[0] == found[1] == found[2]


def _outcome(body, media_type):
    """Return a body's rows and digest, or what is wrong with them, or with the body as a whole as a dict."""
    try:
        batch = read_rows(body.encode(), media_type, SCHEMA, now_us=0)
    except EngineError as error:
        if "errors" not in error.extras:
            return {k: v for k, v in error.extras.items() if k not in ("line", "offset")}
        errors: Any = error.extras["errors"]
        return [{k: v for k, v in one.items() if k != "line"} for one in errors]
    return batch.to_pydict(), digest_rows(SCHEMA, batch)
