"""What `psoup load` says before it is too late: rows of another load, columns and types it cannot know."""

import orjson
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

from psoup.app.cli import consent
from psoup.app.cli.common import ExitCode


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("ts,n\n" + "".join(f"2024-01-01T00:00:00Z,{i}\n" for i in range(100)))
    return path


def test_load_of_a_file_that_has_grown_is_refused_without_yes(psoup, csv_file):
    """The stream has rows and none of this content. Where nobody can be asked nothing is stored."""
    command = ("load", csv_file, "--stream", "s", "--batch-rows", 10)
    assert "already holds" not in psoup(*command).stderr
    assert "already holds" not in psoup(*command).stderr
    with csv_file.open("a") as file:
        file.write("2024-01-02T00:00:00Z,100\n")
    refused = psoup(*command, code=ExitCode.USAGE).stderr
    assert f"s already holds 100 rows, none of them from {csv_file}" in refused
    assert "--replace" in refused
    assert "Pass --yes" in refused
    assert 100 == psoup.rows("s")
    result = psoup(*command, "--yes")
    assert 1 == result.stderr.count("warning")
    assert 201 == psoup.rows("s")
    assert "" == psoup(*command).stderr


def test_load_of_a_file_that_has_grown_asks_on_a_terminal(psoup, csv_file, monkeypatch):
    """Only yes adds the rows; anything else stores nothing."""
    command = ("load", csv_file, "--stream", "s")
    psoup(*command)
    with csv_file.open("a") as file:
        file.write("2024-01-02T00:00:00Z,100\n")
    monkeypatch.setattr(consent, "_is_terminal", lambda _: True)
    for answer, code, rows in (("n", ExitCode.REFUSED, 100), ("y", ExitCode.DONE, 201)):
        result = psoup(*command, code=code, typed=f"{answer}\n")
        assert "Go on? [y/N]" in result.stderr
        assert rows == psoup.rows("s")


def test_load_of_several_files_that_was_interrupted_goes_on_without_a_question(psoup, csv_file):
    """Its first files are known, the others are new: as an interruption leaves them. A known one behind is no such."""
    second, third = (csv_file.with_name(name) for name in ("b.csv", "c.csv"))
    second.write_text("ts,n\n2024-01-02T00:00:00Z,100\n")
    third.write_text("ts,n\n2024-01-03T00:00:00Z,101\n")
    psoup("load", csv_file, "--stream", "s")
    assert "already holds" in psoup("load", csv_file, second, "--stream", "s").stderr
    assert 101 == psoup.rows("s")
    psoup("load", csv_file, third, second, "--stream", "s", code=ExitCode.USAGE)
    assert 101 == psoup.rows("s")


def test_dry_run_shows_the_columns_and_the_notes_and_stores_nothing(psoup, csv_file):
    """The columns, what was decided, exit code 0; neither declared nor dropped, and nobody is asked."""
    csv_file.write_text("ts,n\n2024-01-01,NA\n2024-01-02,7\n")
    command = ("load", csv_file, "--stream", "s", "--time", "ts")
    result = psoup(*command, "--dry-run")
    assert "the tuple time" in result.stdout
    assert "nothing was stored" in result.stdout
    assert "NA is NULL in n" in result.stderr
    with psoup.service() as service:
        assert service.stream("s") is None
    psoup(*command)
    psoup(*command, "--replace", "--dry-run")
    assert 2 == psoup.rows("s")


def test_load_going_on_after_an_interruption_does_not_warn(psoup, csv_file):
    """Rows of this load are there: its first batch is a duplicate, and nothing comes in twice."""
    command = ("load", csv_file, "--stream", "s", "--batch-rows", 60)
    psoup(*command, "--time", "ts")
    assert 100 == psoup.rows("s")
    assert "" == psoup(*command).stderr


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson"])
def test_load_leaving_out_a_column_that_is_not_there_is_refused(psoup, tmp_path, name):
    """A name spelt wrongly would let in what was to be left out: the message lists those there are."""
    path = tmp_path / name
    path.write_text("n,m\n1,2\n" if name.endswith("csv") else '{"n":1,"m":2}\n')
    command = ("load", path, "--stream", "s", "--skip-columns")
    result = psoup(*command, "zz", code=ExitCode.DATA_FILE)
    assert "column 'zz'" in result.stderr
    assert "there are n, m" in result.stderr
    psoup(*command, "m")
    with psoup.service() as service:
        found = service.stream("s")
    assert found is not None
    assert ["n"] == [column["name"] for column in found["columns"]]


def test_load_of_a_header_alone_asks_for_the_types(psoup, tmp_path):
    """No row tells a type: the message is the option to pass, and nothing is declared without it."""
    path = tmp_path / "a.csv"
    path.write_text("ts,n\n")
    command = ("load", path, "--stream", "s")
    result = psoup(*command, code=ExitCode.DATA_FILE)
    assert '--schema "ts string, n string"' in result.stderr
    with psoup.service() as service:
        assert service.stream("s") is None
    psoup(*command, "--schema", "ts timestamp not null, n int64")
    assert 0 == psoup.rows("s")


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson", "a.parquet"])
def test_load_in_another_unit_is_noted_before_the_first_batch(psoup, tmp_path, name):
    """Milliseconds read as microseconds are all of January 1970: the note names the option that reads them so, once."""
    table = pa.table({"at": [1_700_000_000_000 + i for i in range(100)], "n": range(100)})
    path = tmp_path / name
    if name.endswith("csv"):
        pa_csv.write_csv(table, path)
    elif name.endswith("parquet"):
        pq.write_table(table, path)
    else:
        path.write_bytes(b"\n".join(map(orjson.dumps, table.to_pylist())))
    command = ("load", path, "--stream", "s", "--time", "at", "--batch-rows", 10)
    said = psoup(*command, "--epoch", "us", "--dry-run").stderr
    assert said == (
        "note at is read by --epoch us: all 100 times lie in 1970; the numbers look like milliseconds:"
        " --epoch ms reads them so\n"
    )
    assert said == psoup(*command, "--epoch", "us").stderr
    assert "" == psoup(*command[:3], "t", *command[4:], "--epoch", "ms").stderr


