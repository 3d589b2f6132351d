"""The API pages in a browser: what they ask for, from whom, and what their content policy forbids."""

import shutil

import pytest

from tests.attack.target import Target

pytestmark = pytest.mark.service
FILES = ("/docs", "/docs/start.js", "/docs/swagger-ui-bundle.js", "/docs/swagger-ui.css")


def test_docs_page_lets_nothing_in_from_elsewhere(target):
    """No file names another origin to load from; each has the policy that would stop it."""
    for path in FILES:
        answer = target.ask("GET", path)
        assert 200 == answer.status_code
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'; script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy
        assert "nosniff" == answer.headers["x-content-type-options"]
    page = target.ask("GET", "/docs").text
    assert "://" not in page
    assert "<script>" not in page


def test_docs_page_shows_the_endpoints_and_asks_nobody_else(target):
    """In Chromium all endpoints are there, one can be tried, nobody else is asked, and the console is silent."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("this machine has no chromium")
    playwright = pytest.importorskip("playwright.sync_api")
    asked: list[str] = []
    said: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--disable-background-networking"]
        )
        page = browser.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: said.append(f"error: {error}"))
        page.goto(f"{target.url}/docs")
        page.wait_for_selector(".opblock")
        shown = page.locator(".opblock").count()
        tried = _tried(page, target)
        browser.close()
    paths = target.ask("GET", "/openapi.json").json()["paths"]
    assert sum(len(methods) for methods in paths.values()) == shown
    assert "200" == tried
    elsewhere = [url for url in asked if not url.startswith((f"{target.url}/", "data:"))]
    assert [] == elsewhere
    assert [] == said


def _tried(page, target: Target) -> str:
    """Ask for /healthz by the page's own button; return the status that it shows."""
    health = page.locator(".opblock", has_text="/healthz")
    health.locator(".opblock-summary").click()
    health.get_by_text("Try it out").click()
    health.get_by_text("Execute", exact=True).click()
    status = health.locator(".live-responses-table .response-col_status").last
    return str(status.inner_text()).split()[0]
