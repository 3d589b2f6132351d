"""Tools and resources against a service that is a process: budgets, resources and their times, what refusals say."""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import ReadResourceResult, TextResourceContents

from psoup.agents.arguments import TOKENS_DEFAULT, TOKENS_MIN
from psoup.agents.catalogue import BY_NAME
from psoup.agents.looking import STREAMS_SAMPLED_MAX
from psoup.agents.resources import COMPLETE_TTL_MS, PAGE
from psoup.agents.server import make_server
from psoup.agents.tokens import count_tokens
from psoup.client.connections.async_connection import AsyncConnection
from tests.agents.calls import done, refused
from tests.agents.conftest import Running

pytestmark = [pytest.mark.anyio, pytest.mark.service]


@asynccontextmanager
async def asking(service: Running) -> AsyncIterator[Client]:
    """Yield an agent of a server in this process."""
    server = make_server(lambda key: AsyncConnection(service.url, token=key), token=None)
    async with Client(server, cache=None) as agent:
        yield agent


def content_of(read: ReadResourceResult) -> dict[str, Any]:
    (content,) = read.contents
    assert isinstance(content, TextResourceContents)
    answer: dict[str, Any] = json.loads(content.text)
    return answer


def many(count: int) -> str:
    return "".join(f"2026-01-05T10:00:{n % 60:02}Z,S{n},{n}.5\n" for n in range(count))


async def test_tools_say_what_they_do_to_hosts(service):
    """One of them destroys, one adds, the others only read; none is open to misspelt names."""
    async with asking(service) as agent:
        tools = {tool.name: tool for tool in (await agent.list_tools()).tools}
    assert set(BY_NAME) == set(tools)
    hints = {name: tool.annotations for name, tool in tools.items() if tool.annotations}
    assert {"register", "remove"} == {
        name for name, hint in hints.items() if not hint.read_only_hint
    }
    assert {"remove"} == {name for name, hint in hints.items() if hint.destructive_hint}
    assert {"register"} == {name for name, hint in hints.items() if not hint.idempotent_hint}
    for tool in tools.values():
        assert tool.output_schema is not None
        assert tool.input_schema["additionalProperties"] is False
        assert "max_tokens" in tool.input_schema["properties"]


async def test_long_answers_are_cut_and_told(service):
    """5,000 rows within a small budget: how many are left out, and how to see others; the count is that of all."""
    service.declare("long")
    service.append("long", many(5_000))
    async with asking(service) as agent:
        query = (await done(agent, "register", sql="SELECT sym, px FROM long"))["id"]
        small = await done(agent, "invoke", query=query, max_tokens=TOKENS_MIN)
        shown = len(small["rows"])
        assert (5_000, 5_000 - shown) == (small["count"], small["left_out"]["rows"])
        assert f"Left out here: {5_000 - shown} of 5000 rows." in small["notes"][0]
        larger = await done(agent, "invoke", query=query)
        assert len(larger["rows"]) > shown
        assert small["rows"] == larger["rows"][:shown]
        two = await done(agent, "invoke", query=query, limit=2)
        assert (2, {"rows": 4_998}) == (len(two["rows"]), two["left_out"])
        none = await done(agent, "invoke", query=query, limit=0)
        assert ([], 5_000, False) == (none["rows"], none["count"], "left_out" in none)


async def test_news_that_were_left_out_come_again_by_the_same_cursor(service):
    """A cursor is not used up; the new one is good, however little was shown."""
    service.declare("news")
    async with asking(service) as agent:
        query = (await done(agent, "register", sql="SELECT sym, px FROM news"))["id"]
        begin = (await done(agent, "changes", query=query))["cursor"]
        service.append("news", many(300))
        some = await done(agent, "changes", query=query, cursor=begin, max_tokens=400)
        assert 300 == len(some["rows"]) + some["left_out"]["rows"]
        every = await done(agent, "changes", query=query, cursor=begin, max_tokens=100_000)
        assert (300, some["cursor"]) == (len(every["rows"]), every["cursor"])
        after = await done(agent, "changes", query=query, cursor=some["cursor"])
        assert ([], 300) == (after["rows"], after["count"])


async def test_long_texts_are_cut_and_told(service):
    """In rows; never in the cursor."""
    service.declare("texts")
    service.append("texts", f"2026-01-05T10:00:00Z,{'x' * 2_000},1\n")
    async with asking(service) as agent:
        query = (await done(agent, "register", sql="SELECT sym FROM texts"))["id"]
        answer = await done(agent, "invoke", query=query)
        assert ["x" * 500 + "… (1500 more characters)"] == answer["rows"][0][2:]
        assert answer["notes"][0].startswith("Cut after 500 characters: 1 of the texts here")
        again = await done(agent, "changes", query=query, cursor=answer["cursor"])
        assert not again["reset"]


async def test_a_budget_that_is_too_small_says_which_one_does(service):
    """Names of 64 columns alone are more than 300 tokens."""
    names = [f"a_rather_long_name_of_a_column_{n}" for n in range(60)]
    with service.client() as client:
        client.declare("wide", {"columns": [{"name": name, "type": "int64"} for name in names]})
    async with asking(service) as agent:
        told = await refused(agent, "describe", stream="wide", max_tokens=TOKENS_MIN)
        assert told.startswith("budget-too-small: ")
        enough = int(re.findall(r"max_tokens of (\d+)", told)[0])
        assert 60 == len(
            (await done(agent, "describe", stream="wide", max_tokens=enough))["streams"][0][
                "columns"
            ]
        )


