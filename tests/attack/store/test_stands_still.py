"""A store that stands still: everybody is answered by a deadline, and all goes on afterwards."""

import contextlib
import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.attack.target import Target
from tests.patience import wait_until
from tests.stores import SharedServer

pytestmark = pytest.mark.services
DEADLINE_S = 0.5
ASKERS = 3
POOLED_MAX = 2 + 4 + 6 + 2 * ASKERS
GENEROUS_S = 5.0
"""What an answer may take whose deadline is DEADLINE_S, or a second of the one look at the store, on a busy machine;
half of what one call of a store that stands still takes."""


@pytest.fixture(scope="module")
def target_settings() -> Mapping[str, object]:
    """Deadlines pass soon."""
    return dict.fromkeys(
        ("ingest_deadline_s", "register_deadline_s", "invoke_deadline_s"), DEADLINE_S
    )


@contextlib.contextmanager
def standing_still(server: SharedServer) -> Iterator[None]:
    """Let the store's process stand still meanwhile."""
    pid = int(server.client.info("server")["process_id"])
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def prepared(target: Target) -> str:
    """Declare a stream with a row, register a query over it, and have everything answered once; return its handle."""
    columns = [{"name": "x", "type": "int64"}]
    target.ask("PUT", "/v1/streams/quiet", json={"columns": columns})

    def row_is_taken() -> bool:
        return target.ask("POST", "/v1/streams/quiet/rows", json=[{"x": 1}]).status_code == 200

    wait_until(row_is_taken, "a row is stored and visible")
    answer = target.ask("POST", "/v1/queries", json={"sql": "SELECT x FROM quiet"})
    query_id = str(answer.json()["id"])
    results = f"/v1/queries/{query_id}/results"
    wait_until(lambda: target.ask("GET", results).status_code == 200, "the query is answered")
    for path in ("/v1/status", "/metrics"):
        assert target.ask("GET", path).status_code == 200
    return query_id


def asked(target: Target, query_id: str) -> dict[str, tuple[int, float, str]]:
    """Return status, seconds and body of one request of each kind, sent side by side, several times."""
    requests = {
        "invoke": ("GET", f"/v1/queries/{query_id}/results", {}),
        "ingest": ("POST", "/v1/streams/quiet/rows", {"json": [{"x": 2}]}),
        "ready": ("GET", "/readyz", {}),
        "health": ("GET", "/healthz", {}),
        "status": ("GET", "/v1/status", {}),
        "metrics": ("GET", "/metrics", {}),
        "limits": ("GET", "/v1/limits", {}),
    }
    found: dict[str, tuple[int, float, str]] = {}

    def ask(name: str) -> None:
        method, path, more = requests[name]
        begun = time.monotonic()
        answer = target.ask(method, path, **more)
        seconds = time.monotonic() - begun
        if name not in found or found[name][1] < seconds:
            found[name] = answer.status_code, seconds, answer.text

    threads = [threading.Thread(target=ask, args=(one,)) for one in (*requests,) * ASKERS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def threads_of(target: Target) -> int:
    """Return how many threads the process that answers has."""
    return len(list(Path(f"/proc/{target.pid}/task").iterdir()))


def test_everybody_is_answered_while_the_store_stands_still(
    target: Target, attacked_server: SharedServer
):
    """Answers, refusals and figures come by their deadlines, and say why; afterwards everything works at once."""
    query_id = prepared(target)
    asked(target, query_id)  # starts all threads there are to be
    threads = threads_of(target)
    with standing_still(attacked_server):
        found = asked(target, query_id)
        again = asked(target, query_id)
    for name, (status, seconds, text) in (*found.items(), *again.items()):
        assert seconds < GENEROUS_S, f"{name}: {seconds:.1f} s for {status} {text[:200]}"
    assert found["health"][0] == 200
    assert found["ready"][0] == 503
    assert {"store-slow", "store-down"} & set(json.loads(found["ready"][2])["reasons"])
    assert found["metrics"][0] == found["status"][0] == found["limits"][0] == 200
    assert "psoup_ready 0" in found["metrics"][2]
    # What folds answers from its memory.
    assert found["invoke"][0] == (200 if target.kind == "serve" else 503)
    assert found["ingest"][0] == 503

    wait_until(lambda: target.ask("GET", "/readyz").status_code == 200, "it is ready again")
    results = f"/v1/queries/{query_id}/results"
    wait_until(lambda: target.ask("GET", results).status_code == 200, "the query is answered again")
    wait_until(
        lambda: (
            target.ask("POST", "/v1/streams/quiet/rows", json=[{"x": 3}]).status_code in (200, 202)
        ),
        "rows are stored again",
    )
    # Pools that were not full before may be now: parsing, answers, looks, appends of two rounds.
    assert threads_of(target) <= threads + POOLED_MAX
    clients = int(attacked_server.client.info("clients")["connected_clients"])
    assert clients < 100, "connections are given back"
