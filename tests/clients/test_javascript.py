"""The JavaScript client, by node's own test runner, against this service."""

import re

import httpx2
import pytest

from tests.app.conftest import choose, server, service_folder  # noqa: F401 - fixtures
from tests.app.serving import served_application
from tests.app.support import SETTINGS
from tests.clients import nodes
from tests.conformance.kept_worlds import OF_EACH_SHAPE
from tests.patience import wait_until

ALL = ("rule", "mirror", "following", "tanstack")
SLOW = ("slow",)
OVER_A_WORKER = ("mirror", "following")
"""The rule is the same whoever answers: tests/conformance plays its worlds on each kind of service."""


@pytest.fixture(params=["memory", pytest.param("worker", marks=pytest.mark.redis)])
def service(request):
    """Yield the address of a service of each kind, and the tests that run there."""
    nodes.node()
    choose(request.param, request)
    with served_application(SETTINGS) as (address, _):
        url = f"http://{address[0]}:{address[1]}"
        wait_until(lambda: httpx2.get(f"{url}/readyz").is_success, "the service is ready")
        yield url, ALL if request.param == "memory" else OVER_A_WORKER
    choose("memory", request)


def test_javascript_client(service):
    """Its tests pass: the rule in worlds of the conformance kit, mirrors and connections over a bad line."""
    url, names = service
    assert passed(names, url, OF_EACH_SHAPE) >= 20


@pytest.mark.slow
def test_javascript_client_in_all_worlds(service):
    """The rule is that of the kit in every world."""
    url, _ = service
    assert passed(("rule",), url) >= 20


@pytest.mark.slow
def test_javascript_client_in_the_slow_worlds(service):
    """A minute after its last use a query is gone: a mirror says why, and keeps its rows."""
    url, _ = service
    assert passed(SLOW, url) >= 1


def passed(names, url, worlds=()):
    """Return how many tests of files of the client there are, in these worlds or all; they have passed."""
    tests = [str(nodes.CLIENT / "test" / f"{name}.test.ts") for name in names]
    environment = {"PSOUP_URL": url}
    if worlds:
        environment["PSOUP_WORLDS"] = ",".join(path.name for path in worlds)
    told = nodes.run(["--test", "--test-reporter=tap", *tests], environment)
    counts = dict(re.findall(r"^# (\w+) (\d+)$", told, re.MULTILINE))
    assert counts["pass"] == counts["tests"], told
    return int(counts["tests"])


def test_every_test_of_the_client_is_run():
    """None is left out by its name."""
    files = (nodes.CLIENT / "test").glob("*.test.ts")
    assert {*ALL, *SLOW} == {path.name.removesuffix(".test.ts") for path in files}


def test_modules_need_nothing_but_each_other():
    """Nothing is imported from elsewhere: it runs in node, deno, bun and browsers."""
    sources = [path.read_text(encoding="utf-8") for path in (nodes.CLIENT / "src").glob("*.ts")]
    imported = {name for text in sources for name in re.findall(r' from "([^"]+)";', text)}
    assert len(sources) >= 8
    assert [] == [name for name in imported if not re.fullmatch(r"\./[a-z]+\.ts", name)]
