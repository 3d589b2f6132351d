"""What is kept of matches never changes an answer: all four policies beside DuckDB, over whole chunks.

The drawn worlds of the other proofs end before a chunk is whole; these have three, and rows behind them.
"""

from collections import Counter
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import Phase, given, strategies as st

from psoup.engine.limits import CHUNK_ROWS, RETIRED_US, SECOND_US, SEGMENT_ROWS
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.query.window import Bound, Window
from psoup.engine.tuples.arrow import arrow_schema
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from tests import strategies_sql
from tests.oracle_duckdb import ID, TIME, DuckDbOracle
from tests.reference import Answer
from tests.reference_windows import bounds
from tests.strategies import EPOCH_US, POOLS, fewer
from tests.world import World

COLUMNS = (
    ColumnSchema("ts", ColumnType.TIMESTAMP, nullable=False),
    ColumnSchema("i", ColumnType.INT64),
    ColumnSchema("f", ColumnType.FLOAT64),
    ColumnSchema("b", ColumnType.BOOL),
    ColumnSchema("t", ColumnType.STRING),
    ColumnSchema("at", ColumnType.TIMESTAMP),
    ColumnSchema("k", ColumnType.INT64, nullable=False),
)
BATCHES = (100, 3_996, 5_000, 4_104)
"""The second ends with a chunk; all together are three chunks and 912 rows."""


def stream(**kept: int) -> StreamSchema:
    """Return a stream of every type, dated by its tuples."""
    return StreamSchema("s", COLUMNS, "ts", ClockKind.HIGH_WATER, Retention(**kept))


def tuples(schema: StreamSchema, first: int, count: int, *, seed: int) -> pa.Table:
    """Return rows numbered from `first` in `k`: values of the pools, NULLs, times in some disorder."""
    rng = np.random.default_rng((seed, first))
    arrays = []
    for column, field in zip(schema.columns, arrow_schema(schema), strict=True):
        if column.name == "k":
            arrays.append(pa.array(np.arange(first, first + count)))
        elif column.name == "ts":
            late = rng.integers(0, 5 * SECOND_US, count)
            times = EPOCH_US + np.arange(first, first + count) * 5_000 - late // 500_000 * 500_000
            arrays.append(pa.array(times).cast(field.type))
        else:
            often, edges = POOLS[column.type]
            pool = often * 4 + edges
            picked = [pool[i] for i in rng.integers(0, len(pool), count).tolist()]
            null = (rng.random(count) < 0.1).tolist()
            cells = [None if gone else value for value, gone in zip(picked, null, strict=True)]
            kind = pa.int64() if column.type is ColumnType.TIMESTAMP else field.type
            arrays.append(pa.array(cells, kind).cast(field.type))
    return pa.Table.from_arrays(arrays, schema=arrow_schema(schema))


class Policies:
    """One stream, each query under each policy, and DuckDB beside it."""

    def __init__(self, schema: StreamSchema, oracle: DuckDbOracle, *, seed: int) -> None:
        self.world = World()
        self.world.declare(schema)
        self.schema, self.oracle, self.seed = schema, oracle, seed
        self.sent: list[pa.Table] = []
        self.rows = 0

    def send(self, count: int) -> None:
        """Append `count` more rows."""
        table = tuples(self.schema, self.rows, count, seed=self.seed)
        self.world.append_table("s", table)
        self.sent.append(table)
        self.rows += count

    def register(self, sql: str) -> list[QueryId]:
        """Register the query under each policy."""
        return [self.world.register(sql, materialize=policy) for policy in Materialize]

    def load(self) -> None:
        """Let DuckDB hold what is retained."""
        table = pa.concat_tables(self.sent)
        record = self.world.store.results.stream("s")
        ids = pa.array(np.arange(1, self.rows + 1))
        dated = table.append_column(ID, ids).append_column(TIME, table["ts"].cast(pa.int64()))
        self.oracle.load_table("s", dated.slice(record.floor_row))

    def compare(self, handles: list[QueryId], select: str, window: Window) -> int:
        """Assert that all handles answer alike, and as DuckDB does; return how many rows that were."""
        answers = [self.world.invoke(query_id, limit=100_000) for query_id in handles]
        for policy, answer in zip(Materialize, answers, strict=True):
            assert answers[0] == answer, (select, policy)
        self.compare_with_duckdb(answers[0], select, window)
        return len(answers[0].rows)

    def compare_with_duckdb(self, answer: Answer, select: str, window: Window) -> None:
        """Assert that an answer is DuckDB's."""
        assert answer.now_us is not None
        begin_us, end_us = bounds(window, answer.now_us)
        assert (begin_us, end_us) == (answer.begin_us, answer.end_us)
        end_us = answer.now_us if end_us is None else min(end_us, answer.now_us)
        if "SELECT DISTINCT" in select:
            found = self.oracle.distinct_values(select, begin_us=begin_us, end_us=end_us)
            assert Counter(found) == Counter(values for _, _, values in answer.rows), select
        else:
            matches = self.oracle.answer(select, begin_us=begin_us, end_us=end_us)
            expected = [(str(tuple_id), values) for tuple_id, _, values in matches]
            assert expected == [(ids, values) for ids, _, values in answer.rows], select


