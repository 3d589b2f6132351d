"""A turn of tuples past many standing queries: settled by one thread, by two, or by Spark's executors on this machine.

Executors here share the cores with the engine, so what they could bring on other machines is not seen: what a job
costs is, and what of a turn stays with the engine. Figures tell both apart (docs/scaling.md).
"""

import hashlib
import pickle
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from functools import cache, cached_property
from typing import Any, Final

from benchmarks.bench import Contender, Contest, Figure, Measurement, Size, Survey
from benchmarks.node import bound_query
from benchmarks.scaling_cores import cores_over_one, taken_by_turns
from benchmarks.workloads import (
    CONTINUOUS,
    INTEGER,
    Domain,
    interval_queries,
    record_batch,
    retaining,
    tuples,
)
from psoup.app.fold.match_threads import match_threads
from psoup.engine.ahead.exchange import Blocks, read_blocks, write_block, write_task
from psoup.engine.ahead.executor_hits import ExecutorHits, Executors
from psoup.engine.ahead.planning import ChunkTask
from psoup.engine.clauses.image import ClauseImage
from psoup.engine.clauses.stream_clauses import StreamClauses
from psoup.engine.eddy.settling import ImageEddy
from psoup.engine.engine import Engine, MatchThreads
from psoup.engine.limits import CHUNK_ROWS, SEGMENT_ROWS
from psoup.engine.log.operation import Declare, Materialize, Operation, Rows
from psoup.engine.query.clause import StandingQueryClause
from psoup.engine.results.delta import Delta
from psoup.engine.results.hits import ClauseId
from psoup.engine.tuples.arrow import encode_batch
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.schema import StreamId, StreamSchema
from psoup.storage.encoding.hits import encode_blocks

ALONE: Final = "psoup, the engine alone"
SPARK: Final = "psoup, Spark local[2]"
THREADS: Final = "psoup, two threads"
WIDTH: Final = 0.02
"""Of the intervals: two of them let 1.6 rows of a chunk through, so hits are lists and few."""
STREAM: Final = StreamId(1)
SCHEMA: Final = retaining(CONTINUOUS.stream, 2 * 65_536)
ROUNDS: Final = 5


Bodies = Sequence[tuple[bytes, int]]
"""Batches as the log has them, with their rows."""


class Turns:
    """An engine with clauses, that takes the same turn of tuples again and again, each time as later ones."""

    def __init__(
        self,
        clauses: Callable[[], Sequence[StandingQueryClause]],
        bodies: Callable[[], Bodies],
        precomputed: Callable[[], ExecutorHits] | None = None,
        *,
        schema: StreamSchema = SCHEMA,
        threads: MatchThreads | None = None,
    ) -> None:
        """Make nothing yet: who only asks what there is to measure need not wait for half a million clauses."""
        self._made = (clauses, bodies, precomputed)
        self._schema = schema
        self._threads = threads
        self._next_id = TupleId(1)

    @cached_property
    def _engine(self) -> Engine:
        """Return an engine in which the clauses stand, without a registration each."""
        clauses, _, precomputed = self._made
        engine = Engine(
            precomputed=None if precomputed is None else precomputed(),
            match_threads=self._threads,
        )
        engine.apply(Operation(Seq(1), 0, self._next_id, Declare(self._schema)))
        state = engine._state  # noqa: SLF001 - what stands is not what is measured
        for number, clause in enumerate(clauses()):
            state.query_stem.build(ClauseId(number + 2), clause, Materialize.PARTIAL)
        return engine

    @property
    def clauses(self) -> StreamClauses | None:
        """Return what tuples meet."""
        return self._engine._state.query_stem.probe(STREAM)  # noqa: SLF001 - as above

    def setup(self) -> list[Operation]:
        """Return the operations of the next turn."""
        made = []
        _, bodies, _ = self._made
        for at, (body, rows) in enumerate(bodies()):
            content = Rows(STREAM, self._schema.name, rows, body)
            made.append(Operation(Seq(self._engine.applied + at + 1), 0, self._next_id, content))
            self._next_id = TupleId(self._next_id + rows)
        return made

    def run(self, turn: list[Operation]) -> list[Delta]:
        """Fold them."""
        self._engine.expect(turn)
        deltas = [self._engine.apply(operation) for operation in turn]
        self._engine.published()
        return deltas


