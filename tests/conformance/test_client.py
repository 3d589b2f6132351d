"""The client of sixty lines behind a bad line: at every quiet moment it holds what a full answer shows."""

import json
import os
import random
import sys
import time
import urllib.error
from http.server import BaseHTTPRequestHandler

import pytest

from conformance.client import Mirror
from tests import serving
from tests.app.serving import served
from tests.app.support import SETTINGS
from tests.children import child
from tests.conformance.following import Following, described, wait_answering
from tests.conformance.proxy import FAULTS, bad_line
from tests.patience import PATIENT_ENVIRONMENT
from tests.ports import free_port

TURNS = 40
QUIET_EVERY = 8
SLOW_S = 150.0
LIVES = 6


def answer(seq, rows, **members):
    envelope = {"gen": 1, "seq": seq, "now": "2020", "reset": False, "count": len(rows)}
    listed = [{"_id": one, "_x": None} for one in rows]
    return {**envelope, "rows": listed, "next": None, "cursor": f"c{seq}", **members}


def test_client_ignores_an_older_answer_but_for_a_reset_it_has_asked_for():
    """A server that went back says reset to the very cursor that the client holds; a late reset answers another."""
    client = Mirror("")
    client.apply(answer(5, ["x", "y"], reset=True), None)
    client.apply(answer(3, ["z"], reset=True), None)
    client.apply(answer(4, ["z"]), "c5")
    assert {"x", "y"} == set(client.rows)
    client.apply(answer(2, ["w"], reset=True), "c5")
    assert ({"w"}, "c2") == (set(client.rows), client.cursor)


def test_client_whose_count_differs_asks_for_everything():
    """Whatever went wrong, the next request carries no cursor."""
    client = Mirror("")
    assert client.apply(answer(5, ["x"], reset=True), None)
    assert not client.apply(answer(6, ["y"], count=7), "c5")
    assert client.cursor is None


@pytest.mark.parametrize(
    ("status", "code", "ends"),
    [(410, "query-expired", True), (404, "not-found", True), (410, "page-expired", False)],
)
def test_client_is_told_that_its_query_has_gone(status, code, ends):
    """It raises, and holds what it held; a page that has gone is asked for again by the next refresh."""

    class Gone(BaseHTTPRequestHandler):
        def do_GET(self):
            body = json.dumps({"status": status, "code": code, "retryable": False}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with serving.served(Gone) as url:
        client = Mirror(f"{url}/v1/queries/q/results")
        client.apply(answer(5, ["x"], reset=True), None)
        if ends:
            with pytest.raises(urllib.error.HTTPError, match=str(status)) as told:
                client.refresh()
            told.value.close()
        else:
            client.refresh()
    assert ({"x"}, "c5") == (set(client.rows), client.cursor)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_client_behind_a_bad_line_holds_what_the_query_shows(seed):
    """Cut, lost, doubled, late, stale and stripped: rows and one cursor are enough, for every kind of query."""
    rng = random.Random(seed)
    with served(SETTINGS) as address:
        url = f"http://{address[0]}:{address[1]}"
        with bad_line(url, rng) as line:
            following = Following(url, line, rng)
            for number in range(1, TURNS + 1):
                following.turn()
                if number % QUIET_EVERY == 0:
                    assert [] == following.differing(), (seed, number, described(following, line))
        assert set(FAULTS) == set(line.done)
    assert all(one.answered > TURNS / 10 for one in following.followers.values())


@pytest.mark.slow
@pytest.mark.service
@pytest.mark.timeout(900)
def test_client_of_a_service_that_is_killed_goes_on_with_its_cursor(tmp_path):
    """Behind the same line, over lives of one service that all end by kill -9, nothing is lost."""
    rng = random.Random(time.monotonic_ns())
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "-P", "-m", "psoup", "serve", "--port", port]
    command = [str(word) for word in [*command, "--data", tmp_path / "data"]]
    following = None
    with bad_line(url, rng) as line, (tmp_path / "log").open("wb") as log:
        for _ in range(LIVES):
            environment = {**os.environ, **PATIENT_ENVIRONMENT}
            with child(command, stdout=log, stderr=log, env=environment):
                wait_answering(url)
                if following is None:
                    following = Following(url, line, rng)
                else:
                    assert [] == following.beginning_anew(), described(following, line)
                assert [] == following.differing(), described(following, line)
                until = time.monotonic() + SLOW_S / LIVES
                while time.monotonic() < until:
                    following.turn()
                assert [] == following.differing(), described(following, line)
                following.turn()  # some rows arrive, and then it is killed