def test_load_of_times_that_do_not_count_from_1970_is_noted(psoup, tmp_path):
    """Seconds of a recording: no unit makes them dates of this century, and windows work all the same."""
    path = tmp_path / "a.csv"
    path.write_text("at,seen,n\n0,5,1\n3600,,2\n")
    said = psoup(
        *("load", path, "--stream", "s", "--time", "at", "--epoch", "s"),
        *("--time-format", "seen=ms"),
    ).stderr
    first, second = said.splitlines()
    assert first == (
        "note at is read by --epoch s: all 2 times lie in 1970, from 1970-01-01 00:00:00 to"
        " 1970-01-01 01:00:00: right where they count from 1970; windows measure the time between rows and work in"
        " either case"
    )
    assert second.startswith(
        "note seen is read by --time-format seen=ms: its only time lies in 1970, from 1970-01-01 00:00:00"
    )


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson", "a.parquet"])
def test_load_of_empty_texts_beside_null_is_noted(psoup, tmp_path, name):
    """They are stored as they are; the note names the column, and the predicate that finds both."""
    rows = [{"n": i, "t": t, "u": "", "v": None if i else "x"} for i, t in enumerate(("", None))]
    path = tmp_path / name
    if name.endswith("csv"):
        path.write_text('n,t,u,v\n0,"","",x\n1,,"",\n')
    elif name.endswith("parquet"):
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    assert (
        "note empty texts stand beside NULL in t: an empty text is no NULL, so IS NULL does not find it;"
        " t IS NULL OR t = '' finds both\n"
    ) == psoup("load", path, "--stream", "s", "--types", "n int64, t string, u string").stderr
    assert "" == psoup("load", path, "--stream", "r", "--skip-columns", "t").stderr


def test_notes_hold_for_rows_far_behind_the_first_ones(psoup, tmp_path):
    """Row 30,000 of each format alone is empty, and counts in another unit: the notes name it, each once."""
    rows = [{"at": 1_700_000_000_000 + i, "t": "x", "n": i} for i in range(30_000)]
    rows += [{"at": 1_700_000_000, "t": "", "n": 0}, {"at": 1_700_000_000_000, "t": None, "n": 1}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    (tmp_path / "a.ndjson").write_bytes(b"\n".join(map(orjson.dumps, rows)))
    pa_csv.write_csv(pa.Table.from_pylist(rows), tmp_path / "a.csv")
    for name in ("a.csv", "a.ndjson", "a.parquet"):
        command = ("load", tmp_path / name, "--stream", "s", "--time", "at", "--epoch", "ms")
        unit, empty = psoup(*command, "--dry-run").stderr.splitlines()
        assert unit == (
            "note at is read by --epoch ms: 1 of 30,002 times lies in 1970, and their numbers look like seconds: one column"
            " is read in one unit, so write all numbers in the same one, or load these rows from a file of their own"
        )
        assert "empty texts stand beside NULL in t:" in empty


@pytest.mark.parametrize("name", ["a.csv", "a.ndjson", "a.parquet"])
def test_load_of_a_time_that_no_year_holds_stores_nothing(psoup, tmp_path, name):
    """A number of milliseconds behind 30,000 of seconds: it is refused with its line before the stream is declared."""
    times = [1_700_000_000] * 30_000 + [1_700_000_000_000]
    path = tmp_path / name
    if name.endswith("parquet"):
        pq.write_table(pa.table({"at": times}), path)
    else:
        line = "{}\n" if name.endswith("csv") else '{{"at":{}}}\n'
        path.write_text("at\n" * name.endswith("csv") + "".join(map(line.format, times)))
    command = ("load", path, "--stream", "s", "--time", "at", "--epoch", "s")
    said = psoup(*command, code=ExitCode.DATA_FILE).stderr
    assert "1700000000000" in said
    assert f"{path}:{30_002 if name.endswith('csv') else 30_001}: column 'at'" in said
    with psoup.service() as service:
        assert service.stream("s") is None


def test_load_of_dates_of_1970_does_not_warn_of_their_unit(psoup, tmp_path):
    """A file that writes its instants out has mistaken no unit."""
    path = tmp_path / "a.csv"
    path.write_text("at,n\n1970-01-20T12:00:00Z,1\n1970-01-21,2\n")
    assert "" == psoup("load", path, "--stream", "s", "--time", "at").stderr
    assert 2 == psoup.rows("s")


def test_load_that_declares_a_timestamp_without_time_shows_the_warning(psoup, csv_file):
    """What the service warns of in a declaration is shown, with the option of this command."""
    said = psoup("load", csv_file, "--stream", "s").stderr
    assert "rows are dated by their arrival" in said
    assert "--time" in said
    assert "" == psoup("load", csv_file, "--stream", "t", "--time", "ts").stderr
