"""Clients that never give up: producers, registrars and readers, over one history. Phones are beside them (`phones`).

A producer repeats a version until it is told that it is committed; a registrar repeats a name until it knows
its handle, a removal until the handle is gone. Some connections are cut at random bytes first. Whatever is not
resolved in RESOLVE_S is a violation.
"""

import asyncio
import itertools
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from tests.torture import workload
from tests.torture.exchange import Answer, Connection, Cut
from tests.torture.history import Exchange, History, Sent, digest, pause

RESOLVE_S: Final = 90.0
"""Every operation is definite by then: a takeover, a restart and a recovery on a busy machine."""
RETRY_S_MAX: Final = 0.5
"""Retry-After is a second or more; a run of minutes has no time for that."""
PAGES_MAX: Final = 4
CROWD_TOGETHER: Final = 200
CROWD_MAX: Final = 600


@dataclass(slots=True)
class Scene:
    """What the clients of one run share.

    Attributes:
        open: returns a new connection.
        standing: handle -> SQL, of acknowledged queries that nobody is removing.
        acknowledged: the latest seq that anybody was told of.
        cuts: the part of requests whose connection is cut.
    """

    open: Callable[[], Connection]
    history: History
    cuts: float = 0.0
    joins: bool = True
    rows_max: int = 2_000
    large: float = 0.03
    ending: asyncio.Event = field(default_factory=asyncio.Event)
    standing: dict[str, str] = field(default_factory=dict)
    acknowledged: int = 0


class Client:
    """One client: a name, chance of its own, a connection."""

    def __init__(self, scene: Scene, name: str, seed: int, pace_s: float) -> None:
        """Act about every `pace_s` seconds."""
        self.scene = scene
        self.history = scene.history
        self.name = name
        self.rng = Random(seed)
        self.pace_s = pace_s
        self.connection = scene.open()

    async def run(self) -> None:
        """Act until the run ends; what is under way then is brought to its end."""
        try:
            await self.begin()
            while not self.scene.ending.is_set():
                await self.act()
                await pause(self.rng.uniform(0, 2 * self.pace_s), self.scene.ending)
        finally:
            self.connection.close()

    async def begin(self) -> None:
        """Do what comes before everything."""

    async def act(self) -> None:
        """Do one thing."""

    async def resolved(
        self, method: str, target: str, body: bytes, headers: dict[str, str], accepted: set[int]
    ) -> tuple[Exchange, float, Answer] | None:
        """Repeat a request until its answer has one of the `accepted` statuses.

        Returns the exchange, when it was first sent, and its answer; None = never, which is noted.
        """
        begun_s = time.monotonic()
        self.history.unresolved += 1
        while time.monotonic() < begun_s + RESOLVE_S:
            cut = self._cut(len(body)) if self.rng.random() < self.scene.cuts else None
            asked = await self.history.ask(
                self.connection, method, target, body=body, headers=headers, cut=cut
            )
            answer = asked.answer
            if answer is not None and answer.status in accepted:
                self.history.unresolved -= 1
                return asked, begun_s, answer
            wait = {503} if method == "DELETE" else {503, 507}  # removals work while memory is full
            if answer is not None and answer.status not in wait:
                self.history.violation(
                    f"{self.name}: {method} {target} got {answer.status} {answer.body[:300]!r}"
                )
                return None
            await asyncio.sleep(self.rng.uniform(0, RETRY_S_MAX))
        self.history.violation(f"{self.name}: {method} {target} unresolved in {RESOLVE_S} s")
        return None

    async def register(self, name: str) -> str | None:
        """Register a random query under a name; return its handle."""
        asked_for = workload.query(self.rng, joins=self.scene.joins)
        body = json.dumps({**asked_for, "name": name}).encode()
        headers = {"Content-Type": "application/json"}
        found = await self.resolved("POST", "/v1/queries", body, headers, {200, 201, 202})
        if found is None:
            return None
        asked, begun_s, answer = found
        told = answer.json()
        query_id = str(told["id"])
        self.history.note(
            "register",
            asked,
            begun_s=begun_s,
            status=answer.status,
            name=name,
            query=query_id,
            seq=told["seq"],
        )
        self.scene.acknowledged = max(self.scene.acknowledged, told["seq"])
        self.scene.standing[query_id] = asked_for["sql"]
        return query_id

    async def invoke(
        self, query_id: str, *, min_seq: int | None = None, at_us: int | None = None
    ) -> Any:
        """Ask once for a query's answer, note it; return it where there was one."""
        limit = self.rng.choice([3, 50, 300, 1_000])
        only = self.rng.random() < 0.1
        given = {
            "limit": limit,
            "min_seq": min_seq,
            "now": at_us,
            "count": "only" if only else None,
        }
        parameters = "&".join(f"{key}={value}" for key, value in given.items() if value is not None)
        target = f"/v1/queries/{query_id}/results?{parameters}"
        if self.rng.random() < self.scene.cuts:
            await self.history.ask(self.connection, "GET", target, cut=self._cut(0))
            self.history.counts["cut"] += 1
        asked = await self.history.ask(self.connection, "GET", target)
        return self.note_answer(asked, query_id, given, offset=0)

    def note_answer(
        self, asked: Exchange, query_id: str, given: dict[str, Any], *, offset: int
    ) -> Any:
        """Note what was answered about one query, if anything was; return the envelope."""
        answer = asked.answer
        if answer is None:
            return None
        told = answer.json()
        if answer.status in {200, 404}:
            self.history.note(
                "answer",
                asked,
                status=answer.status,
                query=query_id,
                given=given,
                offset=offset,
                body=told if answer.status == 200 else None,
            )
        elif answer.code == "now-out-of-range" and given.get("now") is not None:
            self.history.counts["out of range"] += 1
        elif answer.status != 503:
            self.history.violation(f"{query_id} {given}: {answer.status} {answer.body[:300]!r}")
        return told if answer.status == 200 else None

    def _cut(self, length: int) -> Cut:
        if self.rng.random() < 0.5:
            return Cut(sent=self.rng.randint(0, length + 200))
        return Cut(received=self.rng.randint(1, 2_000))


