"""The latest rows of a stream."""

import pytest

from psoup.engine import limits
from tests.app.support import START_US, Api, assert_problem, row

pytestmark = pytest.mark.anyio


@pytest.mark.services
async def test_sample_is_the_latest_rows_newest_last(api: Api):
    """With ids, all columns, NULLs, and how many rows are held."""
    await api.declare()
    empty = (await api.get("/v1/streams/trades/sample")).json()
    assert ([], 0) == (empty["rows"], empty["count"])
    await api.rows([row(i, sym="A", px=float(i)) for i in range(25)])
    found = (await api.get("/v1/streams/trades/sample")).json()
    assert ("trades", 25) == (found["stream"], found["count"])
    assert {"name": "ts", "type": "timestamp"} == found["columns"][0]
    assert list(range(6, 26)) == [int(one["_id"]) for one in found["rows"]]
    last = {"_id": "25", "ts": "2026-11-21T10:00:24.000000Z", "sym": "A", "px": 24.0}
    assert {**last, "qty": None, "up": None} == found["rows"][-1]
    few = (await api.get("/v1/streams/trades/sample", params={"limit": "2"})).json()
    assert ["24", "25"] == [one["_id"] for one in few["rows"]]


@pytest.mark.services
async def test_sample_is_of_rows_that_retention_keeps(api: Api):
    """By number and by time."""
    await api.declare(retention={"rows": 3})
    await api.rows([row(i) for i in range(9)])
    found = (await api.get("/v1/streams/trades/sample")).json()
    assert (["7", "8", "9"], 3) == ([one["_id"] for one in found["rows"]], found["count"])
    await api.declare("late", retention={"time": "10s"})
    await api.rows([{"ts": START_US}, row(60), row(1)], name="late")
    kept = (await api.get("/v1/streams/late/sample")).json()["rows"]
    assert ["11"] == [one["_id"] for one in kept]


@pytest.mark.services
async def test_sample_finds_what_is_kept_before_late_rows_that_are_gone(api: Api):
    """Rows that came too late for retention take no place of those that are held."""
    await api.declare(retention={"time": "10s"})
    await api.rows([row(i) for i in range(60, 65)])
    await api.rows([row(i) for i in range(40)])
    found = (await api.get("/v1/streams/trades/sample", params={"limit": "3"})).json()
    assert ["3", "4", "5"] == [one["_id"] for one in found["rows"]]


@pytest.mark.services
async def test_sample_of_long_rows_is_cut_to_the_newest(api: Api, monkeypatch):
    """Rows have up to 32 KiB each; one of them is shown in any case."""
    await api.declare()
    await api.rows([row(i, sym="x" * 1_000) for i in range(20)])
    monkeypatch.setattr(limits, "SAMPLE_BYTES_MAX", 5_000)
    answer = await api.get("/v1/streams/trades/sample")
    ids = [one["_id"] for one in answer.json()["rows"]]
    assert ids == [str(i) for i in range(21 - len(ids), 21)]
    assert 3 <= len(ids) <= 5
    monkeypatch.setattr(limits, "SAMPLE_BYTES_MAX", 1)
    (last,) = (await api.get("/v1/streams/trades/sample")).json()["rows"]
    assert "20" == last["_id"]


async def test_sample_is_bounded(api: Api, monkeypatch):
    """A larger limit is clipped; one that is none is refused; so are streams that are not declared."""
    await api.declare()
    await api.rows([row(i) for i in range(5)])
    monkeypatch.setattr(limits, "SAMPLE_ROWS_MAX", 3)
    found = (await api.get("/v1/streams/trades/sample", params={"limit": "100"})).json()
    assert 3 == len(found["rows"])
    wrong = await api.get("/v1/streams/trades/sample", params={"limit": "0"})
    assert_problem(wrong, "invalid-field")
    assert_problem(await api.get("/v1/streams/trade/sample"), "not-found", nearest="trades")
