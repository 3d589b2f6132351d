"""`psoup top`, and queries that end by themselves or by their labels, on the command line."""

import sys

import orjson
import pytest

from psoup.app.cli.common import ExitCode
from tests.terminals import terminal


@pytest.fixture
def registered(psoup):
    """Two queries of one user, of which one was invoked, and one of another."""
    psoup("declare", "s", "--column", "ts:timestamp", "-c", "n:int64", "--time", "ts")
    for number, user in enumerate(("42", "42", "43")):
        psoup("register", f"SELECT n FROM s WHERE n > {number}", "--label", f"user:{user}")
    (first, *_) = psoup("queries").stdout.splitlines()
    psoup("invoke", orjson.loads(first)["id"])
    return psoup


def test_top_in_a_pipe_writes_a_line_for_each_query(registered):
    """Once, the largest first; as a table where that is asked for."""
    (line,) = registered("top", "--by", "invokes").stdout.splitlines()
    assert (1, "user") == (orjson.loads(line)["invokes"], *orjson.loads(line)["labels"])
    twice = registered("top", "--by", "invokes", "--times", 2, "--every", 0.05).stdout
    assert 2 * [line] == twice.splitlines()
    table = registered("top", "--by", "invokes", "--format", "table").stdout
    assert "invokes" in table
    assert orjson.loads(line)["id"] in table


def test_drop_of_a_label_removes_the_queries_that_have_it(registered):
    """Without --yes nothing in a pipe, which says how many would go; a stream and a label are one too many."""
    asked = registered("drop", "--label", "user:42", code=ExitCode.USAGE)
    assert "This removes 2 queries labelled user:42" in asked.stderr
    for wrong in (("drop",), ("drop", "s", "--label", "user:42"), ("drop", "--label", "user")):
        assert "--label" in registered(*wrong, code=ExitCode.USAGE).stderr
    done = registered("drop", "--label", "user:42", "--yes")
    assert "removed 2 queries" in done.stderr
    assert 1 == len(registered("queries").stdout.splitlines())


def test_register_says_how_long_a_query_lives(registered):
    """In its description, and refuses what cannot be."""
    sql = "SELECT n FROM s"
    described = registered("register", sql, "--ttl", "7d", "--format", "ndjson")
    assert "7d" == orjson.loads(described.stdout)["ttl"]
    assert "expires at" in registered("register", sql, "--ttl", "7d", "--format", "table").stdout
    refused = registered("register", sql, "--ttl", "1s", code=ExitCode.REFUSED)
    assert "--ttl 1s: expected 1m to 366d" in refused.stderr


@pytest.mark.service
def test_top_on_a_terminal_is_drawn_anew(registered):
    """Until interrupted, which is no failure; what was seen last stays."""
    (line,) = registered("top", "--by", "invokes").stdout.splitlines()
    query = orjson.loads(line)["id"]
    command = [sys.executable, "-P", "-m", "psoup", "top", "--by", "invokes", "--every", "0.1"]
    with terminal([*command, "--url", registered.url], width=160, height=12) as watched:
        watched.wait_for(lambda screen: query in screen.text, "the query is shown")
        registered("invoke", query)
        watched.wait_for(lambda screen: " 2 " in screen.text, "the second one is counted")
        watched.type(b"\x03")
        assert 0 == watched.end()
        assert query in watched.screen.text
