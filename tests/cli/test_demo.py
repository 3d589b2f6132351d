"""The demo: its data, its screen, and that it leaves nothing behind."""

import dataclasses
import itertools
import os
import re
import signal
import subprocess
import sys
from io import StringIO
from pathlib import Path

import httpx2
import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from psoup.app.cli.demo.queries import demo_queries
from psoup.app.cli.demo.readings import LATEST_US, ROOMS, TICK_US, readings
from psoup.app.cli.demo.run import program
from psoup.app.cli.demo.screen import FOCUS_S, Frame, Late, ShownQuery, screen, tables
from psoup.engine.limits import SECOND_US
from psoup.engine.query.text.parser import parse
from psoup.engine.query.text.syntax import StarSyntax
from psoup.engine.query.text.syntax_parts import aggregates_in
from tests.children import child
from tests.patience import wait_until
from tests.terminals import terminal

START_US = 1_795_255_200 * SECOND_US
QUERIES = len(demo_queries(START_US))
COMMAND = [sys.executable, "-m", "psoup", "demo", "--seconds"]


def times_of(batch):
    return batch.column("ts").cast(pa.int64()).to_numpy()


def test_readings_in_pieces_are_the_readings_of_the_whole():
    """A pure function of seed and time: however it is asked, the same rows in the same order."""
    whole = readings(7, START_US, START_US + 20 * SECOND_US)
    cuts = [START_US + at for at in (0, 1, 333_333, 5 * SECOND_US, 20 * SECOND_US)]
    pieces = [readings(7, a, b) for a, b in itertools.pairwise(cuts)]
    assert whole.to_pylist() == [row for piece in pieces for row in piece.to_pylist()]


def test_readings_of_another_seed_differ():
    """The seed chooses the building's life."""
    span = (START_US, START_US + SECOND_US)
    assert readings(1, *span).to_pylist() != readings(2, *span).to_pylist()


