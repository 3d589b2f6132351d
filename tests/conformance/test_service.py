"""This service passes the worlds, alone and as a worker; what is put into it to break it, they find."""

import signal
from collections.abc import Iterator
from dataclasses import replace

import pytest

from conformance import run
from conformance.generate import FOLDER
from conformance.service import Service
from psoup.app.http.cursors import Cursor, read_cursor, sign_cursor
from psoup.app.operate.lifecycle import EXIT_OK
from psoup.engine.log.operation import QueryId
from psoup.engine.results.contract import Gen
from tests.app.conftest import choose, server, service_folder  # noqa: F401 - fixtures
from tests.app.real_processes import Process
from tests.app.serving import served_application
from tests.app.support import SETTINGS, STREAM
from tests.conformance.kept_worlds import OF_EACH_SHAPE, OVER_CLOCK, OVER_ROWS
from tests.conformance.service_mutants import BY_THE_CLOCK, BY_WORLDS, no_check_of_the_history

ALL = [FOLDER]
DRAWN = 600
"""Worlds that `make torture` draws for each kind of service."""


@pytest.fixture(
    params=[
        "memory",
        pytest.param("serve", marks=pytest.mark.service),
        pytest.param("worker", marks=pytest.mark.redis),
    ]
)
def url(request, tmp_path) -> Iterator[str]:
    """Yield the address of a service of each kind: `serve` is what a newcomer starts, a process with its own Redis."""
    if request.param == "serve":
        process = Process("serve", None, tmp_path)
        try:
            process.start("--port", "0")
            yield process.wait_for("listening")["url"]
            process.send(signal.SIGTERM)
            assert EXIT_OK == process.wait()
        finally:
            process.close()
        return
    choose(request.param, request)
    with served_application(SETTINGS) as (address, _):
        yield f"http://{address[0]}:{address[1]}"
    choose("memory", request)


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[str, object]]:
    """Yield the address of one service in memory, and the application behind it."""
    with served_application(SETTINGS) as (address, app):
        yield f"http://{address[0]}:{address[1]}", app


@pytest.mark.parametrize(
    ("url", "files"),
    [
        pytest.param("memory", ALL, marks=pytest.mark.slow),
        pytest.param("serve", OF_EACH_SHAPE, marks=pytest.mark.service),
        pytest.param("serve", ALL, marks=[pytest.mark.service, pytest.mark.slow]),
        pytest.param("worker", OF_EACH_SHAPE, marks=pytest.mark.redis),
        pytest.param("worker", ALL, marks=[pytest.mark.redis, pytest.mark.slow]),
    ],
    indirect=["url"],
    ids=["memory", "serve", "serve-all", "worker", "worker-all"],
)
def test_service_passes_the_worlds(url, files, capsys):
    """Every answer of every world of the files is what it has to be.

    In memory `tests/client/changes/test_rule.py` plays all of them at every run.
    """
    assert 0 == run.main(["--url", url, "--worlds", *map(str, files)]), capsys.readouterr().out


@pytest.mark.slow
def test_service_passes_the_world_of_a_query_that_expires(url, capsys):
    """A minute after its last use it is gone, and says why."""
    command = ["--url", url, "--slow", "--worlds", str(FOLDER / "expired.json")]
    assert 0 == run.main(command), capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", [7])
def test_service_passes_worlds_drawn_anew(url, capsys, seed):
    """So it is in worlds that nobody has looked at."""
    command = ["--url", url, "--worlds", "--drawn", str(DRAWN), "--seed", str(seed)]
    assert 0 == run.main(command), capsys.readouterr().out


def found(url, worlds):
    """Return the first failure that a world tells."""
    with Service(url) as service:
        for world in worlds:
            failures = run.played(service, world)
            if failures:
                return failures[0]
    return None


@pytest.mark.parametrize("mutant", BY_WORLDS)
def test_worlds_find_what_is_put_into_the_service(shared, monkeypatch, mutant):
    """None of them passes, and it is told by a comparison at some step."""
    BY_WORLDS[mutant](monkeypatch)
    failure = found(shared[0], OVER_ROWS)
    assert failure is not None
    assert failure.step > 0


@pytest.mark.parametrize("mutant", BY_THE_CLOCK)
def test_worlds_by_the_clock_find_what_is_put_into_the_service(shared, monkeypatch, mutant):
    """Rows that enter and leave without a new row are told by these."""
    BY_THE_CLOCK[mutant](monkeypatch)
    failure = found(shared[0], OVER_CLOCK)
    assert failure is not None
    assert failure.step > 0


def resets(shared, **changes):
    """Return whether a cursor is answered by a reset, where it says this instead of what it said."""
    url, app = shared
    tokens = app.state.context.tokens
    with Service(url) as service:
        service.call("PUT", "/v1/streams/trades", STREAM)
        service.call("POST", "/v1/streams/trades/rows", [{"ts": "2020-01-01T00:00:00Z"}])
        query = QueryId(
            service.call("POST", "/v1/queries", {"sql": "SELECT sym FROM trades"})["id"]
        )
        path = f"/v1/queries/{query}/results"
        held = read_cursor(tokens, query, service.call("GET", path)["cursor"])
        assert held is not None
        forged = sign_cursor(tokens, query, Cursor(replace(held.since, **changes)))
        return service.call("GET", f"{path}?cursor={forged}")["reset"]


@pytest.mark.parametrize(
    "changes",
    [{"gen": Gen(1)}, {"gen": Gen(1 << 44)}, {"seq": 1 << 40}, {"now_us": 1 << 52}, {"parts": ()}],
    ids=lambda changes: next(iter(changes)),
)
def test_cursor_that_cannot_be_gone_on_from_is_a_reset(shared, changes, monkeypatch):
    """Of another history, ahead of this one, of other streams: and without the check each is taken for good."""
    assert not resets(shared)
    assert resets(shared, **changes)
    no_check_of_the_history(monkeypatch)
    if "parts" not in changes:
        assert not resets(shared, **changes)