def answer(deltas: Sequence[Delta]) -> bytes:
    """Return what a store would keep of the hits."""
    summed = hashlib.sha256()
    for delta in deltas:
        for block in delta.blocks.values():
            for group, written in encode_blocks(block):
                summed.update(group.to_bytes(8) + written)
    return summed.digest()


def contests(size: Size) -> Iterator[Measurement]:
    """Yield a turn past ever more queries, by threads and by executors, and what its parts cost."""
    yield Survey(
        "scaling-cores", "two threads over one, bare kernels", lambda: cores_over_one(size)
    )
    for domain in (INTEGER, CONTINUOUS):
        for count in (64,) if size is Size.SMOKE else (4_096, 65_536):
            yield from _by_threads(domain, count, rows=size.pick(smoke=8_192, full=SEGMENT_ROWS))
    chunks = size.pick(smoke=2, full=48)
    counts = (64,) if size is Size.SMOKE else (4_096, 65_536, 500_000)
    bodies = cache(lambda: _bodies(chunks))
    with ExitStack() as stack:

        @cache
        def executors() -> Executors:
            from psoup.pipeline.spark.executors import SparkExecutors, engine_session

            return stack.enter_context(closing(SparkExecutors(lambda: engine_session("local[2]"))))

        for count in counts:
            yield from _measured(count, chunks, bodies, None if size is Size.SMOKE else executors)


def _by_threads(domain: Domain, count: int, *, rows: int) -> Iterator[Measurement]:
    """Yield one batch past so many queries, on one thread and on two; beside the contest, wall and CPU of both."""
    schema = retaining(domain.stream, 2 * SEGMENT_ROWS)

    @cache
    def clauses() -> Sequence[StandingQueryClause]:
        queries = interval_queries(domain, count, factors=2, width=WIDTH)
        return [bound_query(schema, STREAM, one, window_s=None).clause for one in queries]

    bodies = cache(lambda: [(encode_batch(record_batch(schema, tuples(domain, rows))), rows)])
    with match_threads(2) as threads:
        alone = Turns(clauses, bodies, schema=schema)
        shared = Turns(clauses, bodies, schema=schema, threads=threads)
        title = f"{rows:,} {domain.name} in one batch past {count:,} interval queries, sparse"
        contenders = [
            Contender(name, turns.setup, turns.run, answer)
            for name, turns in ((THREADS, shared), (ALONE, alone))
        ]
        key = f"scaling-threads-{domain.name}-{count}"
        yield Contest(key, title, "tuples", rows, contenders)
        yield Survey(
            f"{key}-cpu",
            f"wall and CPU of {title}",
            lambda: [
                Figure(f"{key}-{name}-{what}", f"{name}: {what}, a tuple", 1e9 * taken / rows, "ns")
                for name, found in taken_by_turns(
                    {"two": (shared.setup, shared.run), "one": (alone.setup, alone.run)}
                ).items()
                for what, taken in found.items()
            ],
        )


def _measured(
    count: int,
    chunks: int,
    bodies: Callable[[], Bodies],
    executors: Callable[[], Executors] | None,
) -> Iterator[Measurement]:
    """Yield what is measured past so many queries; executors are sent them when that begins."""

    @cache
    def clauses() -> Sequence[StandingQueryClause]:
        queries = interval_queries(CONTINUOUS, count, factors=2, width=WIDTH)
        return [bound_query(SCHEMA, STREAM, one, window_s=None).clause for one in queries]

    alone = Turns(clauses, bodies)
    title = f"{chunks} chunks past {count:,} interval queries, sparse"
    contenders = [Contender(ALONE, alone.setup, alone.run, answer)]
    with ExitStack() as stack:
        if executors is not None:

            def ahead() -> ExecutorHits:
                made = ExecutorHits(
                    executors(), elapsed_s=time.monotonic, pairs_min=0, on_failed=_refuse
                )
                return stack.enter_context(closing(made))

            apart = Turns(clauses, bodies, ahead)
            contenders.append(Contender(SPARK, apart.setup, apart.run, answer))
        yield Contest(f"scaling-{count}", title, "tuples", chunks * CHUNK_ROWS, contenders)
        yield Survey(
            f"scaling-parts-{count}",
            f"parts of {title}",
            lambda: parts(alone, bodies(), count),
        )


