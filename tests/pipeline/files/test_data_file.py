"""Files as streams of batches: formats, compressions, types, NULLs, and refusals that say where."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psoup.engine.limits import STRING_BYTES_MAX
from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.definition import parse_columns
from psoup.pipeline.errors import DataFileError
from psoup.pipeline.files.data_file import DataFile
from psoup.pipeline.files.options import EpochUnit, ReadOptions
from psoup.pipeline.files.readers import csv_rows
from tests.pipeline.files.conftest import PACKERS

CSV = 'ts,name,n,x,ok\n2024-01-01,a,1,1.5,true\n\n2024-01-02T00:00:00Z,"",,2,false\n2024-01-03 12:00,"b\nc",3,,\n'
NDJSON = (
    '{"ts":"2024-01-01","name":"a","n":1,"x":1.5,"ok":true}\n\n'
    '{"ts":"2024-01-02T00:00:00Z","name":"","x":2,"ok":false}\n'
    '{"ok":null,"n":3,"name":"b\\nc","ts":"2024-01-03 12:00"}\n'
)
SCHEMA = "ts timestamp not null, name string, n int64, x float64, ok bool"
DAY_US = 86_400_000_000
FIRST_US = 19_723 * DAY_US
EXPECTED = [
    (FIRST_US, "a", 1, 1.5, True),
    (FIRST_US + DAY_US, "", None, 2.0, False),
    (FIRST_US + 2 * DAY_US + DAY_US // 2, "b\nc", 3, None, None),
]


def rows_of(path, schema=SCHEMA, *, rows=1_000, sort=False, **options):
    columns = parse_columns(schema)
    found = []
    for batch in DataFile(path, ReadOptions(**options)).batches(columns, rows=rows, sort=sort):
        arrays = [a.cast(pa.int64()) if pa.types.is_timestamp(a.type) else a for a in batch.columns]
        found += list(zip(*(a.to_pylist() for a in arrays), strict=True))
    return found


def survey_of(path, **options):
    return {c.name: c.type for c in DataFile(path, ReadOptions(**options)).survey()}


def refusal(path, schema=SCHEMA, **options):
    with pytest.raises(DataFileError) as caught:
        rows_of(path, schema, **options)
    return caught.value


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", CSV),
        ("a.tsv", CSV.replace(",", "\t")),
        ("a.ndjson", NDJSON),
        ("a.json", "[\n" + ",\n".join(line for line in NDJSON.split("\n") if line) + "\n]\n"),
        ("b.json", NDJSON),
    ],
)
def test_data_file_any_format_and_compression_gives_the_same_rows(write, name, content, suffix):
    """Types, NULLs and the empty string come out the same, however the file is written and packed."""
    path = write(name + suffix, content)
    inferred = survey_of(path)
    assert {c.name: c.type for c in parse_columns(SCHEMA)} == inferred
    assert EXPECTED == rows_of(path)


@pytest.mark.parametrize("suffix", PACKERS)
def test_parquet_own_types_become_the_five(write, suffix):
    """Narrow integers, decimals, dates, dictionaries and other time units map without a survey."""
    table = pa.table(
        {
            "ts": pa.array([FIRST_US * 1_000 + 999], pa.timestamp("ns")),
            "name": pa.array(["a"]).dictionary_encode(),
            "n": pa.array([7], pa.uint8()),
            "x": pa.array([1.5], pa.float32()),
            "ok": pa.array([None], pa.bool_()),
            "day": pa.array([19_723], pa.date32()),
            "view": pa.array([""], pa.string_view()),
        }
    )
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    path = write("a.parquet" + suffix, sink.getvalue().to_pybytes())
    schema = SCHEMA + ", day timestamp, view string"
    assert {c.name: c.type for c in parse_columns(schema)} == survey_of(path)
    assert [(FIRST_US, "a", 7, 1.5, None, FIRST_US, "")] == rows_of(path, schema)


def test_integers_of_json_beyond_64_bits_become_their_text(write):
    """As those of CSV: an unsigned id is kept with all its digits. As a time it is refused with its line."""
    path = write("a.ndjson", '{"id":18446744073709551615}\n{"id":3}\n')
    assert {"id": ColumnType.STRING} == survey_of(path)
    assert [("18446744073709551615",), ("3",)] == rows_of(path, "id string")
    assert 1 == refusal(path, "id timestamp", time="id", epoch=EpochUnit.SECONDS).line


def test_data_file_batches_are_cut_by_rows_alone(write, monkeypatch):
    """Batches hold exactly the rows asked for, whatever blocks the reader happens to read."""
    path = write("a.csv", "n\n" + "".join(f"{i}\n" for i in range(1_000)))
    for block_bytes in (64, 1_000, 1 << 20):
        monkeypatch.setattr(csv_rows, "BLOCK_BYTES", block_bytes)
        batches = list(DataFile(path, ReadOptions()).batches(parse_columns("n int64"), rows=300))
        assert [300, 300, 300, 100] == [batch.num_rows for batch in batches]
        assert list(range(1_000)) == [n for b in batches for n in b.column(0).to_pylist()]


def test_data_file_bytes_read_grows_to_the_size_on_disk(write):
    """Progress counts the compressed file's bytes and ends at its size."""
    file = DataFile(write("a.csv.xz", "n\n" + "5\n" * 200_000), ReadOptions())
    assert 0 == file.bytes_read
    assert 200_000 == sum(b.num_rows for b in file.batches(parse_columns("n int64"), rows=5_000))
    assert file.size_bytes == file.bytes_read
    assert 0.5 == file.fraction(100_000)


