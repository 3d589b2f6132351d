"""`psoup declare`, `drop` and `register` against a service; asked at a terminal where there is one."""

import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from psoup.app.cli.actions.pairs import parameters_of
from psoup.app.cli.common import ExitCode
from tests.children import child
from tests.cli.test_pipes import PSOUP
from tests.house import tree


def described(psoup, name="s"):
    with psoup.service() as service:
        return service.stream(name)


@pytest.fixture
def declared(psoup):
    psoup("declare", "s", "--column", "ts:timestamp", "-c", "n:int64", "--time", "ts")
    return psoup


def test_declare_takes_columns_and_what_is_kept(psoup):
    """Every option reaches the service; in a pipe the description is one object."""
    options = ("-c", "ts:timestamp", "-c", "x:float64", "-c", "a:b:string", "--not-null", "x")
    bounds = ("--retention-rows", 7, "--retention-time", "1h", "--retention-bytes", "1MiB")
    result = psoup(
        "declare", "s", *options, "--time", "ts", "--unit", "ms", *bounds, "--future", "2d"
    )
    found = orjson.loads(result.stdout_bytes)
    assert [
        {"name": "ts", "type": "timestamp", "nullable": False, "unit": "ms"},
        {"name": "x", "type": "float64", "nullable": False},
        {"name": "a:b", "type": "string", "nullable": True},
    ] == found["columns"]
    assert {"time": "1h", "rows": 7, "bytes": 2**20} == found["retention"]
    assert ("ts", "2d", "high-water") == (found["time"], found["future"], found["clock"])
    table = psoup("declare", "t", *options, "--clock", "server", "--format", "table").stdout
    assert "t  declared\n" in table
    assert "not null" in table


def test_declare_from_a_file_is_put_as_it_is(psoup, tmp_path):
    """A JSON file as in PUT, its units among it; options go before its members."""
    path = tmp_path / "s.json"
    columns = [{"name": "ts", "type": "timestamp", "unit": "s"}, {"name": "n", "type": "int64"}]
    path.write_bytes(orjson.dumps({"columns": columns, "time": "ts", "future": "3d"}))
    psoup("declare", "s", "--schema", path, "--future", "4d")
    found = described(psoup)
    assert ("s", "4d") == (found["columns"][0]["unit"], found["future"])
    again = psoup("declare", "s", "--schema", path, "--future", "4d", "--format", "table")
    assert "declared so already" in again.stdout


def test_load_into_a_stream_with_a_unit_takes_its_declaration(psoup, tmp_path):
    """The unit is part of the declaration that a load asks for again; a file's own texts are not counted in it."""
    psoup("declare", "s", "-c", "ts:timestamp", "--time", "ts", "--unit", "ms")
    path = tmp_path / "a.csv"
    path.write_text("ts\n2024-01-01\n")
    psoup("load", path, "--stream", "s", "--time", "ts")
    psoup("load", path, "--stream", "s", "--time", "ts", "--replace", "--yes")
    found = described(psoup)
    assert ("2024-01-01T00:00:00.000000Z", "ms") == (found["newest"], found["columns"][0]["unit"])


def test_declare_adds_columns_to_a_stream_with_rows(declared):
    """They are NULL in its rows; the same again changes nothing, and what declares a stream is refused beside it."""
    with declared.service() as service:
        service.append("s", b'[{"ts":1,"n":2}]', content_type="application/json")
    added = ("--add", "note:string", "--add", "at:timestamp", "--unit", "ms")
    found = orjson.loads(declared("declare", "s", *added).stdout_bytes)
    assert [
        {"name": "note", "type": "string", "nullable": True},
        {"name": "at", "type": "timestamp", "nullable": True, "unit": "ms"},
    ] == found["columns"][2:]
    assert (1, found["seq"]) == (found["rows"], described(declared)["declared"] + 2)
    again = declared("declare", "s", *added, "--format", "table").stdout
    assert "s  has these columns\n" in again
    other = declared("declare", "s", "--add", "n:string", code=ExitCode.REFUSED).stderr
    assert "incompatible-change" in other
    assert "add_columns/0" in other
    beside = declared("declare", "s", "--add", "x:bool", "--time", "ts", code=ExitCode.USAGE).stderr
    assert "--unit alone goes with it" in beside
    assert "--add is 'x'" in declared("declare", "s", "--add", "x", code=ExitCode.USAGE).stderr


