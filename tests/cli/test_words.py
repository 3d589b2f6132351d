"""Refusals in the words of the command line: what was typed, and the command or option that mends it."""

import pytest

from psoup.app.cli.common import ExitCode
from psoup.app.cli.terminal.phrases import in_command_words
from psoup.app.cli.terminal.problems import problem
from psoup.client.errors import ProblemRequest, ServiceProblem
from tests.cli.test_terminal import shown

HTTP = ("/v1/", "GET ", "PUT ", "pointer", "extras", '"unit"', "`newest`", "?now", "params", "/ttl")
"""What only a client of HTTP knows."""

REFUSED = [
    (("drop", "shipment"), "There is no stream 'shipment'. Did you mean shipments?"),
    (("drop", "zebra"), "There is no stream 'zebra'. psoup streams lists those that are."),
    (("invoke", "q_0000000000000000000000"), "There is no query q_0000000000000000000000"),
    (("query", "SELECT * FROM shipment"), "There is no stream 'shipment'. Did you mean shipments?"),
    (("query", "CREATE TABLE a"), "psoup declare"),
    (("query", "SELECT n FROM shipments", "--now", "2030-01-01"), "--now 2030-01-01 lies after"),
    (("query", "SELECT n FROM shipments", "--now", "noon"), "--now noon: expected an instant"),
    (("register", "SELECT n FROM shipments", "--name", "n" * 200), "--name nnn"),
    (("declare", "t", "--column", "n:int64", "--clock", "high-water"), "--clock high-water: "),
    (("declare", "t", "--column", "n:int64", "--time", "n"), "--time n: the time column has to be"),
    (("declare", "shipments", "--column", "n:int64"), "psoup drop shipments"),
    (("register", "SELECT n FROM shipments", "--ttl", "7 moons"), "--ttl 7 moons: expected"),
    (("query", "SELECT n FROM shipments WHERE n > :least"), "Pass one by --param least=40"),
    (
        ("query", "SELECT n FROM shipments WHERE n > :least", "--param", "leest=4"),
        "Did you mean the leest of --param?",
    ),
]


def test_refusals_are_in_the_words_of_the_command_line(psoup):
    """Each repeats what was typed or names the command to type; none speaks of HTTP."""
    psoup("declare", "shipments", "-c", "ts:timestamp", "-c", "n:int64", "--time", "ts")
    with psoup.service() as service:
        row = b'{"ts":"2026-04-01T10:00:00Z","n":1}'
        service.append("shipments", row, content_type="application/json")
    for command, said in REFUSED:
        result = psoup(*command, code=ExitCode.REFUSED)
        assert said in result.stderr, (command, result.stderr)
        assert not [word for word in HTTP if word in result.stderr], (command, result.stderr)
    now = psoup("query", "SELECT n FROM shipments", "--now", "2030-01-01", code=1).stderr
    assert "lies after the query's NOW, 2026-04-01 10:00:00." in now


def test_name_that_is_taken_is_told_with_its_handle(psoup):
    """Which query has the name, and how it is removed."""
    psoup("declare", "s", "-c", "n:int64")
    handle = psoup("register", "SELECT n FROM s", "--name", "late").stdout.strip()
    refused = psoup(
        "register", "SELECT n FROM s WHERE n > 1", "--name", "late", code=ExitCode.REFUSED
    ).stderr
    assert f"Another query is called late: {handle}" in refused
    assert "psoup remove late" in refused


def test_status_shows_what_is_asked_for_most(psoup):
    """Some twenty lines for people; every figure by --all, and as data."""
    short = psoup("status", "--format", "table").stdout.splitlines()
    assert 15 <= len(short) <= 25
    assert "psoup status --all" in short[-1]
    every = psoup("status", "--all", "--format", "table").stdout.splitlines()
    assert 40 < len(every)
    assert any(line.startswith("counters.appends ") for line in every)
    assert '"counters"' in psoup("status", "--json").stdout


def test_url_with_the_version_of_its_paths_is_the_same_service(psoup):
    """The base of every path in the documentation of HTTP is taken as well."""
    psoup("declare", "s", "-c", "n:int64")
    assert '"name":"s"' in psoup("streams", "--url", f"{psoup.url}/v1").stdout


