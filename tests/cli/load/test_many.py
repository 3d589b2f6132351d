"""Several files, patterns, pipes and standard input: one declaration over all of them, each file resumed by itself."""

import gzip
import os
import threading

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from psoup.app.cli.common import ExitCode
from psoup.engine import limits
from tests.forked import ended


@pytest.fixture
def days(tmp_path):
    """Return a folder with a file of two rows for each of three days."""
    for day in (1, 2, 3):
        (tmp_path / f"day-{day}.csv").write_text(f"ts,n\n2024-01-0{day},{day}\n2024-01-0{day},\n")
    return tmp_path


def run(psoup, *arguments, piped=b"", **options):
    """Run the command as a process, with `piped` in a pipe; return how it ended."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as given:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(piped)  # less than a pipe holds
        words = [*map(str, arguments), "--url", psoup.url]
        return ended("psoup", words, **{"given": given, **options})


def types_of(psoup, stream="s"):
    with psoup.service() as service:
        found = service.stream(stream)
    assert found is not None
    return {column["name"]: column["type"] for column in found["columns"]}


def test_load_of_a_pattern_is_one_load_of_all_files_and_resumes_each(psoup, days):
    """The pattern is the command's own, for shells that leave it; a new file comes in, the others are skipped."""
    command = ("load", f"{days}/day-*.csv", "--stream", "s", "--time", "ts")
    result = psoup(*command)
    assert "3 files -> s  columns inferred from all of them" in result.stdout
    assert "3 empty" in result.stdout
    assert "loaded 6 rows into s in 3 batches" in result.stdout
    (days / "day-4.csv").write_text("n,ts\n4,2024-01-04\n")
    result = psoup(*command)
    assert "loaded 1 row into s in 1 batch" in result.stdout
    assert "6 rows in 3 batches were there already" in result.stdout
    assert f"none of them from {days}/day-4.csv." in result.stderr
    assert 7 == psoup.rows("s")


def test_load_infers_the_type_that_holds_a_column_in_every_file(psoup, tmp_path):
    """Wider in one file is wider in all; a file without values says nothing; text names both files."""
    (tmp_path / "1.csv").write_text("i,f,t,e,d\n1,1,1,,2024-01-01\n")
    (tmp_path / "2.csv").write_text("i,f,t,e,d\n2,1.5,x,5,2024-01-02\n")
    (tmp_path / "3.csv").write_text("i,f,t,e,d\n")
    result = psoup("load", tmp_path / "*.csv", "--stream", "s")
    expected = {"i": "int64", "f": "float64", "t": "string", "e": "int64", "d": "timestamp"}
    assert expected == types_of(psoup)
    assert f"int64 in {tmp_path / '1.csv'}, string in {tmp_path / '2.csv'}" in result.stdout


def test_load_of_integers_beside_floats_loses_no_digit(psoup, tmp_path):
    """An integer past 2^53 in one file and a float in another are text, as within one file."""
    (tmp_path / "1.csv").write_text(f"n\n{2**53 + 1}\n")
    (tmp_path / "2.csv").write_text("n\n1.5\n")
    psoup("load", tmp_path / "1.csv", tmp_path / "2.csv", "--stream", "s")
    assert {"n": "string"} == types_of(psoup)


def test_load_of_files_of_several_formats_is_one_stream(psoup, tmp_path):
    """CSV, compressed CSV, NDJSON and Parquet, each by its own name; members that a row lacks are NULL."""
    (tmp_path / "a.csv").write_text("n,x\n1,0.5\n")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(b"x,n\n1,2\n"))
    (tmp_path / "c.ndjson").write_text('{"n":3}\n')
    pq.write_table(pa.table({"n": [4], "x": [0.25]}), tmp_path / "d.parquet")
    psoup("load", tmp_path / "*", "--stream", "s")
    lines = psoup("query", "SELECT n, x FROM s", "--format", "ndjson").stdout_bytes.splitlines()
    rows = [orjson.loads(line) for line in lines]
    assert [(1, 0.5), (2, 1.0), (3, None), (4, 0.25)] == [(row["n"], row["x"]) for row in rows]


def test_load_of_files_with_other_columns_names_both(psoup, days):
    """Nothing is stored of either: the columns that only one of them has are said."""
    (days / "day-2.csv").write_text("ts,m\n2024-01-02,5\n")
    result = psoup("load", days / "*.csv", "--stream", "s", code=ExitCode.DATA_FILE)
    assert f"{days}/day-2.csv: its columns are not those of {days}/day-1.csv" in result.stderr
    assert "day-2.csv alone has m" in result.stderr
    assert "day-1.csv alone has n" in result.stderr
    with psoup.service() as service:
        assert service.stream("s") is None


