"""Following a query: by a stream, by polls where streams do not come through, through a bad line, for ever."""

import asyncio
import json
import random
import threading
import time
from collections import Counter
from contextlib import closing
from typing import Any

import httpx2
import pytest

import psoup
from psoup.client.changes.events import Event, EventReader
from psoup.client.changes.following import Follower, Pace
from psoup.client.changes.rule import Held
from psoup.client.connections.async_connection import AsyncConnection
from psoup.client.connections.connection import Connection
from tests.client.between import bad_proxy, brisk_sleep
from tests.patience import WAIT_S

FAST = Pace(
    first_pause_s=0.005,
    last_pause_s=0.02,
    silence_s=1.0,
    quick_s=0.1,
    polling_s=0.5,
    wait_s=0.2,
)
COLUMNS = {"ts": "timestamp", "n": "int64"}
START_US = 1_577_872_800_000_000
QUERIES = {
    "sliding": "SELECT n FROM s WHERE n % 3 <> 0 BEGIN (NOW - INTERVAL '20' SECOND) END (NOW)",
    "delayed": "SELECT n FROM s BEGIN (NOW - INTERVAL '18' SECOND) END (NOW - INTERVAL '6' SECOND)",
    "groups": "SELECT n % 4 AS k, SUM(n) AS s FROM s GROUP BY k BEGIN (NOW - 15) END (NOW)",
    "cut": "SELECT n FROM s ORDER BY n DESC LIMIT 4",
    "few": "SELECT n FROM few WHERE n % 3 <> 1",
}


def row(n):
    return {"ts": START_US + n * 1_000_000, "n": n}


class Rows(dict[str, dict[str, Any]]):
    """What a reader of changes makes of them."""

    def make(self, change):
        if change.reset:
            self.clear()
        for one in (*change.removed, *change.expired):
            del self[one["_id"]]
        self.update({one["_id"]: one for one in (*change.entered, *change.changed)})
        assert change.count == len(self)

    def are(self, query):
        return dict(self) == {one["_id"]: one for one in query.rows(ids=True)}


def declare(db):
    """Declare the streams, and register the queries."""
    few = db.stream("few", COLUMNS, time="ts", retention={"rows": 12})
    return [db.stream("s", COLUMNS, time="ts"), few], {
        name: db.query(sql, name=name) for name, sql in QUERIES.items()
    }


def test_follower_is_told_what_enters_changes_and_leaves(url):
    """First everything, then each change, with instants; the service pushes them by one connection."""
    with psoup.connect(url) as db:
        (stream, _), queries = declare(db)
        stream.append([row(1), row(2)])
        for name, on in (("groups", "enter"), ("sliding", "any")):
            rows = Rows()
            with closing(queries[name].follow(on=on)) as changes:
                first = next(changes)
                assert first.reset
                rows.make(first)
                assert rows.are(queries[name])
                for n in (5, 30, 31):
                    stream.append(row(n + len(name)))
                    while not rows.are(queries[name]):
                        change = next(changes)
                        assert change
                        rows.make(change)


def test_answer_of_many_events_is_told_as_one_change(url):
    """A stream of events is cut at some 64 KiB; what follows it is a change."""
    with psoup.connect(url) as db:
        stream = db.stream("s", COLUMNS, time="ts")
        stream.append([row(n) for n in range(5_000)])
        with closing(db.query("SELECT n FROM s").follow()) as changes:
            assert 5_000 == len(next(changes).entered)
            stream.append(row(5_001))
            assert [5_001] == [one["n"] for one in next(changes).entered]


def test_query_that_is_removed_ends_the_loop_and_one_whose_window_is_over_too(url):
    """The first with an error that says so, the second in order."""
    with psoup.connect(url) as db:
        db.stream("s", COLUMNS)
        window = "BEGIN ('2020-01-01') END ('2020-01-02')"
        over = db.query(f"SELECT n FROM s {window}")
        assert [True] == [change.complete for change in over.follow()]
        query = db.query("SELECT n FROM s")
        with closing(query.follow()) as changes:
            next(changes)
            query.remove()
            with pytest.raises(psoup.ServiceProblem, match="not-found"):
                next(changes)