class Producer(Client):
    """One app: a version number for each stream, raised by each batch."""

    async def begin(self) -> None:
        """Start at version 1 of every stream."""
        self.versions = dict.fromkeys(workload.STREAMS, 0)

    async def act(self) -> None:
        """Send one batch and repeat it until it is committed."""
        streams = list(workload.STREAMS) if self.scene.joins else ["readings", "arrivals"]
        stream = self.rng.choice([*streams, "readings"])
        self.versions[stream] += 1
        version = self.versions[stream]
        count = workload.size(self.rng, stream, self.scene.rows_max, self.scene.large)
        rows = workload.rows(self.rng, stream, self.name, version, count)
        how = self.rng.choice(tuple(workload.MEDIA))
        sent = Sent(count, digest(rows, workload.names(stream)))
        self.history.batches[stream, self.name, version] = sent
        headers = {"Content-Type": workload.MEDIA[how], "Psoup-Txn-App": self.name}
        headers["Psoup-Txn-Version"] = str(version)
        body = workload.body(rows, stream, how)
        found = await self.resolved("POST", f"/v1/streams/{stream}/rows", body, headers, {200, 202})
        if found is None:
            return
        asked, begun_s, answer = found
        told = answer.json()
        if told["accepted"] != (0 if told["duplicate"] else count):
            self.history.violation(f"{stream} {self.name} {version}: {told} for {count} rows")
        self.history.note(
            "rows",
            asked,
            begun_s=begun_s,
            status=answer.status,
            stream=stream,
            app=self.name,
            version=version,
            seq=told["seq"],
        )
        self.scene.acknowledged = max(self.scene.acknowledged, told["seq"])


