"""The JavaScript client in headless Chromium: tabs share a connection, a network is lost, a page is loaded anew."""

import functools
import http.server
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from tests.app.serving import served_application
from tests.app.support import SETTINGS
from tests.clients import nodes
from tests.clients.desk import CHROMIUM
from tests.patience import wait_until
from tests.serving import served

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: the extra `dev`")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: none is on PATH")
ROWS = "() => [...following.mirrors.values()].map((one) => one.rows.map((row) => row.n))"
PAGE = """<!doctype html><script type="module">
  import * as psoup from "/dist/psoup.js";
  const given = new URLSearchParams(location.search);
  window.psoup = psoup;
  window.following = psoup.sync(given.get("url"), given.getAll("q"), { store: psoup.indexedDb() });
</script>"""


@dataclass
class Site:
    """Pages at one origin, a service at another, and browsers that count what they ask the service for."""

    browser: Any
    pages: str
    service: str
    asked: list[Any] = field(default_factory=list)

    def context(self) -> Any:
        """Return a browser with a storage of its own."""
        one = self.browser.new_context()
        one.on("request", self._note)
        return one

    def _note(self, request: Any) -> None:
        if "/v1/sync" in request.url:
            self.asked.append(request)

    def open(self, context: Any, *handles: str, page: str = "page.html") -> Any:
        """Open a tab that follows queries."""
        tab = context.new_page()
        tab.goto(
            f"{self.pages}/{page}?url={self.service}&" + "&".join(f"q={one}" for one in handles)
        )
        return tab

    def call(self, method: str, path: str, body: Any) -> Any:
        answer = httpx2.request(method, self.service + path, json=body, timeout=90)
        assert answer.is_success, answer.text
        return answer.json()

    def declare(self, name: str) -> None:
        columns = [{"name": "ts", "type": "timestamp"}, {"name": "n", "type": "int64"}]
        self.call("PUT", f"/v1/streams/{name}", {"columns": columns, "time": "ts"})

    def register(self, sql: str) -> str:
        return str(self.call("POST", "/v1/queries", {"sql": sql})["id"])

    def append(self, name: str, *numbers: int) -> None:
        rows = [{"ts": 1_767_225_600_000_000 + n, "n": n} for n in numbers]
        self.call("POST", f"/v1/streams/{name}/rows", rows)


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files, and logs nothing."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Yield pages, a service that they may ask, and a browser."""
    folder: Path = tmp_path_factory.mktemp("site")
    nodes.build(folder / "dist")
    (folder / "page.html").write_text(PAGE, encoding="utf-8")
    shutil.copy(nodes.CLIENT / "example.html", folder)
    handler = functools.partial(Quiet, directory=str(folder))
    with served(handler) as pages:
        settings = replace(SETTINGS, cors_origins=(pages,))
        with (
            served_application(settings) as (address, _),
            playwright.sync_playwright() as driver,
        ):
            arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
            browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
            yield Site(browser, pages, f"http://{address[0]}:{address[1]}")
            browser.close()


def shows(tab, *rows):
    """Return once a tab shows these numbers, one list for each query."""
    expected = [list(numbers) for numbers in rows]
    wait_until(lambda: tab.evaluate(ROWS) == expected, f"{expected}, not {tab.evaluate(ROWS)}")
    return True


def test_two_tabs_share_one_connection_and_the_second_takes_over(site):
    """Only the first asks the service; where it is closed the second goes on from its cursors."""
    site.declare("shared")
    low, high = (
        site.register("SELECT n FROM shared"),
        site.register("SELECT n FROM shared WHERE n > 1"),
    )
    site.append("shared", 1)
    context = site.context()
    first = site.open(context, low)
    shows(first, [1])
    second = site.open(context, low, high)
    shows(second, [1], [])
    site.append("shared", 2, 3)
    shows(first, [1, 2, 3])
    shows(second, [1, 2, 3], [2, 3])
    assert {first} == {request.frame.page for request in site.asked}
    site.asked.clear()
    first.close()
    site.append("shared", 4)
    shows(second, [1, 2, 3, 4], [2, 3, 4])
    assert {second} == {request.frame.page for request in site.asked}
    queries = site.asked[0].post_data_json["queries"]
    assert all(one["cursor"] for one in queries.values())
    context.close()


