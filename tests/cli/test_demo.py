"""The demo: its data, its screen, and that it leaves nothing behind."""

import itertools
import os
import re
import signal
import subprocess
import sys
from io import StringIO

import httpx
import numpy as np
import pyarrow as pa
import pytest
from rich.console import Console

from app.demo_data import LATEST_US, ROOMS, TICK_US, readings
from app.demo_queries import demo_queries
from app.demo_screen import Frame, Shown, screen, tables
from engine.limits import SECOND_US
from tests.children import child

START_US = 1_795_255_200 * SECOND_US
QUERIES = len(demo_queries(START_US))
COMMAND = [sys.executable, "-m", "app.cli", "demo", "--seconds"]


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
        url="http://127.0.0.1:1",
        shown=[
            Shown(query=query, described=described, envelope=envelope, milliseconds=1.25)
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


@pytest.mark.parametrize(("width", "height"), [(60, 12), (80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize("shown", [0, QUERIES - 1, QUERIES])
def test_screen_of_any_size_fits_the_terminal(width, height, shown):
    """The frame never outgrows the terminal, and says how many panels it left out."""
    text = drawn(lambda console: screen(frame_of(shown), console), width, height)
    lines = text.rstrip("\n").split("\n")
    assert len(lines) <= max(height, 12)
    assert all(len(line) <= width for line in lines)
    assert "http://127.0.0.1:1/docs" in text
    left_out = re.search(r"(\d+) more in a larger window", text)
    panels = len(re.findall("rows  10:00|registered in", text))
    assert QUERIES == panels + (int(left_out[1]) if left_out else 0)


def test_screen_of_a_large_terminal_shows_the_queries_and_their_rows():
    """SQL, window kind, count, bounds and the latest rows of each query."""
    text = drawn(lambda console: screen(frame_of(QUERIES - 1), console), 160, 50)
    assert "SELECT DISTINCT room FROM readings" in text
    assert "1,234 rows  10:00:00.0 to -  1.2 ms" in text
    assert "10:00:07.5" in text
    assert "registered in 5 s" in text


def test_tables_without_a_terminal_show_the_same():
    """In a pipe the queries follow each other as plain text."""
    text = drawn(lambda _: tables(frame_of(QUERIES)), 200, 50)
    assert QUERIES == text.count("SELECT")
    assert "5,678 tuples" in text


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
    frames = re.findall(r"^--- .* ([\d,]+) tuples", run.stdout, re.MULTILINE)
    numbers = [int(one.replace(",", "")) for one in frames]
    assert 2 <= len(numbers)
    assert sorted(set(numbers)) == numbers
    (url,) = set(re.findall(r"API docs at (\S+)/docs", run.stdout))
    with pytest.raises(httpx.ConnectError):
        httpx.get(url + "/healthz", trust_env=False)
    assert [] == [path for path in tmp_path.rglob("*") if not path.is_dir()]


@pytest.mark.service
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM])
def test_demo_interrupted_stops_its_service(ending, tmp_path):
    """Ctrl-C and a polite kill end it in order: exit 0, nothing answers, no socket or file stays."""
    command = [*COMMAND, "600"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with child(command, stdout=subprocess.PIPE, text=True, env=environment) as demo:
        assert demo.stdout is not None
        url = None
        while url is None:
            found = re.search(r"API docs at (\S+)/docs", demo.stdout.readline())
            url = found and found[1]
        assert 200 == httpx.get(url + "/healthz", trust_env=False).status_code
        demo.send_signal(ending)
        rest = demo.stdout.read()
        assert 0 == demo.wait()
    assert "the service is stopped" in rest
    with pytest.raises(httpx.ConnectError):
        httpx.get(url + "/healthz", trust_env=False)
    assert [] == [path for path in tmp_path.rglob("*") if not path.is_dir()]
