"""Plain JSON text read straight to columns, against Python's own parser: it reads no body that says something else."""

import json
import struct

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, strategies as st

from psoup.engine import limits
from psoup.engine.kernels import json_bodies, json_rows, json_values
from psoup.engine.kernels.json_bodies import FewCells, Form
from psoup.engine.tuples import json_text
from psoup.engine.tuples.arrow import ARROW_TYPES, arrow_schema, encode_batch
from psoup.engine.tuples.few_rows import FewRowsReader
from psoup.engine.tuples.json_text import arrays_from_json_text
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamSchema
from psoup.engine.tuples.time_unit import COARSE_COUNTS, TimeUnit
from tests.engine.kernels import twins
from tests.engine.tuples.plain_json import RefusedError, columns_of

SCHEMA = StreamSchema(
    "s",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        *(ColumnSchema(kind.value, kind) for kind in ColumnType),
        ColumnSchema("é", ColumnType.INT64),
    ),
    time=None,
    clock=ClockKind.SERVER,
)
FEW_ROWS = FewRowsReader(SCHEMA)
NAMES = [column.name for column in SCHEMA.columns]
FORMS = list(Form)
INSTANTS = [
    "2026-11-21T10:05:00.123456Z", "2026-11-21t10:05:00z", "2024-02-29 23:59:59.5+01:30", "1969-12-31T23:59:59.000001-00:00",
    "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999Z", "2000-02-29T00:00:00+23:59", "1900-03-01T12:00:00-12:00",
    "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59.999999-00:01", "2023-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
    "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-01-00T00:00:00Z", "2026-04-31T00:00:00Z", "0000-01-01T00:00:00Z",
    "2026-11-21T24:00:00Z", "2026-11-21T10:60:00Z", "2026-11-21T10:05:60Z", "2026-11-21T10:05:00", "2026-11-21T10:05:00.Z",
    "2026-11-21T10:05:00.1234567Z", "2026-11-21T10:05:00+24:00", "2026-11-21T10:05:00+01:60", "2026-11-21T10:05:00+0100",
    "2026-11-21T10:05Z", "2026-11-21", "2026/11/21T10:05:00Z", "2026-11-21T10-05-00Z", "+026-11-21T10:05:00Z", "",
    "2026-11-21T10:05:00Zx", "2026-11-21T10:05:00.12é", "2O26-11-21T10:05:00Z", "2026-11-21T10:05:00+0x:00", "2026-11-21T10:05:00-01:x0",
]  # fmt: skip
NUMBERS = [
    "0", "-0", "7", "-7", "00", "01", "-", "+1", "1.", ".5", "1e", "1e+", "0.0", "-0.0", "1e5", "1E-5", "1.5e+3", "0.1", "1e22", "1e23",
    "123456789012345678", "999999999999999999", "9223372036854775807", "9223372036854775808", "-9223372036854775807",
    "-9223372036854775808", "-9223372036854775809", "18446744073709551616", "12345678901234567890123", "9007199254740992",
    "9007199254740993", "-9007199254740992", "-9007199254740993", "9007199254740993.0", "0.30000000000000004", "1e308", "1e309",
    "2.2250738585072014e-308", "4.9e-324", "1e-400", "8.41e21", "1.7976931348623157e308", "0." + "1" * 30, "0." + "1" * 31, "1" * 32,
    "1" * 33, "1e00000000000000000000001", "1e99999999999999999999", "NaN", "Infinity", "1_0", "0x1", "1 2",
]  # fmt: skip
WORDS = ["null", "true", "false", "nul", "True", "truex", "nulll", "[]", "{}", "[1]", '{"a":1}', '"', "é", ""]  # fmt: skip
TEXTS = [
    '""', '"a"', '"é"', '"' + "é" * 4_096 + '"', '"' + "x" * 8_193 + '"', '"a,b]}"', '"\\n"', '"\\u00e9"', '"\\ud800"', '"\t"', '"\x7f"',
    '"null"', '"5"', '"2026"', "'a'", '"\\\\"', '"a\\"', '"\\""', '"\\x"', '"\\', '"\\u00e"', '"\\u0000"', '"\\ud83d\\ude00"', '"\\ude00\\ud83d"',
    '"\\\n"', '"' + "\\u00e9" * 4_096 + '"', '"' + "\\u00e9" * 4_097 + '"', '"' + "\\n" * 8_192 + '"', '"' + "\\u000a" * 10_923 + '"', '"' + "\\u0061" * 8_192 + '"', '"' + "\\u0061" * 10_922 + 'a"', '"é\\/"',
]  # fmt: skip
LITERALS = [*NUMBERS, *WORDS, *TEXTS, *(f'"{text}"' for text in INSTANTS)]
PIECES = st.sampled_from([*LITERALS, ",", ":", "{", "}", "[", "]", "\n", "\r", " ", "\t", "\0", "\\", '"ts"', '"int64"', '"x"'])  # fmt: skip
FITTING = {
    ColumnType.INT64: st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-300, 300),
    ColumnType.FLOAT64: st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(2**53), 2**53) | st.integers(-9999, 9999).map(lambda i: i / 100),
    ColumnType.BOOL: st.booleans(),
    ColumnType.STRING: st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6),
    ColumnType.TIMESTAMP: st.integers(limits.TIMESTAMP_US_MIN, limits.TIMESTAMP_US_MAX) | st.sampled_from(INSTANTS[:8]),
}  # fmt: skip


