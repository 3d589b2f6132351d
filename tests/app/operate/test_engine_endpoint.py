"""What an engine without an API answers: alive, ready, its meters, and nothing else."""

import hashlib
import json
import threading
from pathlib import Path
from types import SimpleNamespace

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families
from structlog.testing import capture_logs

from psoup.app.admission.slots import unlimited_slots
from psoup.app.admission.traffic import Traffic
from psoup.app.backend.contract import Phase
from psoup.app.connection.listening import listen
from psoup.app.connection.server import make_server
from psoup.app.http.access.guesses import client_address
from psoup.app.http.access.keys import load_keys
from psoup.app.http.access.sites import Sites
from psoup.app.http.edge import Application
from psoup.app.http.front import Front
from psoup.app.http.request_log import RequestLog
from psoup.app.operate.engine_endpoint import engine_application
from psoup.app.settings import Settings
from psoup.engine.clock import ManualClock
from psoup.engine.limits import REQUEST_LINES_PER_ADDRESS_MAX
from psoup.engine.log.operation import Rows
from psoup.engine.store.errors import StoreUnavailableError
from tests.app.faults import FaultyStore
from tests.app.fold.folding import Folding, numbers, quicken, schema
from tests.app.raw_http import connected, head, read_answer
from tests.app.support import START_US, assert_problem
from tests.patience import WAIT_S, wait_until
from tests.world import World

pytestmark = pytest.mark.anyio

EXECUTORS = SimpleNamespace(jobs=7, failed=0, chunks=6, seconds=0.5)
"""What executors have done, where an engine has some."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(START_US)


@pytest.fixture
def store(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> FaultyStore:
    quicken(monkeypatch)
    return FaultyStore(clock)


@pytest.fixture
def one(store):
    """A loop that nobody has started."""
    folding = Folding(store, answers=False)
    yield folding
    folding.loop.stop()


def started(one: Folding) -> None:
    one.loop.start()
    assert one.loop.wait_recovered(WAIT_S)


async def get(one: Folding, path: str, keys_file=None, **headers: str) -> httpx2.Response:
    """Return the answer to one request."""
    async with client_of(one, keys_file) as client:
        return await client.get(path, headers=headers)


def client_of(one: Folding, keys_file: Path | None = None) -> httpx2.AsyncClient:
    """Return a client of the engine's endpoint."""
    app = endpoint(one, RequestLog(Settings()), keys_file)
    transport = httpx2.ASGITransport(app=app)
    return httpx2.AsyncClient(transport=transport, base_url="http://localhost")


def endpoint(one: Folding, log: RequestLog, keys_file: Path | None = None) -> Application:
    """Return the engine's endpoint, whose requests are logged by `log`."""
    return engine_application(
        one.loop,
        one.store,
        load_keys(keys_file),
        Front(unlimited_slots(), Traffic(), log),
        executors=lambda: EXECUTORS,
        admit=Sites(Settings()).admit,
        address_of=client_address(Settings()),
    )


