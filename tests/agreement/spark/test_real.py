"""Real data: the queries that its users would want, asked of psoup, and of Spark SQL over Parquet of its tuples."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from psoup.pipeline.spark.sql.standing_query import SparkQuery, agreeing, spark_query
from tests.data import further_streams, real_streams
from tests.data.real_streams import RealStream
from tests.oracle_spark import answers, dated
from tests.reference import AnswerRow
from tests.world import World

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

ROWS = 12_000
"""Tuples of each stream, in the suite."""


@dataclass(frozen=True, slots=True)
class RealSet:
    """A set: how its streams are read, so many lines of each where they are many, and what is asked of them."""

    streams: Callable[[Path, int], Sequence[RealStream]]
    asked: str

    @property
    def queries(self) -> list[str]:
        """Each of the queries."""
        return [query.strip() for query in self.asked.split(";")]


SETS = {
    "earthquakes": RealSet(
        lambda folder, _: [real_streams.earthquakes(folder)],
        """
        SELECT ts, place, mag FROM quakes WHERE mag >= 4.5 BEGIN (NOW - INTERVAL '7' DAY) END (NOW);
        SELECT id, depth / 1.609344 AS miles FROM quakes WHERE depth > 500 OR mag IS NULL;
        SELECT id, mag FROM quakes WHERE place LIKE '%Alaska' AND mag NOT BETWEEN 1 AND 4;
        SELECT DISTINCT type FROM quakes BEGIN (NOW - INTERVAL '20' DAY) END (NOW - INTERVAL '5' DAY);
        SELECT id FROM quakes WHERE updated - INTERVAL '20' DAY > ts
        """,
    ),
    "stocks-sp500 and ops-metrics": RealSet(
        lambda folder, rows: [real_streams.mentions(folder), _spring_prices(folder, rows)],
        """
        SELECT Name, (high - low) / close AS swing FROM prices WHERE (high - low) / close > 0.05
        BEGIN (NOW - INTERVAL '90' DAY) END (NOW);
        SELECT day, close FROM prices WHERE Name = 'MSFT' BEGIN ('2015-03-01') END (NOW);
        SELECT DISTINCT Name FROM prices WHERE volume > 50000000;
        SELECT m.symbol, m.n, p.close FROM mentions AS m, prices AS p
        WHERE m.symbol = p.Name AND m.ts BETWEEN p.ts AND p.ts + INTERVAL '1' DAY AND m.n > 80
        AND ABS(p.close - p.open) / p.open > 0.02
        """,
    ),
    "stocks-us-bulk": RealSet(
        lambda folder, rows: [further_streams.daily_prices(folder, rows)],
        """
        SELECT symbol, close FROM daily WHERE symbol IN ('NAN', 'TRUE', 'BRK-A') AND close > 1;
        SELECT symbol, volume % 100 AS odd FROM daily WHERE (high - low) / low > 0.2 AND symbol NOT LIKE '%-%';
        SELECT a.symbol, b.close FROM daily AS a [RANGE INTERVAL '3' DAY], daily AS b [RANGE 0]
        WHERE a.symbol = b.symbol AND b.close > a.close * 1.1 AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '3' DAY
        """,
    ),
    "office-occupancy": RealSet(
        lambda folder, _: [real_streams.office(folder)],
        """
        SELECT ts, light FROM office WHERE light > 400 AND occupied = 0;
        SELECT ts, co2 FROM office WHERE NOT (co2 <= 1000 OR temperature < 22.5)
        """,
    ),
    "network-zeek": RealSet(
        lambda folder, _: [
            read(folder) for read in (real_streams.dns, real_streams.tls, real_streams.weird)
        ],
        """
        SELECT ts, "id.orig_h", query FROM dns [RANGE 600] WHERE rcode_name = 'NXDOMAIN';
        SELECT query, qtype_name FROM dns WHERE qtype_name NOT IN ('A', 'AAAA', 'PTR');
        SELECT DISTINCT version, established FROM tls;
        SELECT t.uid, w.name, t.server_name FROM tls AS t, weird AS w WHERE t.uid = w.uid
        AND w.ts BETWEEN t.ts AND t.ts + INTERVAL '20' SECOND AND w.addl IS NULL AND NOT t.established
        """,
    ),
    "flights-weather": RealSet(
        lambda folder, rows: [
            _first(real_streams.flights(folder), rows),
            real_streams.weather(folder),
        ],
        """
        SELECT f.carrier, f.flight, w.visib FROM flights AS f, weather [RANGE INTERVAL '60' DAY] AS w
        WHERE f.origin = w.origin AND f.hour = w.hour AND f.dep_delay > 60 AND w.visib < 2;
        SELECT f.carrier, f.tailnum, w.pressure, w.temp FROM weather AS w JOIN flights AS f
        ON f.origin = w.origin AND f.ts BETWEEN w.ts AND w.ts + INTERVAL '59' MINUTE
        WHERE f.dep_delay > 90 AND (w.wind_speed > 20 OR w.pressure IS NULL);
        SELECT a.tailnum, a.flight, b.flight AS next FROM flights AS a, flights AS b
        WHERE a.tailnum = b.tailnum AND a.origin <> b.origin AND a.dep_delay > 30 AND b.dep_delay > 30
        AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '6' HOUR
        """,
    ),
    "air-quality-beijing": RealSet(
        further_streams.air,
        """
        SELECT a.station, a.pm25, w.wd FROM air AS a, wind AS w WHERE a.station = w.station
        AND a.ts = w.ts AND a.pm25 > 150 AND w.speed < 1 BEGIN (NOW - INTERVAL '21' DAY) END (NOW);
        SELECT a.station, a.pm25, b.pm25 AS earlier FROM air AS a, air AS b WHERE a.station = b.station
        AND b.ts = a.ts - INTERVAL '6' HOUR AND a.pm25 > 150 AND b.pm25 < 75;
        SELECT station, co / so2 AS ratio FROM air
        WHERE co / so2 > 200 OR (so2 IS NULL) = (co IS NULL) AND pm25 IS NULL
        """,
    ),
    "bike-share": RealSet(
        further_streams.trips,
        """
        SELECT e.bike, e.station AS left_at, s.station FROM ends AS e, starts AS s
        WHERE e.bike = s.bike AND s.ts BETWEEN e.ts AND e.ts + INTERVAL '2' DAY AND e.station <> s.station;
        SELECT DISTINCT station FROM starts WHERE kind <> 'Subscriber' BEGIN (NOW - INTERVAL '2' DAY) END (NOW)
        """,
    ),
    "phone-calls": RealSet(
        lambda folder, _: further_streams.calls(folder),
        """
        SELECT c.caller, c.callee, t.ts FROM calls AS c
        JOIN texts AS t ON t.sender = c.callee AND t.recipient = c.caller
        WHERE c.duration = -1 AND t.ts BETWEEN c.ts AND c.ts + INTERVAL '10' MINUTE
        """,
    ),
    "online-retail": RealSet(
        real_streams.retail_lines,
        """
        SELECT s.invoice, c.invoice AS by, s.quantity * s.price AS money FROM sales AS s, cancels AS c
        WHERE s.customer = c.customer AND s.stock = c.stock AND c.quantity = -s.quantity AND c.ts > s.ts
        """,
    ),
}
"""Every set of the folder."""


def _first(stream: RealStream, rows: int) -> RealStream:
    return RealStream(stream.schema, stream.tuples.slice(0, rows))


def _spring_prices(folder: Path, rows: int) -> RealStream:
    """Return prices of the days in which the mentions were counted, where they are not all wanted."""
    prices = real_streams.stock_prices(folder)
    return RealStream(prices.schema, prices.tuples.slice(260_000, rows))


def psoup_answers(
    streams: Sequence[RealStream], queries: Sequence[str], *, back: Sequence[Sequence[float]]
) -> list[tuple[str, int, tuple[AnswerRow, ...]]]:
    """Return what psoup answers to each query, with its NOW.

    `back` says at which parts of the history before its end: for the first query, for the second, and so on
    from the first again.
    """
    world = World()
    for stream in streams:
        world.declare(stream.schema)
        for start in range(0, stream.tuples.num_rows, 50_000):
            world.append_table(stream.schema.name, stream.tuples.slice(start, 50_000))
    times = [stream.tuples["ts"].cast(pa.int64()) for stream in streams]
    span_us = max(pc.max(one).as_py() for one in times) - min(pc.min(one).as_py() for one in times)
    found = []
    for number, query in enumerate(queries):
        handle = world.register(query)
        newest_us = world.invoke(handle, limit=200_000).now_us
        assert newest_us is not None
        for part in back[number % len(back)]:
            answer = world.invoke(handle, at_us=newest_us - int(part * span_us), limit=200_000)
            assert answer.now_us is not None
            found.append((query, answer.now_us, answer.rows))
    return found


def compare(
    spark,
    data_folder: Path,
    folder: Path,
    names: Sequence[str],
    *,
    rows: int,
    back: Sequence[Sequence[float]],
) -> int:
    """Assert that Spark SQL answers as psoup, all sets by one statement; return how many rows it was."""
    translated: list[SparkQuery] = []
    expected: list[tuple[str, int, tuple[AnswerRow, ...]]] = []
    for number, name in enumerate(names):
        streams = SETS[name].streams(data_folder, rows)
        tables, next_id = {}, 1
        for stream in streams:
            path = folder / f"{number}-{stream.schema.name}.parquet"
            pq.write_table(dated(stream.schema, stream.tuples, first_id=next_id), path)
            next_id += stream.tuples.num_rows
            tables[stream.schema.name] = f"parquet.`{path}`"
        schemas = [stream.schema for stream in streams]
        for query, now_us, found in psoup_answers(streams, SETS[name].queries, back=back):
            translated.append(spark_query(query, schemas, now_us=now_us, tables=tables))
            expected.append((query, now_us, found))
    for (query, now_us, answered), shown in zip(
        expected, answers(agreeing(spark), translated), strict=True
    ):
        assert list(answered) == shown, f"{query} at {now_us}"
    return sum(len(answered) for _, _, answered in expected)


def test_oracle_first_tuples_of_every_real_set_answer_as_spark_sql(spark, data_folder, tmp_path):
    """Some thousand tuples of each set, in the disorder they have, at NOW or in the middle of their history."""
    found = compare(spark, data_folder, tmp_path, list(SETS), rows=ROWS, back=[[0], [0.5]])
    assert found > 4_000


@pytest.mark.slow
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("name", SETS)
def test_oracle_whole_real_set_answers_as_spark_sql(spark, data_folder, tmp_path, name):
    """All tuples of a set, at five instants of its history."""
    back = [[0, 0.2, 0.4, 0.6, 0.8]]
    assert compare(spark, data_folder, tmp_path, [name], rows=2_000_000, back=back) > 0
