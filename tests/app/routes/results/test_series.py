"""Series over HTTP: an answer at each of a sequence of instants, by one request and at one position."""

import json
from typing import Any

import pyarrow as pa
import pytest

from psoup.engine import limits
from tests.app.support import MOVES_THE_CLOCK, WINDOW, Api, assert_problem, row

pytestmark = pytest.mark.anyio

MINUTE = "BEGIN (NOW - INTERVAL '1' MINUTE) END (NOW)"
COUNTS = f"SELECT COUNT(*) AS n, AVG(px) AS mean FROM trades {MINUTE}"
FORMATS = {
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "csv": "text/csv",
    "arrow": "application/vnd.apache.arrow.stream",
}
ARRIVING = {"columns": [{"name": "qty", "type": "int64"}]}


def instant(second: int) -> str:
    return f"2026-11-21T10:{second // 60:02d}:{second % 60:02d}.000000Z"


async def filled(api: Api, sql: str = COUNTS, **declared: Any) -> str:
    """Return the path of a query's series, over a row each ten seconds of four minutes."""
    await api.declare(**declared)
    query_id = await api.register(sql)
    rows = [
        row(second, px=float(second), sym="ab"[second % 20 > 0]) for second in range(0, 241, 10)
    ]
    await api.rows(rows)
    return f"/v1/queries/{query_id}/series"


async def points(api: Api, path: str, **parameters: str) -> list[dict[str, Any]]:
    answer = await api.get(path, params=parameters)
    assert 200 == answer.status_code, answer.text
    return list(answer.json()["points"])


def rows_of_arrow(body: bytes) -> list[dict[str, Any]]:
    """Return the rows of an Arrow stream, with instants as JSON has them."""
    rows = pa.ipc.open_stream(body).read_all().to_pylist()
    return [{**row, "_now": f"{row['_now']:%Y-%m-%dT%H:%M:%S.%f}Z"} for row in rows]


@pytest.mark.services
async def test_series_holds_the_answer_at_each_instant(api: Api):
    """With the window of each, what it is complete from, and the position that all of them have."""
    path = await filled(api)
    answer = await api.get(path, params={"from": "-2m", "to": instant(200), "every": "30s"})
    body = answer.json()
    assert (instant(240), instant(120), instant(180), "30s") == (
        body["now"],
        body["from"],
        body["to"],
        body["every"],
    )
    assert [
        {
            "now": instant(second),
            "window": {"begin": instant(second - 60), "end": instant(second)},
            "count": 1,
            "complete_from": None,
            "rows": [{"n": 7, "mean": second - 30.0}],
        }
        for second in (120, 150, 180)
    ] == body["points"]
    assert (str(body["gen"]), str(body["seq"]), instant(240)) == tuple(
        answer.headers[f"psoup-{name}"] for name in ("gen", "seq", "now")
    )
    for point in body["points"]:
        now = await api.get(
            path.replace("series", "results"), params={"now": point["now"], "meta": "0"}
        )
        assert now.json()["rows"] == point["rows"]


@pytest.mark.services
async def test_series_walks_back_where_every_is_negative(api: Api):
    """From `from`, NOW by default, to `to`."""
    path = await filled(api)
    found = await points(api, path, every="-1m", to="-150s")
    assert [instant(240), instant(180), instant(120)] == [one["now"] for one in found]
    back = await points(
        api, path, **{"from": instant(60), "to": "2026-11-21T10:00:00Z", "every": "-20s"}
    )
    assert [7, 5, 3, 1] == [one["rows"][0]["n"] for one in back]
    one = await points(api, path, **{"from": "now", "to": "now", "every": "-1h"})
    assert [instant(240)] == [point["now"] for point in one]


@pytest.mark.services
async def test_series_without_parameters_is_what_a_chart_of_the_window_draws(api: Api):
    """From where the window begins to NOW, in as many steps as there are by default; hop by hop where it hops."""
    path = await filled(api)
    found = await points(api, path)
    assert limits.SERIES_POINTS_DEFAULT + 1 == len(found)
    assert (instant(180), instant(240)) == (found[0]["now"], found[-1]["now"])
    landmark = await api.register(
        "SELECT COUNT(*) AS n FROM trades BEGIN ('2026-11-21 10:01:00') END (NOW)"
    )
    found = await points(api, f"/v1/queries/{landmark}/series", every="1m")
    assert [1, 7, 13, 19] == [one["rows"][0]["n"] for one in found]
    hopping = await api.register(f"SELECT COUNT(*) AS n FROM trades {WINDOW} EVERY 50")
    found = await points(api, f"/v1/queries/{hopping}/series", **{"from": "-100s", "every": "7s"})
    assert [instant(second) for second in (100, 150)] == [one["now"] for one in found]
    steps = await points(api, f"/v1/queries/{hopping}/series", **{"from": "-100s"})
    assert [instant(second) for second in (100, 150, 200)] == [one["now"] for one in steps]
    everything = await api.register("SELECT qty FROM trades")
    refused = await api.get(f"/v1/queries/{everything}/series")
    assert_problem(refused, "invalid-field")
    assert ["?from"] == [one["pointer"] for one in refused.json()["errors"]]