def _bodies(chunks: int) -> Bodies:
    """Return batches of four chunks, as the log has them."""
    rows = min(4, chunks) * CHUNK_ROWS
    columns = tuples(CONTINUOUS, chunks * CHUNK_ROWS)
    cut = [
        {name: values[first : first + rows] for name, values in columns.items()}
        for first in range(0, chunks * CHUNK_ROWS, rows)
    ]
    return [(encode_batch(record_batch(SCHEMA, one)), rows) for one in cut]


def parts(alone: Turns, bodies: Bodies, count: int) -> Sequence[Figure]:
    """Return what each part of a turn costs, one after the other in this process, and what travels."""
    assert alone.clauses is not None
    image = ClauseImage.of(alone.clauses)
    assert image is not None
    rows = sum(rows for _, rows in bodies)
    chunks = rows // CHUNK_ROWS
    task = ChunkTask(STREAM, 0, chunks, tuple(bodies))
    eddy = ImageEddy(image, SCHEMA)
    matched, found = _taken(lambda: list(eddy.settle(STREAM, 0, task.bodies)))
    written, batches = _taken(lambda: [write_block(STREAM, *one) for one in found])
    read, blocks = _taken(lambda: read_blocks(batches))
    ready = Turns(lambda: (), lambda: bodies)
    built, _ = _taken(lambda: ready.run(ready.setup()))
    asked, table = _taken(lambda: write_task(task))
    drawn = pickle.dumps((image, SCHEMA), pickle.HIGHEST_PROTOCOL)
    loaded, _ = _taken(lambda: pickle.loads(drawn))
    key = f"scaling-{count}"
    pairs = rows * count

    def figure(name: str, title: str, value: float, unit: str) -> Figure:
        return Figure(f"{key}-{name}", title, value, unit)

    return [
        figure("match", "executor: bodies to hits, a tuple", 1e9 * matched / rows, "ns"),
        figure("pair", "executor: a tuple and clause", 1e12 * matched / pairs, "ps"),
        figure("write", "executor: hits as Arrow, a tuple", 1e9 * written / rows, "ns"),
        figure("read", "engine: Arrow as hits, a tuple", 1e9 * read / rows, "ns"),
        figure("ask", "engine: bodies as Arrow, a tuple", 1e9 * asked / rows, "ns"),
        figure("build", "engine: decode and build, a tuple", 1e9 * built / rows, "ns"),
        figure("task-bytes", "to executors, a tuple", table.nbytes / rows, "bytes"),
        figure("hit-bytes", "from executors, a tuple", _nbytes(blocks) / rows, "bytes"),
        figure("clause-bytes", "broadcast, a clause", len(drawn) / count, "bytes"),
        figure("load", "executor: a broadcast read, a clause", 1e9 * loaded / count, "ns"),
    ]


def _refuse(reason: str) -> None:
    """End the measurement: what follows would be the engine alone."""
    raise RuntimeError(reason)


def _nbytes(blocks: Blocks) -> int:
    return sum(block.nbytes for block in blocks.values())


def _taken(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the median of some runs, in seconds of this process's CPU, and what the last one returned."""
    found = work()
    taken = []
    for _ in range(ROUNDS):
        begun = time.process_time()
        found = work()
        taken.append(time.process_time() - begun)
    return statistics.median(taken), found