@st.composite
def fitting_rows(draw):
    """Draw rows that fit the stream: members in any order, nullable ones NULL or left out."""
    names = draw(st.permutations(NAMES))
    rows = []
    for _ in range(draw(st.integers(0, 5))):
        row = {}
        for name in names if draw(st.integers(0, 3)) else draw(st.permutations(NAMES)):
            column = SCHEMA.columns[NAMES.index(name)]
            how = draw(st.integers(0, 7)) if column.nullable else 7
            if how > 1:
                row[name] = draw(FITTING[column.type])
            elif how:
                row[name] = None
        rows.append(row)
    return rows


def written(rows, form, *, spaces=False, ascii_only=False):
    """Return the rows as a body."""
    marks = (" , ", "\t: ") if spaces else (",", ":")

    def dumps(value):
        return json.dumps(value, ensure_ascii=ascii_only, separators=marks)

    if form is Form.LINES:
        return (" \n" if spaces else "\n").join(map(dumps, rows)).encode()
    if form is Form.ARRAY:
        return dumps(rows).encode()
    names = [n for n in NAMES if n == "ts" or any(n in row for row in rows)]
    return dumps({name: [row.get(name) for row in rows] for name in names}).encode()


def values(array):
    """Return an array's values as columns_of has them; floats by their bits, which tell zeros apart."""
    if array.type == ARROW_TYPES[ColumnType.TIMESTAMP]:
        array = array.cast("int64")
    return list(map(plain, array.to_pylist()))


def plain(value):
    return struct.pack("<d", value) if isinstance(value, float) else value


def expected(body, form):
    """Return the columns that a body says, or None where it is refused."""
    try:
        return [list(map(plain, one)) for one in columns_of(body, SCHEMA, form.name)]
    except (RefusedError, ValueError, OverflowError, RecursionError):
        return None


def check(body, form):
    """Assert that a body is left alone, or read as what it says; return whether it was read."""
    arrays = arrays_from_json_text(body, SCHEMA, form)
    if arrays is None:
        check_few(body, form, None)
        return False
    for array in arrays:
        array.validate(full=True)
    check_few(body, form, arrays)
    assert [ARROW_TYPES[c.type] for c in SCHEMA.columns] == [array.type for array in arrays]
    assert expected(body, form) == list(map(values, arrays))
    return True


def check_few(body, form, arrays):
    """Assert that few rows become the bytes that Arrow writes of their columns, or are left alone."""
    if form is Form.COLUMNS:
        return
    found = FEW_ROWS.read(body, form, latest_us=limits.TIMESTAMP_US_MAX)
    is_plain = arrays is not None and len(arrays[0]) > 0 and b"\\" not in body
    if is_plain and not any(us in COARSE_COUNTS for us in instants(arrays)):
        assert found is not None, body
    if found is not None:
        assert arrays is not None, body
        batch = pa.RecordBatch.from_arrays(arrays, schema=arrow_schema(SCHEMA))
        assert (len(batch), encode_batch(batch)) == found


def instants(arrays):
    """Return all instants of a batch, in microseconds."""
    dated = [array for array in arrays if array.type == ARROW_TYPES[ColumnType.TIMESTAMP]]
    return [us for array in dated for us in array.cast("int64").drop_null().to_pylist()]


