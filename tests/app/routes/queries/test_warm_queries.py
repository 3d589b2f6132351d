"""A query that was read once is not read again: by its likes, by the fold, when it is invoked, listed or described."""

import pytest

from psoup.engine.query.bind import author_warnings, binder, template
from psoup.engine.query.text import parser
from tests.app.support import WINDOW, Api, row

pytestmark = pytest.mark.anyio

OVER_ONE = f"select px, qty from trades where px > 40 {WINDOW}"
ITS_LIKE = OVER_ONE.replace("40", "41.5")
JOIN = f"SELECT a.px FROM trades a, trades b WHERE a.qty = b.qty AND a.px < b.px {WINDOW}"


def refuse_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let whatever would read a text fail."""

    def read(text: str) -> None:
        raise AssertionError(f"read once more: {text}")

    for module in (author_warnings, binder, template):
        monkeypatch.setattr(module, "parse", read)
    monkeypatch.setattr(parser, "scan", read)


@pytest.mark.services
async def test_queries_known_are_registered_invoked_and_described_without_reading(
    api: Api, monkeypatch
):
    """From the first invocation on, which follows the registration; a text that differs in numbers is a like.

    A description tells the plan of a query too, for which its text is read once, when it is first asked for.
    """
    await api.declare()
    await api.rows([row(n, px=40 + n, qty=n % 2) for n in range(4)])
    first = [await api.register(sql) for sql in (OVER_ONE, JOIN)]
    plans = [(await api.get(f"/v1/queries/{one}")).json()["plan"] for one in first]
    refuse_to_read(monkeypatch)
    again = [await api.register(sql) for sql in (OVER_ONE, ITS_LIKE, JOIN)]
    counts = [(await api.results(one, count="only"))["count"] for one in (*first, *again)]
    assert [3, 2, 3, 2, 2] == counts
    rows = [(await api.results(one))["rows"] for one in (*first, *again)]
    assert counts == list(map(len, rows))
    listed = (await api.get("/v1/queries")).json()["queries"]
    assert [*first, *again] == [one["id"] for one in listed]
    known = [*first, again[0], again[2]]
    described = {one: (await api.get(f"/v1/queries/{one}")).json() for one in known}
    assert plans * 2 == [told.pop("plan") | {"shared_with": 0} for told in described.values()]
    assert [one for one in listed if one["id"] in described] == list(described.values())
    explained = await api.get(f"/v1/queries/{first[0]}/explain?row_id=3")
    assert explained.json()["matches"], explained.text
    unknown = await api.send("POST", "/v1/queries", json={"sql": "SELECT sym FROM trades"})
    assert 500 == unknown.status_code, "a text that is not known would have to be read"
