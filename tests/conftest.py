"""What every test may use: Hypothesis profiles and the folder of real data."""

import atexit
import functools
import gc
import os
import re
import ssl
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from httpx2 import _config as httpx2_defaults
from httpx2._transports import default as httpx2_transports
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import engine as hypothesis_engine

from tests.children import heed_ignored_signals
from tests.patience import WAIT_S
from tests.spark_session import spark  # noqa: F401 - a fixture for tests/spark and tests/agreement
from tests.tracing import Tracing

TESTS = Path(__file__).resolve().parent
DATA = TESTS.parents[1] / "shared" / "data"
COVERING = (TESTS / "engine", TESTS / "storage", TESTS / "golden")
"""Folders whose examples are to reach every line."""
TRACED = (
    TESTS / "engine" / "kernels",
    TESTS / "engine" / "tuples",
    TESTS / "spark" / "test_executors.py",
)
"""Tests that are traced whatever they are.

A kernel runs as Python only where it is compared with what is compiled of it; readers of JSON are given many drawn
bodies and few written ones; `engine/ahead` is tried over its executors.
"""
FAMILY = re.compile("_oracle_|_differential_|^test_order_|^test_fuzz_")
"""In the name of a test that compares many cases: tests/README.md."""

GARBAGE_MIN = 20_000
"""So many more objects than before let Python look for garbage; by itself it does from 700 on."""

# A failure is told in time: the smallest example of half a minute, not of Hypothesis's five, which are more than the
# timeout of a test.
assert hasattr(hypothesis_engine, "MAX_SHRINKING_SECONDS"), "Hypothesis has another name for it"
hypothesis_engine.MAX_SHRINKING_SECONDS = 30

# Tests wait for an answer as for anything else: a service among busy processes takes more than httpx2's five seconds.
for wait in ("connect", "read", "write", "pool"):
    assert hasattr(httpx2_defaults.DEFAULT_TIMEOUT_CONFIG, wait), "httpx2 has another name for it"
    setattr(httpx2_defaults.DEFAULT_TIMEOUT_CONFIG, wait, WAIT_S)

# Certificates of the system are read once, where a test names no others: each look at them takes 20 ms.
assert hasattr(httpx2_transports, "create_ssl_context"), "httpx2 has another name for it"


@functools.cache
def authorities(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Return whom clients trust that are not told whom, with these of the two variables."""
    return httpx2_defaults.create_ssl_context()


def ssl_context(verify: ssl.SSLContext | bool = True, **given: Any) -> ssl.SSLContext:
    """Return what `httpx2` makes for a client."""
    if verify is not True:
        return httpx2_defaults.create_ssl_context(verify, **given)
    return authorities(os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))


httpx2_transports.create_ssl_context = ssl_context

# The suite draws the same examples at every run, so that a failure belongs to the change at hand;
# the torture profile draws many new ones and prints how to repeat a failure.
settings.register_profile(
    "suite",
    max_examples=30,  # the same at every run: what they have not found, twice as many would not
    deadline=None,  # two cores shared with other tests say nothing about speed
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "torture", settings.get_profile("suite"), derandomize=False, max_examples=1_000
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
    if config.pluginmanager.hasplugin("_cov"):
        config.pluginmanager.register(Tracing(config), "tracing")
    if is_of_xdist(config):
        atexit.register(os._exit, 0)  # behind what tests have registered
    wanted = config.getoption("markexpr") or ""
    settings.load_profile("torture" if "slow" in wanted and "not slow" not in wanted else "suite")


def is_of_xdist(config: pytest.Config) -> bool:
    """Return whether this process is one of those that tests are handed out to."""
    return hasattr(config, "workerinput")


@pytest.hookimpl(wrapper=True, optionalhook=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Run a process more than there are cores: for a third of their time tests wait, for a clock or a process."""
    return (yield) + 1


@pytest.hookimpl(trylast=True)  # behind the plugin that marks the tests of Hypothesis
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Say what is traced for coverage; put the tests with the Spark session first, then those that take long.

    xdist's processes begin apart and steal from behind: so one process has the session, and what is left for the end
    is short.
    """
    trace_examples(items)
    items.sort(key=place)


def place(item: pytest.Item) -> tuple[bool, bool]:
    """Return what comes first: tests of the Spark session, and tests that are given more time than others."""
    with_spark = "spark" in getattr(item, "fixturenames", ())
    return not with_spark, item.get_closest_marker("timeout") is None


def trace_examples(items: list[pytest.Item]) -> None:
    """Trace examples of `engine/` and `storage/` alone for coverage: tracing makes a test three times as long.

    A test of a family enters the same branches in hundreds of cases, and one of another folder on its way.
    """
    for item in items:
        compares = FAMILY.search(item.name.partition("[")[0]) is not None
        compares |= item.get_closest_marker("hypothesis") is not None
        if not _is_reaching(item.path, compares=compares):
            item.add_marker("no_cover")


@functools.cache
def _is_reaching(path: Path, *, compares: bool) -> bool:
    """Return whether a test of this file is to reach lines; `compares`: it compares many cases."""
    reaching = TRACED if compares else (*COVERING, *TRACED)
    return any(path.is_relative_to(one) for one in reaching)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Look for no garbage while tests are collected: what this makes stays, and looking took a quarter of it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Leave what collecting has made out of every look for garbage: it stays, and each look at it takes a second.

    Look more rarely than Python does by itself: tests make much and lose it at once, and looks took a sixth of them.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(GARBAGE_MIN)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Let Python end as ever: extensions that are left with objects then say that they leak.

    A process of xdist ends at once: taking apart all that was collected takes five seconds of a core.
    """
    if not is_of_xdist(config):
        gc.unfreeze()


def log_plainly() -> None:
    """Log as structlog does by itself, but for the variables of every frame of an error: drawing them takes seconds."""
    structlog.reset_defaults()
    renderer = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*structlog.get_config()["processors"][:-1], renderer])


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