def few_plainly(reader, body, form):
    """Read a small body by the Python function of its kernel; nothing outside of an array can be touched."""
    columns: json_rows.Columns = reader._held
    text = json_bodies.text_of(body)
    room = json_bodies.room_for(text, form) - (form is Form.ARRAY)  # each row begins with a brace
    cells = json_bodies.cells_for(room * columns.width)
    rows = json_rows.few(
        form is Form.LINES, Walled(text), len(body),
        Walled(columns.names), Walled(columns.name_at), Walled(columns.kinds), Walled(columns.nullable),
        Walled(columns.follows.copy()), Walled(columns.given.copy()), columns.width, *columns.bounds,
        Walled(cells.values), Walled(cells.floats), Walled(cells.states), room,
    )  # fmt: skip
    return FewCells(rows, room, bytearray(cells.values), bytearray(cells.states))


class Walled:
    """An array as kernels see it through its address, but that what lies outside of it cannot be touched."""

    def __init__(self, array):
        self._array = array

    def __getitem__(self, at):
        assert 0 <= at < len(self._array)
        return self._array[at]

    def __setitem__(self, at, what):
        assert 0 <= at < len(self._array)
        self._array[at] = what


@pytest.fixture(params=["compiled", "plain"])
def kernels(request, monkeypatch):
    """Run the kernels as they are, or each of them as the Python function it was compiled from."""
    if request.param == "plain":
        for module in (json_rows, json_values):
            for name, one in list(vars(module).items()):
                if hasattr(one, "py_func"):
                    monkeypatch.setattr(module, name, twins.plainly(one))
        monkeypatch.setattr(json_text, "gather", json_rows.gather)
        monkeypatch.setattr(json_bodies, "address", Walled)
        monkeypatch.setattr(json_bodies.FewReader, "read", few_plainly)


@given(
    rows=fitting_rows(), form=st.sampled_from(FORMS), spaces=st.booleans(), ascii_only=st.booleans()
)
def test_oracle_rows_written_plainly_are_read(rows, form, spaces, ascii_only):
    """Rows are read, whatever their order, their texts, what is left out and the white space between."""
    body = written(rows, form, spaces=spaces, ascii_only=ascii_only)
    if form is Form.COLUMNS and not rows:
        body = b'{"ts":[]}'
    body = body.replace(rb"\u00e9", "é".encode())  # names, of which one has it
    assert check(body, form), body


@given(rows=fitting_rows(), form=st.sampled_from(FORMS), data=st.data())
def test_oracle_bodies_changed_anywhere_are_left_alone_or_read_as_they_are(rows, form, data):
    """A piece put in, or bytes taken out, at any place: nothing is read but what Python's parser reads."""
    body = written(rows, form, spaces=data.draw(st.booleans()))
    for _ in range(data.draw(st.integers(1, 2))):
        begin = data.draw(st.integers(0, len(body)))
        past = min(len(body), begin + data.draw(st.integers(0, 3)))
        body = body[:begin] + data.draw(PIECES | st.just("")).encode() + body[past:]
    assert not check(body, form) or expected(body, form) is not None, "read, so it is JSON"


@pytest.mark.parametrize("kind", list(ColumnType))
@pytest.mark.parametrize("form", FORMS)
def test_oracle_values_of_every_spelling_are_left_alone_or_read_as_they_are(kernels, kind, form):
    """Each literal, as a value of each type, says what it says to Python, or nothing."""
    read = 0
    for literal in LITERALS:
        row = f'{{"ts":0,"{kind}":{literal}}}'
        column = f'{{"ts":[0],"{kind}":[{literal}]}}'
        body = {Form.LINES: row, Form.ARRAY: f"[{row}]", Form.COLUMNS: column}[form].encode()
        is_read = check(body, form)
        read += is_read
        rare = literal == "-9223372036854775808"
        assert is_read or rare or expected(body, form) is None, literal
    assert read > 2


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (b"", Form.LINES), (b"\n \r\n\t", Form.LINES), (b'{"ts":1}\n\n {"ts":2} \r\n', Form.LINES), (b"[]", Form.ARRAY),
        (b" [ ] ", Form.ARRAY), (b'{"string":"","bool":true,"float64":1.5,"int64":-1,"ts":1,"timestamp":2,"\xc3\xa9":3}', Form.LINES), (b'\n{"ts":1}\n', Form.ARRAY), (b'[{"ts":1},\n{"ts":2}]', Form.ARRAY),
        (b'{"ts":[]}', Form.COLUMNS), (b' {"ts" : [ ] , "bool":[]}\n', Form.COLUMNS), (b'{"ts":[1,2],"int64":[null,3]}', Form.COLUMNS),
    ],
)  # fmt: skip
def test_oracle_bodies_at_the_edges_are_read(kernels, body, form):
    """No rows, one row, blank lines, and white space where there may be some."""
    assert check(body, form)


