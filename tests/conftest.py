"""What every test may use: Hypothesis profiles and the folder of real data."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.spark_session import spark  # noqa: F401 - a fixture for tests/spark and tests/agreement

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"

# The suite draws the same examples at every run, so that a failure belongs to the change at hand;
# the torture profile draws new ones and prints how to repeat a failure.
settings.register_profile(
    "suite",
    deadline=None,  # two cores shared with other tests say nothing about speed
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "torture", settings.get_profile("suite"), derandomize=False, max_examples=2_000
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let all tests of the web side run over another kind of service."""
    parser.addoption(
        "--service",
        choices=("memory", "serve", "worker"),
        help="kind of service under tests/app; default: memory, and all of them where marked so",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Choose the profile: new examples where the slow tests were asked for, else the same ones."""
    wanted = config.getoption("markexpr") or ""
    settings.load_profile("torture" if wanted == "slow" else "suite")


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a case of bytes after its argument: compressed bytes may differ from process to process."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(autouse=True)
def log_of_its_own() -> Iterator[None]:
    """Forget how a test let this process log: its standard error is closed when it ends."""
    yield
    if structlog.is_configured():
        structlog.reset_defaults()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of real data sets beside the repository; skip where there is none."""
    if not DATA.is_dir():
        pytest.skip("needs the real data sets: no folder shared/data beside the repository")
    return DATA
