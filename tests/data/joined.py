"""Standing joins over two real streams: one before, after and between the other, compared with DuckDB."""

import itertools
import re
from collections.abc import Iterable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from psoup.engine.log.operation import QueryId
from psoup.engine.query.bind.binder import bind
from psoup.engine.query.window import Window, windows_of
from tests.data.real_streams import RealStream
from tests.data.standing import Standing
from tests.oracle_duckdb import ID, TIME, DuckDbOracle
from tests.reference_windows import bounds
from tests.world import World

Batch = tuple[str, pa.Table]
"""Tuples for the stream of that name."""


def orders(one: RealStream, other: RealStream, *, batch_rows: int) -> dict[str, list[Batch]]:
    """Return the batches of both streams in three orders: one before, after and between the other."""
    parts = [
        [(stream.schema.name, batch) for batch in _batches(stream.tuples, batch_rows)]
        for stream in (one, other)
    ]
    by_time = sorted(itertools.chain(*parts), key=lambda part: pc.min(part[1]["ts"]).as_py())
    return {"before": parts[0] + parts[1], "after": parts[1] + parts[0], "between": by_time}


def _batches(table: pa.Table, rows: int) -> Iterable[pa.Table]:
    return (table.slice(start, rows) for start in range(0, table.num_rows, rows))


def dated(batch: pa.Table, first_id: int) -> pa.Table:
    """Return tuples with what psoup knows of them: their ids, from the first one on, and their times."""
    ids = pa.array(range(first_id, first_id + batch.num_rows), pa.int64())
    return batch.append_column(ID, ids).append_column(TIME, batch["ts"].cast(pa.int64()))


class Joining:
    """Two streams being sent, and joins over them that came before, amid and after."""

    def __init__(self, streams: Sequence[RealStream], queries: Sequence[Standing]) -> None:
        self.world = World()
        for stream in streams:
            self.world.declare(stream.schema)
        self.queries = queries
        self.handles: list[list[QueryId]] = [[] for _ in queries]
        self.sent: dict[str, list[pa.Table]] = {}
        for stream in streams:
            self.sent[stream.schema.name] = [dated(stream.tuples.slice(0, 0), 1)]
        self.next_id = 1

    def register(self) -> None:
        """Register every query once more."""
        for number, query in enumerate(self.queries):
            self.handles[number].append(self.world.register(query.sql))

    def send(self, name: str, batch: pa.Table) -> None:
        """Append a batch."""
        self.world.append_table(name, batch)
        self.sent[name].append(dated(batch, self.next_id))
        self.next_id += batch.num_rows

    def compare(self, oracle: DuckDbOracle, *, instants: int) -> int:
        """Assert that all answer as DuckDB at NOW and at instants spread before; return how many rows it was."""
        tables = {name: pa.concat_tables(parts) for name, parts in self.sent.items()}
        for name, table in tables.items():
            oracle.load_table(name, table)
        found = 0
        for number, query in enumerate(self.queries):
            bound = bind(query.sql, self.world.streams)
            read = [tables[source.stream][TIME] for source in bound.clause.sources]
            times = pa.concat_arrays(chunk for column in read for chunk in column.chunks)
            oldest_us, newest_us = pc.min(times).as_py(), pc.max(times).as_py()
            if newest_us is None:
                continue
            step_us = (newest_us - oldest_us) // instants
            for back in range(instants):
                now_us = newest_us - back * step_us
                windows = windows_of(bound.window, bound.ranges, len(bound.clause.sources))
                found += self._compare(oracle, number, windows, now_us)
        return found

    def _compare(
        self, oracle: DuckDbOracle, number: int, windows: Sequence[Window], now_us: int
    ) -> int:
        query = self.queries[number]
        spans = [
            (begin_us, now_us if end_us is None else min(end_us, now_us))
            for begin_us, end_us in (bounds(window, now_us) for window in windows)
        ]
        expected = [
            ("-".join(map(str, ids)), values)
            for ids, _, values in oracle.join(re.sub(r" \[RANGE [^]]*\]", "", query.select), spans)
        ]
        for query_id in self.handles[number]:
            answer = self.world.invoke(query_id, at_us=now_us, limit=100_000)
            assert now_us == answer.now_us
            assert expected == [(ids, values) for ids, _, values in answer.rows], query.sql
        return len(expected)


def compare_joins(
    streams: Sequence[RealStream],
    queries: Sequence[Standing],
    batches: Sequence[Batch],
    *,
    instants: int = 4,
) -> None:
    """Assert that joins registered before, amid and after these batches answer as DuckDB does.

    They are asked at a third and two thirds of the way and at the end, each time at several instants.
    """
    running = Joining(streams, queries)
    running.register()
    third = len(batches) // 3
    found = 0
    with DuckDbOracle() as oracle:
        for number, (name, batch) in enumerate(batches):
            if number in {third, 2 * third}:
                running.register()
                found += running.compare(oracle, instants=instants)
            running.send(name, batch)
        running.register()
        found += running.compare(oracle, instants=instants)
    assert found > 0, "the queries find something"
