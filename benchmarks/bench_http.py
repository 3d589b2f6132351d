"""The service from outside: Arrow batches over HTTP past thousands of queries, per second and per CPU second.

4,096 interval queries on `memory://` and on the durable default, kept as `auto` and as `partial`; then 100,000
range queries over all four attributes. A CPU second is one of the service's process: its store's are told
beside. What clients take runs on the same cores, so the rate per wall second is that of a shared machine.
"""

import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks import process
from benchmarks.bench import Figure, Size, Survey
from benchmarks.service import Bodies, Service, post_for, running
from benchmarks.workloads import INTEGER, SECOND_US, Query, interval_queries, record_batch, tuples

STREAM = INTEGER.stream
CLIENTS = 2
MANY = 100_000
"""Range queries over all four attributes."""
STORES: Mapping[str, str | None] = {"memory": "memory://", "durable": None}
NAMES = {"memory": "memory://", "durable": "durable default"}


def contests(size: Size) -> Iterator[Survey]:
    """Yield one survey per store and policy, where /proc tells what a process takes."""
    if not process.is_known():
        return
    few = size.pick(smoke=8, full=4_096)
    if size is Size.SMOKE:
        yield survey("memory", "auto", few, size=size)
        return
    for store in STORES:
        for kept in ("auto", "partial"):
            yield survey(store, kept, few, size=size)
    for store in STORES:
        yield survey(store, "auto", MANY, size=size)


def survey(store: str, kept: str, queries: int, *, size: Size) -> Survey:
    """One service, from its start to its end."""
    scale = "many" if queries == MANY else "few"
    key = f"http-{store}-{kept}-{scale}"
    title = f"psoup on {NAMES[store]}, {kept}, {queries:,} queries"

    def run() -> Sequence[Figure]:
        asked = interval_queries(INTEGER, queries, factors=4 if scale == "many" else None)
        return figures(key, store, kept, asked, size)

    return Survey(key, title, run)


def figures(
    key: str, store: str, kept: str, queries: Sequence[Query], size: Size
) -> Sequence[Figure]:
    """Return what registering took, then what ingest did."""
    rows, seconds = size.pick(smoke=256, full=16_384), size.pick(smoke=0, full=8)
    retained = 131_072 if len(queries) == MANY else 1_048_576
    with (
        tempfile.TemporaryDirectory(prefix="psoup-bench-") as folder,
        running(Path(folder), store=STORES[store]) as service,
    ):
        service.client.json("PUT", f"/v1/streams/{STREAM.name}", declaration(retained))
        columns = ", ".join(column.name for column in STREAM.columns)
        texts = [f"SELECT {columns} FROM {STREAM.name} WHERE {query.where}" for query in queries]
        makers = bodies(rows)
        post_for(
            service, STREAM.name, makers, seconds=0.01
        )  # the first batch compiles and allocates
        found = registering(key, service, texts, kept)
        post_for(service, STREAM.name, makers, seconds=seconds / 8 or 0.01)
        return [*found, *ingesting(key, service, makers, rows, seconds or 0.2)]


def registering(key: str, service: Service, texts: Sequence[str], kept: str) -> Sequence[Figure]:
    """Register all texts; return seconds and memory."""
    before, start = service.resident_bytes(), time.monotonic()
    standing = len(service.register(texts, kept))
    taken = time.monotonic() - start
    if standing != len(texts):
        message = f"{standing} of {len(texts)} queries stand"
        raise RuntimeError(message)
    held = (service.resident_bytes() - before) / len(texts)
    return [
        Figure(f"{key}-register", "all queries registered in", taken, "s"),
        Figure(f"{key}-query", "memory of a query", held, "bytes"),
    ]


def ingesting(
    key: str, service: Service, makers: Sequence[Bodies], rows: int, seconds: float
) -> Sequence[Figure]:
    """Post for so many seconds; return rates, and bytes written where the service tells them."""
    written, before = bytes_written(service.status()), service.cpu_s()
    batches, wall_s = post_for(service, STREAM.name, makers, seconds=seconds)
    after, count = service.cpu_s(), batches * rows
    cpu_s, store_s = (late - early for late, early in zip(after, before, strict=True))
    found = [
        Figure(f"{key}-cpu", "ingest per CPU second", count / max(cpu_s, 0.01), "tuples/s"),
        Figure(f"{key}-wall", "ingest per second", count / wall_s, "tuples/s"),
    ]
    if service.store_pid is not None:
        rate = count / max(store_s, 0.01)
        found.append(Figure(f"{key}-store", "ingest per CPU second of the store", rate, "tuples/s"))
    for name, total in bytes_written(service.status()).items():
        each = (total - written.get(name, 0)) / count
        found.append(Figure(f"{key}-{name}", f"{name} per tuple", each, "bytes"))
    resident = service.resident_bytes() / 2**20
    return [*found, Figure(f"{key}-resident", "memory at the end", resident, "MiB")]


def bytes_written(status: Mapping[str, Any]) -> dict[str, int]:
    """Return the bytes written to the log and to the results since the start."""
    written = status["written"]
    return {name: int(written[name]) for name in ("log_bytes", "result_bytes")}


def declaration(retained: int) -> dict[str, object]:
    """Return the stream's declaration as it travels."""
    columns = [
        {"name": one.name, "type": one.type.value, "nullable": one.nullable}
        for one in STREAM.columns
    ]
    return {"columns": columns, "time": STREAM.time, "retention": {"rows": retained}}


def bodies(rows: int) -> list[Bodies]:
    """Return one maker of bodies for each client; together they fill all seconds."""
    columns = tuples(INTEGER, rows)
    step_us = CLIENTS * rows * SECOND_US
    return [
        Bodies(record_batch(STREAM, columns, first=number * rows), step_us=step_us)
        for number in range(CLIENTS)
    ]