@pytest.mark.services
async def test_series_is_written_as_it_is_asked_for(api: Api):
    """Names once; one point a line; counts alone. Rows that are no groups too."""
    path = await filled(api, f"SELECT sym, px FROM trades WHERE px > 30 {MINUTE}")
    asked = {"from": "-210s", "to": "-200s", "every": "10s"}
    body = (await api.get(path, params={**asked, "shape": "columns"})).json()
    assert ["sym", "px"] == body["columns"]
    assert [[], [["a", 40.0]]] == [one["rows"] for one in body["points"]]
    lines = await api.get(
        path, params=asked, headers={"Accept": "text/html, application/x-ndjson;q=0.5"}
    )
    assert "application/x-ndjson" == lines.headers["content-type"]
    read = [json.loads(line) for line in lines.text.splitlines()]
    assert [[], [{"sym": "a", "px": 40.0}]] == [one["rows"] for one in read]
    counts = await points(api, path, **asked, count="only")
    assert [("rows" in one, one["count"]) for one in counts] == [(False, 0), (False, 1)]
    refused = await api.get(path, params=asked, headers={"Accept": "text/html"})
    assert_problem(refused, "not-acceptable", supported=list(FORMATS.values()))


@pytest.mark.services
async def test_series_as_csv_and_arrow_has_the_rows_of_all_points_behind_their_instants(api: Api):
    """The same rows in both, of groups and of others, of points without rows and of no points; or a count a point."""
    path = await filled(api, f"SELECT sym, COUNT(*) AS n FROM trades GROUP BY sym {MINUTE}")
    asked = {"from": "-2m", "every": "1m"}
    points = (await api.get(path, params=asked)).json()["points"]
    expected = [{"_now": one["now"], **row} for one in points for row in one["rows"]]
    assert 6 == len(expected)
    csv = await api.get(path, params={**asked, "format": "csv"})
    assert "text/csv" == csv.headers["content-type"].partition(";")[0]
    lines = [f"{one['_now']},{one['sym']},{one['n']}" for one in expected]
    assert ["_now,sym,n", *lines] == csv.text.splitlines()
    arrow = await api.get(
        path, params=asked, headers={"Accept": "application/vnd.apache.arrow.stream"}
    )
    assert instant(240) == arrow.headers["psoup-now"] == csv.headers["psoup-now"]
    assert expected == rows_of_arrow(arrow.content)
    counts = await api.get(path, params={**asked, "format": "csv", "count": "only"})
    assert [
        "_now,count",
        *(f"{instant(120 + 60 * i)},2" for i in range(3)),
    ] == counts.text.splitlines()
    selected = await api.register(f"SELECT sym, px FROM trades WHERE px = 40 {MINUTE}")
    path = f"/v1/queries/{selected}/series"
    table = await api.get(path, params={"from": "-210s", "every": "1m", "format": "arrow"})
    assert [{"_now": instant(90), "sym": "a", "px": 40.0}] == rows_of_arrow(table.content)
    nothing = await api.get(path, params={"from": "-2m", "every": "1m", "format": "arrow"})
    assert pa.ipc.open_stream(nothing.content).read_all().schema == pa.schema(
        [("_now", pa.timestamp("us", "UTC")), ("sym", pa.string()), ("px", pa.float64())]
    )


async def test_series_tells_in_a_header_from_when_on_its_points_are_whole(api: Api):
    """The latest instant of any: formats without points do not say it of each."""
    path = await filled(api, retention={"rows": 12})
    answer = await api.get(path, params={"from": "-1m", "every": "1m"})
    wholes = [one["complete_from"] for one in answer.json()["points"]]
    assert wholes[0] is not None
    assert max(filter(None, wholes)) == answer.headers["psoup-complete-from"]


