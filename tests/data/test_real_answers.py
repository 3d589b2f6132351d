"""Real data, computed: averages over a join, bars as a series, the first of an order, distinct values, latest rows."""

import math
from collections.abc import Sequence

import duckdb
import pyarrow.compute as pc

from psoup.engine.limits import DAY_US
from psoup.engine.series import series
from tests.agreement.shapes.compared import Values, assert_alike, in_micros
from tests.data import further_streams, real_streams
from tests.data.real_streams import RealStream
from tests.world import World

LAST_BITS = 1e-12
"""Other engines round at each step."""


class Told:
    """Real streams that psoup and DuckDB have both been told, in the order in which their sources sent them."""

    def __init__(self, *streams: RealStream, batch_rows: int) -> None:
        """Send batch by batch; DuckDB knows each tuple's number, from 1, as `n`."""
        self.world = World()
        self.duckdb = duckdb.connect()
        self.now_us = 0
        for stream in streams:
            name, table = stream.schema.name, stream.tuples
            self.world.declare(stream.schema)
            for start in range(0, table.num_rows, batch_rows):
                self.world.append_table(name, table.slice(start, batch_rows))
            self.duckdb.register("loading", table)
            self.duckdb.execute(
                f"CREATE TABLE {name} AS"
                " SELECT row_number() OVER () AS n, * REPLACE (ts AT TIME ZONE 'UTC' AS ts) FROM loading"
            )
            self.now_us = max(self.now_us, pc.max(table["ts"].cast("int64")).as_py())

    def answer(self, text: str, at_us: int | None = None) -> Values:
        """Return what psoup answers."""
        query_id = self.world.register(text)
        answer = self.world.invoke(query_id, at_us=at_us, limit=100_000)
        return [values for _, _, values in answer.rows]

    def expected(self, text: str) -> Values:
        """Return what DuckDB answers, instants in microseconds."""
        found = self.duckdb.execute(text).fetchall()
        return in_micros(found)

    def since(self, days: int, at_us: int | None = None) -> str:
        """Return the window of so many days as DuckDB's condition on `ts`."""
        now_us = self.now_us if at_us is None else at_us
        return f"epoch_us(ts) BETWEEN {now_us - days * DAY_US} AND {now_us}"


def test_oracle_delays_by_carrier_and_hour_in_their_weather_answer_as_duckdb(data_folder):
    """Flights joined with the weather of their airport and hour, in groups; averages are right to the last bit."""
    flights, weather = real_streams.flights(data_folder), real_streams.weather(data_folder)
    some = RealStream(flights.schema, flights.tuples.slice(0, 40_000))
    told = Told(some, weather, batch_rows=6_000)
    joined = (
        "FROM flights AS f JOIN weather AS w ON f.origin = w.origin"
        " AND f.ts BETWEEN w.ts AND w.ts + INTERVAL '59' MINUTE"
    )
    listed = "f.carrier, f.hour, COUNT(*) AS n, AVG(f.dep_delay) AS delay, MIN(w.visib) AS visib"
    tail = "GROUP BY f.carrier, f.hour HAVING COUNT(*) > 3"
    found = told.answer(f"SELECT {listed} {joined} WHERE w.wind_speed > 5 {tail}")
    order = "ORDER BY f.carrier, f.hour NULLS LAST"
    expected = told.expected(f"SELECT {listed} {joined} WHERE w.wind_speed > 5 {tail} {order}")
    assert_alike(expected, found, listed, within=LAST_BITS)
    assert len(found) > 100
    delays = told.duckdb.execute(
        f"SELECT list(f.dep_delay) {joined} WHERE w.wind_speed > 5 {tail} {order}"
    ).fetchall()
    exact = [math.fsum(known) / len(known) for (known,) in delays]
    assert exact == [row[3] for row in found]


