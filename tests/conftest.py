"""What every test may use: Hypothesis profiles and the folder of real data."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from hypothesis import HealthCheck, settings

from tests.children import heed_ignored_signals
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
    """Choose the profile: new examples where the slow tests were asked for, else the same ones. Log plainly."""
    log_plainly()
    wanted = config.getoption("markexpr") or ""
    settings.load_profile("torture" if wanted == "slow" else "suite")


def pytest_collection_finish() -> None:
    """Leave what collecting has made out of every look for garbage: it stays, and each look at it takes a second."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let Python end as ever: extensions that are left with objects then say that they leak."""
    gc.unfreeze()


def log_plainly() -> None:
    """Log as structlog does by itself, but for the variables of every frame of an error: drawing them takes seconds."""
    structlog.reset_defaults()
    renderer = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], renderer])


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put tests with the Spark session first: xdist's processes begin apart and steal from behind, so one has it."""
    items.sort(key=lambda item: "spark" not in getattr(item, "fixturenames", ()))


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name a case of bytes after its argument: compressed bytes may differ from process to process."""
    return argname if isinstance(val, bytes) else None


@pytest.fixture(scope="session", autouse=True)
def signals_of_children() -> None:
    """Let processes that tests start be asked to end, also under nohup: they would inherit what is ignored here."""
    heed_ignored_signals()


@pytest.fixture(autouse=True)
def log_of_its_own() -> Iterator[None]:
    """Forget how a test let this process log: its standard error is closed when it ends."""
    yield
    log_plainly()


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """Return the folder of real data sets beside the repository; skip where there is none."""
    if not DATA.is_dir():
        pytest.skip("needs the real data sets: no folder shared/data beside the repository")
    return DATA