@pytest.mark.parametrize(("by", "seed"), [("streams", 1), ("polls", 2)])
def test_bad_line_is_right_whenever_it_is_good(memory_url, by, seed):
    """Cut, lost, doubled, late, refused: after each quiet moment every reader has what its query shows."""
    rng = random.Random(seed)
    with bad_proxy(memory_url, rng) as proxy, psoup.connect(memory_url) as db:
        streams, queries = declare(db)
        readers = {name: Reader(proxy.url, query.id, by) for name, query in queries.items()}
        number = 0
        for turn in range(60):
            if turn > 3 and set(proxy.FAULTS) == set(proxy.done):
                break
            proxy.is_good = False
            for _ in range(8):
                rows = [row(max(0, number + i - rng.randrange(6))) for i in range(3)]
                rng.choice(streams).append(rows)
                number += 3
                time.sleep(rng.uniform(0, 0.05))
            proxy.is_good = True
            for name, reader in readers.items():
                reader.wait(queries[name])
        for query in queries.values():
            query.remove()
        for reader in readers.values():
            reader.end()
    assert set(proxy.FAULTS) == set(proxy.done)
    assert (proxy.streams > 10) == (by == "streams"), proxy.streams


class Reader:
    """Follows a query in a thread."""

    def __init__(self, url, query_id, by):
        self.rows = Rows()
        self.error: Exception | None = None
        self._lock = threading.Lock()
        self._args = url, query_id, by
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self):
        url, query_id, by = self._args
        with Connection(url, sleep=brisk_sleep) as connection:
            follower = Follower(url, query_id, Held(), pace=FAST)
            if by == "polls":
                follower._polls_until_s = float("inf")
            try:
                for change in connection.follow(follower.steps()):
                    with self._lock:
                        self.rows.make(change)
            except psoup.ServiceProblem as problem:
                self.error = problem

    def wait(self, query):
        """Return once the rows are what the query shows."""
        latest_s = time.monotonic() + WAIT_S
        while True:
            shown = {one["_id"]: one["_x"] for one in query.rows(ids=True)}
            with self._lock:
                held = {name: one["_x"] for name, one in self.rows.items()}
            if held.keys() == shown.keys():
                return
            assert time.monotonic() < latest_s, (self.error, held, shown)
            time.sleep(0.02)

    def end(self):
        """Return once the query's end is told."""
        self._thread.join(WAIT_S)
        assert isinstance(self.error, psoup.ServiceProblem), self.error
        assert "not-found" == self.error.problem


def test_the_same_awaited_through_a_bad_line(memory_url):
    """Tasks follow five queries at once, and end when they are cancelled."""

    async def run():
        with bad_proxy(memory_url, random.Random(3)) as proxy:
            async with await psoup.aconnect(memory_url) as db:
                stream = await db.stream("s", COLUMNS, time="ts")
                await db.stream("few", COLUMNS, time="ts", retention={"rows": 12})
                queries = {name: await db.query(sql) for name, sql in QUERIES.items()}
                rows = {name: Rows() for name in queries}

                async def read(name):
                    connection = AsyncConnection(proxy.url)
                    follower = Follower(proxy.url, queries[name].id, Held(), pace=FAST)
                    async for change in connection.follow(follower.steps()):
                        rows[name].make(change)

                tasks = [asyncio.create_task(read(name)) for name in queries]
                for n in range(30):
                    await stream.append(row(n))
                    await asyncio.sleep(0.01)
                proxy.is_good = True
                for name, query in queries.items():
                    await reached(rows[name], query)
                for task in tasks:
                    task.cancel()
                done = await asyncio.gather(*tasks, return_exceptions=True)
                return [type(one) for one in done]

    assert [asyncio.CancelledError] * len(QUERIES) == asyncio.run(run())


async def reached(rows, query):
    """Return once the rows are those that the query shows."""
    async with asyncio.timeout(WAIT_S):
        while True:
            if rows.keys() == {one["_id"] for one in await query.rows(ids=True)}:
                return
            await asyncio.sleep(0.02)


# --- A service by script ---------------------------------------------------------------------------


def envelope(**members):
    told: dict[str, Any] = {
        "gen": 1,
        "seq": 1,
        "now": None,
        "reset": True,
        "rows": [],
        "removed": [],
        "keep": None,
    }
    told |= {"count": 0, "changes_at": None, "complete": False, "window": {}, "next": None}
    return {**told, "cursor": "c1", "poll_after_ms": 40, **members}


def event(name, body):
    return f"event: {name}\ndata: {json.dumps(body)}\n\n".encode()


class Script:
    """Answers by a function of the number of the request, and counts what was asked."""

    def __init__(self, answer):
        self.asked = Counter[str]()
        self.paths: list[str] = []
        self.slept: list[float] = []
        self._answer = answer

    def __call__(self, request):
        kind = request.url.path.rpartition("/")[2]
        self.asked[kind] += 1
        self.paths.append(str(request.url.copy_with(scheme=None, host=None)))
        return self._answer(kind, self.asked.total())


