"""The console in a browser: pages that note what they ask for and what goes wrong, and what tests read off them."""

import shutil
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest

from psoup.app.console.serving import BUILT
from tests.clients import nodes
from tests.patience import wait_until

CONSOLE = nodes.CLIENT.parents[1] / "console"
CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
NEEDS = (
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium: none is on PATH"),
    pytest.mark.skipif(
        not (BUILT / "page.html").exists(), reason="needs the console: make console"
    ),
)
PHONE = {"width": 360, "height": 740}
DESK = {"width": 1400, "height": 900}
POLICY = """addEventListener("securitypolicyviolation", (event) => {
  if (event.sourceFile) console.error(`${event.effectiveDirective}: ${event.sourceFile}:${event.lineNumber}`);
})"""
SELECTED = """() => document.querySelector(".sql").shadowRoot.getSelection().toString()"""
AXE = CONSOLE / "node_modules" / "axe-core" / "axe.min.js"
VIOLATIONS = "async () => (await axe.run()).violations.map(({ id, nodes }) => [id, nodes.map((one) => one.html)])"


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
        answer = httpx2.request(method, self.url + path, json=body, timeout=90)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def declare(self, name: str, *columns: tuple[str, str], time: str | None = "ts") -> None:
        listed = [{"name": column, "type": kind} for column, kind in columns]
        self.call("PUT", f"/v1/streams/{name}", {"columns": listed, "time": time})

    def register(self, sql: str, **members: Any) -> str:
        return str(self.call("POST", "/v1/queries", {"sql": sql, **members})["id"])


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


def standing(desk, count, what):
    """Return once so many queries stand."""
    wait_until(lambda: count == desk.call("GET", "/v1/status")["queries"], what)