def test_load_of_the_same_bytes_under_two_names_says_which_is_left_out(psoup, days):
    """Counted as one file, so its rows come in once, and not silently."""
    (days / "day-9.csv").write_bytes((days / "day-1.csv").read_bytes())
    result = psoup("load", days / "*.csv", days / "day-2.csv", "--stream", "s")
    assert "day-9.csv holds the same bytes as" in result.stdout
    assert 6 == psoup.rows("s")


def test_load_that_fails_in_a_later_file_goes_on_once_it_is_mended(psoup, days):
    """What the files before have stored is skipped by the corrected load."""
    schema = "ts timestamp not null, n int64"
    command = ("load", f"{days}/day-*.csv", "--stream", "s", "--time", "ts", "--schema", schema)
    (days / "day-3.csv").write_text("ts,n\n2024-01-03,three\n")
    result = psoup(*command, code=ExitCode.DATA_FILE)
    assert "day-3.csv:2: column 'n'" in result.stderr
    assert 4 == psoup.rows("s")
    (days / "day-3.csv").write_text("ts,n\n2024-01-03,3\n")
    assert "loaded 1 row" in psoup(*command).stdout
    assert 5 == psoup.rows("s")


def test_standard_input_is_loaded_and_resumed_as_a_file_of_the_same_bytes(psoup, days):
    """Inferred from all of it, under its own name; the same bytes from a file count as there."""
    path = days / "day-1.csv"
    arguments = ("--stream", "s", "--time", "ts", "--input-format", "csv")
    done = run(psoup, "load", "-", *arguments, piped=path.read_bytes())
    assert "standard input -> s  columns inferred from the whole file" in done.stdout, done.stderr
    assert 2 == psoup.rows("s")
    for name in ("-", "/dev/stdin"):
        done = run(psoup, "load", name, *arguments, piped=path.read_bytes())
        assert "2 rows in 1 batch were there already" in done.stdout, done.stderr
    with path.open("rb") as file:
        assert "loaded 0 rows" in run(psoup, "load", "/dev/stdin", *arguments, given=file).stdout
    assert "loaded 0 rows" in psoup("load", path, *arguments).stdout
    done = run(psoup, "load", "-", *arguments, "--yes", piped=b"ts,n\n2024-01-01,x\n")
    assert ExitCode.DATA_FILE == done.returncode
    assert "standard input:2: column 'n'" in done.stderr


def test_standard_input_needs_its_format_and_comes_once(psoup):
    """It has no name to tell it by."""
    done = run(psoup, "load", "-", "--stream", "s", piped=b"n\n1\n")
    assert ExitCode.DATA_FILE == done.returncode
    assert "standard input: its name does not tell the format" in done.stderr
    done = run(psoup, "load", "-", "/dev/stdin", "--stream", "s", piped=b"n\n1\n")
    assert ExitCode.USAGE == done.returncode
    assert "named twice" in done.stderr


def test_named_pipe_is_read_once_by_its_name(psoup, tmp_path):
    """Copied, since a load reads twice; its name tells the format, and the copy is gone afterwards."""
    path = tmp_path / "rows.csv"
    os.mkfifo(path)
    copies = tmp_path / "copies"
    copies.mkdir()
    writer = threading.Thread(target=lambda: path.write_text("n\n1\n2\n"))
    writer.start()
    done = run(psoup, "load", path, "--stream", "s", env={**os.environ, "TMPDIR": str(copies)})
    writer.join()
    assert ExitCode.DONE == done.returncode, done.stderr
    assert 2 == psoup.rows("s")
    assert [] == list(copies.iterdir())


def test_pipe_with_more_than_is_kept_of_one_is_refused(psoup, tmp_path, monkeypatch):
    """The bound is told with what to do instead; nothing is loaded."""
    monkeypatch.setattr(limits, "LOAD_PIPE_BYTES_MAX", 1_000)
    path = tmp_path / "rows.csv"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text("n\n" + "1\n" * 1_000))
    writer.start()
    result = psoup("load", path, "--stream", "s", code=ExitCode.DATA_FILE)
    writer.join()
    assert "came through a pipe" in result.stderr
    assert "Write the data to a file" in result.stderr


def test_more_files_than_a_stream_counts_are_refused_before_one_is_read(psoup, tmp_path):
    """A stream has places for so many producers."""
    names = [tmp_path / f"{i}.csv" for i in range(limits.APPS_COUNT_MAX + 1)]
    result = psoup("load", *names, "--stream", "s", code=ExitCode.USAGE)
    assert "1,001 files" in result.stderr


def test_name_with_brackets_is_a_name_where_there_is_such_a_file(psoup, tmp_path):
    """A pattern is one only where no file is called so."""
    (tmp_path / "[x].csv").write_text("n\n1\n")
    psoup("load", tmp_path / "[x].csv", "--stream", "s")
    assert 1 == psoup.rows("s")
