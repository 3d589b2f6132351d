"""Random worlds of clients that come back, over HTTP: after each answer a client has what a full answer shows.

Streams of both clocks, windows of all kinds, late and future rows, retention, DISTINCT, joins, groups; clients that
stay away, lose answers, get them crossed, forget to save their cursor, read pages, in each format, alone and many at
once.
"""

import random
from collections import Counter
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

import httpx2

from tests.app.routes.results.client import Client, Position, Row, read

START_US: Final = 1_767_225_600_000_000
"""2026-01-01T00:00:00Z, in the past of every machine."""
SECOND_US: Final = 1_000_000
COLUMNS: Final = [{"name": "name", "type": "string"}, {"name": "val", "type": "int64"}]
DATED: Final = [{"name": "ts", "type": "timestamp"}, *COLUMNS]
STREAMS: Final[dict[str, dict[str, Any]]] = {
    "dated": {"columns": DATED, "time": "ts"},
    "other": {"columns": DATED, "time": "ts"},
    "short": {"columns": DATED, "time": "ts", "retention": {"rows": 12}},
    "arriving": {"columns": COLUMNS},
}
EVENT_QUERIES: Final = (
    "SELECT name, val FROM dated WHERE val % 3 <> 0 BEGIN (NOW - INTERVAL '10' SECOND) END (NOW)",
    "SELECT name, val FROM dated BEGIN ('2026-01-01 00:00:05') END (NOW)",
    "SELECT name, val FROM dated BEGIN (NOW - INTERVAL '12' SECOND) END (NOW - INTERVAL '4' SECOND)",
    "SELECT name, val FROM dated BEGIN ('2026-01-01 00:00:05') END ('2026-01-01 00:00:40')",
    "SELECT DISTINCT name FROM dated WHERE val > 2 BEGIN (NOW - INTERVAL '9' SECOND) END (NOW)",
    "SELECT a.name, b.val FROM dated a, other b WHERE a.name = b.name BEGIN (NOW - INTERVAL '8' SECOND) END (NOW)",
    "SELECT name, val FROM short",
    "SELECT name, val FROM short BEGIN (NOW - INTERVAL '20' SECOND) END (NOW)",
    "SELECT DISTINCT name FROM short BEGIN (NOW - INTERVAL '20' SECOND) END (NOW)",
)
CLOCK_QUERIES: Final = (
    "SELECT name, val FROM arriving BEGIN (NOW - INTERVAL '1' SECOND) END (NOW)",
    "SELECT name, val FROM arriving BEGIN (NOW - INTERVAL '2' SECOND) END (NOW - INTERVAL '1' SECOND)",
    "SELECT DISTINCT name FROM arriving BEGIN (NOW - INTERVAL '1' SECOND) END (NOW)",
)
GROUP_QUERIES: Final = (
    "SELECT name, COUNT(*) AS n, SUM(val) AS val FROM dated GROUP BY name BEGIN (NOW - INTERVAL '10' SECOND) END (NOW)",
    "SELECT name, COUNT(*) AS n FROM dated WHERE val > 2 GROUP BY name HAVING COUNT(*) < 3 BEGIN (NOW - INTERVAL '12' SECOND) END (NOW - INTERVAL '4' SECOND)",
    "SELECT COUNT(*) AS n, MAX(val) AS val FROM short BEGIN (NOW - INTERVAL '20' SECOND) END (NOW)",
    "SELECT a.name, COUNT(*) AS n, MIN(b.val) AS val FROM dated a, other b WHERE a.name = b.name GROUP BY a.name BEGIN (NOW - INTERVAL '8' SECOND) END (NOW)",
    "SELECT name, COUNT(*) AS n, SUM(val) AS val FROM dated GROUP BY name ORDER BY val DESC LIMIT 2 BEGIN (NOW - INTERVAL '10' SECOND) END (NOW)",
    "SELECT name, val FROM dated ORDER BY val DESC LIMIT 3 BEGIN ('2026-01-01 00:00:05') END (NOW)",
    "SELECT name, COUNT(*) AS n FROM arriving GROUP BY name BEGIN (NOW - INTERVAL '1' SECOND) END (NOW)",
)
"""The first rows of an order are sent whole, where they change; of all others the groups that are touched."""
FORMATS: Final = ("json", "json", "ndjson", "csv", "arrow")
CLIENTS: Final = 3
"""Of each query."""