def test_declare_otherwise_is_refused_with_the_columns_that_differ(declared):
    """The columns that are the same are not listed."""
    result = declared("declare", "s", "-c", "ts:timestamp", "-c", "n:string", code=ExitCode.REFUSED)
    assert "stream-differs" in result.stderr
    assert "column n: declared int64, given string" in result.stderr
    assert "column ts: declared timestamp not null, given timestamp" in result.stderr
    assert "time: declared ts, given None" in result.stderr


def test_declare_warns_of_a_timestamp_that_dates_nothing(psoup):
    """What the service warns of goes to standard error."""
    assert "no-time-column" in psoup("declare", "s", "--column", "ts:timestamp").stderr


@pytest.mark.parametrize(
    "options",
    [
        (),
        ("--column", "n"),
        ("--column", "n:"),
        ("--column", ":int64"),
        ("--column", "n:int32"),
        ("--column", "n:int64", "--schema", "n int64"),
        ("--column", "n:int64", "--not-null", "m"),
        ("--schema", "none.json"),
        ("--column", "n:int64", "--unit", "h"),
    ],
)
def test_declaration_that_cannot_be_ends_with_2(psoup, options):
    """Said without asking the service."""
    psoup("declare", "s", *options, code=ExitCode.USAGE)
    assert described(psoup) is None


@pytest.mark.parametrize("name", ["", "a/b", "..", "1x", "x" * 65])
@pytest.mark.parametrize("command", [("declare", "-c", "n:int64"), ("drop", "--yes")])
def test_stream_that_cannot_be_named_ends_with_2(psoup, command, name):
    """It would be another path of the service."""
    result = psoup(command[0], name, *command[1:], code=ExitCode.USAGE)
    assert "is not a name of a stream" in result.stderr


def test_drop_in_a_pipe_needs_yes_and_says_what_goes(declared):
    """Rows and queries are counted before and after."""
    with declared.service() as service:
        service.append("s", b'{"ts":"2024-01-01T00:00:00Z"}', content_type="application/json")
    declared("register", "SELECT n FROM s")
    declared("register", "SELECT ts FROM s")
    refused = declared("drop", "s", code=ExitCode.USAGE)
    expected = "This drops s with 1 row and removes 2 queries that read it, with their handles."
    assert expected in refused.stderr
    assert described(declared) is not None
    assert "dropped s: 1 row, 2 queries" in declared("drop", "s", "--yes").stderr
    assert described(declared) is None
    assert "not-found" in declared("drop", "s", "--yes", code=ExitCode.REFUSED).stderr


@pytest.mark.parametrize(
    ("answer", "code"), [("y", ExitCode.DONE), ("yes", ExitCode.DONE), ("", ExitCode.REFUSED)]
)
def test_drop_at_a_terminal_asks(declared, answer, code):
    """Only yes is yes; anything else changes nothing."""
    terminal, line = pty.openpty()
    command = [*PSOUP, "drop", "s", "--url", declared.url]
    with child(command, stdin=line, stdout=line, stderr=line) as process:
        os.close(line)
        asked = b""
        while b"[y/N]" not in asked:
            asked += os.read(terminal, 1_000)
        os.write(terminal, f"{answer}\n".encode())
        assert code == process.wait(60), asked
    os.close(terminal)
    assert b"This drops s with 0 rows." in asked
    assert (described(declared) is None) == (code == ExitCode.DONE)


def test_register_prints_the_handle_alone(declared):
    """What a script keeps; warnings go to standard error."""
    result = declared("register", "SELECT n FROM s WHERE n = NULL", "--name", "none")
    with declared.service() as service:
        (query,) = service.queries()
    assert f"{query['id']}\n" == result.stdout
    assert "never-true" in result.stderr
    again = declared("register", "SELECT n FROM s WHERE n = NULL", "--name", "none")
    assert result.stdout == again.stdout


