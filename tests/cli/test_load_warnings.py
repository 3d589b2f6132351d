"""What `psoup load` says before it is too late: rows of another load, columns and types it cannot know."""

import pytest

from app.cli_common import ExitCode


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("ts,n\n" + "".join(f"2024-01-01T00:00:00Z,{i}\n" for i in range(100)))
    return path


ANOTHER = "rows, none from this load"


def test_load_into_rows_of_another_load_says_so_after_its_first_batch(psoup, csv_file):
    """Other batches, or a file that has grown, are another load: the warning names what the stream holds."""
    command = ("load", csv_file, "--stream", "s", "--batch-rows", 10)
    assert ANOTHER not in psoup(*command).stderr
    assert ANOTHER not in psoup(*command).stderr
    result = psoup(*command[:-1], 20)
    assert f"the stream already holds 100 {ANOTHER}" in result.stderr
    assert 1 == result.stderr.count("warning")
    with csv_file.open("a") as file:
        file.write("2024-01-02T00:00:00Z,100\n")
    assert f"the stream already holds 200 {ANOTHER}" in psoup(*command).stderr


def test_load_going_on_after_an_interruption_does_not_warn(psoup, csv_file):
    """Rows of this load are there: its first batch is a duplicate, and nothing comes in twice."""
    command = ("load", csv_file, "--stream", "s", "--batch-rows", 60)
    head = csv_file.read_text().splitlines(keepends=True)
    psoup(*command)
    assert len(head) - 1 == psoup.rows("s")
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
    assert 1 == said.count("warning")