@pytest.mark.services
@pytest.mark.parametrize(
    ("parameters", "field"),
    [
        ({"from": "yesterday"}, "?from"),
        ({"to": "1 h"}, "?to"),
        ({"every": "0s"}, "?every"),
        ({"every": "60"}, "?every"),
        ({"every": "2026-11-21"}, "?every"),
        ({"from": "-1h", "every": "-1m", "to": "now"}, "?every"),
        ({"from": "now", "to": "-1h", "every": "1m"}, "?every"),
        ({"from": "-10001ms", "every": "1ms"}, "?every"),
        ({"from": "-4000000d"}, "?from"),
        ({"to": "4000000d", "from": "now"}, "?to"),
    ],
)
async def test_series_that_cannot_be_is_refused_with_the_parameter(api: Api, parameters, field):
    """What it takes is said, and nothing is computed."""
    path = await filled(api)
    answer = await api.get(path, params=parameters)
    assert_problem(answer, "invalid-field")
    assert [field] == [one["pointer"] for one in answer.json()["errors"]]


@pytest.mark.services
async def test_series_reaches_as_far_as_now_does(api: Api):
    """Up to NOW, and back to what retention has kept; by default it begins there."""
    path = await filled(api, f"SELECT COUNT(*) AS n FROM trades {WINDOW}", retention={"time": "2m"})
    for outside in ({"from": "-121s"}, {"to": "1s"}):
        answer = await api.get(path, params=outside)
        assert_problem(answer, "now-out-of-range", oldest=instant(120), newest=instant(240))
    found = await points(api, path, every="1m")
    assert [(1, instant(120)), (7, instant(120)), (13, instant(120))] == [
        (one["rows"][0]["n"], one["complete_from"]) for one in found
    ]


@pytest.mark.services
async def test_series_of_too_many_rows_is_refused(api: Api):
    """It has no pages: the points of a chart are few."""
    await api.declare()
    query_id = await api.register("SELECT px FROM trades BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)")
    await api.rows([row(0, px=1.0) for _ in range(1_000)])
    path = f"/v1/queries/{query_id}/series"
    at_most = limits.SERIES_ROWS_MAX // 1_000
    asked = {"from": f"-{at_most - 1}us", "every": "1us", "count": "only"}
    assert 1_000 == (await points(api, path, **asked))[-1]["count"]
    await api.rows([row(1, px=1.0)])
    refused = await api.get(path, params={"from": f"-{at_most}us", "every": "1us"})
    assert_problem(refused, "answer-too-large", limit=limits.SERIES_ROWS_MAX)


@pytest.mark.services
async def test_series_before_the_first_row_has_no_points(api: Api):
    """There is no NOW to count from. An unknown query is none."""
    await api.declare()
    query_id = await api.register(COUNTS)
    body = (await api.get(f"/v1/queries/{query_id}/series")).json()
    assert (None, None, None, []) == (body["now"], body["from"], body["every"], body["points"])
    unknown = await api.get("/v1/queries/q_0000000000000000000000/series")
    assert_problem(unknown, "not-found")


@pytest.mark.services
async def test_series_tells_of_sums_that_leave_their_type(api: Api):
    """As an answer does: NULL, with a warning."""
    path = await filled(api, f"SELECT SUM(qty) AS total FROM trades {MINUTE}")
    await api.rows([row(240, qty=2**63 - 1), row(241, qty=1)])
    answer = await api.get(path, params={"from": instant(240), "every": "1s"})
    body = answer.json()
    assert [[{"total": 2**63 - 1}], [{"total": None}]] == [one["rows"] for one in body["points"]]
    assert ["overflow"] == [one["code"] for one in body["warnings"]]
    assert "overflow" == answer.headers["psoup-warnings"]


@MOVES_THE_CLOCK
async def test_series_by_the_clock_of_the_service(api: Api):
    """Rows dated by their arrival; NOW is the clock."""
    await api.send("PUT", "/v1/streams/arriving", json=ARRIVING)
    query_id = await api.register(f"SELECT COUNT(*) AS n FROM arriving {MINUTE}")
    await api.rows([{"qty": 1}], name="arriving")
    api.clock.advance(90_000_000)
    found = await points(api, f"/v1/queries/{query_id}/series", **{"from": "-90s", "every": "30s"})
    assert [1, 1, 1, 0] == [one["rows"][0]["n"] for one in found]


@pytest.mark.services
async def test_series_of_too_many_bytes_is_refused(api: Api, monkeypatch: pytest.MonkeyPatch):
    """Whether that shows before its rows are written or behind them, in either format."""
    path = await filled(api)
    size = len((await api.get(path)).content)
    for bytes_max in (size - 1, size // 8):
        monkeypatch.setattr(limits, "PAGE_BYTES_MAX", bytes_max)
        assert_problem(await api.get(path), "answer-too-large", limit=bytes_max)
    lines = await api.get(path, params={"format": "ndjson"})
    assert_problem(lines, "answer-too-large", limit=size // 8)
