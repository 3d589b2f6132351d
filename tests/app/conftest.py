"""Fixtures for tests of the web side: one running application, on memory:// at a clock that stands or on a Redis.

What a test says of HTTP holds over each kind of service. `pytest tests/app --service=serve` and `--service=worker`
run every test that asks for one (`needs_service`), but for those marked `memory` with a reason; without the option they
run over memory://, and a selection marked `services` over a worker beside an engine as well.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.app.support import CHOSEN, INTERFERES, Api, ServiceKind, running
from tests.stores import SharedServer

SERVICES = ("running", "served", "served_application", "application", "site")
"""Modules with one of these of tests/app/support.py, serving.py and routes/results/following.py run services."""
OWN_STORES = frozenset({"store", "faulty"})
"""Fixtures whose tests interfere with a store of their own."""


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio alone."""
    return "asyncio"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests marked `services` over `memory` and `worker`; unless the option says over which.

    A worker beside an engine has what `serve` has on a Redis, the fold and the store, in two processes.
    """
    marked = metafunc.definition.get_closest_marker("services") is not None
    if marked and metafunc.config.getoption("--service") is None:
        kinds = [
            "memory",
            pytest.param("worker", marks=pytest.mark.redis),
        ]
        metafunc.parametrize("service_kind", kinds, indirect=True)


def needs_service(item: pytest.Item) -> bool:
    """Return whether a test asks for a service of no kind in particular."""
    assert isinstance(item, pytest.Function)
    names = vars(item.module)
    given = "api" in item.fixturenames and "api" not in names  # a module may have one of its own
    return given or any(name in names for name in SERVICES)


def is_left_out(item: pytest.Item, kind: ServiceKind) -> bool:
    """Return whether a test says why it does not run over this kind of service."""
    marker = item.get_closest_marker("memory")
    if marker is None and isinstance(item, pytest.Function):
        marker = INTERFERES.mark if OWN_STORES & set(item.fixturenames) else None
    return kind != "memory" and marker is not None and kind != marker.kwargs.get("but")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where a kind of service is asked for, leave out what has nothing to do with it."""
    kind = config.getoption("--service")
    if kind is None:
        return
    here = [item for item in items if item.path.is_relative_to(Path(__file__).parent)]
    left = {item for item in here if not needs_service(item) or is_left_out(item, kind)}
    config.hook.pytest_deselected(items=sorted(left, key=lambda item: item.nodeid))
    items[:] = [item for item in items if item not in left]


@pytest.fixture(scope="session", autouse=True)
def service_of_all(request: pytest.FixtureRequest) -> Iterator[None]:
    """Choose what `running` runs where the option says so: for fixtures of modules as well."""
    choose(request.config.getoption("--service") or "memory", request)
    yield
    choose("memory", request)


@pytest.fixture(autouse=True)
def service_kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """Choose what `running` runs in a test marked `services`, which has this as its parameter."""
    kind: ServiceKind | None = getattr(request, "param", None)
    if kind is not None:
        choose(kind, request)
    yield CHOSEN.kind
    if kind is not None:
        choose("memory", request)


def choose(kind: ServiceKind, request: pytest.FixtureRequest) -> None:
    """Have `running` run services of this kind."""
    CHOSEN.kind, CHOSEN.server = kind, None
    if kind != "memory":
        CHOSEN.server = request.getfixturevalue("server")
        CHOSEN.folder = request.getfixturevalue("service_folder")


@pytest.fixture(scope="session")
def service_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the data folder of services over a Redis."""
    return tmp_path_factory.mktemp("service")


@pytest.fixture
async def api() -> AsyncIterator[Api]:
    """Yield a client of a fresh application."""
    async with running() as one:
        yield one


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """Yield one server for all tests of a session that want one."""
    shared = SharedServer(tmp_path_factory.mktemp("server"))
    yield shared
    shared.stop()


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, str]]:
    """What a process logs of its beginning and end; the log of this one is left as it is."""
    lines: list[dict[str, str]] = []

    class Log:
        def info(self, event: str, **facts: str) -> None:
            lines.append({"event": event, **facts})

        error = info

    monkeypatch.setattr("psoup.app.operate.lifecycle._LOG", Log())
    monkeypatch.setattr("psoup.app.operate.lifecycle.configure_logging", lambda **_: None)
    return lines
