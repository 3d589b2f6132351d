"""What tests of the web side share: a running application, a stream, and what an error looks like."""

import asyncio
import contextlib
import dataclasses
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

import httpx2
import pytest
from fastapi import FastAPI

from psoup.app.admission.rates import Rates
from psoup.app.backend.service import Service
from psoup.app.fold.loop import FoldLoop
from psoup.app.http.problems import PROBLEM_TYPES
from psoup.app.main import create_app, create_worker_app
from psoup.app.openapi.problem_bodies import PROBLEM_BODIES
from psoup.app.settings import Settings
from psoup.engine.clock import ManualClock
from psoup.engine.limits import SECOND_US
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.store.contract import Store
from tests.patience import PATIENT, WAIT_S
from tests.stores import SharedServer

START_US = 1_795_255_200 * SECOND_US
"""2026-11-21T10:00:00Z."""
SETTINGS = Settings(store="memory://", port=0, **PATIENT)
COLUMNS = [
    {"name": "ts", "type": "timestamp"},
    {"name": "sym", "type": "string"},
    {"name": "px", "type": "float64"},
    {"name": "qty", "type": "int64"},
    {"name": "up", "type": "bool"},
]
STREAM = {"columns": COLUMNS, "time": "ts"}
WINDOW = "BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)"


ServiceKind = Literal["memory", "serve", "worker"]
"""`memory://`; one process over a Redis; a worker beside an engine, both over one Redis."""

# Why a statement about HTTP is proven on `memory://` alone, `but` for one kind: marks of tests. All the others hold
# over each kind.
MOVES_THE_CLOCK = pytest.mark.memory("moves the service's clock by hand: a Redis has its own")
INTERFERES = pytest.mark.memory("interferes with the calls of a store of its own")
LOOKS_INSIDE = pytest.mark.memory("looks into the one process that does everything")
KEEPS_HITS = pytest.mark.memory("a worker's service keeps hits in the store alone", but="serve")


@dataclasses.dataclass(slots=True)
class Chosen:
    """What `running` runs where it is given no store: on a server, emptied each time, but for `memory`."""

    kind: ServiceKind = "memory"
    server: SharedServer | None = None
    folder: Path = Path("unused")


CHOSEN = Chosen()


@dataclasses.dataclass(slots=True)
class Api:
    """A client, the application behind it, and the clock of both."""

    client: httpx2.AsyncClient
    app: FastAPI
    clock: ManualClock
    in_haste: bool = False
    """Whether deadlines pass soon, on purpose: what missed its turn by that stored nothing, and is sent again."""

    @property
    def service(self) -> Service:
        service: Service | None = self.app.state.context.service
        assert service is not None
        return service

    async def send(self, method: str, path: str, **more: Any) -> httpx2.Response:
        while True:
            answer = await self.client.request(method, path, **more)
            if not (self.in_haste and missed_its_turn(answer)):
                return answer

    async def get(self, path: str, **more: Any) -> httpx2.Response:
        return await self.send("GET", path, **more)

    async def declare(self, name: str = "trades", **members: Any) -> httpx2.Response:
        return await self.send("PUT", f"/v1/streams/{name}", json={**STREAM, **members})

    async def rows(
        self, rows: Any, *, name: str = "trades", **headers: str | bytes
    ) -> httpx2.Response:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return await self.send("POST", f"/v1/streams/{name}/rows", json=rows, headers=named)

    async def body(
        self, body: bytes, media_type: str, *, name: str = "trades", **headers: str
    ) -> httpx2.Response:
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return await self.send(
            "POST",
            f"/v1/streams/{name}/rows",
            content=body,
            headers={"Content-Type": media_type, **named},
        )

    async def register(self, sql: str, **members: Any) -> str:
        answer = await self.send("POST", "/v1/queries", json={"sql": sql, **members})
        assert 201 == answer.status_code, answer.text
        return str(answer.json()["id"])

    async def results(self, query_id: str, **parameters: Any) -> dict[str, Any]:
        answer = await self.get(f"/v1/queries/{query_id}/results", params=parameters)
        assert 200 == answer.status_code, answer.text
        return dict(answer.json())

    async def count(self, name: str = "trades") -> int:
        """Return how many rows a stream holds."""
        answer = await self.get(f"/v1/streams/{name}")
        return int(answer.json()["rows"])


