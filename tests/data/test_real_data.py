"""Real data through the engine: the standing queries its users would want, as DuckDB answers them."""

import pyarrow.compute as pc

from psoup.engine.limits import DAY_US, SECOND_US
from psoup.engine.query.window import Bound, Window
from tests.data import real_streams
from tests.data.standing import Standing, compare_with_duckdb, sliding
from tests.strategies_sql import instant

MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US


def landmark(select: str, begin_us: int) -> Standing:
    """Return `select` over everything from an instant on."""
    window = Window(Bound(begin_us, moving=False), Bound(0, moving=True))
    return Standing(select, f"BEGIN (TIMESTAMP '{instant(begin_us)}') END (NOW)", window)


def test_oracle_earthquakes_with_real_lateness_answer_as_duckdb(data_folder):
    """The mobile alert: magnitude 4.5 or more in the last hour, though reports come weeks late."""
    quakes = real_streams.earthquakes(data_folder)
    strong = "SELECT ts, place, mag FROM quakes WHERE mag >= 4.5"
    alaska = "SELECT id, mag FROM quakes WHERE place LIKE '%Alaska' AND mag BETWEEN 3 AND 4"
    blasts = "SELECT * FROM quakes WHERE type <> 'earthquake' AND mag > 1"
    deep = "SELECT id, depth / 1.609344 AS miles FROM quakes WHERE depth > 500 OR mag IS NULL"
    queries = [
        sliding(strong, "'1' HOUR", HOUR_US),
        sliding(strong, "'7' DAY", 7 * DAY_US),
        sliding(blasts, "'3' DAY", 3 * DAY_US),
        Standing(deep),
        Standing(alaska),
        sliding(
            "SELECT id FROM quakes WHERE updated - INTERVAL '20' DAY > ts", "'60' DAY", 60 * DAY_US
        ),
    ]
    compare_with_duckdb(quakes, queries, batch_rows=1_000)


def test_oracle_stock_prices_of_microsoft_answer_as_duckdb(data_folder):
    """TelegraphCQ's landmark and sliding queries on MSFT, and a few a trader would add."""
    prices = real_streams.stock_prices(data_folder)
    dear = "SELECT * FROM prices WHERE Name = 'MSFT' AND close > 50"
    of_day_101 = pc.equal(prices.tuples["day"], 101)
    day_101_us = prices.tuples["ts"].filter(of_day_101)[0].value
    queries = [
        sliding(dear, "'30' DAY", 30 * DAY_US),
        landmark("SELECT close, day FROM prices WHERE Name = 'MSFT' AND close > 50.00", day_101_us),
        sliding("SELECT day, close FROM prices WHERE Name = 'MSFT'", "'4' DAY", 4 * DAY_US),
        Standing("SELECT Name, day, volume FROM prices WHERE open IS NULL OR volume = 0"),
        sliding(
            "SELECT Name, (high - low) / close AS swing FROM prices"
            " WHERE (high - low) / close > 0.1 AND Name NOT LIKE 'A%'",
            "'365' DAY",
            365 * DAY_US,
        ),
        Standing("SELECT day, close FROM prices WHERE Name IN ('BRK.B', 'BF.B') AND day % 100 = 1"),
    ]
    compare_with_duckdb(prices, queries, batch_rows=40_000, instants=4)


def test_oracle_office_sensors_answer_as_duckdb(data_folder):
    """A lamp left on in an empty room, stale air while someone is there."""
    lamp = "SELECT ts, light FROM office WHERE light > 400 AND occupied = 0"
    stale = "SELECT ts, co2 FROM office WHERE co2 > 1000 AND occupied = 1"
    queries = [
        sliding(lamp, "'15' MINUTE", 15 * MINUTE_US),
        Standing(lamp),
        sliding(stale, "'10' MINUTE", 10 * MINUTE_US),
        sliding(stale, "'1' DAY", DAY_US),
        Standing("SELECT ts, temperature FROM office WHERE NOT temperature BETWEEN 19.5 AND 24"),
    ]
    compare_with_duckdb(real_streams.office(data_folder), queries, batch_rows=500, instants=9)


def test_oracle_dns_with_real_disorder_answers_as_duckdb(data_folder):
    """Names that do not exist in the last minute, though a quarter of the records comes late."""
    missing = "SELECT ts, \"id.orig_h\", query FROM dns WHERE rcode_name = 'NXDOMAIN'"
    queries = [
        sliding(missing, "'1' MINUTE", MINUTE_US),
        sliding("SELECT query, rtt FROM dns WHERE rtt > 0.5", "'5' MINUTE", 5 * MINUTE_US),
        sliding("SELECT query FROM dns WHERE rcode_name IS NULL", "'1' MINUTE", MINUTE_US),
        Standing("SELECT query, qtype_name FROM dns WHERE qtype_name NOT IN ('A', 'AAAA', 'PTR')"),
    ]
    compare_with_duckdb(real_streams.dns(data_folder), queries, batch_rows=1_500)


def test_oracle_tls_with_real_disorder_answers_as_duckdb(data_folder):
    """Connections that were not established, though four records of five come late."""
    refused = 'SELECT ts, "id.orig_h", server_name FROM tls WHERE NOT established'
    queries = [
        sliding(refused, "'1' MINUTE", MINUTE_US),
        sliding(f"{refused} AND server_name LIKE '%.com'", "'10' MINUTE", 10 * MINUTE_US),
        Standing('SELECT version FROM tls WHERE established AND "id.resp_p" <> 443'),
        sliding("SELECT version FROM tls WHERE version IS NOT NULL", "'30' SECOND", 30 * SECOND_US),
    ]
    compare_with_duckdb(real_streams.tls(data_folder), queries, batch_rows=2_000)