@pytest.mark.parametrize(
    ("body", "form"),
    [
        (b'{"ts":1}{"ts":2}', Form.LINES), (b'{"ts":1},{"ts":2}', Form.LINES), (b'{"ts":1\n}', Form.LINES), (b'[{"ts":1}]', Form.LINES),
        (b'{"ts":1}\0', Form.LINES), (b'{"ts":1}\x0b', Form.LINES), (b'{"ts":1', Form.LINES), (b'{"ts":', Form.LINES), (b'{"ts"', Form.LINES),
        (b'{"ts', Form.LINES), (b'{', Form.LINES), (b'{}', Form.LINES), (b'{"ts":1,}', Form.LINES), (b'{,"ts":1}', Form.LINES),
        (b'{"ts":1,"ts":2}', Form.LINES), (b'{"ts":1,"x":2}', Form.LINES), (b'{"ts":1 "bool":true}', Form.LINES), (b'{ts:1}', Form.LINES),
        (b'{"t\\u0073":1}', Form.LINES), (b'{"ts":null}', Form.LINES), (b'{"ts":1,"string":"\xff"}', Form.LINES),
        (b'{"ts":1,"string":"\xed\xa0\x80"}', Form.LINES), (b'\xef\xbb\xbf{"ts":1}', Form.LINES), (b'{"tsx":1}', Form.LINES),
        (b"", Form.ARRAY), (b"[", Form.ARRAY), (b'[{"ts":1},]', Form.ARRAY), (b'[,{"ts":1}]', Form.ARRAY), (b'[{"ts":1}', Form.ARRAY),
        (b'[{"ts":1}] x', Form.ARRAY), (b'{"ts":1},{"ts":2}', Form.ARRAY), (b'{"ts":1}\n{"ts":2}', Form.ARRAY), (b'[[{"ts":1}]]', Form.ARRAY),
        (b"5", Form.ARRAY), (b"", Form.COLUMNS), (b"{}", Form.COLUMNS), (b"[]", Form.COLUMNS), (b'{"ts":1}', Form.COLUMNS),
        (b'{"ts":[1,2],"bool":[true]}', Form.COLUMNS), (b'{"ts":[1],"ts":[2]}', Form.COLUMNS), (b'{"ts":[1],"x":[2]}', Form.COLUMNS),
        (b'{"bool":[true]}', Form.COLUMNS), (b'{"ts":[1,]}', Form.COLUMNS), (b'{"ts":[,1]}', Form.COLUMNS), (b'{"ts":[1],}', Form.COLUMNS),
        (b'{"ts":[1]', Form.COLUMNS), (b'{"ts":[1}', Form.COLUMNS), (b'{"ts":[1]]', Form.COLUMNS), (b'{"ts":[[1]]}', Form.COLUMNS),
        (b'{"ts":[1]} {}', Form.COLUMNS), (b'{"ts":[1]"bool":[true]}', Form.COLUMNS), (b'{"ts":null}', Form.COLUMNS),
        (b'{"ts":[null]}', Form.COLUMNS),
    ],
)  # fmt: skip
def test_bodies_that_are_not_plain_are_left_alone(kernels, body, form):
    """What is broken, refused or only rare is not read here."""
    assert arrays_from_json_text(body, SCHEMA, form) is None
    check_few(body, form, None)