def followed(script, held=None, *, most=1_000, pace=None):
    """Yield the changes of a scripted service, at a clock that its pauses move."""
    now_s, slept = [0.0], script.slept

    def sleep(seconds):
        slept.append(seconds)
        now_s[0] += seconds
        if len(slept) > most:
            raise KeyboardInterrupt

    connection = Connection("http://h", transport=httpx2.MockTransport(script), sleep=sleep)
    pace = pace or Pace(clock=lambda: now_s[0], random=lambda: 1.0)
    follower = Follower("http://h", "q_1", Held() if held is None else held, pace=pace)
    return connection.follow(follower.steps())


@pytest.mark.parametrize("how", ["quick", "silent"])
def test_streams_that_end_quickly_three_times_give_way_to_polls_and_come_again(how):
    """So do those that say nothing. The polls have ten minutes: 1,500 of them here."""

    def answer(kind, _):
        if kind == "results":
            return httpx2.Response(200, json=envelope(reset=False, poll_after_ms=400))
        if how == "silent":
            raise httpx2.ReadTimeout("nothing was heard")
        return httpx2.Response(
            200, content=b"retry: 1\n\n", headers={"Content-Type": "text/event-stream"}
        )

    script = Script(answer)
    with pytest.raises(KeyboardInterrupt):
        list(followed(script, most=200))
    kinds = [path.partition("?")[0].rpartition("/")[2] for path in script.paths]
    assert ["events"] * 3 + ["results"] == kinds[:4]
    script = Script(answer)
    with pytest.raises(KeyboardInterrupt):
        list(followed(script, most=2_000))
    assert script.asked["events"] > 3
    assert script.asked["results"] > 100 * 3


def test_network_that_is_lost_counts_for_nothing_and_is_tried_for_ever():
    """The pauses grow up to half a minute; there are no polls, since no stream has ended."""

    def refuse(*_):
        raise httpx2.ConnectError("refused")

    script = Script(refuse)
    with pytest.raises(KeyboardInterrupt):
        list(followed(script, most=50))
    assert {"events": 51} == dict(script.asked)
    assert [0.5, 1.0, 2.0] == script.slept[:3]
    assert 30.0 == max(script.slept)


def test_stream_goes_on_from_the_cursor():
    """The next connection asks from where the last one has ended."""

    def answer(_, number):
        body = envelope(seq=number, reset=number == 1, cursor=f"c{number}", count=number)
        body["rows"] = [{"_id": str(number), "_x": None}]
        if number == 3:
            return httpx2.Response(204)
        return httpx2.Response(
            200, content=event("result", body), headers={"Content-Type": "text/event-stream"}
        )

    script = Script(answer)
    assert [["1"], ["2"]] == [[one["_id"] for one in change.entered] for change in followed(script)]
    assert ["on=enter", "on=enter&cursor=c1", "on=enter&cursor=c2"] == [
        path.partition("?")[2] for path in script.paths
    ]


def test_rows_that_do_not_add_up_are_asked_for_anew():
    """Without a cursor; nothing is told meanwhile."""

    def answer(_, number):
        if number == 3:
            return httpx2.Response(204)
        body = envelope(rows=[{"_id": "1", "_x": None}], count=1 if number > 1 else 2)
        return httpx2.Response(
            200, content=event("result", body), headers={"Content-Type": "text/event-stream"}
        )

    script = Script(answer)
    assert [1] == [change.count for change in followed(script)]
    assert ["on=enter", "on=enter"] == [path.partition("?")[2] for path in script.paths[:2]]


def test_refusal_for_good_ends_and_one_for_now_is_waited_out():
    """`Retry-After` is honoured; a page of a proxy is none of the service's refusals."""

    def answer(_, number):
        if number == 1:
            return httpx2.Response(400, text="<html>")
        if number == 2:
            body = {"code": "overloaded", "retryable": True}
            return httpx2.Response(503, json=body, headers={"Retry-After": "7"})
        return httpx2.Response(401, json={"code": "unauthenticated", "retryable": False})

    script = Script(answer)
    with pytest.raises(psoup.ServiceProblem, match="unauthenticated"):
        list(followed(script))
    assert 3 == script.asked["events"]
    assert 7.0 <= script.slept[1] <= 7.0 * 1.25


def test_events_are_read_from_pieces_of_any_length():
    """Comments are no events; the pause before the next connection is one."""
    text = b'retry: 2000\n\n:\n\nevent: result\nid: c\ndata: {"a":1}\n\ndata: x\n\nevent: cut'
    expected = [Event("retry", b"2000"), Event("result", b'{"a":1}'), Event("message", b"x")]
    for length in (1, 2, 7, 1_000):
        reader = EventReader()
        pieces = [text[at : at + length] for at in range(0, len(text), length)]
        assert expected == [one for piece in pieces for one in reader.read(piece)]
