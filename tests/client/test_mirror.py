"""A mirror: rows and cursor in one transaction, right after whatever has ended the program, and without a network."""

import asyncio
import datetime as dt
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import httpx2
import pytest

import psoup
from psoup.client.changes.following import Pace
from psoup.client.changes.rule import IDS, Held
from psoup.client.connections.connection import Connection
from psoup.client.mirror_file import MirrorFile
from psoup.client.mirrors import Mirror
from psoup.engine.clock import ManualClock
from tests.children import child
from tests.client.between import BRISK, bad_proxy
from tests.client.changes.test_following import COLUMNS, QUERIES, declare, envelope, row

KEEPER = """
import sys, psoup
mirror = psoup.open_mirror(sys.argv[1], sys.argv[2])
print("ready", flush=True)
while True:
    mirror.refresh()
"""


def is_right(mirror, query):
    """Return whether a mirror shows what the query does."""
    return by_id(mirror.rows(ids=True)) == by_id(query.rows(ids=True))


def by_id(rows):
    return {one["_id"]: one for one in rows}


def test_mirror_is_refreshed_by_what_has_changed(url, tmp_path):
    """Several queries in one file; what was brought is told, and nothing where nothing is new."""
    with psoup.connect(url) as db:
        (stream, few), queries = declare(db)
        stream.append([row(n) for n in range(20)])
        mirrors = {name: query.mirror(tmp_path / "m.sqlite") for name, query in queries.items()}
        for turn in range(4):
            stream.append([row(20 + 4 * turn + n) for n in range(3)])
            few.append([row(20 + 9 * turn + n) for n in range(8)])
            for name, mirror in mirrors.items():
                change = mirror.refresh()
                assert change
                assert change.reset or turn
                assert is_right(mirror, queries[name])
                assert not mirror.refresh()
        for name, mirror in mirrors.items():
            mirror.close()
            with psoup.open_mirror(tmp_path / "m.sqlite", name) as again:
                assert is_right(again, queries[name])
                assert again.query_id == queries[name].id


def test_mirror_without_a_network_shows_what_it_has(memory_url, tmp_path):
    """In every form, with its types; asked to refresh it says that nobody answers, and loses nothing."""
    with psoup.connect(memory_url) as db:
        stream = db.stream("s", COLUMNS, time="ts")
        stream.append([row(1), {"ts": row(2)["ts"], "n": None}])
        query = db.query("SELECT ts, n FROM s", name="all")
        with query.mirror(tmp_path / "m") as mirror:
            mirror.refresh()
            expected = query.arrow()
        none = db.query("SELECT ts, n FROM s WHERE n = 77")
        with none.mirror(tmp_path / "none") as mirror:
            mirror.refresh()
    with closing(sqlite3.connect(tmp_path / "m")) as file:
        file.execute("UPDATE psoup_queries SET url = 'http://127.0.0.1:1'")
        file.commit()
    with psoup.open_mirror(tmp_path / "m") as offline:
        for _ in range(2):
            assert expected.equals(offline.arrow())
            assert expected.to_pylist() == offline.rows()
            assert expected.equals(offline.polars().to_arrow().cast(expected.schema))
            assert "Int64" == str(offline.pandas()["n"].dtype)
            assert 2 == offline.count()
            assert "2 rows" in offline._repr_html_()
            assert "2 rows" in repr(offline)
            with pytest.raises(psoup.ServiceUnreachableError):
                offline.refresh()
    with psoup.open_mirror(tmp_path / "none") as offline:
        assert expected.schema == offline.arrow().schema


def test_rows_leave_a_mirror_by_the_clock_without_a_network(memory_url, tmp_path):
    """By the local clock, however wrong, where the clock moves NOW; the window is that of the last answer."""
    clock = ManualClock(5_000_000)
    pace = Pace(wall=clock)
    with psoup.connect(memory_url) as db:
        stream = db.stream("s", {"n": "int64"})
        query = db.query("SELECT n FROM s BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)")
        stream.append([{"n": 1}])
        with query.mirror(tmp_path / "m", pace=pace) as mirror:
            mirror.refresh()
            assert 1 == mirror.count()
            assert mirror.now is not None
            assert mirror.window["begin"] is not None
            clock.advance(3_590_000_000)
            assert 1 == mirror.count()
            clock.advance(11_000_000)
            assert [] == mirror.rows()
            clock.advance(-12_000_000)
            assert 1 == mirror.count()
        with Mirror(MirrorFile(tmp_path / "m"), Connection("http://h"), pace=pace) as again:
            clock.advance(12_000_000)
            assert 0 == again.count()


