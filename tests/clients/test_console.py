"""The console in headless Chromium: a new user's whole way, on a phone and on a desk, by keyboard and screen reader."""

import hashlib
import json
import re
import subprocess
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import pytest

from psoup.app.console.serving import BUILT
from tests.app.serving import served_application
from tests.app.support import SETTINGS
from tests.clients.test_browser import CHROMIUM
from tests.clients.test_console_parts import CONSOLE
from tests.patience import wait_until

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: the extra `dev`")
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: none is on PATH"),
    pytest.mark.skipif(
        not (BUILT / "page.html").exists(), reason="needs the console: make console"
    ),
]
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1400, "height": 900}
SIZES = pytest.mark.parametrize("size", [PHONE, DESK], ids=["phone", "desk"])
AXE = CONSOLE / "node_modules" / "axe-core" / "axe.min.js"
VIOLATIONS = "async () => (await axe.run()).violations.map(({ id, nodes }) => [id, nodes.map((one) => one.html)])"
POLICY = """addEventListener("securitypolicyviolation", (event) => {
  if (event.sourceFile) console.error(`${event.effectiveDirective}: ${event.sourceFile}:${event.lineNumber}`);
})"""
SELECTED = """() => document.querySelector(".sql").shadowRoot.getSelection().toString()"""
DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  const drop = new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true });
  document.body.dispatchEvent(drop);
}"""
CSV = "time,sensor,celsius\n" + "".join(
    f"2026-01-05 10:{minute:02}:00,{sensor},{20 + minute / 10 + step}\n"
    for minute in range(30)
    for step, sensor in enumerate(("north", "south"))
)


@dataclass
class Desk:
    """A service, and browsers that note what they ask for and what goes wrong."""

    browser: Any
    url: str
    asked: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def open(self, path: str, size: dict[str, int] = DESK, **options: Any) -> Any:
        """Return a page of a browser with a storage of its own."""
        context = self.browser.new_context(viewport=size, **options)
        context.add_init_script(POLICY)
        page = context.new_page()
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("console", self._hear)
        page.goto(self.url + path)
        return page

    def _hear(self, message: Any) -> None:
        """Note what the browser complains of, but for what is no fault of the page.

        A request may be refused. And where a text is typed over another one Chromium itself tries to keep its style,
        inline, in the editor: it is not let to, and the text is right. What the page's own files try is told by POLICY.
        """
        usual = ("the server responded with", "Applying inline style violates")
        if message.type in {"error", "warning"} and not any(one in message.text for one in usual):
            self.said.append(message.text)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        answer = httpx.request(method, self.url + path, json=body, timeout=90)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def declare(self, name: str, *columns: tuple[str, str], time: str | None = "ts") -> None:
        listed = [{"name": column, "type": kind} for column, kind in columns]
        self.call("PUT", f"/v1/streams/{name}", {"columns": listed, "time": time})

    def register(self, sql: str, **members: Any) -> str:
        return str(self.call("POST", "/v1/queries", {"sql": sql, **members})["id"])


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def service():
    with served_application(SETTINGS) as (address, _):
        yield f"http://{address[0]}:{address[1]}"


@pytest.fixture
def desk(chromium, service):
    """Yield the service and a browser; nobody else was asked, nothing has gone wrong, no policy was offended."""
    one = Desk(chromium, service)
    yield one
    for context in chromium.contexts:
        context.close()
    assert [] == [url for url in one.asked if not url.startswith((f"{service}/", "data:", "blob:"))]
    assert [] == one.said


def cells(page, column=0):
    """Return the texts of a column, from above."""
    return page.locator(
        f".rows tbody tr:not([aria-hidden]) td:nth-child({column + 1})"
    ).all_inner_texts()


def write(page, sql):
    """Write a text in the place of what stands in the editor."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(sql)


def url(page):
    """Return where the page is now."""
    return page.evaluate("location.href")


def run(page):
    page.keyboard.press("Control+Enter")


def shows(page, *texts):
    """Return once the page shows all these texts."""
    for text in texts:
        page.get_by_text(text, exact=False).first.wait_for()
    return True


def fits(page):
    """Return whether the page is as wide as its window: nothing has to be moved sideways."""
    return page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def violations(page):
    """Return what axe-core finds, with the elements; skip where it is not installed."""
    if not AXE.exists():
        pytest.skip("needs axe-core: make console")
    page.evaluate(AXE.read_text(encoding="utf-8"))
    return page.evaluate(VIOLATIONS)


