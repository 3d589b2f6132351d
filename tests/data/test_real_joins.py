"""Real streams joined: what their users would want to know of both, as DuckDB answers it."""

import pytest

from psoup.engine.limits import DAY_US, SECOND_US
from tests.data import real_streams
from tests.data.joined import compare_joins, orders
from tests.data.real_streams import RealStream
from tests.data.standing import Standing, sliding

HOUR_US = 3_600 * SECOND_US

ORDERS = ("before", "after", "between")


def orders_with(played: str) -> pytest.MarkDecorator:
    """Return the orders of a test, of which the suite plays one."""
    marks = {order: [] if order == played else [pytest.mark.slow] for order in ORDERS}
    return pytest.mark.parametrize("order", [pytest.param(o, marks=marks[o]) for o in ORDERS])


@orders_with("between")
def test_oracle_flights_with_weather_answer_as_duckdb(data_folder, order):
    """Departures more than an hour late, with the weather of that airport and hour where one saw little."""
    flights, weather = real_streams.flights(data_folder), real_streams.weather(data_folder)
    late = (
        "SELECT f.carrier, f.flight, w.visib FROM flights AS f, weather AS w"
        " WHERE f.origin = w.origin AND f.hour = w.hour AND f.dep_delay > 60 AND w.visib < 2"
    )
    by_time = (
        "SELECT f.carrier, f.tailnum, w.pressure, w.temp FROM weather AS w JOIN flights AS f"
        " ON f.origin = w.origin AND f.ts BETWEEN w.ts AND w.ts + INTERVAL '59' MINUTE"
        " WHERE f.dep_delay > 90 AND (w.wind_speed > 20 OR w.pressure IS NULL)"
    )
    again = (
        "SELECT a.tailnum, a.flight, b.flight AS next FROM flights AS a, flights AS b"
        " WHERE a.tailnum = b.tailnum AND a.origin <> b.origin AND a.dep_delay > 30 AND b.dep_delay > 30"
        " AND b.ts BETWEEN a.ts AND a.ts + INTERVAL '6' HOUR"
    )
    queries = [
        sliding(late, "'6' HOUR", 6 * HOUR_US),
        Standing(f"{late} AND w.temp < 33"),
        sliding(by_time, "'7' DAY", 7 * DAY_US),
        Standing(late.replace("weather AS w", "weather [RANGE INTERVAL '3' HOUR] AS w")),
        Standing(again),
    ]
    batches = orders(flights, weather, batch_rows=6_000)[order]
    compare_joins([flights, weather], queries, batches)


@orders_with("before")
def test_oracle_ticker_mentions_with_prices_answer_as_duckdb(data_folder, order):
    """Companies much talked about on a day on which their price moved."""
    mentions, prices = real_streams.mentions(data_folder), real_streams.stock_prices(data_folder)
    spring = RealStream(prices.schema, prices.tuples.slice(245_000, 40_000))
    moved = (
        "SELECT m.symbol, m.n, p.close FROM mentions AS m, prices AS p WHERE m.symbol = p.Name"
        " AND m.ts BETWEEN p.ts AND p.ts + INTERVAL '1' DAY AND m.n > 80"
        " AND ABS(p.close - p.open) / p.open > 0.02"
    )
    dear = (
        "SELECT m.n, p.Name, q.Name AS other FROM mentions AS m, prices AS p, prices AS q"
        " WHERE m.symbol = p.Name AND p.ts = q.ts AND q.close > 4 * p.close AND q.close > 500"
        " AND m.n > 1000 AND m.ts BETWEEN p.ts AND p.ts + INTERVAL '12' HOUR"
    )
    queries = [Standing(moved), sliding(moved, "'10' DAY", 10 * DAY_US), Standing(dear)]
    batches = orders(mentions, spring, batch_rows=9_000)[order]
    compare_joins([mentions, spring], queries, batches)


@orders_with("between")
def test_oracle_tls_with_oddities_of_the_connection_answer_as_duckdb(data_folder, order):
    """Connections in which a protocol went astray within a minute; both logs come in real disorder."""
    tls, weird = real_streams.tls(data_folder), real_streams.weird(data_folder)
    odd = "SELECT t.uid, w.name, t.server_name FROM tls AS t, weird AS w WHERE t.uid = w.uid"
    queries = [
        sliding(f"{odd} AND NOT t.established", "'1' MINUTE", 60 * SECOND_US),
        Standing(f"{odd} AND w.ts BETWEEN t.ts AND t.ts + INTERVAL '20' SECOND AND w.addl IS NULL"),
        Standing(f"{odd} AND w.ts > t.ts + INTERVAL '30' SECOND"),
        Standing(odd.replace("weird AS w", "weird [RANGE INTERVAL '2' MINUTE] AS w")),
    ]
    batches = orders(tls, weird, batch_rows=3_500)[order]
    compare_joins([tls, weird], queries, batches)


@orders_with("after")
def test_oracle_sales_with_their_cancellations_answer_as_duckdb(data_folder, order):
    """Cancellations with the sale they undo: of the same customer, article and quantity, up to 30 days before."""
    sales, cancels = real_streams.retail_lines(data_folder, 60_000)
    undone = (
        "SELECT s.invoice, c.invoice AS by, s.quantity * s.price AS money FROM sales AS s, cancels AS c"
        " WHERE s.customer = c.customer AND s.stock = c.stock"
    )
    queries = [
        Standing(f"{undone} AND c.ts BETWEEN s.ts AND s.ts + INTERVAL '30' DAY"),
        Standing(f"{undone} AND c.quantity = -s.quantity AND c.ts > s.ts"),
        sliding(undone, "'3' DAY", 3 * DAY_US),
        sliding(f"{undone} AND c.price <> s.price", "'30' DAY", 30 * DAY_US),
    ]
    batches = orders(sales, cancels, batch_rows=5_000)[order]
    compare_joins([sales, cancels], queries, batches)
