"""How commands end: one code for each kind of failure, and a message that says what to do."""

import re
import subprocess
import sys

import pytest

from psoup.app.cli.actions import load as load_command
from psoup.app.cli.application import COMMANDS
from psoup.app.cli.common import ExitCode
from tests.house import tree


@pytest.fixture
def csv_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("ts,n\n2024-01-01,1\n2024-01-02,x\n")
    return path


def test_query_refused_ends_with_1_and_shows_the_place(psoup, csv_file):
    """A refused query prints code, advice and excerpt with its caret to standard error."""
    psoup("load", csv_file, "--stream", "s", "--time", "ts")
    result = psoup("query", "SELECT * FROM s WHERE nn > 1", code=ExitCode.REFUSED)
    assert "unknown-column" in result.stderr
    lines = result.stderr.splitlines()
    caret = next(i for i, line in enumerate(lines) if "^" in line)
    assert "nn" == lines[caret - 1][lines[caret].index("^") :].split()[0]
    assert "Did you mean n?" in result.stderr
    assert "" == result.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("load", "a.csv"),
        ("load", "a.csv", "--stream", "s", "--clock", "mine"),
        ("load", "a.csv", "--stream", "s", "--delimiter", "ab"),
        ("load", "a.csv", "--stream", "s", "--schema", "n int32"),
        ("query", "SELECT 1", "--format", "xml"),
        ("query", "SELECT 1", "--limit", "0"),
        ("nothing",),
        ("serve", "--port", "99999"),
        ("serve", "--log-level", "loud"),
    ],
)
def test_command_line_that_cannot_be_ends_with_2(psoup, arguments):
    """Unknown commands and values are refused by name before anything is asked of the service."""
    result = psoup(*arguments, code=ExitCode.USAGE)
    assert "" != result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("serve", "--port", "abc"), "'--port': expected a whole number, got abc"),
        (("demo", "--seconds", "long"), "'--seconds': expected a number, got long"),
        (("query", "SELECT 1", "--limit", "0"), "'--limit': expected a number from 1, got 0"),
        (("streams", "--format", "xml"), "'xml' is not one of 'table', 'ndjson'"),
        (("pipeline", "demo", "--rows", "1.5"), "'--rows': expected a whole number, got 1.5"),
    ],
)
def test_value_of_an_option_is_refused_in_plain_words(psoup, arguments, said):
    """Those of the library that reads them do not reach a user."""
    told = " ".join(psoup(*arguments, code=ExitCode.USAGE).stderr.replace("│", " ").split())
    assert said in told


@pytest.mark.parametrize("command", ["invoke", "remove"])
def test_name_in_the_place_of_a_handle_ends_with_2_and_says_where_handles_are(psoup, command):
    """A name that no query has: the nearest one, and where names and handles are."""
    psoup("declare", "s", "--column", "n:int64")
    psoup("register", "SELECT n FROM s", "--name", "warmer")
    result = psoup(command, "warm", code=ExitCode.USAGE)
    assert "No query is called 'warm', and it is not a handle" in result.stderr
    assert "Did you mean warmer?" in result.stderr
    assert "psoup queries" in result.stderr


def test_name_may_begin_as_handles_do(psoup):
    """A query is called what its user likes: only what has the form of a handle is taken for one."""
    psoup("declare", "s", "--column", "n:int64")
    psoup("register", "SELECT n FROM s", "--name", "q_top")
    psoup("invoke", "q_top")
    psoup("remove", "q_top")
    result = psoup("invoke", "q_top", code=ExitCode.USAGE)
    assert "No query is called 'q_top', and it is not a handle" in result.stderr


def test_query_is_invoked_and_removed_by_its_name(psoup):
    """The name of its registration stands for its handle."""
    psoup("declare", "s", "--column", "n:int64")
    psoup("register", "SELECT n FROM s", "--name", "late")
    assert "0 rows" in psoup("invoke", "late", "--format", "table").stdout
    psoup("remove", "late")
    with psoup.service() as service:
        assert [] == list(service.queries())


@pytest.mark.parametrize("command", ["query", "register"])
def test_query_in_several_words_is_asked_for_in_double_quotes(psoup, command):
    """What the shell has split: nothing is asked of the service."""
    result = psoup(command, "SELECT", "n", "FROM", "s", code=ExitCode.USAGE)
    assert "double quotes" in " ".join(result.stderr.replace("│", " ").split())


def test_service_that_does_not_answer_ends_with_3(psoup, nowhere):
    """The message names the address and what to look for."""
    for command in (("status",), ("streams",), ("query", "SELECT * FROM s")):
        result = psoup(*command, "--url", nowhere, code=ExitCode.UNREACHABLE)
        assert nowhere in result.stderr
        assert "psoup serve" in result.stderr


def test_data_file_that_does_not_fit_ends_with_4(psoup, csv_file, tmp_path):
    """A missing file, and a value that does not fit, with line and column."""
    psoup("load", tmp_path / "none.csv", "--stream", "s", code=ExitCode.DATA_FILE)
    schema = "ts timestamp not null, n int64"
    result = psoup("load", csv_file, "--stream", "s", "--schema", schema, code=ExitCode.DATA_FILE)
    assert "a.csv:3: column 'n': expected an integer (int64), got 'x'" in result.stderr


def test_row_that_the_service_rejects_ends_with_4_and_its_line(psoup, tmp_path):
    """A rejection of the service is told in the file's own lines; nothing of the batch is stored."""
    path = tmp_path / "a.csv"
    path.write_text("ts,n\n2024-01-01,1\n\n2999-01-01,2\n")
    result = psoup("load", path, "--stream", "s", "--time", "ts", code=ExitCode.DATA_FILE)
    assert "a.csv:4: column 'ts'" in result.stderr
    assert "too-far-in-future" in result.stderr
    assert 0 == psoup.rows("s")


def test_load_interrupted_ends_with_130_and_says_how_to_go_on(psoup, csv_file, monkeypatch):
    """Ctrl-C is no traceback: the message says that the same command goes on."""

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(load_command, "run_load", interrupted)
    result = psoup("load", csv_file, "--stream", "s", code=ExitCode.INTERRUPTED)
    assert "the same command goes on" in result.stdout


def test_help_lists_the_exit_codes_and_loads_nothing_heavy():
    """`psoup --help` is quick because it imports neither Arrow, nor NumPy, nor the web side."""
    heavy = "pyarrow numpy fastapi pydantic httpx2 redis sqlglot psoup.engine.engine psoup.storage"
    program = f"import sys, psoup.app.cli.application; print([m for m in {heavy.split()!r} if m in sys.modules])"
    run = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert "[]" == run.stdout.strip()
    helped = subprocess.run(
        [sys.executable, "-m", "psoup", "--help"], capture_output=True, text=True, check=True
    )
    for code in ExitCode:
        assert str(code.value) in helped.stdout


def test_version_names_psoup_python_and_system(psoup):
    """One line for a bug report, without a command and without a service."""
    said = psoup("--version").stdout
    assert re.fullmatch(r"psoup \d+\.\d+\S* \(Python 3\.\d+\.\d+\S*, \w+ \w+\)\n", said)


def test_exit_codes_are_documented():
    """The table in the documentation is the enumeration."""
    page = (tree.ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    assert [code.value for code in ExitCode] == [
        int(number) for number in re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    ]


def test_commands_are_documented():
    """Each of them has its place in a table of the documentation."""
    page = (tree.ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    assert [] == [
        command.__name__ for command in COMMANDS if f"`psoup {command.__name__}" not in page
    ]
