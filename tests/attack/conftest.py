"""Fixtures of the attacks: one service of each kind for all tests that leave it as it was."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.attack.certificates import made
from tests.attack.target import KINDS, Target, launched
from tests.stores import SharedServer


@pytest.fixture(scope="session")
def attacked_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    """Yield one Redis for all services that are attacked."""
    shared = SharedServer(tmp_path_factory.mktemp("attacked"))
    yield shared
    shared.stop()


@pytest.fixture(scope="module")
def target_settings() -> Mapping[str, object]:
    """Return the settings of `target` that are not the default ones; a module may have its own."""
    return {}


@pytest.fixture(scope="module", params=KINDS)
def target(
    request: pytest.FixtureRequest,
    attacked_server: SharedServer,
    tmp_path_factory: pytest.TempPathFactory,
    target_settings: Mapping[str, object],
) -> Iterator[Target]:
    """Yield a service for all tests of a module, over each kind."""
    folder = tmp_path_factory.mktemp("target")
    with launched(request.param, attacked_server, folder, **target_settings) as one:
        yield one


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return a certificate of loopback names, signed by itself, and its key."""
    return made(tmp_path_factory.mktemp("certificate"), "one")