def test_sort_newest_first_comes_out_in_time_order(write):
    """Rows leave in order of their time, equal times in the file's order, across batches."""
    lines = [f"{2000 + i % 7}-01-01,{i}" for i in reversed(range(100))]
    path = write("a.csv", "ts,n\n" + "\n".join(lines) + "\n")
    found = rows_of(path, "ts timestamp not null, n int64", rows=7, sort=True, time="ts")
    expected = sorted(rows_of(path, "ts timestamp not null, n int64"), key=lambda row: row[0])
    assert expected == found


@pytest.mark.parametrize(
    ("name", "content", "line", "column", "reason"),
    [
        ("a.csv", 'name,n\n"x\ny",1\nz,oops\n', 4, "n", "expected an integer"),
        ("a.csv", "name,n\n\nz,99999999999999999999\n", 3, "n", "expected an integer"),
        ("a.csv", "ts,x\n2024-01-01,1\n2024-01-01,inf\n", 3, "x", "has to be finite"),
        ("a.csv", "ts\n2024-02-30\n", 2, "ts", "ISO 8601"),
        ("a.csv", "ts,n\n,1\n", 2, "ts", "allows no NULL"),
        ("a.csv", "name\na\0b\n", 2, "name", "NUL"),
        ("a.csv", "name\n" + "x" * (STRING_BYTES_MAX + 1) + "\n", 2, "name", "at most"),
        ("a.csv", "name,n\na,1\nb\n", 3, None, "expected 2 fields, this record has 1"),
        ("a.csv", b"name\nok\n\xff\xfe\n", 3, None, "not UTF-8"),
        ("a.csv", "name,other\na,b\n", None, "other", "no such column"),
        ("a.ndjson", '{"n":1}\n{"n":1.5}\n', 2, "n", "expected an integer"),
        ("a.ndjson", '{"n":1}\n{"n":true}\n', 2, "n", "expected an integer"),
        ("a.ndjson", '{"x":1}\n\n{"x":"12"}\n', 3, "x", "float64"),
        ("a.ndjson", '{"n":1}\n{"n":\n', 2, None, "not JSON"),
        ("a.ndjson", "[1]\n", 1, None, "has to be an object"),
        ("a.ndjson", '{"n":1}\n{"other":1}\n', 2, "other", "no such column"),
        ("a.json", '[{"n":1},\n{"n":NaN}]', 2, None, "not JSON"),
        ("a.json", '[{"n":1},\n{"n":2}', 2, None, "cut short"),
        ("a.json", '[{"n":1}]\n7', 2, None, "follows after the array"),
    ],
)
def test_data_file_bad_value_is_refused_with_its_place(
    write, name, content, *, line, column, reason
):
    """The error names file, line and column, and says what was expected."""
    error = refusal(write(name, content))
    assert (line, column) == (error.line, error.column)
    assert reason in str(error)
    assert name in str(error)


@pytest.mark.parametrize("suffix", [s for s in PACKERS if s])
def test_data_file_cut_short_is_damaged(write, suffix):
    """A compressed file that ends early is an error, never fewer rows."""
    path = write("a.csv" + suffix, "n\n" + "".join(f"{i * 7919 % 99991}\n" for i in range(9_000)))
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    assert "damaged" in str(refusal(path, "n int64"))


def test_data_file_missing_or_unknown_is_refused(tmp_path: Path, write):
    """A path that is not there, and a name that tells no format, say so."""
    assert "No such file" in str(refusal(tmp_path / "none.csv"))
    assert "--input-format" in str(refusal(write("a.dat", "x")))


def test_csv_header_one_short_is_refused_with_the_flag_to_pass(write):
    """Where records have a field more than the header has names, the message holds the remedy."""
    path = write("a.txt", '"date","Temp"\n"1","2015-02-02 14:19:00",23.7\n')
    error = refusal(path)
    assert "header names 2 columns, the first record has 3 fields" in str(error)
    assert "--columns -,date,Temp" in error.hint
    found = rows_of(path, "date timestamp, Temp float64", columns=("-", "date", "Temp"))
    assert [(1_422_886_740_000_000, 23.7)] == found


