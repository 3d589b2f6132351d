"""The query psoup was made for, over HTTP: a year's departures and weather, at every prefix, beside DuckDB."""

import io

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from psoup.app.wire.scalars import format_instant
from psoup.engine.limits import SECOND_US
from psoup.engine.tuples.schema import StreamSchema
from tests.app.support import Api, running
from tests.data import real_streams
from tests.data.joined import dated, orders
from tests.oracle_duckdb import DuckDbOracle

pytestmark = pytest.mark.anyio

HOUR_US = 3_600 * SECOND_US
SELECTED = (
    "SELECT f.carrier, f.flight, w.visib FROM flights AS f, weather AS w"
    " WHERE f.origin = w.origin AND f.hour = w.hour AND f.dep_delay > 60 AND w.visib < 2"
)
SQL = f"{SELECTED} BEGIN (NOW - INTERVAL '6' HOUR) END (NOW)"
INSTANTS = 4
"""Besides NOW, answers are asked for so many of the latest hours in which one saw little."""


async def declare(api: Api, schema: StreamSchema) -> None:
    """Declare a stream as its data has it."""
    columns = [
        {"name": one.name, "type": one.type.value, "nullable": one.nullable}
        for one in schema.columns
    ]
    answer = await api.declare(schema.name, columns=columns, time=schema.time)
    assert 201 == answer.status_code, answer.text


def arrow_body(batch: pa.Table) -> bytes:
    """Return a batch as it travels."""
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_table(batch)
    return sink.getvalue()


async def ask(api: Api, query_id: str, now_us: int) -> list[tuple[str, tuple[object, ...]]]:
    """Return all rows of an answer at an instant."""
    body = await api.results(query_id, now=format_instant(now_us), limit=100_000)
    assert None is body["next"]
    return [(row["_id"], (row["carrier"], row["flight"], row["visib"])) for row in body["rows"]]


@pytest.mark.parametrize("order", ["before", "after", "between"])
async def test_oracle_flights_with_weather_answer_as_duckdb_at_every_prefix(data_folder, order):
    """Flights before, after and between the weather; the query before all of them, and amid them."""
    streams = [real_streams.flights(data_folder), real_streams.weather(data_folder)]
    hours = streams[1].tuples.filter(pc.less(streams[1].tuples["visib"], 2))
    fogs_us = sorted(set(hours["ts"].cast(pa.int64()).to_pylist()))[::40]
    sent = {one.schema.name: [dated(one.tuples.slice(0, 0), 1)] for one in streams}
    compared = found = 0
    next_id, newest_us = 1, None
    async with running() as api:
        for one in streams:
            await declare(api, one.schema)
        handles = [await api.register(SQL)]
        with DuckDbOracle() as oracle:
            for number, (name, batch) in enumerate(orders(*streams, batch_rows=9_000)[order]):
                if number == 5:
                    handles.append(await api.register(f"{SQL} -- the same clause", name="amid"))
                answer = await api.body(
                    arrow_body(batch), "application/vnd.apache.arrow.stream", name=name
                )
                assert 200 == answer.status_code, answer.text
                sent[name].append(dated(batch, next_id))
                next_id += batch.num_rows
                for held, tables in sent.items():
                    oracle.load_table(held, pa.concat_tables(tables))
                latest_us = max(batch["ts"].cast(pa.int64()).to_pylist())
                newest_us = latest_us if newest_us is None else max(newest_us, latest_us)
                foggy_us = [at for at in fogs_us if at <= newest_us][-INSTANTS:]
                for now_us in (newest_us, *foggy_us):
                    span = now_us - 6 * HOUR_US, now_us
                    expected = [
                        ("-".join(map(str, ids)), values)
                        for ids, _, values in oracle.join(SELECTED, [span, span])
                    ]
                    for query_id in handles:
                        assert expected == await ask(api, query_id, now_us)
                        compared, found = compared + 1, found + len(expected)
    assert compared > 60, "every prefix was compared"
    assert found > 0, "and something was found"
