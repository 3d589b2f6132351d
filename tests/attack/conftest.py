"""Fixtures of the attacks: one service of each kind for all tests that leave it as it was."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from tests.attack.certificates import made
from tests.attack.target import EACH_KIND, KINDS, Kind, Target, launched
from tests.stores import SharedServer


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Attack a `target` of both kinds where the test is marked `services`, else as `KINDS` says."""
    if "target" in metafunc.fixturenames:
        marked = metafunc.definition.get_closest_marker("services") is not None
        kinds = EACH_KIND if marked else KINDS
        metafunc.parametrize("target", kinds, indirect=True, scope="module")


@pytest.fixture(scope="session")
def attacked_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """Yield one Redis for all services that are attacked but the shared ones."""
    shared = SharedServer(tmp_path_factory.mktemp("attacked"))
    yield shared
    shared.stop()


@pytest.fixture(scope="session")
def shared_target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[Kind], Target]]:
    """Yield what returns the service of a kind that has the default settings: started once, over a Redis of its own."""
    started: dict[Kind, Target] = {}
    with contextlib.ExitStack() as ends:

        def target(kind: Kind) -> Target:
            if kind not in started:
                folder = tmp_path_factory.mktemp("shared")
                server = SharedServer(folder / "server")
                ends.callback(server.stop)
                started[kind] = ends.enter_context(launched(kind, server, folder))
            return started[kind]

        yield target


@pytest.fixture(scope="module")
def target_settings() -> Mapping[str, object] | None:
    """Return the settings of a `target` of the module's own; None = the shared one will do."""
    return None


@pytest.fixture(scope="module")
def target(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    target_settings: Mapping[str, object] | None,
) -> Iterator[Target]:
    """Yield a service for all tests of a module, empty in the beginning."""
    if target_settings is None:
        one: Target = request.getfixturevalue("shared_target")(request.param)
        yield one
        for stream in one.ask("GET", "/v1/streams").json()["streams"]:
            path = f"/v1/streams/{stream['name']}"
            assert one.ask("DELETE", path, params={"cascade": "true"}).is_success
        return
    server: SharedServer = request.getfixturevalue("attacked_server")
    folder = tmp_path_factory.mktemp("target")
    with launched(request.param, server, folder, **target_settings) as one:
        yield one


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a certificate of loopback names, signed by itself, and its key."""
    return made(tmp_path_factory.mktemp("certificate"), "one")
