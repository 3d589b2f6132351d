"""A client that was away during an upgrade: the store was of the layout before, its cursor of version 1."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from psoup.app.http.cursors import read_cursor, sign_cursor
from psoup.engine.log.operation import QueryId
from psoup.storage import keys
from psoup.storage.redis import upgrade
from tests.app.routes.results.client import Client
from tests.app.support import INTERFERES, SETTINGS, WINDOW, Api, row, running
from tests.patience import WAIT_S
from tests.storage.redis.test_upgrade import as_of_layout_6
from tests.stores import SharedServer

pytestmark = [pytest.mark.anyio, pytest.mark.redis, INTERFERES]

QUERIES = (
    f"SELECT sym, qty FROM trades WHERE qty > 1 {WINDOW}",
    f"SELECT DISTINCT sym FROM trades {WINDOW}",
    f"SELECT sym, COUNT(*) AS n, SUM(qty) AS val FROM trades GROUP BY sym HAVING COUNT(*) < 4 {WINDOW}",
    f"SELECT a.qty AS one, b.qty AS other FROM trades a, quotes b WHERE a.sym = b.sym {WINDOW}",
)
FIRST = f"SELECT sym, qty FROM trades ORDER BY qty DESC LIMIT 2 {WINDOW}"
"""Sent whole, where it changes: its cursors were of version 1, which holds no digest of the answer."""


@asynccontextmanager
async def life(server: SharedServer, folder: Path) -> AsyncIterator[Api]:
    """Yield a service over the store as it is."""
    store = server.store(folder)
    try:
        async with running(SETTINGS, store=store) as api:
            await asyncio.to_thread(api.service.backend.wait_recovered, WAIT_S)
            yield api
    finally:
        store.close()


async def ask(api: Api, query_id: str, client: Client) -> dict[str, Any]:
    """Let a client ask; it has what a full answer shows then."""
    answer = await api.results(query_id, cursor=client.cursor or "")
    assert client.take(answer, asked=client.cursor)
    whole = await api.results(query_id)
    assert {one["_id"]: one for one in whole["rows"]} == client.rows
    return answer


def of_version_1(api: Api, query_id: str, text: str) -> str:
    """Return a cursor as the version before wrote it: without the digest of an answer."""
    tokens = api.app.state.context.tokens
    held = read_cursor(tokens, QueryId(query_id), text)
    assert held is not None
    bare = replace(held, since=replace(held.since, content=b""))
    return sign_cursor(tokens, QueryId(query_id), bare)


async def test_client_goes_on_with_its_cursor_after_an_upgrade(server: SharedServer, tmp_path):
    """Nothing is begun anew, nothing is sent twice; the first rows of an order are sent whole once more."""
    server.empty_store(tmp_path).close()
    async with life(server, tmp_path) as api:
        for stream in ("trades", "quotes"):
            await api.declare(stream)
            rows = [row(n, sym="AB"[n % 2], qty=n) for n in range(6)]
            await api.rows(rows, name=stream)
        clients = {await api.register(text): Client() for text in QUERIES}
        first_id, first = await api.register(FIRST), Client()
        for query_id, client in {**clients, first_id: first}.items():
            await ask(api, query_id, client)
            assert client.cursor is not None
            client.cursor = of_version_1(api, query_id, client.cursor)
    as_of_layout_6(server.client)
    assert b"%d" % upgrade.EARLIER == server.client.fetch_one("HGET", keys.META, "fmt")

    async with life(server, tmp_path) as api:
        assert b"%d" % keys.LAYOUT_VERSION == server.client.fetch_one("HGET", keys.META, "fmt")
        for query_id, client in {**clients, first_id: first}.items():
            answer = await ask(api, query_id, client)
            assert (False, []) == (answer["reset"], answer["rows"])
        await api.rows([row(7, sym="A", qty=0), row(8, sym="C", qty=1)])
        for query_id, client in clients.items():
            answer = await ask(api, query_id, client)
            assert not answer["reset"]
            assert len(answer["rows"]) < answer["count"] or not answer["count"]
        assert (await ask(api, first_id, first))["reset"], "the same rows, which nobody knows"
        await api.rows([row(9, sym="C", qty=0)])
        assert not (await ask(api, first_id, first))["reset"], "its cursor has a digest now"
