"""Standing queries over real data: registered before, amid and after, compared with DuckDB."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from psoup.engine.query.window import Bound, Window
from tests.data.real_streams import RealStream
from tests.oracle_duckdb import ID, TIME, DuckDbOracle
from tests.reference_windows import bounds
from tests.world import World


@dataclass(frozen=True, slots=True)
class Standing:
    """A query: its text without the window, its window as text and as value, rows it has to find."""

    select: str
    window_text: str = ""
    window: Window = Window()  # noqa: RUF009 - a frozen value

    @property
    def sql(self) -> str:
        """The whole text."""
        return f"{self.select} {self.window_text}".strip()


def sliding(select: str, interval: str, width_us: int) -> Standing:
    """Return `select` over `BEGIN (NOW - interval) END (NOW)`."""
    window = Window(Bound(width_us, moving=True), Bound(0, moving=True))
    return Standing(select, f"BEGIN (NOW - INTERVAL {interval}) END (NOW)", window)


def compare_with_duckdb(
    stream: RealStream, queries: Sequence[Standing], *, batch_rows: int, instants: int = 5
) -> None:
    """Assert that every query, whenever it was registered, answers as DuckDB does at several NOWs.

    The stream is sent in batches. At a third of the way the queries registered before the first batch
    are invoked as they stand; at the end all are, at `now=` instants spread over the history as well.
    """
    world = World()
    world.declare(stream.schema)
    before = [world.register(query.sql) for query in queries]
    starts = range(0, stream.tuples.num_rows, batch_rows)
    middle = len(starts) // 3
    amid: list[str] = []
    for number, start in enumerate(starts):
        if number == middle:
            amid = [world.register(query.sql) for query in queries]
            _compare(world, stream, queries, [before, amid], rows=start, instants_us=[None])
        world.append_table(stream.schema.name, stream.tuples.slice(start, batch_rows))
    after = [world.register(query.sql) for query in queries]
    seen = pc.min_max(stream.tuples["ts"].cast(pa.int64())).as_py()
    oldest_us, newest_us = seen["min"], seen["max"]
    step_us = (newest_us - oldest_us) // instants
    instants_us = [None, *(oldest_us + step_us * k for k in range(1, instants))]
    everything = stream.tuples.num_rows
    _compare(
        world, stream, queries, [before, amid, after], rows=everything, instants_us=instants_us
    )


def _compare(world, stream, queries, handles, *, rows, instants_us):
    table = stream.tuples.slice(0, rows)
    times_us = table["ts"].cast(pa.int64())
    high_water_us = pc.max(times_us).as_py()
    table = table.append_column(ID, pa.array(range(1, rows + 1), pa.int64()))
    table = table.append_column(TIME, times_us)
    with DuckDbOracle() as oracle:
        oracle.load_table(stream.schema.name, table)
        for (number, query), at_us in itertools.product(enumerate(queries), instants_us):
            now_us = high_water_us if at_us is None else at_us
            begin_us, end_us = bounds(query.window, now_us)
            end_us = now_us if end_us is None else min(end_us, now_us)
            expected = oracle.answer(query.select, begin_us=begin_us, end_us=end_us)
            shown = [(str(tuple_id), values) for tuple_id, _, values in expected]
            for registered in handles:
                answer = world.invoke(registered[number], at_us=at_us)
                assert now_us == answer.now_us
                assert shown == [(ids, values) for ids, _, values in answer.rows], query.sql
