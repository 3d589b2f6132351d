"""Two services that were told the same: one forgets what its archive keeps, the other forgets nothing.

Operations and their positions, tuple ids and tuple times are the same in both, so a history of the one is compared
with an answer of the other as it is.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from psoup.client.calls import PsoupClient
from psoup.client.connections.messages import json_object
from tests.agreement.service.process import ServiceProcess
from tests.app.real_processes import Process
from tests.oracle_duckdb import ID, TIME
from tests.patience import wait_until
from tests.spark.read.read_world import FLIGHTS, WEATHER, append, declare, flights, weather
from tests.stores import SharedServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from psoup.pipeline.spark.jobs.history import ArchiveAnswerProgress
    from psoup.pipeline.spark.launch.job_run import JobEnd

PARAMETERS = {"least": -1.0}
"""Values of the parameters that queries may have."""
SHOWN = 7
"""Rows of a page: no answer fits into one."""


def never() -> bool:
    return False


@dataclass
class Pair:
    """A service that forgets, one that does not, and where the archives of the first are."""

    short: PsoupClient
    long: PsoupClient
    archives: Path
    handles: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Of a query in each of them, by its text."""
    sent: dict[str, list[pa.Table]] = field(default_factory=dict)
    """By stream what both were sent, with ids as services give them: from 1 on, whatever the stream."""

    def send(self, stream: str, *tables: pa.Table) -> None:
        """Send both services the same batches."""
        for table in tables:
            first = 1 + sum(one.num_rows for given in self.sent.values() for one in given)
            ids = pa.array(range(first, first + table.num_rows), pa.int64())
            times = table["ts"].cast(pa.int64())
            known = table.append_column(ID, ids).append_column(TIME, times)
            self.sent.setdefault(stream, []).append(known)
            for service in (self.short, self.long):
                append(service, stream, table)

    def register(self, sql: str) -> None:
        """Register a query in both."""
        params = {name: value for name, value in PARAMETERS.items() if f":{name}" in sql}
        both = [one.register(sql, params=params)["id"] for one in (self.short, self.long)]
        self.handles[sql] = (both[0], both[1])

    def ask(self, sql: str, **parameters: str | int) -> dict[str, Any]:
        """Return the first page of a history, or what is said while there is none."""
        return self.short.invoke(self.handles[sql][0], history="true", **parameters)

    def answers(self, sql: str, **parameters: str | int) -> tuple["Answer", "Answer"]:
        """Return what both answer: the history, and the answer of the service that has forgotten nothing."""
        ours, theirs = self.handles[sql]
        found = _answer(self.short, ours, {"history": "true", **parameters})
        return found, _answer(self.long, theirs, parameters)


@dataclass(frozen=True)
class Answer:
    """All rows of an answer, of all of its pages, and what is the same on each of them."""

    rows: Sequence[Mapping[str, Any]]
    count: int
    seq: int
    now: str
    window: Mapping[str, Any]
    complete_from: str | None
    warnings: Sequence[Mapping[str, str]]


def _answer(service: PsoupClient, handle: str, parameters: Mapping[str, str | int]) -> Answer:
    pages = [json_object(page) for page in service.pages(handle, **{"limit": SHOWN, **parameters})]
    alike = [
        {name: page[name] for name in ENVELOPE} | {"warnings": page.get("warnings", [])}
        for page in pages
    ]
    assert all(one == alike[0] for one in alike)
    return Answer([row for page in pages for row in page["rows"]], **alike[0])


ENVELOPE = ("count", "seq", "now", "window", "complete_from")


def asked(service: PsoupClient, stream: str, *, query: str = "SELECT flight FROM {}") -> str:
    """Declare a stream that keeps less than it is sent, and ask for all of it; return the query's handle."""
    declare(service, stream, FLIGHTS, retention={"rows": 5})
    for first in (0, 20):
        append(service, stream, flights(first, first + 20))
    handle = str(service.register(query.format(stream))["id"])
    assert "queued" == service.invoke(handle, history="true")["history"]["state"]
    return handle


def archive_of(spark: "SparkSession", url: str, stream: str, archives: Path) -> "JobEnd":
    """Archive what a stream was sent since the last time."""
    from psoup.pipeline.spark.jobs.archive import archive
    from psoup.pipeline.spark.launch.requests import ArchiveRequest

    request = ArchiveRequest(stream=stream, path=str(archives / stream), url=url)
    return archive(spark, request, lambda _: None, never)


def compute(
    spark: "SparkSession", url: str, *archives: str, stop: Any = never
) -> "list[ArchiveAnswerProgress]":
    """Compute the histories that are asked for; return what became of each."""
    from psoup.pipeline.spark.jobs.history import history
    from psoup.pipeline.spark.launch.requests import HistoryRequest

    told: list[ArchiveAnswerProgress] = []
    request = HistoryRequest(archive=list(archives), available_now=True, url=url)
    history(spark, request, told.append, stop)
    return [one for one in told if one.state != "running"]


@contextlib.contextmanager
def pair_of_services(folder: Path, *, apart: bool = False) -> Iterator[Pair]:
    """Run both services, with nothing in them, for as long as the context lasts; `apart`: the first as processes."""
    with contextlib.ExitStack() as stack:
        one = _engine_and_workers if apart else _serve
        urls = [one(folder / "short", stack), _serve(folder / "long", stack)]
        short, long = [stack.enter_context(PsoupClient(url)) for url in urls]
        wait_until(short.ready, "it is ready")
        yield Pair(short, long, folder / "archives")


def _serve(folder: Path, stack: contextlib.ExitStack) -> str:
    folder.mkdir()
    process = ServiceProcess(folder)
    stack.callback(process.close)
    process.start()
    return process.url


def _engine_and_workers(folder: Path, stack: contextlib.ExitStack) -> str:
    server = SharedServer(folder / "server")
    stack.callback(server.stop)
    engine = Process("engine", server.url, folder / "engine")
    api = Process("api", server.url, folder / "api")
    for process in (engine, api):
        stack.callback(process.close)
    engine.start("--port", "0")
    api.start("--port", "0", "--workers", "2")
    return str(api.wait_for("listening")["url"])


def filled(pair: Pair, spark: "SparkSession", queries: Sequence[str]) -> None:
    """Send both services flights, some of them late, and weather; archive the first flights of the one that forgets."""
    for service, kept in ((pair.short, {"rows": 30}), (pair.long, {"rows": 10_000})):
        declare(service, "flights", FLIGHTS, retention=kept)
        declare(service, "weather", WEATHER, retention={**kept, "rows": kept["rows"] // 10})

    pair.send("flights", *(flights(first, first + 20) for first in range(0, 80, 20)))
    pair.send("weather", weather())
    for sql in queries:
        pair.register(sql)
    archive_of(spark, pair.short.url, "flights", pair.archives)
    pair.send("flights", flights(120, 140), flights(80, 120))
    pair.send("weather", weather())
    pair.send("flights", flights(140, 160), flights(0, 5))