def test_register_takes_what_the_service_does(declared):
    """Name, labels and what is kept; the description where a format is asked for."""
    options = ("--name", "q", "--label", "user:42", "--label", "at:10:00", "--materialize", "none")
    result = declared("register", "SELECT n FROM s", *options, "--format", "ndjson")
    found = orjson.loads(result.stdout_bytes)
    assert ("q", "none") == (found["name"], found["materialize"])
    assert {"user": "42", "at": "10:00"} == found["labels"]
    table = declared("register", "SELECT n FROM s", *options, "--format", "table").stdout
    assert found["id"] in table
    assert "user:42" in table


def test_register_takes_the_values_of_parameters(declared):
    """Numbers, texts, also those that look like numbers, truths and NULL; the description shows them."""
    sql = "SELECT n, :code AS c, :name AS d, :on AS o, :none AS x FROM s WHERE n > $min"
    given = ("min=-4", 'code="40"', "name=it's=a", "on=true", "none=null")
    options = [part for one in given for part in ("--param", one)]
    found = orjson.loads(declared("register", sql, *options, "--format", "ndjson").stdout_bytes)
    wanted = {"min": -4, "code": "40", "name": "it's=a", "on": True, "none": None}
    assert (sql, wanted) == (found["sql"], found["params"])
    table = declared("register", sql, *options, "--format", "table").stdout
    assert 'min=-4, code="40"' in table
    assert "on=true, none=null" in table


@pytest.mark.parametrize(
    "text", ["[1]", "{}", "NaN", "-Infinity", "1e999", "01", "", "'a'", "[" * 9_000]
)
def test_value_that_no_json_value_is_stays_a_text(text):
    """A list may be a text, and so may be what is nearly a number."""
    assert {"a": text} == parameters_of([f"a={text}"])


@pytest.mark.parametrize(
    ("option", "pairs"),
    [
        ("-p", ("x",)),
        ("-p", ("=1",)),
        ("-p", ("a=1", "a=2")),
        ("--label", ("x",)),
        ("--label", (":x",)),
        ("--label", ("a:1", "a:2")),
    ],
)
def test_register_with_pairs_that_cannot_be_ends_with_2(declared, option, pairs):
    """Parameters and labels: said without asking the service."""
    options = [part for pair in pairs for part in (option, pair)]
    declared("register", "SELECT n FROM s", *options, code=ExitCode.USAGE)
    with declared.service() as service:
        assert [] == list(service.queries())


def test_register_refused_shows_the_place(declared):
    """As `psoup query` does."""
    result = declared("register", "SELECT m FROM s", code=ExitCode.REFUSED)
    assert "unknown-column" in result.stderr
    assert "^" in result.stderr
    assert "" == result.stdout


def test_streams_are_made_and_dropped_by_processes(psoup):
    """The four commands as a script runs them."""

    def run(*arguments):
        command = [*PSOUP, *arguments, "--url", psoup.url]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)

    run("declare", "s", "--column", "ts:timestamp", "--column", "n:int64", "--time", "ts")
    handle = run("register", "SELECT n FROM s").stdout.strip()
    assert "" == run("invoke", handle).stdout
    run("drop", "s", "--yes")
    assert "" == run("queries").stdout


def test_examples_of_the_documentation_run(psoup, tmp_path):
    """Each block of shell that needs no other host, as it stands there, by processes."""
    page = (tree.ROOT / "docs" / "command_line.md").read_text(encoding="utf-8")
    blocks = [one for one in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if "curl" not in one]
    places = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    for block in blocks:
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", block],
            cwd=tmp_path,
            env={**os.environ, "PSOUP_URL": psoup.url, "PATH": places},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert 0 == done.returncode, done.stderr
    with psoup.service() as service:
        assert ["phones"] == [one["name"] for one in service.streams()]
    assert (tmp_path / "keys.ndjson").is_file()
