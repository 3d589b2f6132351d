"""How long a batch takes until every invocation shows it: 100,000 tuples a second through the workers of an API.

Batches of 8,192 tuples fall due at a fixed rate and are sent when they do, late or not. A 200 says that the batch is
applied and published, so the time until it comes holds everything: arrival, reading, the sync of the log, the
fold past all standing queries, the publishing, and the word of it back to the worker.
"""

import statistics
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks import process
from benchmarks.apart import BATCH_ROWS, STREAM, Apart, Written, declare, text_of
from benchmarks.bench import Figure, Size, Survey
from benchmarks.service import ARROW, Bodies, Client, Service
from benchmarks.workloads import INTEGER, SECOND_US, interval_queries, record_batch, tuples

TUPLES_PER_S = 100_000
SENDERS = 4
"""Connections, so that a batch that waits does not hold up the next."""
RETAINED = 1_048_576
PATH = f"/v1/streams/{STREAM.name}/rows"


@dataclass(frozen=True, slots=True)
class Sent:
    """One batch: seconds from when it was due until it was answered, and from its sending; whether by 200."""

    due_s: float
    sent_s: float
    applied: bool


def surveys(size: Size) -> Iterator[Survey]:
    """Yield the lag past few and past many standing queries."""
    for queries in (8,) if size is Size.SMOKE else (10, 4_096):
        for workers in (1,) if size is Size.SMOKE else (1, 2):
            yield survey(queries, workers, size)


def survey(queries: int, workers: int, size: Size) -> Survey:
    """Batches at a fixed rate past so many queries, kept as `auto`."""
    key = f"processes-lag-{queries}-{workers}"
    title = f"{TUPLES_PER_S:,} tuples/s, {queries:,} queries, workers: {workers}"

    def run() -> Sequence[Figure]:
        with Apart() as apart:
            engine, api = apart.engine(), apart.api(workers)
            declare(api, retained=RETAINED)
            asked = interval_queries(INTEGER, queries)
            api.register([text_of(query, None) for query in asked], "auto")
            bodies = Sender(api)
            bodies.send(size.pick(smoke=2, full=16))  # compiles, allocates, fills the first chunks
            _settle(api)
            pids = [[engine.pid], apart.worker_pids(api), [apart.store_pid]]
            before, taken_s = (apart.written(), apart.engine_figures()), _cpu_s(pids)
            sent = bodies.send(size.pick(smoke=3, full=240))
            _settle(api)
            after = apart.written(), apart.engine_figures()
            taken_s = [late - early for late, early in zip(_cpu_s(pids), taken_s, strict=True)]
        return [
            *_times(key, sent),
            *_published(key, before, after, len(sent)),
            *(
                Figure(
                    f"{key}-cpu-{name}", f"CPU of {name}, a batch", 1e3 * cpu_s / len(sent), "ms"
                )
                for name, cpu_s in zip(("engine", "workers", "store"), taken_s, strict=True)
            ),
        ]

    return Survey(key, title, run)


class Sender:
    """Batches, each dated behind the one before, due at a fixed rate."""

    def __init__(self, api: Service) -> None:
        """Send them to `api`."""
        self._port = api.port
        batch = record_batch(STREAM, tuples(INTEGER, BATCH_ROWS))
        self._bodies = Bodies(batch, step_us=BATCH_ROWS * SECOND_US)

    def send(self, count: int) -> list[Sent]:
        """Send so many batches; return what each took, in no order. RuntimeError if one is refused."""
        waiting = [(number, self._bodies.next()) for number in range(count)]
        turns, sent, refused = iter(waiting), list[Sent](), list[str]()
        lock, begun_s = threading.Lock(), time.perf_counter()

        def work() -> None:
            with Client(self._port) as client:
                while not refused:
                    with lock:
                        turn = next(turns, None)
                    if turn is None:
                        return
                    due_s = begun_s + turn[0] * BATCH_ROWS / TUPLES_PER_S
                    time.sleep(max(0.0, due_s - time.perf_counter()))
                    sent_s = time.perf_counter()
                    status, answer = client.ask("POST", PATH, turn[1], ARROW)
                    done_s = time.perf_counter()
                    if status not in (200, 202):
                        refused.append(f"{PATH}: {status} {answer[:500]!r}")
                    sent.append(Sent(done_s - due_s, done_s - sent_s, status == 200))

        threads = [threading.Thread(target=work) for _ in range(SENDERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if refused:
            raise RuntimeError(refused[0])
        return sent


def _cpu_s(pids: Sequence[Sequence[int]]) -> list[float]:
    """Return the CPU seconds of each group of processes."""
    return [sum(map(process.cpu_s, some)) for some in pids]


def _settle(api: Service) -> None:
    """Wait until all is applied and the engine has told its figures since."""
    api.await_applied()
    time.sleep(1.2)


def _times(key: str, sent: Sequence[Sent]) -> list[Figure]:
    taken = [1e3 * one.due_s for one in sent]
    percentiles = statistics.quantiles(taken, n=100, method="inclusive")
    late = sum(not one.applied for one in sent)
    return [
        Figure(f"{key}-p50", "arrival until applied, 50 %", percentiles[49], "ms"),
        Figure(f"{key}-p99", "arrival until applied, 99 %", percentiles[98], "ms"),
        Figure(f"{key}-most", "arrival until applied, longest", max(taken), "ms"),
        Figure(f"{key}-late", "batches answered 202", late, ""),
    ]


def _published(
    key: str,
    before: tuple[Written, dict[str, Any]],
    after: tuple[Written, dict[str, Any]],
    batches: int,
) -> list[Figure]:
    """Return what publishing took, by what the engine and the store tell of it."""
    (store, engine), (store_then, engine_then) = after, before

    def grown(name: str) -> float:
        return float(engine.get(name, 0) - engine_then.get(name, 0))

    publishes, body_bytes = max(1.0, grown("publishes")), grown("body_bytes")
    written_bytes = store.input_bytes - store_then.input_bytes
    calls = store.calls - store_then.calls - batches  # those that appended
    longest = 1e3 * float(engine.get("publish_s_max", 0.0))
    return [
        Figure(
            f"{key}-publish", "publishing, each time", 1e3 * grown("publish_s") / publishes, "ms"
        ),
        Figure(
            f"{key}-publish-batch", "publishing, a batch", 1e3 * grown("publish_s") / batches, "ms"
        ),
        Figure(f"{key}-publish-most", "publishing, longest since the start", longest, "ms"),
        Figure(f"{key}-calls", "calls that write, a batch", calls / batches, "beside its append"),
        Figure(f"{key}-hits", "hits published, a batch", grown("result_bytes") / batches, "bytes"),
        Figure(
            f"{key}-bytes",
            "sent to the store, a batch",
            (written_bytes - body_bytes) / batches,
            "bytes beside its body",
        ),
        Figure(
            f"{key}-store",
            "store's time in calls that write, a batch",
            1e3 * (store.call_s - store_then.call_s) / batches,
            "ms",
        ),
    ]
