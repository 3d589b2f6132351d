"""A query that expires under those who follow it: each is told, and told to end."""

import pytest

from psoup.app.fold import due
from psoup.engine import limits
from tests.app.routes.results.following import Events, Site, site
from tests.patience import wait_until

pytestmark = pytest.mark.services


@pytest.fixture
def here(monkeypatch):
    """A server with one stream, where a query may be over as soon as it begins: stores have clocks of their own."""
    monkeypatch.setattr(limits, "QUERY_TTL_US_MIN", 0)
    monkeypatch.setattr(due, "OVERDUE_FOR_S", 0.0)
    with site() as one:
        yield one


def expire(here: Site, query: str) -> None:
    status, body = here.send("PATCH", f"/v1/queries/{query}", {"ttl": "0s"})
    assert status in (200, 410), body


def test_streams_of_events_end_with_the_reason(here: Site):
    """That of the query says that it has expired; that of many tells it of the query, and goes on with the others."""
    query, other = here.register(), here.register()
    body: dict[str, object] = {"queries": {query: {}, other: {}}}
    with (
        here.events(query) as events,
        Events(here.address, "/v1/sync", body=body) as synced,
    ):
        for one in (events, synced):
            first = one.next()
            assert first is not None
            assert "result" == first.name
        here.wait_for(2)
        expire(here, query)
        ended, told = events.next(), synced.next()
        assert ended is not None
        assert told is not None
        assert ("end", "query-expired") == (ended.name, ended.data["code"])
        assert {query: (410, "query-expired")} == {
            one: (gone["status"], gone["code"]) for one, gone in told.data["gone"].items()
        }
        here.trade(1)
        further = synced.next()
        assert further is not None
        assert [other] == list(further.data["results"])


def test_expired_query_is_410_and_its_name_is_free(here: Site):
    """The engine lets it go, whichever process has taken the request; then it is registered anew."""
    query = here.register()
    expire(here, query)
    path = f"/v1/queries/{query}"
    wait_until(lambda: here.send("GET", path)[0] == 410, "the query has expired")
    for method, rest in (("GET", "/results"), ("GET", "/results?wait=1"), ("DELETE", "")):
        status, body = here.send(method, path + rest)
        assert (410, "query-expired") == (status, body["code"])
        assert body["expired_at"].endswith("Z")
    status, body = here.send("POST", "/v1/sync", {"queries": {query: {}}})
    assert (200, "query-expired") == (status, body["gone"][query]["code"])
    assert [] == here.send("GET", "/v1/queries")[1]["queries"]
    assert query != here.register()
