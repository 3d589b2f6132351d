"""What a file that does not fit is told: the option that helps, never one that does not."""

import gzip

import pytest

from psoup.client.errors import DefinitionError
from psoup.engine.tuples.schema import ColumnSchema
from psoup.pipeline.errors import DataFileError
from psoup.pipeline.files.data_file import DataFile
from psoup.pipeline.files.notes import notes_on
from psoup.pipeline.files.option_texts import time_options, types_of
from psoup.pipeline.files.options import EpochUnit, ReadOptions

TIMES = [
    ("3/28/26 9:15", {}, "'%m/%d/%y %H:%M'"),
    ("3/28/26 9:15", {}, "Two digits of a year are not guessed"),
    ("1/2/26", {}, "'%m/%d/%y' or '%d/%m/%y'"),
    ("28.03.26", {}, "'%d.%m.%y'"),
    ("1774692900", {}, "It looks like seconds since 1970: pass --epoch s."),
    ("1774692900000", {}, "It looks like milliseconds since 1970: pass --epoch ms."),
    ("1774692900000000", {}, "pass --epoch us."),
    ("1774692900000000000", {}, "It looks like nanoseconds since 1970: pass --epoch ns."),
    ("17", {}, "pass --epoch s|ms|us|ns"),
    ("1774692900000", {"epoch": EpochUnit.SECONDS}, "pass --epoch ms."),
    ("noon", {}, "pass it by --time-format"),
]


def read(path, options):
    """Read a file as a load does, by the types that it shows."""
    file = DataFile(path, options)
    columns = file.survey()
    file.settle(columns, {column.name: column.type for column in columns})
    declared = [ColumnSchema(c.name, c.type, nullable=True) for c in columns]
    return list(file.batches(declared, rows=10))


def refused(path, options):
    """Return the message with which a file is refused."""
    with pytest.raises(DataFileError) as error:
        read(path, options)
    return str(error.value)


@pytest.mark.parametrize(("value", "options", "said"), TIMES)
def test_time_that_is_not_read_is_answered_with_the_option_that_reads_it(
    tmp_path, value, options, said
):
    """Two-digit years by their format, counts by their unit; anything else by --time-format."""
    path = tmp_path / "a.csv"
    path.write_text(f"ts,n\n{value},1\n")
    message = refused(path, ReadOptions(time="ts", **options))
    assert said in message
    assert ("--epoch" in said) == ("--epoch" in message)


def test_hour_24_of_a_joined_time_is_told_as_such(tmp_path):
    """No format reads it, so none is asked for."""
    path = tmp_path / "a.csv"
    path.write_text("year,month,day,hour\n2026,1,1,23\n2026,1,1,24\n")
    message = refused(path, ReadOptions(**time_options("year+month+day+hour", None)))
    assert "An hour is 0 to 23" in message
    assert "--time-format" not in message


def test_ambiguous_time_is_asked_for_as_its_option_is_written(tmp_path):
    """For the column of --time the format alone, for another one behind its name."""
    path = tmp_path / "a.csv"
    path.write_text("Placed At,n\n1/2/2026,1\n")
    message = refused(path, ReadOptions(time="Placed At"))
    assert "--time-format '%m/%d/%Y' or '%d/%m/%Y'" in message
    assert "Placed At=" not in message


BINARY = {
    "a.xlsx": (b"PK\x03\x04\x00", "it is a workbook. Save the sheet as CSV"),
    "a.csv": (b"PK\x03\x04\x00", "it is a workbook or a ZIP archive"),
    "b.csv": (b"\xd0\xcf\x11\xe0", "it is a workbook of an old Excel"),
    "c.csv": (b"PAR1", "--input-format parquet"),
    "d.ndjson": (b"SQLite format 3\x00", "it is a database of SQLite"),
    "e.csv": (b"DIRC\x00\x00\x00\x02", "it is no text"),
    "f.csv.gz": (gzip.compress(b"DIRC\x00\x00\x00\x02"), "it is no text"),
}


@pytest.mark.parametrize("name", BINARY)
def test_file_that_is_no_text_is_told_what_it_is(tmp_path, name):
    """Not by its delimiter: what its first bytes say, and what to load in its place."""
    content, said = BINARY[name]
    path = tmp_path / name
    path.write_bytes(content)
    message = refused(path, ReadOptions())
    assert said in message
    assert "delimiter" not in message


def test_columns_of_one_name_are_answered_with_names_that_differ(tmp_path):
    """The option that is suggested is one that can be passed."""
    path = tmp_path / "a.csv"
    path.write_text("ts,v,v,v\n2026-01-01,1,2,3\n")
    message = refused(path, ReadOptions())
    assert "--columns ts,v,v_2,v_3" in message
    suggested = ReadOptions(columns=("ts", "v", "v_2", "v_3"))
    assert ("ts", "v", "v_2", "v_3") == DataFile(path, suggested).names


def test_type_of_a_name_with_blanks_is_asked_for_in_double_quotes():
    """The form that is named is one that is read."""
    with pytest.raises(DefinitionError, match="double quotes within it") as error:
        types_of("Total (USD) string")
    form = str(error.value).split("within it: ")[1].strip(".").strip("'")
    assert "Total (USD)" == types_of(form)[0][0]


def test_names_that_sql_reads_in_double_quotes_alone_are_noted(tmp_path):
    """Dots, blanks, signs, and words of SQL; where there are none nothing is said."""
    path = tmp_path / "a.csv"
    path.write_text("PM2.5,Order ID,plain,order\n1,2,3,4\n")
    (note,) = notes_on(DataFile(path, ReadOptions()).survey(), time=None)
    assert note.endswith('double quotes: "PM2.5", "Order ID", "order"')
    path.write_text("plain\n1\n")
    assert () == notes_on(DataFile(path, ReadOptions()).survey(), time=None)
    path.write_text("Total (USD)\n1\nNA\n")
    assert notes_on(DataFile(path, ReadOptions()).survey(), time=None)[0].startswith(
        'NA is NULL in "Total (USD)" (1)'
    )