def samples(answer: httpx2.Response) -> dict[str, float]:
    """Return the values of an answer by name, and by phase."""
    assert 200 == answer.status_code
    return {
        sample.name + sample.labels.get("phase", ""): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


async def test_engine_that_folds_is_alive_and_ready(one):
    """Health depends on nothing; readiness on the phase and the store."""
    assert {"status": "ok"} == (await get(one, "/healthz")).json()
    answer = await get(one, "/readyz")
    recovering = {"ready": False, "reasons": ["recovering"], "warnings": []}
    assert (503, recovering) == (answer.status_code, answer.json())
    started(one)
    answer = await get(one, "/readyz")
    assert (200, {"ready": True, "reasons": [], "warnings": []}) == (
        answer.status_code,
        answer.json(),
    )
    one.loop.stop()
    assert ["no-engine"] == (await get(one, "/readyz")).json()["reasons"]
    assert 200 == (await get(one, "/healthz")).status_code


async def test_standby_is_alive_and_not_ready(one, store):
    """It reads nothing of the store, and its meters say what it is."""
    store.take_over = lambda: 0.01
    one.loop.start()
    wait_until(lambda: one.loop.phase is Phase.STANDBY, "it waits")
    standby = {"ready": False, "reasons": ["standby"], "warnings": []}
    assert standby == (await get(one, "/readyz")).json()
    found = samples(await get(one, "/metrics"))
    assert (0, 1, 1, 0) == tuple(
        found[f"psoup_{name}"] for name in ("ready", "standby", "phasestandby", "phaselive")
    )
    assert "psoup_backlog_operations" not in found


async def test_meters_say_what_was_folded_and_what_waits(one, store, clock):
    """Counters of the fold, the queue, its age, and what publishing took."""
    world = World(store.plain, clock)
    world.declare(schema("s", None), fold=False)
    started(one)
    one.wait(world.append("s", numbers(1, 2), fold=False).seq)
    with store.waiting("results", "publish") as publishing:
        world.append("s", numbers(3), fold=False)
        one.loop.wake()
        assert publishing.wait(WAIT_S)
        clock.advance(2_500_000)
        found = samples(await get(one, "/metrics"))
    content = world.history[-1].content
    assert isinstance(content, Rows)
    expected = {
        "ready": 1,
        "phaselive": 1,
        "applied": 3,
        "published": 2,
        "log_head": 3,
        "backlog_operations": 1,
        "backlog_bytes": len(content.body),
        "applied_lag_seconds": 2.5,
        "tuples_folded_total": 3,
        "operations_folded_total": 3,
        "operations_void_total": 0,
        "store_retries_total": 0,
        "ticks_total": 0,
        "executor_jobs_total": 7,
        "hits_memory_bytes": 0,
        "publish_seconds_count": found["psoup_publish_seconds_count"],
    }
    assert expected == {name: found[f"psoup_{name}"] for name in expected}
    assert found["psoup_publish_seconds_count"] in {1, 2}
    assert found["psoup_publish_seconds_sum"] >= found["psoup_publish_seconds_longest"] > 0


async def test_meters_of_an_engine_whose_store_is_away_leave_out_the_queue(one, store):
    """What cannot be known is not told; the rest is."""
    started(one)

    def away():
        raise StoreUnavailableError("away")

    store.position = away
    found = samples(await get(one, "/metrics"))
    assert "psoup_backlog_operations" not in found
    assert "psoup_applied" in found


async def test_meters_need_a_key_where_keys_are_asked_for(one, tmp_path):
    """Health and readiness do not."""
    keys = tmp_path / "keys"
    lines = [
        {"id": name, "sha256": hashlib.sha256(name.encode()).hexdigest(), "scopes": scopes}
        for name, scopes in (("reader", ["read"]), ("feeder", ["ingest:*"]))
    ]
    keys.write_text("\n".join(map(json.dumps, lines)))
    with capture_logs() as logged:
        assert_problem(await get(one, "/metrics", keys), "unauthenticated")
    assert [("/metrics", 401)] == [(line["path"], line["status"]) for line in logged]
    refused = await get(one, "/metrics", keys, authorization="Bearer feeder")
    assert_problem(refused, "scope-missing", scope="read")
    assert 200 == (await get(one, "/metrics", keys, authorization="Bearer reader")).status_code
    assert 200 == (await get(one, "/healthz", keys)).status_code


@pytest.mark.parametrize("path", ["/", "/v1/status", "/metrics/"])
async def test_nothing_else_is_there(one, path):
    """Any other path is a problem in the one shape."""
    assert_problem(await get(one, path), "not-found")


async def test_other_methods_are_refused_by_name(one):
    """The path is there: the refusal names what it answers."""
    async with client_of(one) as client:
        refused = await client.post("/healthz")
    assert_problem(refused, "method")
    assert "GET, HEAD" == refused.headers["allow"]


def test_requests_refused_by_the_connection_share_the_log_with_all_others(one):
    """One budget of lines: broken requests and unknown paths together are logged no more often than either alone."""
    settings = Settings(port=0)
    log = RequestLog(settings, monotonic_s=lambda: 0.0)
    with capture_logs() as logged, listen(settings) as listener:
        server = make_server(endpoint(one, log), settings)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            address = listener.getsockname()[:2]
            for request in (head("GET", "/nowhere"), b"broken\r\n\r\n"):
                for _ in range(REQUEST_LINES_PER_ADDRESS_MAX):
                    with connected(address) as connection:
                        connection.sendall(request)
                        assert read_answer(connection)[0] in {400, 404}
        finally:
            server.should_exit = True
            thread.join(WAIT_S)
    written = [line["status"] for line in logged if line["event"] == "request"]
    assert [404] * REQUEST_LINES_PER_ADDRESS_MAX == written
    left_out = [line["lines"] for line in logged if line["event"] == "requests-left-out"]
    assert REQUEST_LINES_PER_ADDRESS_MAX == sum(left_out)
