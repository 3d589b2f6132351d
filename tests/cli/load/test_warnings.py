"""What `psoup load` says before it is too late: rows of another load, columns and types it cannot know."""

import pytest

from psoup.app.cli.common import ExitCode


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("ts,n\n" + "".join(f"2024-01-01T00:00:00Z,{i}\n" for i in range(100)))
    return path


def test_load_of_a_file_that_has_grown_says_so_before_its_first_batch(psoup, csv_file):
    """The stream has rows and none of this content: said before one is stored, as the figure shows."""
    command = ("load", csv_file, "--stream", "s", "--batch-rows", 10)
    assert "already holds" not in psoup(*command).stderr
    assert "already holds" not in psoup(*command).stderr
    with csv_file.open("a") as file:
        file.write("2024-01-02T00:00:00Z,100\n")
    result = psoup(*command)
    assert f"s already holds 100 rows, none of them from {csv_file}" in result.stderr
    assert "--replace" in result.stderr
    assert 1 == result.stderr.count("warning")
    assert 201 == psoup.rows("s")


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


def test_load_in_another_unit_shows_the_warning_of_the_service_once(psoup, tmp_path):
    """Milliseconds read as microseconds are all of January 1970: every batch is accepted, and one warning says so."""
    path = tmp_path / "a.csv"
    path.write_text("at,n\n" + "".join(f"{1_700_000_000_000 + i},{i}\n" for i in range(100)))
    command = (
        "load",
        path,
        "--stream",
        "s",
        "--schema",
        "at timestamp, n int64",
        "--batch-rows",
        10,
    )
    assert "1970" not in psoup(*command[:3], "t", *command[4:], "--epoch", "ms").stderr
    said = psoup(*command, "--epoch", "us").stderr
    assert "look like milliseconds" in said
    assert "read by --epoch us" in said
    assert 1 == said.count("look like")


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
