"""What the tests with Spark share: one session and one service for all of a process."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from psoup.client.calls import PsoupClient
from tests.agreement.service.process import ServiceProcess
from tests.spark.between import Between

HERE = Path(__file__).parent
START_S = 400
"""For a test that may be the first: a session and its first statement take a minute on a busy machine."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test here that asks for the session, so that it can be left out."""
    for item in items:
        if "spark" in getattr(item, "fixturenames", ()) and item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.timeout(START_S))


STARTED: list[str] = []
"""The service of this process, while it runs."""


@pytest.fixture(scope="session")
def psoup_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the URL of a `psoup serve` for all tests of the process: each uses streams of its own."""
    process = ServiceProcess(tmp_path_factory.mktemp("psoup"))
    process.start()
    STARTED.append(process.url)
    try:
        yield process.url
    finally:
        STARTED.remove(process.url)
        process.close()


@pytest.fixture(scope="module", autouse=True)
def _room_for_the_next() -> Iterator[None]:
    """Drop the streams of a module behind it: a service has no more than 64, and all modules need more."""
    yield
    for url in STARTED:
        with PsoupClient(url) as service:
            for one in list(service.streams()):
                service.drop(str(one["name"]), cascade=True)


@pytest.fixture
def service(psoup_url: str) -> Iterator[PsoupClient]:
    """Yield a client of that service."""
    with PsoupClient(psoup_url) as client:
        yield client


@pytest.fixture
def between(psoup_url: str) -> Iterator[Between]:
    """Yield a proxy in front of that service."""
    with Between(psoup_url).open() as proxy:
        yield proxy