def test_a_network_that_is_lost_and_comes_back(site):
    """The page shows what it has, and is right again without being loaded anew."""
    site.declare("lost")
    query = site.register("SELECT n FROM lost")
    site.append("lost", 1)
    context = site.context()
    tabs = [site.open(context, query), site.open(context, query)]
    for tab in tabs:
        shows(tab, [1])
    site.asked.clear()
    context.set_offline(True)
    site.append("lost", 2)
    context.set_offline(False)
    site.append("lost", 3)
    for tab in tabs:
        shows(tab, [1, 2, 3])
    assert site.asked[0].post_data_json["queries"][query]["cursor"]
    context.close()


def test_rows_survive_a_page_that_is_loaded_anew_and_a_service_that_is_away(site):
    """They are shown before anything is answered, and the service is asked with their cursor."""
    site.declare("kept")
    query = site.register("SELECT n FROM kept ORDER BY n DESC LIMIT 3")
    site.append("kept", 1, 2, 3)
    context = site.context()
    shows(site.open(context, query), [3, 2, 1])
    context.pages[0].close()
    context.route("**/v1/**", lambda route: route.abort())
    tab = site.open(context, query)
    shows(tab, [3, 2, 1])
    tab.reload()
    shows(tab, [3, 2, 1])
    context.unroute_all()
    site.append("kept", 4)
    shows(tab, [4, 3, 2])
    assert site.asked[-1].post_data_json["queries"][query]["cursor"]
    context.close()


def test_the_store_holds_rows_and_cursor_of_one_answer(site):
    """After each of many changes another page would begin with exactly what this one shows, in its order."""
    site.declare("stored")
    query = site.register("SELECT n FROM stored WHERE n % 3 <> 0 BEGIN (NOW - 0.000005) END (NOW)")
    context = site.context()
    tab = site.open(context)
    tab.evaluate(
        "([url, handle]) => { window.one = psoup.mirror(url, handle, { store: psoup.indexedDb('other') }) }",
        [site.service, query],
    )
    held = []
    for number in range(8):
        site.append("stored", number)
        held = tab.evaluate(
            """async () => {
              await one.refresh();
              const stored = await psoup.indexedDb("other").load(one.handle);
              const numbers = (rows) => [...rows].map((row) => row.n);
              return [numbers(one.rows), numbers(stored.rows.values()), one.mark.cursor, stored.mark.cursor];
            }"""
        )
        assert held[0] == held[1] == [n for n in range(number - 5, number + 1) if n >= 0 and n % 3]
        assert held[2] == held[3] is not None
    context.close()


def test_who_closes_at_once_leaves_nothing_behind(site):
    """Neither a lock that other tabs would wait for, nor a request."""
    context = site.context()
    tab = site.open(context)
    site.asked.clear()
    held = tab.evaluate(
        """async (url) => {
          psoup.sync(url, ["q_0000000000000000000000"], { share: "at once" }).close();
          await new Promise((resolve) => setTimeout(resolve, 200));
          const { held, pending } = await navigator.locks.query();
          return [...held, ...pending].map(({ name }) => name).filter((name) => name.startsWith("at once"));
        }""",
        site.service,
    )
    assert [] == held
    assert [] == site.asked
    context.close()


def test_the_example_follows_three_queries(site):
    """Forty lines, and each table shows its query, under the names of its columns."""
    site.declare("example")
    queries = [site.register(f"SELECT n FROM example WHERE n > {least}") for least in (0, 1, 2)]
    context = site.context()
    tab = site.open(context, *queries, page="example.html")
    site.append("example", 1, 2, 3)
    texts = "() => [...document.querySelectorAll('table')].map((one) => one.innerText.split(/\\s+/).join(' '))"
    wait_until(lambda: tab.evaluate(texts) == ["n 1 2 3", "n 2 3", "n 3"], "three tables")
    assert len((nodes.CLIENT / "example.html").read_text(encoding="utf-8").splitlines()) <= 45
    context.close()