@fewer(5, 10, phases=[Phase.generate])  # a world this large is not made smaller in time
@given(data=st.data(), seed=st.integers(0, 2**32))
def test_oracle_policies_over_whole_chunks_answer_alike_and_as_duckdb(data, seed):
    """Queries that come before, between and after the data, go and come again: one answer of four policies."""
    schema = stream()
    drawn = data.draw(st.lists(strategies_sql.queries(schema), min_size=4, max_size=8))
    moments = [data.draw(st.integers(0, len(BATCHES))) for _ in drawn]
    restart = data.draw(st.integers(0, len(BATCHES)))
    with DuckDbOracle() as oracle:
        policies = Policies(schema, oracle, seed=seed)
        handles: dict[int, list[QueryId]] = {}
        for moment, count in enumerate((*BATCHES, None)):
            for number, query in enumerate(drawn):
                if moments[number] == moment:
                    handles[number] = policies.register(query.sql)
            if moment == restart:
                policies.world.lose_engine()
            if count is not None:
                policies.send(count)
        again = [number for number in handles if moments[number] < 2]
        for number in again:
            for query_id in handles[number]:
                policies.world.remove(query_id)
            if number % 2:  # slots are free while more comes in
                policies.send(1_000)
            handles[number] = policies.register(drawn[number].sql)
        policies.world.check()
        assert policies.rows > 3 * CHUNK_ROWS
        policies.load()
        for number, query in enumerate(drawn):
            policies.compare(handles[number], query.select, query.window.window)


TEXTS = (
    "SELECT k, t FROM s WHERE i = 3 AND t = 'ab'",
    "SELECT k FROM s WHERE i >= 0",
    "SELECT k FROM s WHERE f < 0.0 AND b",
    "SELECT k, f FROM s WHERE i + f > 2.0 AND t LIKE '%a%'",
    "SELECT k FROM s WHERE b IS NULL AND k % 7 = 1",
    "SELECT k FROM s",
    "SELECT DISTINCT i, t FROM s WHERE b",
    "SELECT k FROM s WHERE t > 'a' AND i IN (1, 2, 7)",
)
WINDOWS = (
    ("", Window()),
    (
        "BEGIN (NOW - 200) END (NOW - 3)",
        Window(Bound(200 * SECOND_US, moving=True), Bound(3 * SECOND_US, moving=True)),
    ),
)


@pytest.mark.parametrize(
    "kept", [{"rows": SEGMENT_ROWS + 5_000}, {"rows": 9_000}], ids=["segment", "few"]
)
def test_oracle_policies_while_segments_are_dropped_answer_alike_and_as_duckdb(kept):
    """Segments leave retention and are dropped, with queries older and younger than they: one answer."""
    rng = Random(5)
    with DuckDbOracle() as oracle:
        policies = Policies(stream(**kept), oracle, seed=3)
        standing: list[tuple[list[QueryId], str, Window]] = []
        found = 0
        for turn in range(9):
            for text in rng.sample(TEXTS, 3):
                shown, window = rng.choice(WINDOWS)
                standing.append((policies.register(f"{text} {shown}"), text, window))
            if turn in {3, 6}:
                for handles, _, _ in standing[::2]:
                    for query_id in handles:
                        policies.world.remove(query_id)
                standing = standing[1::2]
            if turn == 5:
                policies.world.lose_engine()
            policies.send(23_001)
            policies.world.clock.advance(RETIRED_US // 2)
            policies.world.tick()
            policies.world.check()
            if turn in {4, 8}:
                policies.load()
                found += sum(policies.compare(*one) for one in standing)
        record = policies.world.store.results.stream("s")
        assert record.dropped_row >= SEGMENT_ROWS, "the case is the one it claims to be"
        assert found > 1_000