@contextlib.asynccontextmanager
async def running(
    settings: Settings = SETTINGS, *, store: Store | None = None, **more: Any
) -> AsyncIterator[Api]:
    """Yield an application that runs: of the kind chosen, unless a store is given."""
    clock = ManualClock(START_US)
    with application(settings, clock=clock, store=store, **more) as app:
        async with answering(app, clock) as api:
            if store is None:  # of another a test may hold recovery up
                await asyncio.to_thread(api.service.backend.wait_recovered, WAIT_S)
            yield api


@contextlib.contextmanager
def application(
    settings: Settings, *, store: Store | None = None, **more: Any
) -> Iterator[FastAPI]:
    """Yield an application that can be started, over a store that is empty: of the kind chosen, or on `store`."""
    assert store is None or CHOSEN.kind == "memory", "a store of its own: mark the test INTERFERES"
    if CHOSEN.server is None:
        yield create_app(settings, store=store, **more)
        return
    with contextlib.closing(
        CHOSEN.server.empty_store(CHOSEN.folder, streams_max=settings.streams)
    ) as opened:
        if CHOSEN.kind == "serve":
            yield create_app(settings, store=opened, **more)
            return
        engine = FoldLoop(store=opened, answers=False, bind=BoundQueries().bind)
        engine.start()
        try:
            shared = dataclasses.replace(settings, store=CHOSEN.server.url)
            yield create_worker_app(shared, **more)
        finally:
            engine.stop()


@contextlib.asynccontextmanager
async def answering(app: FastAPI, clock: ManualClock) -> AsyncIterator[Api]:
    """Yield a client of an application that runs meanwhile."""
    transport = httpx2.ASGITransport(app=app)
    client = httpx2.AsyncClient(transport=transport, base_url="http://localhost")
    async with app.router.lifespan_context(app), client:
        yield Api(client, app, clock)


def row(second: int = 0, **members: Any) -> dict[str, Any]:
    """Return a row dated `second` seconds after START_US."""
    return {"ts": START_US + second * SECOND_US, **members}


def assert_problem(answer: httpx2.Response, code: str, **extras: Any) -> Mapping[str, Any]:
    """Assert that `answer` is the problem `code` in the one shape, with `extras`; return its body."""
    kind = PROBLEM_TYPES[code]
    assert (kind.status, code) == (answer.status_code, answer.json().get("code")), answer.text
    assert "application/problem+json" == answer.headers["content-type"]
    assert "no-store" == answer.headers["cache-control"]
    assert "nosniff" == answer.headers["x-content-type-options"]
    body: dict[str, Any] = answer.json()
    assert f"/problems/{code}" == body["type"]
    assert (kind.title, kind.status) == (body["title"], body["status"])
    assert answer.headers["request-id"] == body["instance"]
    assert kind.retryable == body["retryable"]
    assert isinstance(body["detail"], str)
    assert (kind.retry_after_s is not None) == ("retry-after" in answer.headers)
    assert extras == {name: body.get(name) for name in extras}
    model = PROBLEM_BODIES[code]
    assert set(body) <= set(model.model_fields), "members beside those that are described"
    model.model_validate(body, strict=True)
    return body


def missed_its_turn(answer: httpx2.Response) -> bool:
    """Return whether the deadline of an operation passed before anything of it was done: on a machine that stood."""
    return 503 == answer.status_code and "deadline" == answer.json().get("reason")


@contextlib.contextmanager
def hurried(api: Api, *deadlines: str) -> Iterator[None]:
    """Let these deadlines, settings, pass soon meanwhile; that of appends where none is named."""
    service = api.service
    patient = service.settings
    soon: dict[str, Any] = dict.fromkeys(deadlines or ["ingest_deadline_s"], 0.05)
    service.settings = dataclasses.replace(patient, **soon)
    api.in_haste = True
    try:
        yield
    finally:
        service.settings = patient
        api.in_haste = False


def fill_no_more(api: Api) -> None:
    """Fill all buckets of rates to the brim, and never again: what a test takes is gone however long it takes."""
    api.app.state.context.rates = Rates(monotonic_s=lambda: 0.0)
