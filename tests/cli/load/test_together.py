"""Several files written in several ways: what one leaves open the others decide, and notes say it."""

import pytest

from psoup.app.cli.common import ExitCode


@pytest.fixture
def write(tmp_path):
    """Return a function that writes files 1.csv, 2.csv, ... and returns a pattern of them."""

    def written(*contents):
        for number, content in enumerate(contents, start=1):
            (tmp_path / f"{number}.csv").write_text(content)
        return tmp_path / "*.csv"

    return written


def rows_of(psoup, sql):
    return psoup("query", sql, "--format", "csv").stdout.splitlines()[1:]


@pytest.mark.parametrize("options", [("--time", "d"), ()])
def test_dates_of_a_file_are_read_as_those_of_the_others(psoup, write, options):
    """Only the second file tells the day from the month: the first is read alike, as the time column or any other."""
    pattern = write("d,n\n01/02/2014,1\n", "d,n\n13/02/2014,2\n")
    result = psoup("load", pattern, "--stream", "s", *options)
    assert "note d is read as %d/%m/%Y, such as '01/02/2014'" in result.stderr
    days = rows_of(psoup, "SELECT d FROM s")
    assert ["2014-02-01", "2014-02-13"] == [day[:10] for day in days]


def test_dates_that_no_file_decides_are_refused_by_the_name_of_one(psoup, write):
    """Two files that each leave both ways open: the time column is refused, another column stays text with one note."""
    pattern = write("d,n\n01/02/2014,1\n", "d,n\n03/04/2014,2\n")
    result = psoup("load", pattern, "--stream", "s", "--time", "d", code=ExitCode.DATA_FILE)
    assert "1.csv: column 'd'" in result.stderr
    assert "--time-format '%m/%d/%Y' or '%d/%m/%Y'" in result.stderr
    assert 1 == psoup("load", pattern, "--stream", "s").stderr.count("d stays text")
    assert ["01/02/2014", "03/04/2014"] == rows_of(psoup, "SELECT d FROM s")


def test_file_that_writes_its_times_otherwise_is_named(psoup, write):
    """Each file's own values decide; a note says which is read otherwise than the first."""
    pattern = write("d,n\n2014-02-01,1\n", "d,n\n2/13/2014 1:20,2\n")
    result = psoup("load", pattern, "--stream", "s", "--time", "d")
    assert "d is read as %m/%d/%Y %H:%M in " in result.stderr
    assert ["2014-02-01", "2014-02-13"] == [day[:10] for day in rows_of(psoup, "SELECT d FROM s")]


def test_words_for_nothing_are_counted_over_all_files(psoup, write):
    """A file of them alone says nothing about the type; text in one file is text in all."""
    pattern = write("n,t\nNA,NA\n", "n,t\n5,x\nNA,y\n")
    result = psoup("load", pattern, "--stream", "s")
    assert "note NA is NULL in n (2)" in result.stderr
    assert "it stays text in t (1)" in result.stderr
    assert "holds nothing but" not in result.stderr
    assert [",NA", "5,x", ",y"] == rows_of(psoup, "SELECT n, t FROM s")


def test_days_written_as_digits_are_integers_beside_integers_that_are_none(psoup, write):
    """As they are within one file."""
    psoup("load", write("date\n20140201\n", "date\n7\n"), "--stream", "s")
    assert ["20140201", "7"] == rows_of(psoup, "SELECT date FROM s")


def test_note_on_one_of_several_files_names_it(psoup, write):
    """One of them is separated by semicolons; what holds for all is said once."""
    pattern = write("n,m\n1,2\n", "n;m\n3;4\n")
    result = psoup("load", pattern, "--stream", "s")
    assert "2.csv: a semicolon separates the fields" in result.stderr
    pattern = write("n;m\n5;6\n", "n;m\n7;8\n")
    result = psoup("load", pattern, "--stream", "t")
    assert "note a semicolon separates the fields" in result.stderr
    assert 1 == result.stderr.count("note")


def test_file_that_lacks_the_time_is_refused_before_anything_is_declared(psoup, tmp_path):
    """Rows of JSON may lack a member: each row needs its time, in every file."""
    (tmp_path / "1.ndjson").write_text('{"ts":"2024-01-01","n":1}\n')
    (tmp_path / "2.ndjson").write_text('{"n":2}\n')
    result = psoup(
        *("load", tmp_path / "*.ndjson", "--stream", "s", "--time", "ts"), code=ExitCode.DATA_FILE
    )
    assert "2.ndjson:1: column 'ts': this column allows no NULL" in result.stderr
    with psoup.service() as service:
        assert service.stream("s") is None
