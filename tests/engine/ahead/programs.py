"""Programs of operations with whole chunks, and executors that do in this process what Spark's do in theirs."""

import pickle
from collections.abc import Mapping, Sequence
from dataclasses import fields
from random import Random
from typing import Any

import pyarrow as pa

from psoup.engine.ahead.broadcasts import BroadcastClauses, BroadcastValue
from psoup.engine.ahead.errors import ExecutorsError
from psoup.engine.ahead.exchange import (
    BLOCKS,
    SCANS,
    TASKS,
    Blocks,
    read_blocks,
    read_scans,
    write_task,
)
from psoup.engine.ahead.executor import scan_tasks, settle_tasks
from psoup.engine.ahead.planning import ChunkTask
from psoup.engine.ahead.scans import ScanHits, ScannedClauses
from psoup.engine.engine import Engine
from psoup.engine.log.operation import Materialize, Operation, QueryId, Rows
from psoup.engine.results.delta import Delta
from psoup.engine.tuples.arrow import encode_batch
from psoup.engine.tuples.schema import StreamId
from psoup.storage.encoding.hits import encode_blocks
from tests.agreement.joins.world import stream, tuples
from tests.strategies import EPOCH_US
from tests.world import World

KEYS = 50
BATCH_ROWS = (1, 300, 2_000, 4_095, 4_096, 4_097, 9_000, 30_000)


class PickledValue:
    """A value as it would be in another process: pickled when it is sent, and made again there once."""

    def __init__(self, value: object) -> None:
        """Send it."""
        self.pickled = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        self.destroyed = False
        self._made: Any = None

    @property
    def value(self) -> Any:
        """Return what the other process has made of it."""
        assert not self.destroyed, "what was taken back is not asked for"
        if self._made is None:
            self._made = pickle.loads(self.pickled)
        return self._made

    def destroy(self) -> None:
        """Take it back."""
        assert not self.destroyed, "a value is taken back once"
        self.destroyed = True


class ExecutorsHere:
    """Executors in this process: everything travels as it would, and nothing does."""

    parallelism = 3

    def __init__(self, *, failing: Random | None = None) -> None:
        """Run every job; with `failing`, every third one fails."""
        self.sent: list[PickledValue] = []
        self.chunks = 0
        self.scans = 0
        self._failing = failing

    def send(self, value: object) -> PickledValue:
        """Send a value."""
        self.sent.append(PickledValue(value))
        return self.sent[-1]

    def take_back(self, sent: BroadcastValue) -> None:
        """Take a value back."""
        sent.destroy()

    def settle(
        self, tasks: Sequence[ChunkTask], clauses: Mapping[StreamId, BroadcastClauses]
    ) -> Blocks:
        """Return the hits of all chunks of these tasks."""
        self._fail_sometimes()
        sent = pa.Table.from_batches([write_task(task) for task in tasks], TASKS)
        found = list(settle_tasks(iter(travelled(sent).to_batches()), clauses))
        blocks = read_blocks(travelled(pa.Table.from_batches(found, BLOCKS)).to_batches())
        self.chunks += len(blocks)
        return blocks

    def scan(self, tasks: Sequence[ChunkTask], scanned: ScannedClauses) -> ScanHits:
        """Return the hits of these clauses in the rows of these tasks."""
        self._fail_sometimes()
        sent = pa.Table.from_batches([write_task(task) for task in tasks], TASKS)
        schema, clauses = pickle.loads(pickle.dumps(scanned))
        found = list(scan_tasks(iter(travelled(sent).to_batches()), schema, clauses))
        self.scans += 1
        return read_scans(travelled(pa.Table.from_batches(found, SCANS)).to_batches())

    def _fail_sometimes(self) -> None:
        if self._failing is not None and self._failing.random() < 1 / 3:
            raise ExecutorsError("The executors are gone.")


