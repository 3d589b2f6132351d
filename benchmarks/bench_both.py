"""Tuples in and answers out at once: one thread ingests, one invokes; each rate beside that of one alone.

psoup has 4,096 interval queries standing and is asked one after the other for its rows among the newest 1,024
tuples. DuckDB does the same in its strongest forms: a bit string per value on the way in, a prepared
statement on the way out.
"""

import functools
import importlib.util
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from benchmarks.bench import Figure, Size, Survey
from benchmarks.node import ROWS, Node
from benchmarks.workloads import (
    INTEGER,
    ROWS_RETAINED,
    Query,
    interval_queries,
    retaining,
    tuples,
)
from psoup.engine.log.operation import Materialize

WINDOW_S = 1_023
INVOKED = 64
Step = Callable[[], int]
"""Does one piece of work, and returns how many things that was."""


def contests(size: Size) -> Iterator[Survey]:
    """Yield psoup under two policies, and DuckDB."""
    queries, rows = size.pick(smoke=16, full=4_096), size.pick(smoke=256, full=4_096)
    stored = size.pick(smoke=1_024, full=65_536)
    seconds = 0.02 if size is Size.SMOKE else 3.0
    asked = interval_queries(INTEGER, queries)
    makers: dict[str, Callable[[], tuple[Step, Step]]] = {
        f"psoup, {kept}": functools.partial(psoup, asked, kept, rows, stored)
        for kept in (Materialize.AUTO, Materialize.PARTIAL)
    }
    if importlib.util.find_spec("duckdb") is not None:
        makers["DuckDB"] = functools.partial(duckdb, asked, rows, stored)
    for name, make in makers.items():
        key = f"both-{name.lower().replace(', ', '-')}"
        run = functools.partial(measured, key, make, seconds)
        yield Survey(key, f"{name}, ingest and invoke at once", run)


def psoup(asked: Sequence[Query], kept: Materialize, rows: int, stored: int) -> tuple[Step, Step]:
    """Return psoup's two steps: a batch in, an answer out."""
    node = Node(retaining(INTEGER.stream, ROWS_RETAINED))
    ids = [node.register(query, window_s=WINDOW_S, materialize=kept) for query in asked]
    for batch in node.batches(tuples(INTEGER, stored), rows=rows):
        node.ingest(batch)
    columns, turns = tuples(INTEGER, rows), itertools.cycle(ids[:INVOKED])
    for query_id in ids[:INVOKED]:
        node.invoke(query_id, ROWS)

    def ingest() -> int:
        (batch,) = node.batches(columns, rows=rows)
        node.ingest(batch)
        return rows

    def invoke() -> int:
        node.invoke(next(turns), ROWS)
        return 1

    return ingest, invoke


def duckdb(asked: Sequence[Query], rows: int, stored: int) -> tuple[Step, Step]:
    """Return DuckDB's two steps, on two connections to one database."""
    from benchmarks.ways_duckdb import NAMES, BitTables, numbered

    way = BitTables(INTEGER, asked, tuples(INTEGER, rows), batch_rows=rows)
    way.setup()
    way.database.register("given", numbered(tuples(INTEGER, stored)))
    way.database.execute("INSERT INTO tuples SELECT * FROM given")
    reader = way.database.cursor()
    for number, query in enumerate(asked[:INVOKED]):
        reader.execute(
            f"PREPARE q{number} AS SELECT n, {NAMES} FROM tuples"
            f" WHERE n >= {stored - WINDOW_S - 1} AND {query.where}"
        )
    turns = itertools.cycle(range(min(INVOKED, len(asked))))

    def ingest() -> int:
        way.run(None)
        return rows

    def invoke() -> int:
        reader.execute(f"EXECUTE q{next(turns)}").fetchnumpy()
        return 1

    return ingest, invoke


def measured(key: str, make: Callable[[], tuple[Step, Step]], seconds: float) -> Sequence[Figure]:
    """Return both rates alone and at once."""
    ingest, invoke = make()
    ingest_alone, invoke_alone = rate(ingest, seconds), rate(invoke, seconds)
    found: list[float] = []
    thread = threading.Thread(target=lambda: found.append(rate(invoke, seconds)))
    thread.start()
    ingest_both = rate(ingest, seconds)
    thread.join()
    return [
        Figure(f"{key}-ingest-alone", "ingest alone", ingest_alone, "tuples/s"),
        Figure(f"{key}-ingest", "ingest, invoked meanwhile", ingest_both, "tuples/s"),
        Figure(f"{key}-invoke-alone", "invoke alone", invoke_alone, "answers/s"),
        Figure(f"{key}-invoke", "invoke, ingesting meanwhile", found[0], "answers/s"),
    ]


def rate(step: Step, seconds: float) -> float:
    """Return how many things a step does in a second, over so many seconds."""
    done, start = 0, time.perf_counter()
    while (elapsed := time.perf_counter() - start) < seconds:
        done += step()
    return done / elapsed