async def test_many_streams_are_listed_without_samples(service):
    """And that is said; none is left out."""
    names = [f"many_{n:02}" for n in range(STREAMS_SAMPLED_MAX + 1)]
    for name in names:
        service.declare(name)
        service.append(name, many(1))
    async with asking(service) as agent:
        there = await done(agent, "describe", max_tokens=100_000)
        assert set(names) <= {stream["name"] for stream in there["streams"]}
        assert not any("sample" in stream for stream in there["streams"])
        assert there["notes"][0].startswith("No sample rows are shown of so many streams")
        (one,) = (await done(agent, "describe", stream=names[0]))["streams"]
        assert 1 == len(one["sample"]["rows"])


async def test_resources_are_the_standing_queries(service):
    """All of them, page by page; each by its handle and by its name, and what is read is what is invoked."""
    service.declare("listed")
    sql = "SELECT sym FROM listed"
    with service.client() as client:
        made = [{"sql": sql, "name": f"listed {n}"} for n in range(PAGE + 5)]
        handles = {line["query"]["id"] for line in client.register_many(made)}
    async with asking(service) as agent:
        page = await agent.list_resources()
        found = page.resources
        while page.next_cursor is not None:
            page = await agent.list_resources(cursor=page.next_cursor)
            found += page.resources
        assert handles <= {resource.uri.removeprefix("psoup://queries/") for resource in found}
        assert sql in {resource.description for resource in found}
        (template,) = (await agent.list_resource_templates()).resource_templates
        assert "psoup://queries/{id}" == template.uri_template
        there = await done(agent, "describe", max_tokens=100_000)
        assert len(found) == len(there["queries"]) + there["left_out"]["queries"]
        for uri in (found[-1].uri, "psoup://queries/listed%203"):
            read = content_of(await agent.read_resource(uri))
            assert read == await done(agent, "invoke", query=read["query"])


@pytest.mark.parametrize(
    ("window", "ttl"),
    [
        ("BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)", None),
        ("BEGIN ('2020-01-01') END (NOW)", 0),
        ("BEGIN ('2020-01-01') END ('2020-01-02')", COMPLETE_TTL_MS),
    ],
    ids=["sliding", "growing", "over"],
)
async def test_a_resource_is_fresh_until_the_clock_changes_it(service, window, ttl):
    """TtlMs is the time from `now` to `changes_at`."""
    stream = f"clock_{ttl}"
    with service.client() as client:
        client.declare(stream, {"columns": [{"name": "n", "type": "int64"}]})
        client.append(stream, b'{"n": 1}', content_type="application/json")
    async with asking(service) as agent:
        query = await done(agent, "register", sql=f"SELECT n FROM {stream} {window}")
        read = await agent.read_resource(query["uri"])
    answer = content_of(read)
    if ttl is None:
        left = datetime.fromisoformat(answer["changes_at"]) - datetime.fromisoformat(answer["now"])
        ttl = left // timedelta(milliseconds=1)
        assert 0 < ttl <= 3_600_000
    assert (ttl, "private") == (read.ttl_ms, read.cache_scope)


@pytest.mark.parametrize(
    "uri",
    ["psoup://queries/q_7HcT0u9XbK2mPq4sVw1zRd", "psoup://queries/nobody", "psoup://streams/a"],
)
async def test_a_resource_that_is_not_there_is_told(service, uri):
    """As an error of the request, which is not worth another try."""
    async with asking(service) as agent:
        with pytest.raises(MCPError, match=r"not-found|No query is called|is no resource here"):
            await agent.read_resource(uri)


@pytest.mark.parametrize(
    ("tool", "arguments", "told"),
    [
        ("invoke", {"query": "q_7HcT0u9XbK2mPq4sVw1zRd"}, "not-found: "),
        ("invoke", {"query": "lsited 3"}, "definition: No query is called 'lsited 3'"),
        ("invoke", {"query": "q", "limit": 5_000}, "limit: Input should be less than or equal to"),
        ("invoke", {"quary": "q"}, "quary: Extra inputs are not permitted"),
        ("explain", {"query": "q"}, "give either row_id or row"),
        ("describe", {"stream": "a", "query": "b"}, "give stream, or query, or neither"),
        ("describe", {"stream": "lisetd"}, "nearest: listed"),
        ("changes", {"query": "q", "wait": 3_600}, "wait: Input should be less than or equal to"),
        ("register", {"sql": "SELECT"}, "sql-syntax: "),
        ("register", {"sql": "SELECT sym FROM listed WHERE px > :min"}, "hint: "),
        ("remove", {"query": "lsited 3", "confirm": True}, "Did you mean listed 3?"),
        ("match", {"stream": "listed", "rows": [{"ts": "soon"}] * 50}, "row 0, ts: type-mismatch"),
    ],
)
async def test_refusals_say_what_is_wrong_and_what_to_do(service, tool, arguments, told):
    """Within the budget, however many errors there are."""
    service.declare("listed")
    with service.client() as client:
        client.register("SELECT sym FROM listed", name="listed 3")
    async with asking(service) as agent:
        text = await refused(agent, tool, **arguments, max_tokens=TOKENS_MIN)
    assert told in text
    assert count_tokens(text) <= TOKENS_MIN < TOKENS_DEFAULT


async def test_an_unknown_tool_and_a_service_that_is_away_are_told():
    """The one is an error of the request; the other may be over soon, and is one of the tool."""
    nowhere = Running("http://127.0.0.1:9")
    async with asking(nowhere) as agent:
        with pytest.raises(MCPError, match="There is no tool 'append'"):
            await agent.call_tool("append", {})
        told = await refused(agent, "describe")
        assert told.startswith(
            "service-unreachable: The service at http://127.0.0.1:9 does not answer"
        )
