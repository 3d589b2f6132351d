"""A browser, a service, and both together as tests of the console use them."""

import pytest

from tests.app.serving import served_application
from tests.app.support import SETTINGS
from tests.clients.desk import CHROMIUM, Desk


@pytest.fixture(scope="module")
def chromium():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright: the extra `dev`"
    )
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
