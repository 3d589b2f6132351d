"""Generated programs: what psoup answers at their end, at NOW and before, Spark SQL answers over the same tuples."""

import contextlib
import logging
from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from psoup.engine.errors import NowOutOfRangeError
from psoup.engine.limits import SECOND_US, TIMESTAMP_US_MAX, TIMESTAMP_US_MIN
from psoup.engine.log.operation import Materialize, QueryId
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, Retention, StreamSchema
from tests import strategies, strategies_join, strategies_sql, strategies_streams
from tests.oracle_spark import Compared, SparkOracle
from tests.reference import Reference
from tests.world import World

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

Program = Callable[[st.DataObject, SparkOracle], None]
"""Draws one program, runs it, and notes its questions."""


def one_stream(data: st.DataObject, oracle: SparkOracle) -> None:
    """Run queries over one stream of any columns, registered before, between and after its batches."""
    schema = data.draw(strategies.schemas(retention=strategies.retentions()))
    world = World()
    world.declare(schema)
    standing = {}
    for _ in range(data.draw(st.integers(1, 3))):
        query = data.draw(strategies_sql.queries(schema))
        standing[world.register(query.sql)] = query.sql
        world.append(schema.name, data.draw(strategies.batches(schema)))
        world.clock.advance(data.draw(st.sampled_from([0, SECOND_US, 20 * SECOND_US])))
    note(data, oracle, world, standing)


def several_streams(data: st.DataObject, oracle: SparkOracle, *, by_time: bool = False) -> None:
    """Run joins of two to four streams, self-joins among them, under any policy of keeping their rows."""
    retention = st.one_of(st.just(Retention()), strategies.retentions())
    schemas = data.draw(strategies_streams.stream_sets(retention=retention))
    world = World()
    for schema in schemas.values():
        world.declare(schema)
    standing = {}
    for _ in range(data.draw(st.integers(1, 2))):
        query = data.draw(strategies_join.queries(schemas, by_time=by_time))
        policy = data.draw(st.sampled_from(list(Materialize)))
        standing[world.register(query.sql, materialize=policy)] = query.sql
        for name, schema in schemas.items():
            world.append(
                name, data.draw(strategies_streams.batches(schema, min_size=2, max_size=8))
            )
            world.clock.advance(data.draw(st.sampled_from([0, SECOND_US])))
    note(data, oracle, world, standing)


def far_apart(oracle: SparkOracle) -> None:
    """Join tuples of the first and the last instant there are, by bands that reach from one to the other and beyond."""
    world, columns = World(), (ColumnSchema("at", ColumnType.TIMESTAMP),)
    for name in ("a", "b"):
        world.declare(StreamSchema(name, columns, None, ClockKind.SERVER, Retention()))
    near = "SELECT a.at, b.at AS other FROM a JOIN b ON a.at BETWEEN b.at {} AND b.at {}"
    back, on = "- INTERVAL '{}' DAY", "+ INTERVAL '{}' DAY"
    reaches = [
        ("", ""),
        (back.format(3_652_058), on.format(3_652_058)),
        (on.format(4_000_000), on.format(5_000_000)),
        (back.format(5_000_000), back.format(4_000_000)),
    ]
    standing = [near.format(*reach) for reach in reaches]
    handles = [world.register(sql) for sql in standing]
    for name in ("a", "b"):
        world.append(name, [{"at": at} for at in (TIMESTAMP_US_MIN, -1, 0, TIMESTAMP_US_MAX, None)])
    kept = Reference.fold(world.history).streams.values()
    program = oracle.add_program([(one.schema, one.retained()) for one in kept])
    for handle, sql in zip(handles, standing, strict=True):
        oracle.ask(program, sql, world.invoke(handle))


def note(
    data: st.DataObject, oracle: SparkOracle, world: World, standing: dict[QueryId, str]
) -> None:
    """Ask psoup every standing query at NOW, and one at an instant before."""
    kept = Reference.fold(world.history).streams.values()
    program = oracle.add_program([(one.schema, one.retained()) for one in kept])
    for query_id, sql in standing.items():
        oracle.ask(program, sql, world.invoke(query_id))
    query_id, at_us = data.draw(st.sampled_from(sorted(standing))), data.draw(strategies.times_us())
    with contextlib.suppress(NowOutOfRangeError):
        oracle.ask(program, standing[query_id], world.invoke(query_id, at_us=at_us))


def drawn(oracle: SparkOracle, program: Program, count: int) -> None:
    """Draw and run so many programs."""

    @settings(max_examples=count, suppress_health_check=list(HealthCheck))
    @given(data=st.data())
    def run(data):
        program(data, oracle)

    run()


def test_oracle_programs_over_one_stream_answer_as_spark_sql(spark):
    """Any query over any columns, any window, with retention: ids, times of leaving, values and types are Spark's."""
    oracle = SparkOracle(spark)
    drawn(oracle, one_stream, 20)
    compared = oracle.compare()
    assert compared.found > 0.4 * compared.queries > 0, compared


def test_oracle_programs_of_joins_answer_as_spark_sql(spark):
    """Any join of up to four streams, with windows of the query and of single streams, finds what Spark finds."""
    oracle = SparkOracle(spark)
    drawn(oracle, several_streams, 12)
    compared = oracle.compare()
    assert compared.found > 0.3 * compared.queries > 0, compared


def test_oracle_joins_by_a_band_of_time_answer_the_same_in_buckets(spark):
    """Told as equalities besides they find what they find without; streams are in any order, times NULL and equal."""
    oracle = SparkOracle(spark)
    drawn(oracle, partial(several_streams, by_time=True), 12)
    far_apart(oracle)
    compared = oracle.compare(in_buckets=True)
    assert compared.queries == len(oracle.questions)
    assert compared.found > 0.4 * compared.queries > 0, compared


@pytest.mark.slow
@pytest.mark.timeout(7_200)
@pytest.mark.parametrize("program", [one_stream, several_streams], ids=["one-stream", "joins"])
@pytest.mark.parametrize(
    ("batches", "compiled"), [(5, False), (1, True)], ids=["interpreted", "compiled"]
)
def test_oracle_thousands_of_programs_answer_as_spark_sql(spark, program, batches, compiled):
    """The same for new programs at every run; Spark computes row by row, or compiles every query."""
    total = Compared()
    for _ in range(batches):
        oracle = SparkOracle(spark)
        drawn(oracle, program, 200)
        total += oracle.compare(compiled=compiled)
        oracle.compare(compiled=compiled, in_buckets=True)
        logging.getLogger(__name__).info("%s", total)
    assert total.found > 0.25 * total.queries > 0, total