def test_mirror_whose_window_is_over_is_complete(memory_url, tmp_path):
    """It says so, and following it ends."""
    with psoup.connect(memory_url) as db:
        db.stream("s", {"n": "int64"})
        query = db.query("SELECT n FROM s BEGIN ('2020-01-01') END ('2020-01-02')")
        with query.mirror(tmp_path / "m") as mirror:
            mirror.refresh()
            assert mirror.complete
            assert [] == list(mirror.follow())


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_mirror_through_a_bad_line_is_right_whenever_it_is_good(memory_url, tmp_path, seed):
    """Refreshed and followed in turn, by two programs with one file, over answers that are cut, lost and doubled."""
    rng = random.Random(seed)
    with bad_proxy(memory_url, rng) as proxy, psoup.connect(memory_url) as db:
        streams, queries = declare(db)
        number = 0
        mirrors = [
            {
                name: Mirror(
                    part(tmp_path / "m", proxy.url, query), Connection(proxy.url, retry=BRISK)
                )
                for name, query in queries.items()
            }
            for _ in range(2)
        ]
        for _ in range(12):
            proxy.is_good = False
            for _ in range(4):
                rows = [row(max(0, number + i - rng.randrange(6))) for i in range(3)]
                rng.choice(streams).append(rows)
                number += 3
                rng.choice(mirrors)[rng.choice(list(QUERIES))].refresh()
            proxy.is_good = True
            for name, query in queries.items():
                rng.choice(mirrors)[name].refresh()
                with closing(MirrorFile(tmp_path / "m", query.id)) as file:
                    held = {one: given["_x"] for one, given in file.load().rows.items()}
                shown = query.rows(ids=True)
                assert held.keys() == by_id(shown).keys()
        for group in mirrors:
            for mirror in group.values():
                mirror.close()


def part(path, url, query):
    """Return a query's part of a file."""
    file = MirrorFile(path, query.id)
    file.describe(url, query.description)
    return file


@pytest.mark.service
def test_program_that_is_killed_leaves_a_file_that_is_right(memory_url, tmp_path):
    """Kill -9 in the middle of whatever: rows and cursor are of the same answer, and the next one goes on."""
    rng = random.Random(3)
    path = tmp_path / "m"
    with psoup.connect(memory_url) as db:
        (stream, _), queries = declare(db)
        query = queries["sliding"]
        part(path, memory_url, query).close()
        number = 5
        stream.append([row(n) for n in range(number)])  # before the first row there is no NOW
        with psoup.open_mirror(path) as mirror:
            mirror.refresh()  # a process may be killed before its first answer
        for _ in range(4):
            command = [sys.executable, "-c", KEEPER, str(path), query.id]
            with child(command, stdout=subprocess.PIPE) as keeper:
                assert keeper.stdout is not None
                keeper.stdout.readline()
                until_s = time.monotonic() + rng.uniform(0.1, 0.4)
                while time.monotonic() < until_s:
                    stream.append([row(number + n) for n in range(5)])
                    number += 5
                os.kill(keeper.pid, signal.SIGKILL)
            with closing(MirrorFile(path, query.id)) as file:
                held = file.load()
            assert held.at is not None
            was = query.at(held.at[2]).rows(ids=True)
            assert held.rows.keys() == by_id(was).keys()
        with psoup.open_mirror(path) as mirror:
            change = mirror.refresh()
            assert change is None or not change.reset
            assert is_right(mirror, query)


def test_answer_that_was_not_written_is_mended_by_the_next(memory_url, tmp_path):
    """A full disk at one answer: the next one writes everything, not what has changed since."""
    with psoup.connect(memory_url) as db:
        stream = db.stream("s", COLUMNS)
        query = db.query("SELECT n FROM s")
        with query.mirror(tmp_path / "m") as mirror:
            for n in range(4):
                stream.append(row(n))
                if n == 2:
                    mirror._file._database.execute("PRAGMA query_only = 1")
                    with pytest.raises(psoup.MirrorError, match="readonly"):
                        mirror.refresh()
                    mirror._file._database.execute("PRAGMA query_only = 0")
                else:
                    mirror.refresh()
        with closing(MirrorFile(tmp_path / "m")) as file:
            assert [0, 1, 2, 3] == sorted(one["n"] for one in file.load().rows.values())


def test_mirror_file_that_is_none_is_refused_by_name(tmp_path):
    """A text, a folder, no file, no query of that name, several queries and no name."""
    (tmp_path / "text").write_text("this is no database, however long one looks at it" * 50)
    for path, says in (("text", "not a database"), (".", "unable to open"), ("none", "no file")):
        with pytest.raises(psoup.MirrorError, match=says):
            psoup.open_mirror(tmp_path / path)
    MirrorFile(tmp_path / "m", "q_1").close()
    with pytest.raises(psoup.MirrorError, match="no query yet"):
        psoup.open_mirror(tmp_path / "m")
    for handle in ("q_1", "q_2"):
        with closing(MirrorFile(tmp_path / "m", handle)) as file:
            file.describe("http://h", {"name": None, "columns": []})
    with pytest.raises(psoup.MirrorError, match="2 queries"):
        psoup.open_mirror(tmp_path / "m")
    with pytest.raises(psoup.MirrorError, match="holds no query q_3"):
        psoup.open_mirror(tmp_path / "m", "q_3")
    with psoup.open_mirror(tmp_path / "m", "q_2") as mirror:
        assert ([], None, None) == (mirror.rows(), mirror.now, mirror.cursor)