def test_readings_come_late_out_of_order_and_with_nulls():
    """What the demo promises: disorder, NULLs, nothing from the future, all rooms, the full rate."""
    batch = readings(7, START_US, START_US + 60 * SECOND_US)
    times = times_of(batch)
    assert np.any(np.diff(times) < -SECOND_US)
    assert START_US - LATEST_US <= times.min()
    assert times.max() < START_US + 60 * SECOND_US
    assert set(ROOMS) == set(batch.column("room").to_pylist())
    assert 0.98 < batch.num_rows / (60 * SECOND_US // TICK_US * len(ROOMS)) < 1.02
    for name in ("temperature", "light", "noise"):
        assert 0.01 < batch.column(name).null_count / batch.num_rows < 0.03
    assert 0 == batch.column("door").null_count


def frame_of(shown):
    queries = demo_queries(START_US)
    rows = [{"ts": f"2026-11-21T10:00:0{i}.500000Z", "room": f"lab {i}"} for i in range(8)]
    columns = [{"name": "ts", "type": "timestamp"}, {"name": "room", "type": "string"}]
    window = {"begin": "2026-11-21T10:00:00.000000Z", "end": None}
    envelope = {"rows": rows, "count": 1_234, "window": window, "seq": 9, "now": None}
    described = {"id": "q_1", "columns": columns, "window": {"kind": "sliding"}}
    return Frame(
        console="http://127.0.0.1:1/console?q=q_1",
        shown=[
            ShownQuery(query=query, described=described, envelope=envelope, milliseconds=1.25)
            for query in queries[:shown]
        ],
        waiting=queries[shown:],
        tuples=5_678,
        tuples_per_s=240.0,
        elapsed_s=3.0,
        seconds=60.0,
    )


def drawn(renderable_of, width, height):
    out = StringIO()
    console = Console(file=out, width=width, height=height, force_terminal=True, color_system=None)
    console.print(renderable_of(console))
    return out.getvalue()


def late(frame):
    """Return the frame with its last query registered just before, over old data."""
    last = dataclasses.replace(
        frame.shown[-1], late=Late(after_s=frame.elapsed_s - 1, rows=214, milliseconds=3.6)
    )
    return dataclasses.replace(frame, shown=[*frame.shown[:-1], last])


@pytest.mark.parametrize(
    ("width", "height"), [(60, 20), (80, 24), (100, 30), (120, 40), (200, 60), (300, 90)]
)
@pytest.mark.parametrize("shown", [1, QUERIES - 1, QUERIES])
def test_screen_of_any_size_shows_titles_sql_and_latency(width, height, shown):
    """The frame never outgrows the terminal; every title is whole, a query's text is there, and what answers took."""
    text = drawn(lambda console: screen(frame_of(shown), console), width, height)
    lines = text.rstrip("\n").split("\n")
    assert len(lines) <= height
    assert all(len(line) <= width for line in lines)
    assert "http://127.0.0.1:1/console" in text
    assert all(query.title in text for query in demo_queries(START_US))
    assert "SELECT" in text
    assert shown <= text.count("1.2 ms")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_screen_marks_a_query_that_was_registered_over_old_data(size):
    """It is said when it came, and what its first answer had; on a small terminal it is the one in full."""
    text = drawn(lambda console: screen(late(frame_of(QUERIES)), console), *size)
    told = re.sub(r"[│\s]+", " ", text)
    assert "registered 2 s after the start, over data that was there before: 214 rows" in told
    assert "temperature < 18.6" in told
    later = dataclasses.replace(late(frame_of(QUERIES)), elapsed_s=59.0)
    assert not later.is_marked(later.shown[-1])


def test_screen_of_a_small_terminal_shows_one_query_after_the_other():
    """Each has its turn to be shown in full."""
    frames = [dataclasses.replace(frame_of(QUERIES), elapsed_s=FOCUS_S * i) for i in range(QUERIES)]
    texts = [drawn(lambda console, one=one: screen(one, console), 80, 24) for one in frames]
    assert QUERIES == len({text[text.index("SELECT") :][:60] for text in texts})


def test_screen_of_a_large_terminal_shows_the_queries_and_their_rows():
    """SQL, window kind, count, bounds, latency and the latest rows of each query."""
    text = drawn(lambda console: screen(frame_of(QUERIES - 1), console), 160, 50)
    assert QUERIES == text.count("SELECT")
    assert "SELECT DISTINCT room FROM readings" in text
    assert "sliding  1,234 rows  10:00:00.0 to -  1.2 ms" in text
    assert "10:00:07.5" in text
    assert "registered in 5 s" in text


def test_tables_without_a_terminal_show_the_same():
    """In a pipe the queries follow each other as plain text, each with its SQL once, and what its figures are."""
    frame = late(frame_of(QUERIES))
    text = drawn(lambda _: tables(frame), 200, 50)
    assert QUERIES == text.count("SELECT") == text.count("sliding window: both its ends move")
    assert "after 3 s: 5,678 rows have come, 240 a second now" in text
    assert "the newest 5 of 1,234 rows; window 10:00:00.0 to -; answered in 1.2 ms" in text
    assert "over data that was there before: 214 rows in its first answer, in 3.6 ms" in text
    known = [one.query.title for one in frame.shown[1:]]
    again = drawn(lambda _: tables(frame, known=known), 200, 50)
    assert 1 == again.count("SELECT")
    assert all(title in again for title in known)


def test_program_is_called_as_this_shell_finds_it(monkeypatch, tmp_path):
    """Whoever has not activated the environment is shown the path, not a name that is not found."""
    monkeypatch.setenv("PATH", str(tmp_path))
    path = program()
    assert path.endswith("/psoup")
    assert Path(path).exists()
    monkeypatch.setenv("PATH", str(Path(path).absolute().parent))
    assert "psoup" == program()


def kinds_of(query):
    """Return the kinds of query that the SQL of a query of the demo is of."""
    syntax = parse(query.sql)
    keys = syntax.shape.keys
    aggregated = any(
        aggregates_in(one.what) for one in syntax.outputs if not isinstance(one.what, StarSyntax)
    )
    is_top = syntax.shape.limit is not None and bool(syntax.shape.order)
    kinds = {"groups": bool(keys) and aggregated and not is_top, "top-k": is_top}
    kinds |= {"join": len(syntax.sources) > 1, "distinct": syntax.distinct}
    return {kind for kind, is_one in kinds.items() if is_one}


def test_demo_has_a_query_of_each_kind():
    """An aggregate with groups, a top-k, a join and DISTINCT; each window moves, so that each answer does."""
    queries = demo_queries(START_US)
    assert {"groups", "top-k", "join", "distinct"} == set().union(*map(kinds_of, queries))
    assert all("END (NOW" in query.sql for query in queries)


def answers_of(url):
    """Return the rows that the demo's queries show, by the kinds of the query and its title."""
    queries = httpx2.get(f"{url}/v1/queries", trust_env=False).json()["queries"]
    ids = {one["labels"]["title"]: one["id"] for one in queries}
    return {
        (*sorted(kinds_of(query)), query.title): httpx2.get(
            f"{url}/v1/queries/{ids[query.title]}/results", trust_env=False
        ).json()["rows"]
        for query in demo_queries(START_US)
        if query.title in ids and kinds_of(query) & {"groups", "top-k", "join"}
    }


@pytest.mark.service
def test_demo_on_a_terminal_shows_sql_latency_and_addresses_that_live():
    """Groups, top and join move, the console answers; what stays on the terminal is the answers, and what to try."""
    with terminal([*COMMAND, "600"], width=100, height=30) as shown:
        shown.wait_for(lambda screen: "/console?q=" in screen.text, "the first answers")
        (url,) = set(re.findall(r"(http://\S+)/console\?q=", shown.screen.text))
        before = answers_of(url)
        shown.wait_for(lambda screen: "registered 8 s" in screen.text, "the late query is marked")
        assert {"groups", "top-k", "join"} == {kind for kind, *_ in before}
        assert all(before.values())
        shown.wait_for(  # doors bang every few seconds; a demo whose screen nobody reads stands still
            lambda _: all(before[one] != rows for one, rows in answers_of(url).items()),
            "each answer has moved",
        )
        text = shown.screen.text
        found = re.search(r"(http://\S+)/console\?q=(q_\w+)", text)
        assert found is not None
        assert "psoup console" in httpx2.get(found[0], trust_env=False).text
        opened = httpx2.get(f"{found[1]}/v1/queries/{found[2]}", trust_env=False).json()
        assert "Loud rooms, last 10 seconds" == opened["labels"]["title"]
        assert "SELECT" in text
        assert re.search(r"\d+\.\d ms", text)
        shown.type(b"\x03")
        assert 0 == shown.end()
        left = shown.screen.text
    assert "answered in" in left
    assert 1 == left.count("/docs")
    _, _, told = left.partition("the service is stopped")
    assert "now try this" in told
    for step in ("demo --stay", "serve", "load FILE.csv --stream NAME", 'query "SELECT'):
        assert step in told
    assert told.rstrip().endswith("The tutorial takes ten minutes: docs/tutorial.md")


@pytest.mark.service
@pytest.mark.parametrize(
    "ending", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM]
)
def test_demo_that_stays_serves_until_it_is_interrupted(ending, tmp_path):
    """After its seconds the sensors go on, and the service with its queries, and says where.

    Ctrl-C and a polite kill end it as ever: exit 0, nothing answers, no socket or file stays.
    """
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [*COMMAND, "1", "--stay"]
    with child(command, stdout=subprocess.PIPE, text=True, env=environment) as demo:
        assert demo.stdout is not None
        line = ""
        while "in a browser" not in line:
            line = demo.stdout.readline()
        (url,) = re.findall(r"(http://\S+)/console\S+  in a browser", line)
        answer = httpx2.get(url + "/v1/queries", trust_env=False)
        assert QUERIES - 1 == len(answer.json()["queries"])
        stream = httpx2.get(f"{url}/v1/streams/readings", trust_env=False).json()
        wait_until(
            lambda: (
                stream["newest"]
                < httpx2.get(f"{url}/v1/streams/readings", trust_env=False).json()["newest"]
            ),
            "the sensors go on",
        )
        demo.send_signal(ending)
        rest = demo.stdout.read()
        assert 0 == demo.wait()
    assert "the service is stopped" in rest
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(url + "/healthz", trust_env=False)
    assert [] == [path for path in tmp_path.rglob("*") if not path.is_dir()]


