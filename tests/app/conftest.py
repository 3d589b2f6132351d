"""Fixtures for tests of the web side: one running application on memory://, at a clock that stands."""

from collections.abc import AsyncIterator, Iterator

import pytest

from tests.app.support import Api, running
from tests.stores import SharedServer


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio alone."""
    return "asyncio"


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