def test_url_of_another_place_says_which_option_is_wrong(psoup):
    """The path that is not there leads to the option."""
    refused = psoup("streams", "--url", f"{psoup.url}/v2", code=ExitCode.REFUSED).stderr
    assert "nothing at /v2/v1/streams" in refused
    assert "--url" in refused


def test_instant_that_counts_another_unit_or_lies_before_all_rows_is_told(psoup):
    """An integer is microseconds: seconds and milliseconds of this century are an answer without rows."""
    psoup("declare", "s", "-c", "ts:timestamp", "--time", "ts")
    with psoup.service() as service:
        service.append("s", b'{"ts":"2026-04-01T10:00:00Z"}', content_type="application/json")
    handle = psoup("register", "SELECT ts FROM s", "--name", "all").stdout.strip()
    for now, said in (
        ("1774958400", "looks like seconds: write --now '2026-03-31 12:00:00'"),
        ("1774958400000", "looks like milliseconds: write --now '2026-03-31 12:00:00'"),
        ("1990-01-01", "before every row that is kept: the oldest is of 2026-04-01 10:00:00"),
    ):
        assert said in psoup("invoke", handle, "--now", now).stderr
    assert "" == psoup("invoke", handle, "--now", "2026-04-01 10:00:00").stderr
    assert "" == psoup("invoke", handle, "--now", "1775037600000000").stderr


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"code": "quota-exceeded", "detail": "Too many.", "limit": 5}, "limit: 5"),
        ({"code": "unknown-field", "field": "/a", "nearest": "b"}, "did you mean b?"),
        ({"code": "body-too-large", "max_bytes": 7, "max_rows": None}, "max bytes: 7"),
        ({"code": "history-failed", "retry_at": "2026-01-01T00:00:00.000000Z"}, "2026-01-01 00"),
        ({"code": "stage-missing", "stages": ["p_1", "p_2"]}, "stages: p_1, p_2"),
        ({"code": "scope-missing", "scope": "ingest:s"}, "psoup key NAME --scope ingest:s"),
        ({"code": "rows-rejected", "errors": [{"index": 3, "pointer": "/n", "code": "missing",
                                               "expected": "a value", "got": None}]},
         "row 3, n: missing, expected a value"),
    ],
)  # fmt: skip
def test_members_of_a_problem_are_shown_in_words(body, said):
    """Nothing that the service said is dropped, and NULL says nothing."""
    told = shown(problem(ServiceProblem(400, body)))
    assert said in told
    assert "None" not in told


def test_refused_query_says_what_is_wrong_once():
    """The hint says what the detail says, and quotes the query: the detail is left out."""
    body = {
        "code": "unknown-column",
        "detail": "Line 1, column 8: The stream has no column of this name. Write another one",
        "position": {"line": 1, "column": 8, "length": 3},
        "excerpt": "SELECT rom FROM r\n       ^^^",
        "hint": "r has no column 'rom'. Did you mean room?",
    }
    told = shown(problem(ServiceProblem(422, body)))
    assert told.startswith("refused unknown-column  Line 1, column 8: r has no column 'rom'.")
    assert "of this name" not in told
    assert 1 == told.count("Did you mean")


def test_instant_before_what_is_kept_names_where_that_begins():
    """Retention has dropped what was asked for."""
    body = {
        "code": "now-out-of-range",
        "detail": "now= lies before what retention has kept: ask for an instant from `oldest` on.",
        "oldest": "2026-01-01T00:00:00.000000Z",
        "newest": "2026-02-01T00:00:00.000000Z",
    }
    request = ProblemRequest("/v1/queries/q_1/results", {"now": "2025-01-01"})
    told = shown(problem(ServiceProblem(422, body, request=request)), width=200)
    assert "--now 2025-01-01 lies before what is kept, which begins 2026-01-01 00:00:00." in told


def test_phrases_of_http_become_options():
    """Members of bodies in warnings are options of commands."""
    assert "Declare the column with --unit ms" in in_command_words(
        'Declare the column with "unit": "ms"'
    )