@SIZES
def test_a_new_users_whole_way(desk, size):
    """Drops a file, writes a mistake and mends it by the caret, watches rows come, looks back, saves, comes back."""
    stream = f"sensors_{size['width']}"
    page = desk.open("/console", size)
    page.evaluate(DROP, [f"{stream}.csv", CSV])
    assert shows(page, "60 rows. The columns are inferred from all of them.")
    assert ["timestamp", "string", "float64"] == [
        page.get_by_label(f"Type of {name}").input_value() for name in ("time", "sensor", "celsius")
    ]
    assert "time" == page.get_by_label("Dated by").input_value()
    assert fits(page)
    page.get_by_role("button", name="Load 60 rows").click()
    wait_until(lambda: "2026-01-05 10:29:00" in cells(page)[:1], "the newest row comes first")
    assert "60 rows" == page.locator(".counted").inner_text()

    write(
        page,
        f"SELECT sensor, celsiu FROM {stream} WHERE celsius > 21 BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)",
    )
    run(page)
    assert shows(page, "Did you mean celsius?", "Line 1, column 16")
    wait_until(lambda: "celsiu" == page.evaluate(SELECTED), "what is wrong is selected")
    assert fits(page)
    page.keyboard.insert_text("celsius")
    run(page)
    assert shows(page, "Draft", "22 rows")
    assert "sql=SELECT" in url(page)

    rows = [{"time": "2026-01-05T10:30:00Z", "sensor": "roof", "celsius": 40.5}]
    desk.call("POST", f"/v1/streams/{stream}/rows", rows)
    page.locator("tr.entered").first.wait_for()
    assert ("roof", "40.5") == (cells(page)[0], cells(page, 1)[0])
    assert fits(page)

    page.get_by_label("Instant that is looked at").fill("0")
    assert shows(page, "Back to now")
    wait_until(lambda: "roof" not in cells(page), "the row was not there then")
    assert re.search(r"now=2026-01-05T10%3A0", url(page))
    assert fits(page)
    page.get_by_role("button", name="Back to now").click()
    wait_until(lambda: "roof" in cells(page), "the row is there now")

    page.get_by_role("button", name="Save as…").click()
    page.get_by_label("Name").fill(f"warm {size['width']}")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name=f"warm {size['width']}").wait_for()
    again = desk.open(url(page).removeprefix(desk.url), size)
    again.get_by_role("heading", name=f"warm {size['width']}").wait_for()
    wait_until(lambda: "roof" in cells(again), "the answer is there again")
    assert f"name=warm+{size['width']}" in url(again)


@pytest.mark.parametrize(
    ("size", "scheme"), [(PHONE, "dark"), (DESK, "light")], ids=["phone-dark", "desk-light"]
)
def test_every_page_is_usable_by_keyboard_and_screen_reader(desk, size, scheme):
    """axe-core finds nothing on any view, in either colours, and nothing is wider than the window."""
    stream = f"seen_{scheme}"
    desk.declare(stream, ("ts", "timestamp"), ("room", "string"), ("noise", "float64"))
    rows = [
        {
            "ts": f"2026-01-05T10:{n:02}:00Z",
            "room": f"lab {n % 3}",
            "noise": None if n == 7 else 60 + n,
        }
        for n in range(30)
    ]
    desk.call("POST", f"/v1/streams/{stream}/rows", rows)
    query = desk.register(
        f"SELECT ts, room, noise FROM {stream} WHERE noise > 62 BEGIN (NOW - INTERVAL '20' MINUTE) END (NOW)"
    )
    page = desk.open(f"/console?q={query}", size, color_scheme=scheme, reduced_motion="reduce")
    found = {}
    for view, awaited in VIEWS.items():
        page.goto(desk.url + "/console?" + view.format(q=query, stream=stream))
        page.locator(awaited).first.wait_for()
        found[view] = violations(page)
        assert fits(page), view
    assert {view: [] for view in VIEWS} == found


VIEWS = {
    "q={q}": ".rows td",
    "q={q}&now=2026-01-05T10:12:00.000000Z": ".rows td",
    "q={q}&view=chart&y=noise": ".u-legend",
    "q={q}&view=plan": ".plan dd",
    "q={q}&row=3": ".panel h2",
    "stream={stream}": ".figures dd",
    "top=bytes": "#main h1",
    "": ".welcome.wide",
}


def test_a_hundred_thousand_rows_scroll(desk):
    """Only those that can be seen are drawn, and each can be."""
    desk.declare("many", ("n", "int64"), time=None)
    for begin in range(0, 100_000, 50_000):
        rows = [{"n": number} for number in range(begin, begin + 50_000)]
        desk.call("POST", "/v1/streams/many/rows", rows)
    page = desk.open(f"/console?q={desk.register('SELECT n FROM many')}&sort=n")
    assert shows(page, "100,000 rows")
    assert "0" == cells(page)[0]
    assert page.locator(".rows tr").count() < 100
    box = page.locator(".rows")
    box.evaluate("(box) => { box.scrollTop = box.scrollHeight / 2 }")
    wait_until(lambda: "50000" in cells(page), "the middle is drawn")
    box.evaluate("(box) => { box.scrollTop = box.scrollHeight }")
    wait_until(lambda: "99999" == cells(page)[-1], "the last one is drawn")
    assert page.locator(".rows tr").count() < 100


