"""The table of endpoints: which one a path is of, and that every path has one answer."""

import dataclasses
from typing import Any

import pytest

from psoup.app.routes import health
from psoup.app.routes.endpoint import Endpoint
from psoup.app.routes.endpoints import ENDPOINTS
from psoup.app.routes.table import RouteTable
from tests.app.support import Api


async def nobody(*_: object) -> None:
    """Answer nothing: these tests look paths up."""


def table(*paths: str) -> RouteTable:
    """Return a table of endpoints at `paths`, which nobody asks; none = the service's own."""
    made = [dataclasses.replace(health.ENDPOINTS[0], path=path) for path in paths]
    context: Any = None
    return RouteTable(made or ENDPOINTS, context, otherwise=nobody)


@pytest.mark.parametrize("endpoint", ENDPOINTS, ids=lambda one: one.name)
def test_every_endpoint_is_found(endpoint: Endpoint):
    """By its path, with the values of its parameters."""
    values = {"{name}": "trades", "{id}": "q_1", "{seq}": "7", "{n}": "3"}
    path = "/".join(values.get(segment, segment) for segment in endpoint.path.split("/"))
    found = table().find(path)
    assert found is not None
    served, given = found
    assert endpoint.method in served
    assert given == {
        name[1:-1]: value for name, value in values.items() if name in endpoint.path.split("/")
    }


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "*",
        "/v1",
        "/v1/",
        "/v1/streams/",
        "/v1/streams//rows",
        "/v1/streams/a/rows/",
        "/v2",
    ],
)
def test_a_path_of_no_endpoint_is_not_found(path):
    """Nor is one that only begins like an endpoint's, or leaves a parameter empty."""
    assert table().find(path) is None


def test_a_segment_is_a_name_or_a_parameter():
    """A path that could be of two endpoints is refused when the table is made."""
    with pytest.raises(ValueError, match="may be a name or a parameter"):
        table("/a/{x}", "/a/b")
    with pytest.raises(ValueError, match="is called x elsewhere"):
        table("/a/{x}", "/a/{y}/c")


@pytest.mark.anyio
async def test_another_method_is_told_those_there_are(api: Api):
    """405 with Allow, where the path is an endpoint's; 404 where it is not."""
    refused = await api.send("POST", "/v1/queries/q_1/results")
    assert 405 == refused.status_code
    assert "GET, HEAD" == refused.headers["allow"]
    assert 404 == (await api.get("/v1/queries/q_1/nothing")).status_code
