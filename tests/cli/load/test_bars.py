"""Bars of stock prices from a file to a chart: loaded, a leaderboard, and by day over a year in one request."""

import lzma

import duckdb
import httpx2
import pytest

from tests.patience import WAIT_S

FILE = "stocks-sp500/prices-2013-02-to-2016-12.csv.xz"
BARS = (
    "SELECT Name, FIRST(open) AS o, MAX(high) AS h, MIN(low) AS l, LAST(close) AS c, SUM(volume) AS v FROM prices"
    " GROUP BY Name ORDER BY v DESC LIMIT 10 BEGIN (NOW - INTERVAL '30' DAY) END (NOW)"
)
THEIRS = (
    "SELECT Name, arg_min(open, date), max(high), min(low), arg_max(close, date), sum(volume) AS v FROM prices"
    " WHERE date BETWEEN TIMESTAMP '{now}' - INTERVAL 30 DAY AND TIMESTAMP '{now}'"
    " GROUP BY Name ORDER BY v DESC LIMIT 10"
)


@pytest.fixture(params=[60_000, pytest.param(None, marks=pytest.mark.slow)], ids=["some", "all"])
def rows(request):
    """Return how many rows of the file are loaded; None = all."""
    return request.param


@pytest.fixture
def prices(data_folder, tmp_path, rows):
    """Yield a database of DuckDB with the same rows."""
    with lzma.open(data_folder / FILE, "rt") as lines:
        kept = lines.readlines()
    path = tmp_path / "prices.csv"
    path.write_text("".join(kept if rows is None else kept[: rows + 1]))
    with duckdb.connect() as database:
        database.execute(
            f"CREATE TABLE prices AS SELECT * REPLACE (CAST(date AS TIMESTAMP) AS date) FROM read_csv('{path}')"
        )
        yield database


def test_oracle_bars_of_a_loaded_file_and_their_series_answer_as_duckdb(
    psoup, data_folder, prices, rows
):
    """The ten that were traded most in a month: open, high, low, close and volume, now and on each day of a year."""
    limit = () if rows is None else ("--limit", rows)
    psoup("load", data_folder / FILE, "--stream", "prices", "--time", "date", *limit)
    with httpx2.Client(base_url=psoup.url, timeout=WAIT_S) as client:
        query = client.post("/v1/queries", json={"sql": BARS}).json()
        shown = client.get(query["links"]["results"]).json()
        path = f"/v1/queries/{query['id']}/series"
        year = client.get(path, params={"from": "-365d", "every": "1d"}).json()["points"]
    assert 366 == len(year)
    assert (shown["now"], bars(shown["rows"])) == (year[-1]["now"], bars(year[-1]["rows"]))
    for point in year[::30]:
        assert expected(prices, point["now"]) == bars(point["rows"])
    assert 10 == len(shown["rows"])
    assert expected(prices, shown["now"]) == bars(shown["rows"])


def bars(answer):
    return [tuple(row[name] for name in ("Name", "o", "h", "l", "c", "v")) for row in answer]


def expected(prices, now):
    """Return what DuckDB answers at an instant."""
    return prices.execute(THEIRS.format(now=now.removesuffix("Z"))).fetchall()
