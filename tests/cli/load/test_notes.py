"""What `psoup load` decides about a file is said on standard error before the first row is sent."""

import pytest

from psoup.app.cli.common import ExitCode
from psoup.client.calls import PsoupClient
from psoup.client.errors import ServiceUnreachableError


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("when;n;x\n1/2/2025 1:20;NA;2,5\n3/14/2025;7;3,5\n")
    return path


def test_load_says_what_it_decided_before_the_first_batch(psoup, csv_file, monkeypatch):
    """The notes are out before the stream is declared; standard output has the columns alone."""

    def lost(*_):
        raise ServiceUnreachableError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(PsoupClient, "declare", lost)
        result = psoup(
            "load", csv_file, "--stream", "s", "--time", "when", code=ExitCode.UNREACHABLE
        )
    assert [
        "note a semicolon separates the fields; pass --delimiter if that is wrong",
        'note NA is NULL in n (1); --types "COLUMN string" keeps it as text',
        "note when is read as %m/%d/%Y %H:%M, such as '1/2/2025 1:20'",
        "note x stays text: '2,5' looks like a number with a decimal comma; --decimal-comma reads such numbers",
        'note in SQL these names stand in double quotes: "when"',
    ] == result.stderr.splitlines()[:-1]
    assert "note" not in result.stdout
    assert "read as %m/%d/%Y %H:%M" in result.stdout


def test_load_of_another_file_into_the_stream_reads_it_alike(psoup, csv_file):
    """The stream's types are taken, and words for nothing and times are told from the file all the same."""
    options = ("--stream", "s", "--time", "when", "--decimal-comma")
    psoup("load", csv_file, *options)
    csv_file.write_text("when,n,x\n2025-03-15,-,4\n")
    assert "note - is NULL in n (1)" in psoup("load", csv_file, *options, "--yes").stderr
    assert 3 == psoup.rows("s")
    result = psoup("load", csv_file, *options, "--types", "n float64", code=ExitCode.USAGE)
    assert "declares column 'n' as int64, and --types names" in result.stderr
    assert 3 == psoup.rows("s")


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--time", "d"), ExitCode.DATA_FILE, "--time-format '%m/%d/%Y' or '%d/%m/%Y'"),
        (("--time", "d", "--time-format", "%H"), ExitCode.USAGE, "has no year"),
        (
            ("--time", "d", "--time-format", "%Y"),
            ExitCode.DATA_FILE,
            "a.csv:2: column 'd': expected %Y",
        ),
        (("--time-format", "n=%Y"), ExitCode.DATA_FILE, "a.csv:2: column 'n': expected %Y"),
        (("--time", "n"), ExitCode.DATA_FILE, "pass --epoch s|ms|us|ns"),
        (("--time", "t"), ExitCode.DATA_FILE, "a.csv:3: column 't': this column allows no NULL"),
        (("--time-format", "%Y"), ExitCode.USAGE, "for no column"),
        (("--time", "d+"), ExitCode.USAGE, "PART+PART"),
        (("--time", "d+zz"), ExitCode.DATA_FILE, "no such column for --time"),
        (("--types", "zz int64"), ExitCode.DATA_FILE, "no such column for --types"),
        (("--types", "d"), ExitCode.USAGE, "not clear"),
        (("--charset", "hex"), ExitCode.USAGE, "expected an encoding"),
        (("--charset", "utf-16"), ExitCode.DATA_FILE, "not utf-16"),
    ],
)
def test_load_that_cannot_be_read_as_asked_declares_nothing(psoup, tmp_path, options, code, said):
    """A sentence and an exit code; no stream is left behind."""
    path = tmp_path / "a.csv"
    path.write_text("d,n,t\n01/02/2025,1,2025-01-01\n03/04/2025,2,-\n")
    assert said in psoup("load", path, "--stream", "s", *options, code=code).stderr
    with psoup.service() as service:
        assert service.stream("s") is None


def test_load_by_a_format_dates_the_rows(psoup, tmp_path):
    """The same file, once the format is said."""
    path = tmp_path / "a.csv"
    path.write_text("d,n\n01/02/2025,1\n03/04/2025,2\n")
    psoup("load", path, "--stream", "s", "--time", "d", "--time-format", "%d/%m/%Y")
    result = psoup("query", "SELECT d FROM s WHERE n = 1", "--format", "csv")
    assert "2025-02-01T00:00:00" in result.stdout
