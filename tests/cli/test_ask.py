"""`psoup validate` and `psoup explain` against a service."""

import orjson
import pytest

from psoup.app.cli.common import ExitCode

SQL = "SELECT n FROM s WHERE n > 2 AND t = 'x'"


@pytest.fixture
def standing(psoup):
    """Return the command, over a stream of two rows and a query called `large`."""
    psoup("declare", "s", "-c", "ts:timestamp", "-c", "n:int64", "-c", "t:string", "--time", "ts")
    with psoup.service() as service:
        rows = [{"ts": 0, "n": 3, "t": "x"}, {"ts": 1, "n": None, "t": "x"}]
        service.append("s", orjson.dumps(rows), content_type="application/json")
    psoup("register", SQL, "--name", "large")
    return psoup


def test_validate_shows_what_a_query_would_do(standing):
    """In a pipe one object; as a table the canonical text, the plan and the forecast. Nothing is registered."""
    found = orjson.loads(standing("validate", SQL).stdout_bytes)
    assert (1, 1) == (found["forecast"]["rows"], found["plan"]["shared_with"])
    table = standing("validate", SQL, "--format", "table").stdout
    for text in (
        "SELECT n FROM s WHERE n > 2",
        "t = 'x'; then n > 2",
        "(hash)",
        "n int64",
        "all 2 rows",
    ):
        assert text in table
    params = standing("validate", "SELECT n FROM s WHERE n > :least", "--param", "least=7")
    assert "n > 7" in orjson.loads(params.stdout_bytes)["canonical"]
    assert 1 == len(standing("queries").stdout_bytes.splitlines())


def test_validate_refuses_as_register_does(standing):
    """The place is shown under a caret, and the exit code says refused."""
    wrong = "SELECT m FROM s"
    results = [
        standing(command, wrong, code=ExitCode.REFUSED) for command in ("validate", "register")
    ]
    assert results[0].stderr == results[1].stderr
    assert "^" in results[0].stderr


def test_explain_shows_predicates_and_the_window(standing):
    """By the name of the query; unknown is a word of its own."""
    found = orjson.loads(standing("explain", "large", "1").stdout_bytes)
    assert (True, "in the window") == (found["matches"], found["window"]["because"])
    table = standing("explain", "large", "2", "--format", "table").stdout
    for text in ("unknown", "n > 2", "null", "true", "t = 'x'", "does not match"):
        assert text in table
    standing("explain", "large", "99", code=ExitCode.REFUSED)
    standing("explain", "small", "1", code=ExitCode.USAGE)


def test_explain_of_a_tuple_of_a_join_shows_each_place(standing):
    """A table for each alias of the text."""
    standing(
        "register", "SELECT a.n FROM s AS a, s AS b WHERE a.t = b.t AND a.n > 2", "--name", "twice"
    )
    table = standing("explain", "twice", "1", "--format", "table").stdout
    assert "as a" in table
    assert "as b" in table