def test_oracle_bodies_cut_short_anywhere_are_left_alone_or_read_as_they_are(kernels):
    """Within a name, a number, an escape, an instant: nothing behind the padding is touched, and no cell of others."""
    whole = '{"ts":"2026-11-21T10:05:00.5+01:00","int64":-12,"float64":1.5e-3,"bool":true,"string":"\\u00e9","é":null}'
    by_column = '{"ts":[1,"2026-11-21T10:05:00Z"],"string":["a\\n",null],"bool":[true,false],"float64":[1e300,-0.5]}'
    for body, form in (
        (whole, Form.LINES),
        (f"[{whole}, {whole}]", Form.ARRAY),
        (by_column, Form.COLUMNS),
    ):
        encoded = body.encode()
        assert check(encoded, form)
        for cut in range(len(encoded)):
            check(encoded[:cut], form)
            check(encoded[:cut] + b",", form)


def test_bodies_with_too_many_rows_are_left_alone():
    """One row more than a batch may have is for others to refuse."""
    schema = StreamSchema("s", (ColumnSchema("a", ColumnType.INT64),), None, ClockKind.SERVER)
    most = limits.BATCH_ROWS_MAX
    for form, body, more in (
        (Form.LINES, b'{"a":1}\n' * most, b"{}"),
        (Form.ARRAY, b'[{"a":1}' + b',{"a":1}' * (most - 1) + b"]", None),
        (Form.COLUMNS, b'{"a":[1' + b",1" * (most - 1) + b"]}", None),
    ):
        arrays = arrays_from_json_text(body, schema, form)
        assert arrays is not None
        assert [most] == list(map(len, arrays))
        longer = body + more if more else body.replace(b",", b",1," if form is Form.COLUMNS else b",{},", 1)  # fmt: skip
        assert arrays_from_json_text(longer, schema, form) is None, form


def test_names_that_need_escapes_are_left_alone():
    """Of a column whose name JSON cannot hold as it is, no body is read: broken ones would be taken for it."""
    for name in ('a"b', "a\\b"):
        columns = (ColumnSchema(name, ColumnType.INT64),)
        schema = StreamSchema("s", columns, None, ClockKind.SERVER)
        for body in (json.dumps({name: 1}), f'{{"{name}":1}}'):
            assert arrays_from_json_text(body.encode(), schema, Form.LINES) is None
            assert FewRowsReader(schema).read(body.encode(), Form.LINES, latest_us=0) is None


@given(
    value=st.floats(allow_nan=False, allow_infinity=False),
    how=st.sampled_from(["", ".17e", ".3f", ".20g"]),
)
def test_oracle_floats_are_the_nearest_ones(value, how):
    """Every spelling of up to 32 characters is the float that Python reads."""
    text = format(value, how) if how else repr(value)
    body = f'{{"ts":0,"float64":{text}}}'.encode()
    if len(text) <= limits.JSON_NUMBER_LENGTH_MAX and not text.lstrip("-").isdigit():
        assert check(body, Form.LINES), text


def test_memory_under_a_null_is_zero():
    """What a NULL leaves unsaid is the same bytes each time: batches are kept as they are."""
    arrays = arrays_from_json_text(b'{"ts":1}\n{"ts":2,"int64":5}', SCHEMA, Form.LINES)
    assert arrays is not None
    array = arrays[NAMES.index("int64")]
    assert [0, 5] == np.frombuffer(array.buffers()[1], np.int64, count=2).tolist()


def test_few_rows_are_dated_in_their_unit_and_not_past_the_latest_instant():
    """Counts become microseconds; what is no instant, or dated later, is left alone with all rows beside it."""
    columns = (ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False, unit=TimeUnit.S),)
    reader = FewRowsReader(StreamSchema("s", columns, "ts", ClockKind.HIGH_WATER))
    microseconds = (ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),)
    plain = FewRowsReader(StreamSchema("s", microseconds, "ts", ClockKind.HIGH_WATER))
    latest_us = 7 * limits.SECOND_US
    body = b'[{"ts":5},{"ts":7}]'
    expected = plain.read(b'[{"ts":5000000},{"ts":7000000}]', Form.ARRAY, latest_us=latest_us)
    assert expected is not None
    assert expected == reader.read(body, Form.ARRAY, latest_us=latest_us)
    assert reader.read(body, Form.ARRAY, latest_us=latest_us - 1) is None
    assert reader.read(b'{"ts":%d}' % 2**60, Form.ARRAY, latest_us=2**62) is None
    assert plain.read(b'{"ts":1790000000}', Form.ARRAY, latest_us=2**62) is None, (
        "it may be seconds"
    )