def test_a_chart_survives_edits_of_its_query(desk):
    """What it draws stands in the URL: another condition, and it draws the same column."""
    desk.declare("drawn", ("ts", "timestamp"), ("room", "string"), ("noise", "float64"))
    rows = [
        {"ts": f"2026-01-05T10:{n:02}:00Z", "room": f"lab {n % 2}", "noise": 60 + n}
        for n in range(30)
    ]
    desk.call("POST", "/v1/streams/drawn/rows", rows)
    page = desk.open("/console?" + "sql=" + AVERAGES.format(least=0).replace(" ", "+"))
    page.get_by_role("button", name="Run").click()
    page.get_by_role("link", name="Chart").click()
    page.get_by_label("Draw").select_option("quietest")
    page.locator(".plot canvas").wait_for()
    legend = page.locator(".u-legend")
    wait_until(
        lambda: {"lab 0", "lab 1"} <= set(re.findall(r"lab \d", legend.inner_text())), "two lines"
    )
    write(page, AVERAGES.format(least=70))
    run(page)
    assert shows(page, "Draft")
    wait_until(lambda: "least" not in url(page) and "70" in url(page), "the other query is shown")
    page.locator(".plot canvas").wait_for()
    assert "quietest" == page.get_by_label("Draw").input_value()
    assert "y=quietest" in url(page)
    assert "quietest" not in page.locator("figcaption").inner_text()


AVERAGES = (
    "SELECT room, AVG(noise) AS mean, MIN(noise) AS quietest FROM drawn WHERE noise > {least} GROUP BY room"
    " BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)"
)


def test_a_link_alone_registers_nothing(desk):
    """Its text is shown, and run by whoever wants to; one's own draft is there again when the page is loaded anew."""
    desk.declare("linked", ("ts", "timestamp"), ("n", "int64"))
    before = desk.call("GET", "/v1/status")["queries"]
    page = desk.open("/console?sql=SELECT+n+FROM+linked")
    assert shows(page, "Run the query to see its answer")
    assert before == desk.call("GET", "/v1/status")["queries"]
    page.get_by_role("button", name="Run").click()
    assert shows(page, "0 rows")
    assert before + 1 == desk.call("GET", "/v1/status")["queries"]
    page.reload()
    assert shows(page, "Draft", "0 rows")
    standing(desk, before + 1, "the draft of before is gone")
    write(page, "SELECT n FROM linked WHERE n > 1")
    run(page)
    wait_until(lambda: "n+%3E+1" in url(page), "the other text is shown")
    standing(desk, before + 1, "the other draft is gone")
    page.go_back()
    wait_until(lambda: "n+%3E+1" not in url(page), "the text of before is shown")
    assert shows(page, "Draft", "0 rows")
    page.close()
    standing(desk, before, "nothing is left")


def standing(desk, count, what):
    """Return once so many queries stand."""
    wait_until(lambda: count == desk.call("GET", "/v1/status")["queries"], what)


def test_playing_the_past_ends_in_the_present(desk):
    """Play begins at the oldest instant and moves on by itself; pressed again it stays where it is."""
    desk.declare("played", ("ts", "timestamp"), ("n", "int64"))
    rows = [{"ts": f"2026-01-05T10:00:{n:02}Z", "n": n} for n in range(60)]
    desk.call("POST", "/v1/streams/played/rows", rows)
    query = desk.register("SELECT n FROM played BEGIN (NOW - INTERVAL '5' SECOND) END (NOW)")
    page = desk.open(f"/console?q={query}&sort=n")
    assert shows(page, "6 rows")
    page.get_by_label("Play the past").click()
    wait_until(
        lambda: "now=" in url(page) and cells(page) and int(cells(page)[0]) < 50, "it has begun"
    )
    page.locator("tr.entered").first.wait_for()
    page.get_by_label("Pause").click()
    stays = url(page)
    assert int(cells(page)[0]) < 55
    page.wait_for_timeout(300)
    assert stays == url(page)
    page.get_by_role("button", name="Back to now").click()
    wait_until(lambda: "54" == cells(page)[0], "it is live again")


def test_completion_offers_columns_of_the_stream(desk):
    """By the keyboard alone, a column is written that the stream has."""
    desk.declare("offered", ("ts", "timestamp"), ("temperature", "float64"))
    page = desk.open("/console")
    page.locator(".cm-content").click()
    page.keyboard.insert_text("SELECT  FROM offered")
    for _ in " FROM offered":
        page.keyboard.press("ArrowLeft")
    page.keyboard.type("temp", delay=30)
    page.locator(".cm-tooltip-autocomplete li[aria-selected]").filter(
        has_text="temperature"
    ).wait_for()
    page.wait_for_timeout(100)  # a moment after it opens it takes no key
    page.keyboard.press("Tab")
    assert "SELECT temperature FROM offered" == page.locator(".cm-line").inner_text()


