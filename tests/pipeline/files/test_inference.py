"""What a whole column shows: words for nothing, ways of writing times, delimiters; and what is said of it."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.errors import DataFileError
from psoup.pipeline.files.columns.markers import MARKERS
from psoup.pipeline.files.data_file import DataFile
from psoup.pipeline.files.notes import notes_on
from psoup.pipeline.files.options import EpochUnit, ReadOptions
from psoup.pipeline.files.readers import csv_rows
from tests.pipeline.files.conftest import inferred


@pytest.mark.parametrize("marker", sorted(MARKERS))
@pytest.mark.parametrize("name", ["a.csv", "a.ndjson"])
def test_marker_first_of_all_keeps_the_type_and_is_named(write, name, marker):
    """A word for nothing counts for no type, even as the first value; in a column of text it is a value."""
    csv = f"f,b,t,s\n{marker},true,{marker},{marker}\n1.5,{marker},2024-01-01,x\n"
    ndjson = (
        f'{{"f":"{marker}","b":true,"t":"{marker}","s":"{marker}"}}\n'
        f'{{"f":1.5,"b":"{marker}","t":"2024-01-01","s":"x"}}\n'
    )
    found = inferred(write(name, csv if name == "a.csv" else ndjson))
    assert {"f": "float64", "b": "bool", "t": "timestamp", "s": "string"} == found.types
    day = "2024-01-01 00:00:00.000000Z"
    assert [(None, True, None, marker), (1.5, None, day, "x")] == found.rows
    (note,) = found.notes
    assert note.startswith(f"{marker} is NULL in f (1), b (1), t (1); ")
    assert f"it stays text in s (1), unless --null {marker} is passed" in note


def test_marker_is_text_or_null_as_asked(write):
    """--types keeps it as text, --null makes it NULL in text too: unquoted in a CSV."""
    path = write("a.csv", 'n,s\nNA,NA\n1,"NA"\n,x\n')
    found = inferred(path, types=(("n", ColumnType.STRING),))
    assert [("NA", "NA"), ("1", "NA"), (None, "x")] == found.rows
    assert () == found.notes
    assert [(None, None), (1, "NA"), (None, "x")] == inferred(path, nulls=("NA",)).rows
    path = write("a.ndjson", '{"n":"NA","s":"NA"}\n{"n":1,"s":"x"}\n')
    assert [(None, None), (1, "x")] == inferred(path, nulls=("NA",)).rows


def test_column_of_markers_alone_stays_text_and_is_said(write):
    """Nothing tells what they stand for."""
    found = inferred(write("a.csv", "a,b\nNA,1\nNA,2\n"))
    assert [("NA", 1), ("NA", 2)] == found.rows
    assert ("a holds nothing but NA and stays text; --null NA reads that as NULL",) == found.notes


def test_marker_in_a_declared_column_is_null_too(write):
    """A stream that exists is loaded from a second file as it was from the first."""
    file = DataFile(write("a.csv", "n\n-\n2\n"), ReadOptions())
    (note,) = notes_on(file.survey({"n": ColumnType.INT64}), time=None)
    assert "- is NULL in n (1)" in note


@pytest.mark.parametrize(
    ("values", "form", "first"),
    [
        (["01/02/1965", "13/02/1965"], "%d/%m/%Y", "1965-02-01 00:00:00.000000Z"),
        (["01/02/1965", "02/13/1965"], "%m/%d/%Y", "1965-01-02 00:00:00.000000Z"),
        (["1-2-1965 3:04", "13-2-1965"], "%d-%m-%Y %H:%M", "1965-02-01 03:04:00.000000Z"),
        (["3/14/2025 1:20", "3/1/2025 13:00"], "%m/%d/%Y %H:%M", "2025-03-14 01:20:00.000000Z"),
        (["3/14/2025 1:20 pm"], "%m/%d/%Y %I:%M %p", "2025-03-14 13:20:00.000000Z"),
        (["3/14/2025 0:20 +05:30"], "%m/%d/%Y %H:%M %z", "2025-03-13 18:50:00.000000Z"),
        (["2001/01/01 00:47"], "%Y/%m/%d %H:%M", "2001-01-01 00:47:00.000000Z"),
        (["2001-1-1 0:47"], "%Y-%m-%d %H:%M", "2001-01-01 00:47:00.000000Z"),
        (["01.02.2001"], "%d.%m.%Y", "2001-02-01 00:00:00.000000Z"),
        (["14-Mar-2025"], "%d-%b-%Y", "2025-03-14 00:00:00.000000Z"),
        (["March 4, 2025"], "%b %d, %Y", "2025-03-04 00:00:00.000000Z"),
        (
            ["Thu, 14 Mar 2025 10:00:00 GMT"],
            "%a, %d %b %Y %H:%M:%S %z",
            "2025-03-14 10:00:00.000000Z",
        ),
        (["24/Mar/2018:17:15:20 +0000"], "%d/%b/%Y:%H:%M:%S %z", "2018-03-24 17:15:20.000000Z"),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.ndjson"])
def test_times_are_read_in_the_one_way_that_fits_the_column(
    write, monkeypatch, *, name, values, form, first
):
    """One value above 12 decides for all, however the file is cut; the note names the format and a value."""
    csv = "seen;n\n" + "".join(f"{value};1\n" for value in values)
    ndjson = "".join(f'{{"seen":"{value}","n":1}}\n' for value in values)
    path = write(name, csv if name == "a.csv" else ndjson)
    for block_bytes in (40, 1 << 20):
        monkeypatch.setattr(csv_rows, "BLOCK_BYTES", block_bytes)
        found = inferred(path)
        assert {"seen": "timestamp", "n": "int64"} == found.types
        assert first == found.rows[0][0]
        assert f"seen is read as {form}, such as " in found.notes[-1]


def test_ambiguous_dates_are_never_guessed(write):
    """As the time column they are refused with both formats; elsewhere they stay text, and a note says so."""
    path = write("a.csv", "d,n\n01/02/1965,1\nNA,2\n03/04/1966,3\n")
    with pytest.raises(DataFileError, match="--time-format '%m/%d/%Y' or '%d/%m/%Y'") as caught:
        inferred(path, time="d")
    assert "d" == caught.value.column
    found = inferred(path)
    assert {"d": "string", "n": "int64"} == found.types
    assert "--time-format 'd=%m/%d/%Y' or 'd=%d/%m/%Y'" in found.notes[0]
    found = inferred(path, time_formats=(("d", "%d/%m/%Y"),))
    assert ["1965-02-01 00:00:00.000000Z", None] == [row[0] for row in found.rows[:2]]


def test_dates_that_no_one_format_reads_stay_text(write):
    """13/02 and 02/13 in one column: the table names the value that does not fit the others."""
    path = write("a.csv", "d\n13/02/1965\n01/01/1965\n02/13/1965\n")
    (column,) = DataFile(path, ReadOptions()).survey()
    assert (ColumnType.STRING, "'02/13/1965' in line 4 is not timestamp") == (
        column.type,
        column.note,
    )
    with pytest.raises(DataFileError, match="expected %d/%m/%Y") as caught:
        inferred(path, time="d")
    assert 4 == caught.value.line


@pytest.mark.parametrize(
    ("column", "value", "time", "expected"),
    [
        ("date", "20180131", None, "timestamp"),
        ("order_date", "20180131", None, "timestamp"),
        ("OrderDate", "20180131", None, "timestamp"),
        ("candidate", "20180131", None, "int64"),
        ("id", "20180131", None, "int64"),
        ("id", "20180131", "id", "timestamp"),
        ("date", "20180132", None, "int64"),
        ("date", "30180131", None, "int64"),
        ("date", "201801", None, "int64"),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.ndjson"])
def test_digits_are_dates_where_the_column_says_so(write, *, name, column, value, time, expected):
    """Ids stay integers: eight digits are a date in the time column, or by the name and all values."""
    content = f"{column}\n20171231\n{value}\n" if name == "a.csv" else f'{{"{column}":{value}}}\n'
    found = inferred(write(name, content), time=time)
    assert {column: expected} == found.types


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson"])
def test_time_is_joined_from_columns(write, name):
    """Numbers go from the year down; a part that is missing leaves no time; parts may be left out."""
    csv = "y,m,d,h,v\n2013,3,1,0,7\n2013,12,31,23,8\n2014,1,1,NA,9\n"
    rows = [line.replace("NA", "null").split(",") for line in csv.splitlines()]
    ndjson = "".join(
        "{" + ",".join(f'"{n}":{v}' for n, v in zip(rows[0], row, strict=True)) + "}\n"
        for row in rows[1:]
    )
    path = write(name, csv if name == "a.csv" else ndjson)
    with pytest.raises(DataFileError, match="Each row needs its time") as caught:
        inferred(path, time="ts", time_parts=("y", "m", "d", "h"))
    assert ((4 if name == "a.csv" else 3), "ts") == (caught.value.line, caught.value.column)
    options = {"time": "ts", "time_parts": ("y", "m", "d")}
    found = inferred(path, **options, skip=frozenset({"m"}) if name == "a.csv" else frozenset())
    assert {"ts": "timestamp", "y": "int64"} == dict(list(found.types.items())[:2])
    days = ["2013-03-01", "2013-12-31", "2014-01-01"]
    assert [f"{day} 00:00:00.000000Z" for day in days] == [row[0] for row in found.rows]
    with pytest.raises(DataFileError, match="no such column for --time"):
        inferred(path, time="ts", time_parts=("y", "zz"))
    with pytest.raises(DataFileError, match="--time NAME=y"):
        inferred(path, time="v", time_parts=("y", "m"))


def test_time_is_joined_from_a_date_and_a_clock(write):
    """The joined text is read as that of one column, or in the format given."""
    path = write("a.csv", "day,clock\n14/03/2025,1:20\n")
    assert (
        "2025-03-14 01:20:00.000000Z"
        == inferred(path, time="at", time_parts=("day", "clock")).rows[0][0]
    )
    asked = (("at", "%d/%m/%Y %M:%H"),)
    found = inferred(path, time="at", time_parts=("day", "clock"), time_formats=asked)
    assert "2025-03-14 20:01:00.000000Z" == found.rows[0][0]


def test_texts_of_parquet_are_times_where_they_are_asked_for(write):
    """Parquet's own types decide, but for the time column: there texts are read as those of a CSV."""
    table = pa.table(
        {"d": ["14/03/2025", "1/4/2025"], "h": [1, 2], "n": ["5", "-"], "s": ["1/2/2025", "NA"]}
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    path = write("a.parquet", sink.getvalue().to_pybytes())
    found = inferred(path, time="d", types=(("n", ColumnType.INT64),))
    assert {"d": "timestamp", "h": "int64", "n": "int64", "s": "string"} == found.types
    assert [
        ("2025-03-14 00:00:00.000000Z", 1, 5, "1/2/2025"),
        ("2025-04-01 00:00:00.000000Z", 2, None, "NA"),
    ] == found.rows
    assert "- is NULL in n (1)" in found.notes[0]
    parts = {"time": "ts", "time_parts": ("d", "h"), "time_formats": (("ts", "%d/%m/%Y %H"),)}
    hours = ["2025-03-14 01:00:00.000000Z", "2025-04-01 02:00:00.000000Z"]
    assert hours == [row[0] for row in inferred(path, **parts).rows]


def test_unit_of_a_column_is_asked_for_by_name(write):
    """One column counts milliseconds, the time column seconds; ISO beside them stays ISO."""
    path = write("a.csv", "t,u,v\n1700000000,1700000000500,2024-01-01\n")
    found = inferred(path, time="t", epoch=EpochUnit.SECONDS, time_formats=(("u", "ms"),))
    expected = (
        "2023-11-14 22:13:20.000000Z",
        "2023-11-14 22:13:20.500000Z",
        "2024-01-01 00:00:00.000000Z",
    )
    assert [expected] == found.rows


def test_types_of_single_columns_are_asked_for(write):
    """17850.0 is an integer where one is asked for, T a truth; a name that is not there is refused."""
    path = write("a.csv", "i,b,z\n17850.0,T,501\n,F,502\n")
    types = (("i", ColumnType.INT64), ("b", ColumnType.BOOL), ("z", ColumnType.STRING))
    assert [(17850, True, "501"), (None, False, "502")] == inferred(path, types=types).rows
    with pytest.raises(DataFileError, match="no such column for --types; there are i, b, z"):
        inferred(path, types=(("zip", ColumnType.STRING),))


def test_limit_reads_the_rows_at_the_front_by_the_types_of_all(write):
    """The whole file decides the types, so that what was tried out is what will be loaded."""
    path = write("a.csv", "n\n" + "1\n" * 5_000 + "x\n")
    found = inferred(path, limit=3)
    assert ({"n": "string"}, [("1",)] * 3) == (found.types, found.rows)