def test_csv_options_change_what_is_read(write):
    """Delimiter, NULL tokens, missing header, names left out and renamed: all as asked."""
    path = write("a.csv", '1;NA;x\n2;"NA";y\n')
    options = {"delimiter": ";", "nulls": ("NA",), "header": False, "columns": ("n", "s", "-")}
    assert [(1, None), (2, "NA")] == rows_of(path, "n int64, s string", **options)
    skipping = {**options, "columns": ("n", "s", "z"), "skip": frozenset({"s", "z"})}
    assert [(1,), (2,)] == rows_of(path, "n int64", **skipping)


@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("", {}),
        ("a,a\n1,2\n", {}),
        (",b\n1,2\n", {}),
        ("1,2\n", {"header": False}),
        ("a,b\n1,2\n", {"columns": ("x",)}),
    ],
)
def test_csv_without_usable_names_is_refused_with_a_remedy(write, content, options):
    """No header, a name twice, an empty one, or the wrong number given: refused before any row."""
    assert "a.csv" in str(refusal(write("a.csv", content), **options))


def test_csv_of_a_header_alone_has_no_rows(write):
    """A file without records is an empty batch of work where types are given; it tells none itself."""
    path = write("a.csv", "ts,name,n,x,ok\n")
    assert [] == rows_of(path)
    with pytest.raises(DataFileError, match="no rows to tell the columns' types from") as caught:
        survey_of(path)
    assert "ts string, name string, n string" in caught.value.hint


def test_csv_nulls_in_numbers_are_found_by_the_survey(write):
    """The note says which token, where, and what the column was before."""
    path = write("a.csv", "n\n1\n2\nnone yet\n")
    (column,) = DataFile(path, ReadOptions()).survey()
    assert (ColumnType.STRING, "'none yet' in line 4 is not int64") == (column.type, column.note)
    (column,) = DataFile(path, ReadOptions(nulls=("none yet",))).survey()
    assert (ColumnType.INT64, 1) == (column.type, column.nulls)


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        (EpochUnit.SECONDS, "1521911720.258458"),
        (EpochUnit.MILLISECONDS, "1521911720258.458"),
        (EpochUnit.MICROSECONDS, "1521911720258458"),
        (EpochUnit.NANOSECONDS, "1521911720258458000"),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.ndjson"])
def test_epoch_numbers_are_timestamps_only_when_told(write, name, unit, text):
    """Numbers become timestamps with the unit, exactly; without it they are refused with the flag."""
    content = f"ts\n{text}\n" if name == "a.csv" else f'{{"ts":{text}}}\n'
    path = write(name, content)
    schema = "ts timestamp not null"
    assert [(1_521_911_720_258_458,)] == rows_of(path, schema, epoch=unit, time="ts")
    assert {"ts": ColumnType.TIMESTAMP} == survey_of(path, epoch=unit, time="ts")
    assert "--epoch" in refusal(path, schema).hint


def test_json_values_that_are_no_scalars_become_their_text(write):
    """Arrays, objects and members of several types are strings holding JSON."""
    path = write("a.ndjson", '{"a":[1,"x"],"m":1}\n{"a":{"b":null},"m":"two"}\n{"a":"s","m":1.5}\n')
    assert {"a": ColumnType.STRING, "m": ColumnType.STRING} == survey_of(path)
    expected = [('[1,"x"]', "1"), ('{"b":null}', "two"), ("s", "1.5")]
    assert expected == rows_of(path, "a string, m string")


def test_json_document_larger_than_its_window_keeps_lines(write):
    """An array of many megabytes is read element by element; the line of a fault is still right."""
    lines = [f'{{"n":{i},"s":"{"é" * 60}"}}' for i in range(20_000)]
    lines[17_000] = '{"n":"x"}'
    path = write("a.json", "[\n" + ",\n".join(lines) + "\n]")
    assert 17_002 == refusal(path, "n int64, s string").line


def test_parquet_refusals_name_row_and_column(write):
    """NaN, a type no stream has, and a file that is not Parquet."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": [1.0, float("nan")], "l": [[1], [2]]}), sink)
    path = write("a.parquet", sink.getvalue().to_pybytes())
    assert "--skip-columns" in refusal(path).hint
    error = refusal(path, "x float64", skip=frozenset({"l"}))
    assert (2, "x") == (error.line, error.column)
    assert [(1.0,), (None,)] == rows_of(path, "x float64", skip=frozenset({"l"}), nulls=("nan",))
    assert "not Parquet" in str(refusal(write("b.parquet", "no")))