def test_oracle_bars_of_prices_as_a_series_are_those_of_duckdb(data_folder):
    """Open, high, low, close and volume of five days, at every tenth day of a year, by one series."""
    told = Told(real_streams.stock_prices(data_folder), batch_rows=60_000)
    names = "('AAPL', 'BRK.B', 'MSFT', 'ZTS')"
    text = (
        "SELECT Name, FIRST(open) AS o, MAX(high) AS h, MIN(low) AS l, LAST(close) AS c, SUM(volume) AS v"
        f" FROM prices WHERE Name IN {names} GROUP BY Name BEGIN (NOW - INTERVAL '5' DAY) END (NOW)"
    )
    query_id = told.world.register(text)
    instants = range(told.now_us - 360 * DAY_US, told.now_us + 1, 10 * DAY_US)
    found = series(
        told.world.store.results,
        told.world.engine.source,
        query_id=query_id,
        instants=lambda _: instants,
        cache=told.world.cache,
    )
    assert list(instants) == [point.now_us for point in found.points]
    for point in found.points:
        expected = told.expected(
            "SELECT Name, arg_min(open, (ts, n)), MAX(high), MIN(low), arg_max(close, (ts, n)), SUM(volume)"
            f" FROM prices WHERE Name IN {names} AND {told.since(5, point.now_us)}"
            " GROUP BY Name ORDER BY Name"
        )
        columns = [column.to_list() for _, column in point.columns]
        rows: Sequence[tuple[object, ...]] = list(zip(*columns, strict=True))
        assert_alike(expected, list(rows), text, within=LAST_BITS)
        assert len(expected) == 4


def test_oracle_leaderboards_of_a_month_answer_as_duckdb(data_folder):
    """The ten that were traded most, and the ten that have risen most, now and half a year before."""
    told = Told(real_streams.stock_prices(data_folder), batch_rows=60_000)
    first, last = "FIRST(open)", "LAST(close)"
    ours = {first: first, last: last}
    theirs = {first: "arg_min_null(open, (ts, n))", last: "arg_max_null(close, (ts, n))"}
    for order, at_us in (("v", None), ("move", None), ("move", told.now_us - 180 * DAY_US)):
        asked, expected = (
            "SELECT Name, SUM(volume) AS v,"
            f" ROUND(({words[last]} - {words[first]}) / {words[first]}, 6) AS move FROM prices"
            for words in (ours, theirs)
        )
        tail = f"GROUP BY Name ORDER BY {order} DESC, Name LIMIT 10"
        found = told.answer(f"{asked} {tail} BEGIN (NOW - INTERVAL '30' DAY) END (NOW)", at_us)
        window = told.since(30, at_us)
        tail = tail.replace("DESC", "DESC NULLS LAST")
        told_by_duckdb = told.expected(f"{expected} WHERE {window} {tail}")
        assert_alike(told_by_duckdb, found, asked, within=LAST_BITS)
        assert len(found) == 10


def test_oracle_distinct_connections_by_minute_answer_as_duckdb(data_folder):
    """Oddities of protocols, several of one connection: its records are counted, and itself once in a minute."""
    weird = real_streams.weird(data_folder)
    told = Told(weird, batch_rows=2_000)
    listed = "DATE_TRUNC('minute', ts) AS minute, COUNT(DISTINCT uid) AS uids, COUNT(uid) AS n"
    tail = "FROM weird GROUP BY minute"
    found = told.answer(f"SELECT {listed} {tail}")
    assert_alike(told.expected(f"SELECT {listed} {tail} ORDER BY minute"), found, listed)
    assert len(found) > 5
    assert any(uids != records for _, uids, records in found)


def test_oracle_latest_reading_of_each_station_answers_as_duckdb(data_folder):
    """By a window of one row for each station, by LAST, and beside the weather there, which may be missing."""
    air, wind = further_streams.air(data_folder, 30_000)
    told = Told(air, wind, batch_rows=5_000)
    latest = told.answer("SELECT station, pm25, ts FROM air [PARTITION BY station ROWS 1]")
    expected = told.expected(
        "SELECT station, pm25, ts FROM air"
        " QUALIFY row_number() OVER (PARTITION BY station ORDER BY ts DESC, n DESC) = 1 ORDER BY ts, n"
    )
    assert_alike(expected, latest, "latest", within=LAST_BITS)
    assert len(latest) == 12
    grouped = told.answer("SELECT station, LAST(pm25) AS pm25, MAX(ts) FROM air GROUP BY station")
    assert grouped == sorted(latest)
    strong = told.answer(
        "SELECT a.station, a.pm25, w.speed FROM air AS a [PARTITION BY station ROWS 1]"
        " LEFT JOIN wind AS w ON a.station = w.station AND a.ts = w.ts AND w.speed > 2"
    )
    expected = told.expected(
        "SELECT a.station, a.pm25, w.speed FROM (SELECT * FROM air"
        " QUALIFY row_number() OVER (PARTITION BY station ORDER BY ts DESC, n DESC) = 1) AS a"
        " LEFT JOIN wind AS w ON a.station = w.station AND a.ts = w.ts AND w.speed > 2 ORDER BY a.ts, a.n"
    )
    assert_alike(expected, strong, "strong", within=LAST_BITS)
    assert len(strong) >= 12