@pytest.mark.slow
@pytest.mark.service
def test_demo_ends_by_itself_and_leaves_nothing(tmp_path):
    """After its seconds it has shown changing answers; service and folder are gone."""
    run = subprocess.run(
        [*COMMAND, "3"],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert 0 == run.returncode, run.stdout + run.stderr
    assert "the service is stopped" in run.stdout
    frames = re.findall(r"^--- .* ([\d,]+) rows", run.stdout, re.MULTILINE)
    numbers = [int(one.replace(",", "")) for one in frames]
    assert 2 <= len(numbers)
    assert sorted(set(numbers)) == numbers
    (url,) = set(re.findall(r"API docs at (\S+)/docs", run.stdout))
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(url + "/healthz", trust_env=False)
    assert [] == [path for path in tmp_path.rglob("*") if not path.is_dir()]


@pytest.mark.slow
@pytest.mark.service
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_demo_interrupted_stops_its_service(ending, tmp_path):
    """So they end it before its seconds are over."""
    command = [*COMMAND, "600"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with child(command, stdout=subprocess.PIPE, text=True, env=environment) as demo:
        assert demo.stdout is not None
        url = None
        while url is None:
            found = re.search(r"API docs at (\S+)/docs", demo.stdout.readline())
            url = found and found[1]
        assert 200 == httpx2.get(url + "/healthz", trust_env=False).status_code
        demo.send_signal(ending)
        rest = demo.stdout.read()
        assert 0 == demo.wait()
    assert "the service is stopped" in rest
    with pytest.raises(httpx2.ConnectError):
        httpx2.get(url + "/healthz", trust_env=False)
    assert [] == [path for path in tmp_path.rglob("*") if not path.is_dir()]
