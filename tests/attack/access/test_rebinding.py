"""A web page that reaches the service through its visitor's browser: by a name of its own, or from another origin."""

from typing import Any

import httpx2
import pytest

from tests.app.raw_http import connected, head, read_answer
from tests.app.support import STREAM, assert_problem
from tests.attack.target import KINDS, launched

pytestmark = pytest.mark.service
STREAMS = "/v1/streams"
EVIL = "http://evil.example"


@pytest.fixture
def declared(target):
    """A stream that must be there at the end."""
    made = target.ask("PUT", f"{STREAMS}/kept", json=STREAM)
    assert made.status_code in (200, 201), made.text
    yield f"{STREAMS}/kept"
    assert 200 == target.ask("GET", f"{STREAMS}/kept").status_code


def test_rebinding_a_foreign_name_changes_and_reads_nothing(target, declared):
    """The name that a page's own server gave this machine is refused, whatever is asked, with what to set."""
    port = target.address[1]
    for host in (
        "evil.example",
        f"evil.example:{port}",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "1.2.3.4",
    ):
        named = {"Host": host, "Origin": f"http://{host}"}
        for method, path in (
            ("DELETE", declared),
            ("GET", declared),
            ("PUT", f"{STREAMS}/new"),
            ("GET", "/docs"),
            ("GET", "/console"),
            ("GET", "/metrics"),
            ("OPTIONS", declared),
        ):
            refused = assert_problem(target.ask(method, path, headers=named), "foreign-host")
            assert "setting hosts" in refused["detail"]
            assert "evil" not in refused["detail"]


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST.", "127.0.0.1", "127.0.0.2:1", "[::1]:80"]
)
def test_rebinding_is_no_loopback_name(target, host):
    """Names that stand for this machine alone are answered, with any port: a tunnel ends at another one."""
    assert 200 == target.ask("GET", STREAMS, headers={"Host": host}).status_code


def test_two_hosts_are_not_answered_by_the_better_one(target, declared):
    """One foreign `Host` beside one of the service's is refused."""
    with connected(target.address) as client:
        client.sendall(head("DELETE", declared, "Host: evil.example"))
        assert read_answer(client)[0] in (400, 421)


@pytest.mark.parametrize(
    "named",
    [
        {"Origin": EVIL},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "chrome-extension://abc"},
        {"Origin": "http://[:x"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_page_of_another_origin_changes_nothing(target, declared, named):
    """Whatever changes is refused, also what a browser sends without asking first; the answer tells nothing more."""
    rows = f"{declared}/rows"
    changes: tuple[tuple[str, str, dict[str, Any]], ...] = (
        ("DELETE", declared, {}),
        ("PUT", f"{STREAMS}/new", {"json": STREAM}),
        ("POST", rows, {"content": b"[]"}),
        ("POST", "/v1/queries", {"json": {"sql": "SELECT * FROM kept"}}),
    )
    for method, path, more in changes:
        refused = assert_problem(target.ask(method, path, headers=named, **more), "foreign-origin")
        assert "cors_origins" in refused["detail"]


def test_page_of_the_service_itself_may_change(target, declared):
    """Its own pages, under /docs, say their origin as well."""
    host, port = target.address
    named = {"Origin": f"http://{host}:{port}", "Sec-Fetch-Site": "same-origin"}
    assert 200 == target.ask("PUT", declared, json=STREAM, headers=named).status_code
    reading = {"Origin": EVIL, "Sec-Fetch-Site": "cross-site"}
    answer = target.ask("GET", declared, headers=reading)
    assert 200 == answer.status_code
    assert "access-control-allow-origin" not in answer.headers, "the page does not see the answer"


@pytest.mark.parametrize("kind", KINDS)
def test_names_and_origins_that_are_configured_are_answered(kind, attacked_server, tmp_path):
    """`hosts` adds names, `cors_origins` pages; all others stay refused."""
    settings = {"hosts": "api, psoup.example", "cors_origins": "https://a.example"}
    with launched(kind, attacked_server, tmp_path, **settings) as target:
        for host in ("api:8000", "psoup.example", "PSOUP.example:1"):
            assert 200 == target.ask("GET", STREAMS, headers={"Host": host}).status_code
        assert_problem(target.ask("GET", STREAMS, headers={"Host": "b.example"}), "foreign-host")
        named = {"Origin": "https://a.example", "Sec-Fetch-Site": "cross-site"}
        made = target.ask("PUT", f"{STREAMS}/s", json=STREAM, headers=named)
        assert (201, "https://a.example") == (
            made.status_code,
            made.headers["access-control-allow-origin"],
        )
        named = {"Origin": "http://a.example"}
        refused = target.ask("DELETE", f"{STREAMS}/s", headers=named)
        assert_problem(refused, "foreign-origin")


def test_engine_tells_no_foreign_name_its_meters(attacked_server, tmp_path):
    """What an engine answers operators is no page's either."""
    with launched("worker", attacked_server, tmp_path) as target:
        target.engine.close()
        target.engine.start("--port", "0")
        url = target.engine.wait_for("listening")["url"]
        assert 200 == httpx2.get(f"{url}/metrics").status_code
        refused = httpx2.get(f"{url}/metrics", headers={"Host": "evil.example"})
        assert_problem(refused, "foreign-host")
