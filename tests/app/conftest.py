"""Fixtures for tests of the web side: one running application on memory://, at a clock that stands."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.app.support import CHOSEN, Api, ServiceKind, running
from tests.stores import SharedServer


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio alone."""
    return "asyncio"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests marked `services` over each kind of service; unless the option says over which."""
    marked = metafunc.definition.get_closest_marker("services") is not None
    if marked and metafunc.config.getoption("--service") is None:
        kinds = [
            "memory",
            pytest.param("serve", marks=pytest.mark.redis),
            pytest.param("worker", marks=pytest.mark.redis),
        ]
        metafunc.parametrize("service_kind", kinds, indirect=True)


@pytest.fixture(autouse=True)
def service_kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """Choose what `running` runs."""
    option = request.config.getoption("--service")
    kind: ServiceKind = getattr(request, "param", None) or option or "memory"
    CHOSEN.kind = kind
    if kind != "memory":
        CHOSEN.server = request.getfixturevalue("server")
        CHOSEN.folder = request.getfixturevalue("tmp_path")
    yield kind
    CHOSEN.kind, CHOSEN.server = "memory", None


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

    monkeypatch.setattr("app.process._LOG", Log())
    monkeypatch.setattr("app.process.configure_logging", lambda **_: None)
    return lines