def test_file_has_no_token(memory_url, tmp_path):
    """Who finds the file may read the rows, and ask nothing."""
    token = "a-token-that-nobody-may-see"
    with psoup.connect(memory_url, token=token) as db:
        db.stream("s", COLUMNS)
        with db.query("SELECT n FROM s").mirror(tmp_path / "m") as mirror:
            mirror.refresh()
    assert token.encode() not in (tmp_path / "m").read_bytes()


def test_answers_that_do_not_add_up_are_asked_for_three_times(tmp_path):
    """Then the mirror says so; what it holds is asked for anew the next time."""
    asked = []

    def answer(request):
        asked.append(request.url.params.get("cursor"))
        return httpx2.Response(200, json=envelope(count=1))

    file = MirrorFile(tmp_path / "m", "q_1")
    file.describe("http://h", {"name": None, "columns": []})
    connection = Connection("http://h", transport=httpx2.MockTransport(answer))
    with Mirror(file, connection, owned=True) as mirror:
        with pytest.raises(psoup.ServiceUnreachableError, match="did not add up"):
            mirror.refresh()
        assert mirror.cursor is None
    assert ["", "", ""] == asked


def test_mirror_of_a_program_that_awaits(url, tmp_path):
    """Refreshed, followed, and read by one that does not await."""

    async def run():
        async with await psoup.aconnect(url) as db:
            stream = await db.stream("s", COLUMNS, time="ts")
            query = await db.query("SELECT n FROM s")
            with closing(query.mirror(tmp_path / "m")) as mirror:
                await stream.append(row(1))
                change = await mirror.refresh()
                assert change is not None
                assert [1] == [one["n"] for one in change.entered]
                await stream.append(row(2))
                async for change in mirror.follow():
                    assert [2] == [one["n"] for one in change.entered]
                    break
                return mirror.rows()

    assert [{"n": 1}, {"n": 2}] == asyncio.run(run())
    with psoup.open_mirror(tmp_path / "m") as mirror:
        assert [{"n": 1}, {"n": 2}] == mirror.rows()


def test_mirror_is_followed_into_its_file(memory_url, tmp_path):
    """What is told is written; who comes back is told what has changed since."""
    with psoup.connect(memory_url) as db:
        stream = db.stream("s", COLUMNS, time="ts")
        query = db.query("SELECT ts, n FROM s")
        for n in range(3):
            stream.append(row(n))
            with query.mirror(tmp_path / "m") as mirror, closing(mirror.follow()) as changes:
                change = next(changes)
                assert [n] == [one["n"] for one in change.entered]
                assert isinstance(change.entered[0]["ts"], dt.datetime)
        with closing(MirrorFile(tmp_path / "m")) as file:
            assert 3 == len(file.load().rows)


def test_query_that_is_replaced_is_followed_and_mirrored_by_its_new_columns(memory_url, tmp_path):
    """Under the same names as well: an integer was an instant, and an instant is new. Nobody has to look it up anew."""
    with psoup.connect(memory_url) as db:
        db.stream("s", COLUMNS, time="ts").append(row(1))
        query = db.query("SELECT ts, n FROM s", name="q")
        stale = db.get("q")
        with query.mirror(tmp_path / "m") as mirror, closing(query.follow()) as changes:
            mirror.refresh()
            (first,) = next(changes).entered
            db.get("q").update("SELECT n AS ts, ts AS at FROM s")
            told = next(changes)
            assert (True, [{"ts": 1, "at": first["ts"]}]) == (told.reset, without_ids(told.entered))
            assert ["ts", "at"] == [one["name"] for one in query.columns]
            mirror.refresh()
            assert [{"ts": 1, "at": first["ts"]}] == mirror.rows() == mirror.arrow().to_pylist()
        series = stale.series(first["ts"], "now", every="1s")
        assert [{"_now": first["ts"], "ts": 1, "at": first["ts"]}] == series.arrow().to_pylist()
        assert "<th>at</th>" in stale._repr_html_()
        with closing(stale.follow()) as changes:
            assert [{"ts": 1, "at": first["ts"]}] == without_ids(next(changes).entered)
    with psoup.open_mirror(tmp_path / "m") as mirror:
        assert [{"ts": 1, "at": first["ts"]}] == mirror.rows()


def without_ids(rows):
    return [{name: value for name, value in one.items() if name not in IDS} for one in rows]


def test_file_without_an_answer_is_nothing_held(tmp_path):
    """The first answer is a reset."""
    with closing(MirrorFile(tmp_path / "m", "q_1")) as file:
        assert Held() == file.load()


def test_file_tells_where_its_cursor_came_from(memory_url, tmp_path):
    """A late answer is late after the next start as well."""
    with psoup.connect(memory_url) as db:
        stream = db.stream("s", COLUMNS)
        query = db.query("SELECT n FROM s ORDER BY n DESC LIMIT 1")
        with query.mirror(tmp_path / "m") as mirror:
            for n in (7, 3):  # the second one changes nothing
                stream.append(row(n))
                mirror.refresh()
        with closing(MirrorFile(tmp_path / "m")) as file:
            held = file.load()
    assert held.given is not None
    assert held.at is not None
    assert held.given[1] < held.at[1]
