"""Row windows before WHERE: psoup, the naive twin and DuckDB's QUALIFY ROW_NUMBER() agree on drawn queries."""

from hypothesis import given, strategies as st

from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Materialize
from tests import strategies, strategies_sql
from tests.engine.batches import schema_keeping
from tests.oracle_duckdb import DuckDbOracle
from tests.reference import Reference
from tests.strategies import fewer
from tests.world import World


@fewer(20)
@given(data=st.data())
def test_oracle_row_windows_of_drawn_queries_equal_duckdb_naive_twin(data):
    """The newest rows, of the stream or of each partition, among those inside of the window and before WHERE."""
    schema = data.draw(strategies.schemas(event_time=True))
    rows = data.draw(strategies.batches(schema))
    world = World()
    world.declare(schema)
    world.append(schema.name, rows)
    keys = data.draw(
        st.lists(st.sampled_from([one.name for one in schema.columns]), max_size=2, unique=True)
    )
    keys = [strategies_sql.quoted(name) for name in keys]
    keys = [f"{key} IS NULL" if data.draw(st.booleans()) else key for key in keys]
    count = data.draw(st.integers(1, 4))
    by = f"PARTITION BY {', '.join(keys)} " if keys else ""
    listed, _ = data.draw(strategies_sql.outputs(schema))
    where = f" WHERE {data.draw(strategies_sql.conditions(schema)).text}"
    where = data.draw(st.sampled_from(["", where]))
    seconds = data.draw(st.sampled_from([None, 0, 3, 3_600]))
    window = "" if seconds is None else f" BEGIN (NOW - {seconds}) END (NOW)"
    sql = f"SELECT {listed} FROM s [{by}ROWS {count}]{where}{window}"
    query_id = world.register(sql, materialize=data.draw(st.sampled_from(list(Materialize))))
    found = world.invoke(query_id)
    assert found == Reference.fold(world.history).invoke(
        query_id, server_now_us=world.clock.now_us()
    )
    if found.now_us is None:
        return
    (stream,) = Reference.fold(world.history).streams.values()
    with DuckDbOracle() as oracle:
        tuples = stream.tuples
        oracle.load(
            schema,
            [one.values for one in tuples],
            tuple_ids=[one.tuple_id for one in tuples],
            times_us=[one.time_us for one in tuples],
        )
        begin_us = None if seconds is None else found.now_us - seconds * 1_000_000
        oracle.keep_newest("s", count, keys, end_us=found.now_us, begin_us=begin_us)
        expected = oracle.answer(f"SELECT {listed} FROM s{where}")
    assert [(str(row_id), values) for row_id, _, values in expected] == [
        (row_id, values) for row_id, _, values in found.rows
    ]


@fewer(12)
@given(data=st.data(), count=st.sampled_from([1, 2, 700, CHUNK_ROWS, 9_000]))
def test_row_windows_over_many_chunks_equal_duckdb(data, count):
    """Late tuples far behind the newest rows are among the newest, by their times, and take the places of others."""
    rows = 10_000
    late = data.draw(
        st.dictionaries(st.integers(0, rows - 1), st.integers(-9_500, 9_500), max_size=40)
    )
    world = World()
    world.declare(schema_keeping())
    world.append(
        "s",
        [
            {"ts": 1_000_000 + row + late.get(row, 0), "a": row * 7 % 11, "t": f"k{row % 3}"}
            for row in range(rows)
        ],
    )
    by = data.draw(st.sampled_from(["", "PARTITION BY t ", "PARTITION BY a % 4, t "]))
    keys = by.removeprefix("PARTITION BY ").split(", ") if by else []
    reach = data.draw(st.sampled_from([300, 6_000, 30_000]))
    query_id = world.register(
        f"SELECT COUNT(*) AS n, SUM(a) AS total, MIN(ts) AS oldest FROM s [{by}ROWS {count}] WHERE a > 2 "
        f"BEGIN (NOW - INTERVAL '{reach}' MICROSECONDS) END (NOW)"
    )
    found = world.invoke(query_id)
    (stream,) = Reference.fold(world.history).streams.values()
    with DuckDbOracle() as oracle:
        oracle.load(
            stream.schema,
            [one.values for one in stream.tuples],
            tuple_ids=[one.tuple_id for one in stream.tuples],
            times_us=[one.time_us for one in stream.tuples],
        )
        now_us = found.now_us
        assert now_us is not None
        oracle.keep_newest("s", count, keys, end_us=now_us, begin_us=now_us - reach)
        expected = oracle.distinct_values(
            "SELECT DISTINCT COUNT(*) AS n, SUM(a)::BIGINT AS total, MIN(ts) AS oldest FROM s WHERE a > 2"
        )
    assert expected == [values for _, _, values in found.rows]
