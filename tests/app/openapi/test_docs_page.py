"""The API's pages and description: requests and answers like all others, where there is no room for them."""

import httpx2
import pytest

from psoup.app.admission.shares import Shares
from psoup.app.admission.slots import Activity
from psoup.app.http.sending import COUNTED_FROM_BYTES
from psoup.app.settings import Settings
from tests.app.serving import served_application
from tests.app.support import application, assert_problem
from tests.patience import WAIT_S

SETTINGS = Settings(store="memory://", port=0, requests_in_flight=1)
PATHS = (
    "/openapi.json",
    "/docs",
    "/docs/start.js",
    "/docs/swagger-ui.css",
    "/docs/swagger-ui-bundle.js",
)


@pytest.mark.anyio
@pytest.mark.parametrize("path", PATHS)
async def test_pages_have_no_place_where_there_is_none(path: str):
    """503, and none is kept when they are answered."""
    with application(SETTINGS) as app:
        transport = httpx2.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client,
        ):
            slots = app.state.context.front.slots
            assert 200 == (await client.get(path)).status_code
            assert 0 == slots.statistics().working
            slots.take(Activity.WORKING, "")
            assert_problem(await client.get(path), "overloaded")
            slots.release(Activity.WORKING, "")


@pytest.mark.parametrize("path", PATHS)
def test_large_pages_count_until_they_are_taken(path: str, monkeypatch: pytest.MonkeyPatch):
    """Without room they are refused, as other answers are; small ones fit everywhere."""
    with served_application(SETTINGS) as ((host, port), app):
        url = f"http://{host}:{port}{path}"
        large = len(httpx2.get(url, timeout=WAIT_S).content) >= COUNTED_FROM_BYTES
        monkeypatch.setattr(app.state.context.front.traffic, "unsent", Shares(1))
        answer = httpx2.get(url, timeout=WAIT_S)
        assert (503 if large else 200) == answer.status_code
    assert large == (path not in {"/docs", "/docs/start.js"})