def travelled(table: pa.Table) -> pa.Table:
    """Return the table as it comes out at the other end of a stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return pa.ipc.open_stream(sink.getvalue()).read_all()


def program(seed: int, steps: int, *, damaged: bool = False) -> list[Operation]:
    """Return the log of two streams with batches of all sizes, and of queries that come and go meanwhile.

    With `damaged`, some bodies are none, or have another number of rows than they are said to have.
    """
    rng, world = Random(seed), World()
    standing: dict[str, list[QueryId]] = {}
    rows = 0
    for step in range(steps):
        name = rng.choice("rs")
        if name not in world.streams:
            world.declare(stream(name), fold=False)
            standing[name] = []
        match rng.randrange(12):
            case 0 | 1 | 2:
                kind = rng.choice([*Materialize])
                for _ in range(rng.choice([1, 3, 20])):
                    sql = f"SELECT n FROM {name} WHERE {condition(rng)} {WINDOW}"
                    standing[name].append(world.register(sql, materialize=kind, fold=False))
            case 3 if standing[name]:
                for query_id in rng.sample(standing[name], k=-(-len(standing[name]) // 3)):
                    standing[name].remove(query_id)
                    world.remove(query_id, fold=False)
            case 4 if rng.random() < 0.2:
                world.drop(name, standing.pop(name), fold=False)
            case 5:
                world.tick(fold=False)
            case 6 if damaged and rng.random() < 0.4:
                stream_id, _ = world.streams[name]
                body = rng.randbytes(200)
                world.append_content(Rows(stream_id, name, 5_000, body), fold=False)
            case _:
                count = rng.choice(BATCH_ROWS)
                batch = tuples(
                    rows, count, keys=KEYS, seed=seed, first_us=EPOCH_US + step, step_us=9
                )
                stream_id, _ = world.streams[name]
                world.append_content(rows_of(stream_id, name, batch), fold=False)
                rows += count
    return world.history


WINDOW = "BEGIN NOW - INTERVAL '1 hour' END NOW"


def condition(rng: Random) -> str:
    """Return a condition: intervals, single values of many, texts, NULLs, and what cannot be indexed."""
    low = rng.randrange(KEYS)
    shapes = [
        f"k BETWEEN {low} AND {low + rng.randrange(KEYS)}",
        f"k = {low} AND g < {rng.randrange(2 * KEYS)}",
        f"n = {rng.randrange(100_000)}",
        f"w > '{low}' AND w <= 'é{low}'",
        f"w LIKE '%{low}%' AND k < {rng.randrange(KEYS)}",
        f"k * 2 + i > {low}",
        f"g IN (0.5, {low}, {low}.5) OR k IS NULL",
        "b",
        f"NOT b AND i <> {rng.randrange(8)}",
    ]
    return rng.choice(shapes)


def rows_of(stream_id: StreamId, name: str, batch: pa.Table) -> Rows:
    """Return a batch as the log takes it."""
    (whole,) = batch.combine_chunks().to_batches()
    return Rows(stream_id, name, whole.num_rows, encode_batch(whole))


def deltas_of(history: Sequence[Operation], engine: Engine, rng: Random) -> list[Delta]:
    """Fold a log in turns of any length, and return the deltas."""
    deltas = []
    at = 0
    while at < len(history):
        turn = history[at : at + rng.choice([1, 2, 5, 16, 64])]
        engine.expect(turn)
        deltas += [engine.apply(operation) for operation in turn]
        at += len(turn)
    return deltas


def plain(delta: Delta) -> dict[str, object]:
    """Return a delta as values that are equal if and only if what a store keeps of it is equal bit for bit.

    Where lists and bitmaps lie inside of a block is left out, as it is by stores: it hangs on the room there was.
    """
    values: dict[str, object] = {field.name: getattr(delta, field.name) for field in fields(delta)}
    values["blocks"] = {key: [*encode_blocks(block)] for key, block in delta.blocks.items()}
    values["pages"] = {key: _arrays(pages) for key, pages in delta.pages.items()}
    values["composites"] = {key: _arrays(page) for key, page in delta.composites.items()}
    return values


def _arrays(value: Any) -> list[object]:
    held = [getattr(value, name) for name in type(value).__slots__]
    return [(one.dtype, one.shape, one.tobytes()) if hasattr(one, "dtype") else one for one in held]