class Registrar(Client):
    """Registers queries by name and removes them again; some it leaves."""

    async def begin(self) -> None:
        """Have nothing registered."""
        self.numbers = itertools.count(1)
        self.mine: list[str] = []

    async def act(self) -> None:
        """Register, or remove what was registered before."""
        if len(self.mine) > 10 or (self.mine and self.rng.random() < 0.4):
            await self._remove(self.mine.pop(self.rng.randrange(len(self.mine))))
            return
        query_id = await self.register(f"{self.name}-{next(self.numbers)}")
        if query_id is not None:
            self.mine.append(query_id)

    async def _remove(self, query_id: str) -> None:
        del self.scene.standing[query_id]
        target = f"/v1/queries/{query_id}"
        found = await self.resolved("DELETE", target, b"", {}, {202, 204, 404})
        if found is not None:
            asked, begun_s, answer = found
            seq = answer.headers.get("psoup-seq")
            self.history.note(
                "remove",
                asked,
                begun_s=begun_s,
                status=answer.status,
                query=query_id,
                seq=None if seq is None else int(seq),
            )


class Crowd(Client):
    """Registers dense queries by the hundred, and lets them stand: each delta becomes a large one."""

    async def begin(self) -> None:
        """Have none."""
        self.registered = 0

    async def act(self) -> None:
        """Register some more, until there are CROWD_MAX."""
        if self.registered >= CROWD_MAX:
            return
        some = [
            workload.dense(self.rng, f"{self.name}-{self.registered + number}")
            for number in range(CROWD_TOGETHER)
        ]
        body = "".join(json.dumps(one) + "\n" for one in some).encode()
        headers = {"Content-Type": "application/x-ndjson"}
        for _ in range(20):
            target = "/v1/batch/queries?describe=ids"
            found = await self.resolved("POST", target, body, headers, {200})
            if found is None:
                return
            told = [json.loads(line) for line in found[2].body.splitlines()]
            self.history.counts["crowd sent"] += 1
            if all(one["status"] in {200, 201, 202} for one in told):
                self.registered += len(some)
                self.scene.standing[told[0]["id"]] = some[0]["sql"]
                return
        self.history.violation(f"{self.name}: queries are not registered after twenty times")


class Reader(Client):
    """Asks for what has just been acknowledged, for whole answers page by page, for many at once."""

    async def act(self) -> None:
        """Do one of these."""
        if not self.scene.standing:
            return
        query_id = self.rng.choice(list(self.scene.standing))
        chance = self.rng.random()
        if chance < 0.4:
            await self.invoke(query_id, min_seq=self.scene.acknowledged or None)
        elif chance < 0.7:
            await self._pages(query_id)
        else:
            await self._many()

    async def _pages(self, query_id: str) -> None:
        target: str | None = f"/v1/queries/{query_id}/results?limit=40"
        offset = 0
        for _ in range(PAGES_MAX):
            if target is None:
                return
            asked = await self.history.ask(self.connection, "GET", target)
            if asked.answer is not None and asked.answer.status == 410 and offset:
                return
            told = self.note_answer(asked, query_id, {"limit": 40}, offset=offset)
            if told is None:
                return
            offset += len(told["rows"])
            target = told["next"]

    async def _many(self) -> None:
        some = self.rng.sample(list(self.scene.standing), min(5, len(self.scene.standing)))
        given = {"limit": 100, "min_seq": self.scene.acknowledged}
        body = json.dumps({"queries": some, **given}).encode()
        headers = {"Content-Type": "application/json"}
        asked = await self.history.ask(
            self.connection, "POST", "/v1/invoke", body=body, headers=headers
        )
        if asked.answer is None or asked.answer.status != 200:
            return
        told = asked.answer.json()
        for query_id, one in zip(some, told["results"], strict=True):
            if (one["query"], told["seq"]) != (query_id, one.get("seq", told["seq"])):
                self.history.violation(f"POST /v1/invoke for {some}: {one}")
            if "problem" not in one:
                self.history.note(
                    "answer", asked, status=200, query=query_id, given=given, offset=0, body=one
                )