def test_a_name_that_is_taken_is_replaced_when_one_says_so(desk):
    """Under the same handle, so that whoever follows it sees the new answer."""
    desk.declare("saved", ("ts", "timestamp"), ("n", "int64"))
    desk.call(
        "POST",
        "/v1/streams/saved/rows",
        [{"ts": "2026-01-05T10:00:00Z", "n": n} for n in (1, 2, 3)],
    )
    query = desk.register("SELECT n FROM saved", name="numbers")
    other = desk.open("/console?name=numbers")
    assert shows(other, "3 rows")
    page = desk.open("/console?name=numbers")
    assert shows(page, "3 rows")
    write(page, "SELECT n FROM saved WHERE n > 1")
    assert shows(page, "the answer below is that of the text before")
    page.keyboard.press("Control+s")
    assert "numbers" == page.get_by_label("Name").input_value()
    page.keyboard.press("Enter")
    assert shows(page, "Another query has this name. Replace it?")
    page.get_by_role("button", name="Replace").click()
    assert shows(page, "2 rows")
    assert shows(other, "2 rows")
    (named,) = desk.call("GET", "/v1/queries?name=numbers")["queries"]
    assert (query, "SELECT n FROM saved WHERE n > 1") == (named["id"], named["canonical"])


def test_what_is_copied_runs(desk):
    """The rows as CSV, the link, and a program for the shell that gives the answer that is shown."""
    desk.declare("copied", ("ts", "timestamp"), ("s", "string"))
    desk.call("POST", "/v1/streams/copied/rows", [{"ts": "2026-01-05T10:00:00Z", "s": "it's"}])
    query = desk.register("SELECT s FROM copied WHERE s = 'it''s'")
    page = desk.open(f"/console?q={query}", permissions=["clipboard-read", "clipboard-write"])
    assert shows(page, "it's")
    copied = {}
    for what in ("curl", "Link to this view", "Rows as CSV"):
        page.locator("summary").click()
        page.get_by_role("button", name=what).click()
        page.locator("summary", has_text="Copied").wait_for()
        copied[what] = page.evaluate("navigator.clipboard.readText()")
    assert url(page) == copied["Link to this view"]
    assert "s\nit's\n" == copied["Rows as CSV"]
    shell = ["bash", "-e"]
    done = subprocess.run(
        shell, input=copied["curl"], capture_output=True, text=True, check=True, timeout=90
    )
    registered, answer = (
        json.loads(part) for part in re.split(r"(?<=\})(?=\{\"query\")", done.stdout)
    )
    assert "SELECT s FROM copied WHERE s = 'it''s'" == registered["canonical"]
    assert (query, "it's") == (answer["query"], answer["rows"][0]["s"])


def test_what_costs_most(desk):
    """The largest first, by each measure, and each is a link to its query."""
    desk.declare("costly", ("n", "int64"), time=None)
    query = desk.register("SELECT n FROM costly", name="all numbers")
    for _ in range(3):
        desk.call("GET", f"/v1/queries/{query}/results")
    page = desk.open("/console?top=bytes")
    page.get_by_role("link", name="invocations").click()
    row = page.locator(".costs li").filter(has_text="all numbers")
    assert int(row.locator(".figure").inner_text()) >= 3
    row.get_by_role("link").click()
    page.get_by_role("heading", name="all numbers").wait_for()


def test_a_service_with_keys_is_asked_with_the_one_given(chromium, tmp_path):
    """The page asks for it, keeps it for this tab alone, and sends it to nobody else."""
    key = "open sesame, for the tests"
    keys = tmp_path / "keys"
    digest = hashlib.sha256(key.encode()).hexdigest()
    keys.write_text(
        json.dumps(
            {"id": "all", "sha256": digest, "scopes": ["admin", "read", "register", "ingest:*"]}
        )
    )
    with served_application(replace(SETTINGS, keys_file=keys)) as (address, _):
        desk = Desk(chromium, f"http://{address[0]}:{address[1]}")
        page = desk.open("/console")
        page.get_by_label("Key").fill(key)
        page.get_by_role("button", name="Use").click()
        page.get_by_role("button", name="Forget key").wait_for()
        assert shows(page, "No stream yet")
        other = page.context.new_page()
        other.goto(desk.url + "/console")
        other.get_by_label("Key").wait_for()
        assert key not in page.evaluate("JSON.stringify(localStorage) + document.cookie")
        page.context.close()
    assert [] == [url for url in desk.asked if not url.startswith(desk.url) or "sesame" in url]
