"""SIGKILL on the real service, and on its embedded server, at random moments under load.

After each restart every acknowledged stream, batch, query and removal is there, nothing is there twice
or in part, and every answer is exact.
"""

import datetime as dt
import threading
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import httpx2
import pytest

from psoup.engine.query.bind.binder import bind
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema
from tests.agreement.service.kill_clients import STREAMS, Client, Told
from tests.agreement.service.process import ServiceProcess
from tests.patience import WAIT_S
from tests.reference_values import holds, value_of
from tests.reference_windows import bounds

PRODUCERS = {"versioned-1": True, "versioned-2": True, "plain-1": False}
EVERYTHING = "SELECT ts, client, batch, n FROM events"

EVENTS = StreamSchema(
    "events",
    (
        ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
        ColumnSchema("client", ColumnType.STRING, nullable=False),
        ColumnSchema("batch", ColumnType.INT64, nullable=False),
        ColumnSchema("n", ColumnType.INT64),
    ),
    "ts",
    ClockKind.HIGH_WATER,
)


def all_rows(http: httpx2.Client, query_id: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the envelope of an answer and the rows of all its pages."""
    page = http.get(f"/v1/queries/{query_id}/results", params={"limit": 500}).json()
    envelope, rows = page, list(page["rows"])
    while page["next"] is not None:
        page = http.get(page["next"]).json()
        rows += page["rows"]
    assert envelope["count"] == len(rows)
    return envelope, rows


def check_batches(rows: list[dict[str, Any]], told: dict[str, Told]) -> None:
    """Assert that batches are whole, once, and there if they were acknowledged."""
    found = Counter((row["client"], row["batch"]) for row in rows)
    for name, heard in told.items():
        for batch, size in heard.batches.items():
            there = found.pop((name, batch), 0)
            once = [size] if batch in heard.acknowledged else [0, size]
            assert there in once, f"{name} {batch}: {there} rows of {size}, {once} allowed"
    assert not found, "nothing is there that nobody sent"


def check_queries(http: httpx2.Client, told: dict[str, Told], rows: list[dict[str, Any]]) -> None:
    """Assert that queries stand or are gone as was answered, and that each answer is exact."""
    times_us = {row["_id"]: micros(row["ts"]) for row in rows}
    streams = {"events": (StreamId(1), EVENTS)}
    for heard in told.values():
        for query_id in heard.removed:
            assert http.get(f"/v1/queries/{query_id}").status_code == 404
        gone = {q for q in heard.leaving if http.get(f"/v1/queries/{q}").status_code == 404}
        heard.leaving -= gone
        heard.removed |= gone  # and gone it stays
        for query_id, sql in heard.standing.items():
            envelope, shown = all_rows(http, query_id)
            bound = bind(sql, streams)
            begin_us, end_us = bounds(bound.window, micros(envelope["now"]))
            expected = [
                [value_of(output.expression, [row]) for output in bound.shape.outputs]
                for row in rows
                if holds(bound.clause, [row])
                and (begin_us is None or begin_us <= times_us[row["_id"]])
                and (end_us is None or times_us[row["_id"]] <= end_us)
            ]
            assert expected == [[row["client"], row["batch"], row["n"]] for row in shown], sql


def micros(text: str) -> int:
    """Return an RFC 3339 instant in microseconds."""
    since = dt.datetime.fromisoformat(text) - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    return since // dt.timedelta(microseconds=1)


def torture(folder: Path, *, seed: int, cycles: int) -> dict[str, int]:
    """Let clients work, kill, restart, let them finish, look at everything; `cycles` times.

    Returns how many batches each client was told are in.
    """
    rng = Random(seed)
    told = {name: Told() for name in PRODUCERS}
    service = ServiceProcess(folder)
    pause = threading.Event()
    try:
        service.start()
        with httpx2.Client(base_url=service.url, timeout=WAIT_S) as http:
            assert http.put("/v1/streams/events", json=STREAMS["events"]).status_code == 201
            everything = http.post("/v1/queries", json={"sql": EVERYTHING}).json()["id"]
        for cycle in range(cycles):
            clients = [
                Client(service.url, name, told[name], seed=rng.getrandbits(32), versions=versions)
                for name, versions in PRODUCERS.items()
            ]
            for client in clients:
                client.start()
            pause.wait(rng.uniform(0.1, 1.0))
            if cycle % 2:
                service.kill_server()
            service.kill()
            for client in clients:
                client.stop()
                client.join()
                assert client.failure is None, repr(client.failure)
            service.start()
            for client in clients:
                client.finish(service.url)
            with httpx2.Client(base_url=service.url, timeout=WAIT_S) as http:
                assert ["events"] == [
                    one["name"] for one in http.get("/v1/streams").json()["streams"]
                ]
                _, rows = all_rows(http, everything)
                check_batches(rows, told)
                check_queries(http, told, rows)
        return {name: len(heard.acknowledged) for name, heard in told.items()}
    except BaseException as error:
        error.add_note(f"seed {seed}; the service's log: {service.log}")
        raise
    finally:
        service.close()


@pytest.mark.slow
@pytest.mark.service
@pytest.mark.parametrize("seed", range(10, 14))
def test_service_killed_many_times_keeps_what_it_acknowledged(tmp_path, seed):
    """Ten deaths a seed, half of them with the embedded server: nothing acknowledged is lost or doubled.

    The short form of it is `embedded` in tests/torture/test_torture.py.
    """
    acknowledged = torture(tmp_path, seed=seed, cycles=10)
    assert all(acknowledged.values()), "every client got something in"
