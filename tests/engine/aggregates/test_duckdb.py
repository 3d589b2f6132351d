"""Every aggregate of every type beside DuckDB, over drawn values with NULLs, extremes and empty groups."""

import math

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from psoup.engine.aggregates.aggregated import aggregated
from psoup.engine.aggregates.groups import grouped
from psoup.engine.query.values.expression import AggregateFunction as Function
from psoup.engine.tuples.schema import ColumnType as Type
from tests.engine.aggregates.reference import OF_NUMBERS, OF_TWO, call_of, functions_of
from tests.engine.columns import chunk_values, column_of
from tests.oracle_duckdb import ARROW

COUNT = 120
SAMPLES = {
    Type.INT64: [*range(-5, 6), 2**53 + 1, -(2**62), 2**62 - 1],
    Type.FLOAT64: [-1.5, 0.0, 0.1, 0.2, 0.3, 1e6, -1e-9, 2.5],
    Type.BOOL: [False, True],
    Type.STRING: ["", "a", "ab", "b", "B", "ü", "日本", "𝄞", "\uffff"],
    Type.TIMESTAMP: [0, 1, 2, -1, -2, 1_577_836_800_000_001, -315_619_199_999_998],
}
ROUNDED = {Function.MEDIAN, Function.QUANTILE_CONT, *OF_NUMBERS}
"""Functions whose last bits differ: DuckDB rounds at every step."""


def sql_of(function, *, distinct, share):
    """Return the aggregate in DuckDB's words."""
    own = "DISTINCT " if distinct else ""
    if function in (Function.FIRST, Function.LAST):
        return f"{function}(x ORDER BY t, i)"
    if function in OF_TWO:
        return f"{function}(x, y)"
    if function is Function.QUANTILE_CONT:
        return f"{function}({own}x, {share}::DOUBLE)"
    return f"{function}({own}x)"


def agrees(kind, function, expected, found):
    """Return whether two results are the same, but for how they are rounded."""
    if expected is None or found is None or function not in ROUNDED:
        return expected == found
    if kind is Type.FLOAT64 or (kind is Type.INT64 and function is not Function.SUM):
        return math.isclose(expected, found, rel_tol=1e-9, abs_tol=1e-9)
    return expected == found


@pytest.mark.parametrize("kind", list(Type))
@pytest.mark.parametrize("filtered", [False, True], ids=["all", "filtered"])
def test_aggregated_differential_is_that_of_duckdb(kind, filtered):
    """The same functions, NULLs, FILTER, DISTINCT, groups in the same order; SUM past int64 is NULL here alone."""
    connection = duckdb.connect()
    for seed in range(4):
        rng = np.random.default_rng(seed)
        xs = chunk_values(kind, seed=seed, count=COUNT, among=SAMPLES[kind], nulls=0.2)
        keys = chunk_values(Type.STRING, seed=seed + 9, count=COUNT, among=["b", "ü", "a", "B"])
        ys, times = rng.permutation(COUNT), rng.integers(0, 9, COUNT)
        arrow = {
            "x": pa.array(xs, pa.int64() if kind is Type.TIMESTAMP else ARROW[kind]).cast(
                ARROW[kind]
            ),
            "k": pa.array(keys),
            "y": pa.array([None if y % 7 == 0 else y for y in ys.tolist()], pa.int64()),
            "t": pa.array(times),
            "i": pa.array(np.arange(COUNT)),
        }
        connection.register("r", pa.table(arrow))
        columns = [column_of(kind, xs), column_of(Type.INT64, arrow["y"].to_pylist())]
        groups = grouped([column_of(Type.STRING, keys)], COUNT)
        passes = np.array([y is not None and y % 3 == 1 for y in arrow["y"].to_pylist()])
        for function in functions_of(kind):
            for distinct in (False, True):
                if distinct and function in (Function.FIRST, Function.LAST, *OF_TWO):
                    continue
                share = seed / 4
                text = sql_of(function, distinct=distinct, share=share)
                where = " FILTER (WHERE y % 3 = 1)" if filtered else ""
                value = f"{text}{where}"
                if function is Function.SUM and kind is Type.INT64:
                    value = f"CASE WHEN {value} BETWEEN -9223372036854775808 AND 9223372036854775807 THEN {value} END"
                if call_of(function, kind).type is Type.TIMESTAMP:
                    value = f"epoch_us({value})"
                expected = connection.execute(
                    f"SELECT {value} FROM r GROUP BY k ORDER BY k NULLS LAST"
                ).fetchall()
                call = call_of(function, kind, distinct=distinct, share=share)
                found = aggregated(
                    call,
                    columns[: len(call.arguments)] if function in OF_TWO else columns[:1],
                    passes if filtered else None,
                    groups=groups,
                    times=times,
                    tuple_ids=np.arange(COUNT),
                ).column.to_list()
                assert len(expected) == len(found)
                for (theirs,), ours in zip(expected, found, strict=True):
                    assert agrees(kind, function, theirs, ours), (value, theirs, ours)
