"""The benchmark of processes apart: who asks counts rightly, and at smoke size every way gives one answer."""

import http.server
import json
import socket

import pytest

from benchmarks import (
    postgres,
    processes_invocations,
    processes_lag,
    processes_recovery,
    processes_stage,
    workloads,
)
from benchmarks.bench import Size, measure, missing
from benchmarks.load import Asked, Load, digest_of
from tests.serving import served

BODY = {"now": "n", "window": {}, "count": 1, "complete_from": None, "rows": [{"_id": "1"}]}


class Answers(http.server.BaseHTTPRequestHandler):
    """Answers what a service might: an answer, or a refusal under /refused."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        body = json.dumps(BODY | {"query": self.path}).encode()
        self.send_response(503 if self.path == "/refused" else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200 if self.headers["Content-Type"] == "application/json" else 415)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def port():
    """Yield where `Answers` answers."""
    with served(Answers) as address:
        yield int(address.rpartition(":")[2])


def test_load_asks_as_often_as_it_is_told(port):
    """Closed and open loop answer every request; an open one takes as long as its rate says."""
    with Load() as load:
        closed = load.run(Asked(port, ["/a", "/b"], connections=3, count=20))
        opened = load.run(Asked(port, ["/a", "/b"], connections=3, count=20, rate=200.0))
    for one in (closed, opened):
        assert (20, 0) == (one.count, one.unanswered)
        assert 0 < one.p50_s <= one.p99_s <= one.most_s
        assert len(json.dumps(BODY | {"query": "/a"})) == one.answer_bytes
    assert 19 / 200.0 <= opened.seconds


def test_load_posts_the_body_it_is_given(port):
    """Every request sends it whole, as JSON."""
    body = json.dumps({"text": "é"}, ensure_ascii=False)
    with Load() as load:
        found = load.run(Asked(port, ["/a"], connections=2, count=6, body=body))
    assert (6, 0, len(body.encode())) == (found.count, found.unanswered, found.answer_bytes)


def test_load_counts_what_is_refused(port):
    """A refusal is no answer: every second request is one."""
    with Load() as load:
        assert 5 == load.run(Asked(port, ["/a", "/refused"], connections=2, count=10)).unanswered


def test_load_says_why_it_cannot_ask():
    """Nobody listens: the run fails with the reason, and the process goes on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        free = server.getsockname()[1]
    with Load() as load:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="refused"):
                load.run(Asked(free, ["/a"], connections=1, count=1))


def test_digest_is_that_of_the_rows(port):
    """Handles and positions do not count, rows, order and counts do."""
    with Load() as load:
        load.run(Asked(port, ["/a", "/b"], connections=1, count=2))
        found = load.digest().hex()
    others = [BODY | {"seq": 7}, BODY | {"query": "other"}]
    assert found == digest_of({path: json.dumps(one).encode() for path, one in enumerate(others)})
    for name, value in (("count", 2), ("rows", []), ("rows", [{"_id": "2"}]), ("now", "m")):
        changed = [BODY | {name: value}, BODY]
        bodies = {path: json.dumps(one).encode() for path, one in enumerate(changed)}
        assert found != digest_of(bodies)


def test_window_reaches_a_whole_number_of_seconds_back():
    """PostgreSQL's table begins with the first tuple that psoup's window shows; one chunk is still open."""
    held = processes_stage.held(Size.FULL)
    assert 65_536 == held.window
    first_us = workloads.EPOCH_US + held.first * workloads.SECOND_US
    assert first_us == held.now_us - (held.window - 1) * workloads.SECOND_US
    assert held.rows % 4_096


@pytest.mark.service
@pytest.mark.timeout(300)  # it starts eight processes
@pytest.mark.slow
def test_invocations_at_smoke_size_agree_on_every_answer():
    """Workers and PostgreSQL, where it is installed, answer alike; times and CPU time are found."""
    with processes_stage.Stage(Size.SMOKE) as stage:
        for contest in processes_invocations.contests(stage):
            expected = [way.name for way in contest.contenders if not missing(way)]
            assert expected == [result.contender for result in measure(contest, rounds=1)]
            assert bool(postgres.lacking()) == (len(expected) == 1)
        for survey in processes_invocations.surveys(stage):
            assert_found(survey)


@pytest.mark.service
@pytest.mark.slow
@pytest.mark.parametrize("part", [processes_lag, processes_recovery], ids=["lag", "recovery"])
def test_ingest_and_starts_at_smoke_size_are_measured(part):
    """Batches are applied, killed engines and fresh workers come back; every survey finds its figures."""
    for survey in part.surveys(Size.SMOKE):
        assert_found(survey)


def assert_found(survey):
    """A survey finds figures, each under a key of its own."""
    figures = {figure.key: figure.value for figure in survey.run()}
    assert figures
    assert all(key.startswith(survey.key) for key in figures)
    assert all(value >= 0 for value in figures.values())
