"""Who may do what through the server: keys, hosts, origins."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from secrets import token_bytes

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from psoup.agents.over_http import bearer, security
from psoup.app.http.access.keys import new_key
from tests.agents.calls import done, refused
from tests.agents.conftest import SETTINGS, Running
from tests.agents.served import Served
from tests.app.real_processes import Process

pytestmark = [pytest.mark.anyio, pytest.mark.service]

SQL = "SELECT sym FROM guarded"
NAME = "agents.example.com"


@pytest.fixture(scope="module")
def keys() -> dict[str, tuple[str, bytes]]:
    """Return keys and their lines by name."""
    scopes = {"owner": ["admin", "ingest:*", "read", "register"], "reader": ["read"]}
    return {name: new_key(name, some, token_bytes) for name, some in scopes.items()}


@pytest.fixture(scope="module")
def guarded(keys, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Yield a service that asks for keys."""
    folder = tmp_path_factory.mktemp("guarded")
    file = folder / "keys"
    file.write_bytes(b"".join(line + b"\n" for _, line in keys.values()))
    file.chmod(0o600)
    process = Process("serve", None, folder, settings={**SETTINGS, "keys_file": file})
    try:
        process.start()
        running = Running(str(process.wait_for("listening")["url"]), keys["owner"][0])
        running.declare("guarded")
        yield running
    finally:
        process.close()


@contextmanager
def served(service: Running, folder: Path, *options: str, **environment: str) -> Iterator[Served]:
    one = Served(service.url, folder, **environment)
    try:
        one.start(*options)
        yield one
    finally:
        one.close()


@asynccontextmanager
async def with_key(url: str, key: str | None) -> AsyncIterator[Client]:
    """Yield an agent whose host sends a key with each call, or none."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    async with (
        httpx2.AsyncClient(headers=headers, trust_env=False) as http,
        Client(streamable_http_client(url, http_client=http)) as agent,
    ):
        yield agent


async def test_calls_are_made_with_the_callers_key_else_with_the_servers(guarded, keys, tmp_path):
    """The server's key reads; the owner's registers through the same server, and so leaves no trace in it."""
    with served(guarded, tmp_path, PSOUP_TOKEN=keys["reader"][0]) as server:
        async with with_key(server.url, None) as agent:
            assert ["guarded"] == [
                one["name"] for one in (await done(agent, "describe"))["streams"]
            ]
            told = await refused(agent, "register", sql=SQL)
            assert told.startswith("scope-missing: ")
            assert "scope: register" in told
        async with with_key(server.url, keys["owner"][0]) as owner:
            query = (await done(owner, "register", sql=SQL))["id"]
        async with with_key(server.url, "psoup_wrong") as stranger:
            assert (await refused(stranger, "invoke", query=query)).startswith("unauthenticated: ")
        async with with_key(server.url, None) as agent:
            assert 0 == (await done(agent, "invoke", query=query))["count"]
            told = await refused(agent, "remove", query=query, confirm=True)
            assert told.startswith("scope-missing: ")
        assert 0 == server.end()
        assert not any(key in server.said() for key, _ in keys.values())


async def test_a_server_that_others_reach_lends_its_key_to_nobody(guarded, keys, tmp_path):
    """By another name than loopback's it asks each call for a key, its own machine's as well."""
    with served(guarded, tmp_path, "--allow-host", NAME, PSOUP_TOKEN=keys["owner"][0]) as server:
        async with httpx2.AsyncClient(trust_env=False) as http:
            refusal = await http.post(server.url, json={}, headers={"Host": NAME})
            assert (401, "Bearer") == (refusal.status_code, refusal.headers["www-authenticate"])
        async with with_key(server.url, keys["reader"][0]) as agent:
            assert (await refused(agent, "register", sql=SQL)).startswith("scope-missing: ")
            assert ["guarded"] == [
                one["name"] for one in (await done(agent, "describe"))["streams"]
            ]


async def test_pages_of_other_names_reach_nothing(guarded, tmp_path):
    """Neither by a name that leads here, nor by a script that sends to loopback; and nothing waits for ever."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    accept = {"Accept": "application/json, text/event-stream"}
    with served(guarded, tmp_path) as server:
        async with httpx2.AsyncClient(trust_env=False, headers=accept) as http:

            async def status(**headers: str) -> int:
                named = {name.replace("_", "-"): value for name, value in headers.items()}
                return (await http.post(server.url, json=call, headers=named)).status_code

            assert 200 == await status()
            assert 200 == await status(Host="localhost:1", Origin="http://localhost:5173")
            assert 421 == await status(Host="evil.example")
            assert 421 == await status(Host=NAME)
            assert 403 == await status(Origin="http://evil.example")
            assert 403 == await status(Origin="null")
            assert 405 == (await http.get(server.url)).status_code
            form = await http.post(server.url, files={"file": b"x"})
            assert 400 == form.status_code


def test_hosts_and_origins_are_those_of_loopback_and_of_the_names():
    """With any port or none, and of origins with either scheme."""
    allowed = security([NAME])
    assert {"localhost", "localhost:*", "[::1]:*", NAME, f"{NAME}:*"} <= set(allowed.allowed_hosts)
    assert {f"https://{NAME}", f"http://{NAME}:*"} <= set(allowed.allowed_origins)
    assert allowed.enable_dns_rebinding_protection
    assert NAME not in security([]).allowed_hosts


@pytest.mark.parametrize(
    ("header", "key"),
    [
        (None, None),
        ("Bearer abc", "abc"),
        ("bearer  abc ", "abc"),
        ("Bearer ", None),
        ("Basic abc", None),
    ],
)
def test_key_of_a_header(header, key):
    """The scheme's name is in any case."""
    assert key == bearer(header)