class World:
    """A service, what is asked of it, and its clients. `seen` counts what has happened to them."""

    def __init__(self, seed: int, queries: tuple[str, ...], *, revalidated: bool = False) -> None:
        """Prepare a world; `revalidated`: an answer may be an earlier one that is as right as one of this moment."""
        self._rng = random.Random(seed)
        self._texts = queries
        self._revalidated = revalidated
        self._high_us = START_US
        self._clients: dict[str, list[Client]] = {}
        self._sent_whole: set[str] = set()
        """Queries that are sent whole, where they change."""
        self._truths: dict[tuple[str, Position], dict[str, Row]] = {}
        self.http: httpx2.AsyncClient
        self.direct: httpx2.AsyncClient
        self.seen: Counter[str] = Counter()

    async def begin(
        self, http: httpx2.AsyncClient, direct: httpx2.AsyncClient | None = None
    ) -> None:
        """Declare the streams and register the queries. Clients ask by `http`, what they have is judged by `direct`."""
        self.http, self.direct = http, direct or http
        for name, declaration in STREAMS.items():
            (await http.put(f"/v1/streams/{name}", json=declaration)).raise_for_status()
        for text in self._texts:
            answer = await http.post("/v1/queries", json={"sql": text})
            answer.raise_for_status()
            described = answer.json()
            self._clients[described["id"]] = [Client() for _ in range(CLIENTS)]
            if described["delta"] == "replace":
                self._sent_whole.add(described["id"])

    async def step(self) -> None:
        """Let rows arrive, and something happen to a client; then it has what there is."""
        for _ in range(self._rng.randrange(3)):
            await self.arrive()
        query_id = self._rng.choice(self.query_ids)
        client = self._rng.choice(self._clients[query_id])
        happens = self._rng.random()
        if happens < 0.25:
            self.seen["away"] += 1
        elif happens < 0.32:
            self.seen["lost"] += 1
            await self._ask(query_id, client.cursor)
        elif happens < 0.42:
            await self._cross(query_id, client)
        elif happens < 0.5:
            self.seen["cursor not saved"] += 1
            client.take(
                await self._ask(query_id, client.cursor), asked=client.cursor, saves_cursor=False
            )
            client.position = None
        elif happens < 0.6:
            await self._read_pages(query_id, client)
        else:
            await self._come_back(query_id, client)

    async def play(self, steps: int) -> None:
        """Let so many steps happen; then every client asks."""
        for _ in range(steps):
            await self.step()
        await self.all_come_back()

    @property
    def query_ids(self) -> list[str]:
        """Return the handles of all queries."""
        return list(self._clients)

    @property
    def gens(self) -> set[int]:
        """Return the generations that clients have reached."""
        every = (client.position for clients in self._clients.values() for client in clients)
        return {position[0] for position in every if position is not None}

    async def all_begin_anew(self) -> int:
        """Let every client ask; return how many of them are told to begin anew."""
        before = self.seen["reset"]
        await self.all_come_back()
        return self.seen["reset"] - before

    async def all_come_back(self) -> None:
        """Let every client ask."""
        for query_id, clients in self._clients.items():
            for client in clients:
                await self._come_back(query_id, client)

    async def all_are_consistent(self) -> None:
        """Let every client ask; it has what a full answer showed at the position that it has reached."""
        for query_id, clients in self._clients.items():
            found = await self.direct.get(f"/v1/queries/{query_id}/results")
            full = found.json()
            position = (full["gen"], full["seq"], full["now"] or "")
            self._truths[query_id, position] = {row["_id"]: row for row in full["rows"]}
            for client in clients:
                client.take(await self._ask(query_id, client.cursor), asked=client.cursor)
                assert client.position is not None
                assert self._truths[query_id, client.position] == client.rows

    async def arrive(self) -> None:
        """Let some rows arrive."""
        name = self._rng.choice(list(STREAMS))
        rows: list[Row] = []
        for _ in range(self._rng.randrange(1, 4)):
            row: Row = {"name": f"n{self._rng.randrange(6)}", "val": self._rng.randrange(9)}
            if name != "arriving":
                self._high_us += self._rng.choice([0, 0, 0, 1, SECOND_US, 3 * SECOND_US])
                away_s = self._rng.choice([0, 0, 0, -2, -9, -30, 4])
                row["ts"] = self._high_us + away_s * SECOND_US
            rows.append(row)
        (await self.http.post(f"/v1/streams/{name}/rows", json=rows)).raise_for_status()

    async def _cross(self, query_id: str, client: Client) -> None:
        """Let an answer overtake one that was given before it."""
        asked = client.cursor
        first = await self._ask(query_id, asked)
        await self.arrive()
        second = await self._ask(query_id, asked)
        client.take(second, asked=asked)
        self.seen["crossed"] += not client.take(first, asked=asked)

    async def _read_pages(self, query_id: str, client: Client) -> None:
        """Read an answer in pages, while rows arrive between them; sometimes not to the end."""
        asked, form = client.cursor, self._rng.choice(FORMATS)
        given = {"cursor": asked or "", "limit": "2", "format": form}
        answer = await self._get(f"/v1/queries/{query_id}/results", given)
        client.take(answer, asked=asked)
        pages = 1
        while answer["next"] is not None and self._rng.random() < 0.8:
            assert None is answer["cursor"], "a page that others follow has none"
            await self.arrive()
            url = urlsplit(answer["next"])
            found = await self.http.get(
                url.path, params=parse_qs(url.query, keep_blank_values=True)
            )
            if found.status_code == 410:  # its rows have left retention meanwhile
                break
            answer = read(found)
            assert not answer["reset"], "the first page alone says so"
            client.take(answer, asked=asked)
            pages += 1
        self.seen["pages"] += pages > 1

    async def _come_back(self, query_id: str, client: Client) -> None:
        """Let a client ask, and compare what it has with a full answer at the same position and instant."""
        answer = await self._ask(query_id, client.cursor)
        assert client.take(answer, asked=client.cursor), "no answer was given since"
        parameters = {"limit": "100000"}
        if answer["now"] and not self._revalidated:
            parameters["now"] = answer["now"]
        found = await self.direct.get(f"/v1/queries/{query_id}/results", params=parameters)
        full = found.json()
        if not self._revalidated:
            assert (answer["gen"], answer["seq"]) == (full["gen"], full["seq"]), (
                "nothing came since"
            )
        assert {row["_id"]: row for row in full["rows"]} == client.rows, (answer, full)
        assert answer["count"] == len(client.rows)
        again = "sent whole" if query_id in self._sent_whole else "reset"
        self.seen[again if answer["reset"] else "delta"] += 1
        self.seen["removed"] += bool(answer["removed"])
        self.seen["kept"] += answer["keep"] is not None
        if not answer["reset"] and not answer["rows"]:
            self.seen["nothing new"] += 1

    async def _ask(self, query_id: str, cursor: str | None) -> dict[str, Any]:
        """Return the answer to a cursor: alone, in any format, or beside that to another query."""
        if self._rng.random() < 0.2:
            asked = [{"query": query_id, "cursor": cursor}, self._rng.choice(self.query_ids)]
            found = await self.http.post("/v1/invoke", json={"queries": asked, "limit": 100_000})
            found.raise_for_status()
            envelope: dict[str, Any] = found.json()["results"][0]
            return envelope
        given = {"cursor": cursor or "", "format": self._rng.choice(FORMATS), "limit": "100000"}
        return await self._get(f"/v1/queries/{query_id}/results", given)

    async def _get(self, path: str, parameters: dict[str, str]) -> dict[str, Any]:
        found = await self.http.get(path, params=parameters)
        assert 200 == found.status_code, found.text
        return read(found)
