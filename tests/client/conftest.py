"""A service for the Python client, of each kind, and a folder of its own for the names of writers."""

import pytest

from tests.app.conftest import choose, server, service_folder  # noqa: F401 - fixtures
from tests.app.serving import served
from tests.app.support import SETTINGS


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """Keep the names of writers with the test."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "psoup"


@pytest.fixture(params=["memory", pytest.param("worker", marks=pytest.mark.redis)])
def url(request):
    """Yield the address of a service of each kind."""
    choose(request.param, request)
    with served(SETTINGS) as (host, port):
        yield f"http://{host}:{port}"
    choose("memory", request)


@pytest.fixture
def memory_url():
    """Yield the address of a service in memory: for what does not depend on the kind."""
    with served(SETTINGS) as (host, port):
        yield f"http://{host}:{port}"
