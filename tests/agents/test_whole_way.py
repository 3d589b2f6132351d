"""An agent's whole way, by the protocol's own client: against a service, and a worker beside an engine."""

from collections.abc import Iterator

import pytest
from mcp import Client

from tests.agents.calls import done, refused
from tests.agents.conftest import Running
from tests.agents.served import Served

pytestmark = [pytest.mark.anyio, pytest.mark.service]

SQL = "SELECT sym, px FROM {} WHERE px > :min BEGIN (NOW - INTERVAL '10' MINUTE) END (NOW)"
HANDSHAKE = "legacy"
"""The protocol of hosts of 2025."""


@pytest.fixture(scope="module")
def served(service: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    one = Served(service.url, tmp_path_factory.mktemp("mcp"))
    try:
        one.start()
        yield one
    finally:
        one.close()


@pytest.mark.parametrize(
    ("kind", "transport", "mode"),
    [
        ("service", "stdio", "auto"),
        ("service", "http", "auto"),
        ("service", "http", HANDSHAKE),
        ("worker", "stdio", "auto"),
    ],
)
async def test_agent_goes_its_whole_way(request, served, kind, transport, mode):
    """From not knowing anything to a query that it removes, with a mistake that it mends by the caret."""
    service = request.getfixturevalue(kind)
    stream = f"trades_{transport}_{mode}"
    service.declare(stream)
    service.append(stream, "2026-01-05T10:00:00Z,ACME,41.5\n2026-01-05T10:00:07Z,IBM,39.9\n")
    sql = SQL.format(stream)
    async with Client(service.host() if transport == "stdio" else served.url, mode=mode) as agent:
        assert "standing query" in str(agent.instructions)
        there = await done(agent, "describe", stream=stream)
        (found,) = there["streams"]
        assert {"ts": "timestamp not null", "sym": "string", "px": "float64"} == found["columns"]
        assert (2, ["_id", "ts", "sym", "px"]) == (found["rows"], found["sample"]["columns"])
        assert ["IBM", "ACME"] == [row[2] for row in found["sample"]["rows"]]

        told = await refused(
            agent, "validate", sql=sql.replace("px >", "prise >"), params={"min": 40}
        )
        code, *rest = told.splitlines()
        assert code.startswith("unknown-column: Line 1, column ")
        excerpt, caret, hint = rest
        assert "prise" == excerpt[caret.index("^") : caret.rindex("^") + 1]
        assert "px" in hint
        valid = await done(agent, "validate", sql=sql, params={"min": 40})
        assert {"sym": "string", "px": "float64"} == valid["columns"]
        assert 1 == valid["forecast"]["rows"]

        query = await done(agent, "register", sql=sql, params={"min": 40}, name=f"dear {stream}")
        handle = query["id"]
        again = await done(agent, "register", sql=sql, params={"min": 40}, name=f"dear {stream}")
        assert handle == again["id"]
        assert ("7d", True) == (query["ttl"], again["expires_at"] > "2026")
        listed = (await done(agent, "describe"))["queries"]
        assert ["7d"] == [one["ttl"] for one in listed if one["id"] == handle]
        first = await done(agent, "changes", query=handle)
        assert (True, [["ACME", 41.5]]) == (first["reset"], [row[2:] for row in first["rows"]])

        service.append(stream, "2026-01-05T10:05:00Z,HAL,12\n2026-01-05T10:11:00Z,ACME,43\n")
        news = await done(agent, "changes", query=handle, cursor=first["cursor"], wait=10)
        assert (False, [["ACME", 43.0]], 1) == (
            news["reset"],
            [row[2:] for row in news["rows"]],
            news["count"],
        )
        still = await done(agent, "changes", query=handle, cursor=news["cursor"])
        assert ([], news["cursor"]) == (still["rows"], still["cursor"])
        by_name = await done(agent, "invoke", query=f"dear {stream}")
        assert news["rows"] == by_name["rows"]
        then = await done(agent, "invoke", query=handle, now="2026-01-05T10:01:00Z")
        assert [["ACME", 41.5]] == [row[2:] for row in then["rows"]]

        gone = await done(agent, "explain", query=handle, row_id=first["rows"][0][0])
        assert (True, False) == (gone["matches"], gone["window"]["visible"])
        never = await done(agent, "explain", query=handle, row={"ts": 0, "sym": "HAL", "px": None})
        assert (False, None) == (never["matches"], never["predicates"][0]["result"])
        hits = await done(
            agent, "match", stream=stream, rows=[{"ts": 0, "px": 50}, {"ts": 0, "px": 1}]
        )
        assert [(1, [handle]), (0, [])] == [
            (one["total"], one["queries"]) for one in hits["matches"]
        ]

        shown = await done(agent, "remove", query=handle)
        assert (False, handle) == (shown["removed"], shown["query"]["id"])
        assert 1 == (await done(agent, "invoke", query=handle))["count"]
        assert (await done(agent, "remove", query=handle, confirm=True))["removed"]
        assert (await refused(agent, "invoke", query=handle)).startswith("not-found: ")


async def test_another_server_goes_on_with_handle_and_cursor(service, served):
    """The first one is killed while it waits; nothing that the agent holds was the server's."""
    stream = "survivors"
    service.declare(stream)
    service.append(stream, "2026-01-05T10:00:00Z,ACME,41.5\n")
    async with Client(served.url) as agent:
        sql = SQL.format(stream).replace(":min", "40")
        handle = (await done(agent, "register", sql=sql))["id"]
        cursor = (await done(agent, "changes", query=handle))["cursor"]
    served.kill()
    service.append(stream, "2026-01-05T10:01:00Z,IBM,44\n")
    served.start()
    async with Client(served.url) as agent:
        news = await done(agent, "changes", query=handle, cursor=cursor)
        assert (False, [["IBM", 44.0]], 2) == (
            news["reset"],
            [row[2:] for row in news["rows"]],
            news["count"],
        )
