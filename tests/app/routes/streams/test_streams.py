"""Streams over HTTP: declaring, describing, listing, dropping."""

import pytest

from tests.app.support import MOVES_THE_CLOCK, SETTINGS, START_US, Api, assert_problem, row, running

pytestmark = pytest.mark.anyio


@pytest.mark.services
async def test_put_stream_new_is_created(api: Api):
    """A declaration is answered 201 with the stream, its place and its position."""
    answer = await api.declare(retention={"time": "PT1H", "rows": 5, "bytes": "2GiB"})
    assert 201 == answer.status_code
    assert "/v1/streams/trades" == answer.headers["location"]
    assert api.service.store.durability == answer.headers["psoup-durability"]
    body = answer.json()
    assert {"time": "1h", "rows": 5, "bytes": 2 * 2**30} == body["retention"]
    assert ("ts", "high-water", "1d", 0) == (
        body["time"],
        body["clock"],
        body["future"],
        body["rows"],
    )
    assert {"name": "ts", "type": "timestamp", "nullable": False} == body["columns"][0]


@pytest.mark.services
async def test_put_stream_identical_is_found(api: Api):
    """The same declaration in other words is the same stream: 200, and the position of the first."""
    first = await api.declare(retention={"time": "90m"})
    again = await api.declare(retention={"time": "PT1H30M"})
    assert (200, first.json()["seq"]) == (again.status_code, again.json()["seq"])


@pytest.mark.services
async def test_put_stream_other_definition_is_refused_with_the_differences(api: Api):
    """Another declaration under the name is 409 and names the members that differ."""
    await api.declare()
    answer = await api.declare(future="2d")
    body = assert_problem(answer, "stream-differs")
    assert [{"member": "future", "declared": "1d", "given": "2d"}] == body["diff"]


@pytest.mark.parametrize(
    ("members", "pointers"),
    [
        ({"columns": []}, ["/columns", "/time"]),
        ({"columns": [{"name": "_id", "type": "int64"}], "time": None}, ["/columns/0/name"]),
        ({"time": "nope"}, ["/time"]),
        ({"time": "px"}, ["/time"]),
        ({"clock": "high-water", "time": None}, ["/clock"]),
        ({"columns": [{"name": "a", "type": "int32"}]}, ["/columns/0/type"]),
        ({"columns": [{"name": "a", "type": "int64", "nullable": "yes"}]}, ["/columns/0/nullable"]),
        ({"retention": {"rows": "12", "bytes": 1.5}}, ["/retention/rows", "/retention/bytes"]),
        ({"retention": {"time": "soon"}}, ["/retention/time"]),
        ({"retention": {"rows": 0}}, ["/retention/rows"]),
        ({"future": 5}, ["/future"]),
        ({"time": "a\0b"}, ["/time"]),
    ],
)
async def test_put_stream_wrong_members_are_all_named(api: Api, members, pointers):
    """A declaration that cannot be is 422 with the pointers of everything wrong, and nothing is stored."""
    body = assert_problem(await api.declare(**members), "invalid-field")
    assert pointers == [one["pointer"] for one in body["errors"]]
    assert [] == (await api.get("/v1/streams")).json()["streams"]
    assert 201 == (await api.declare()).status_code


async def test_put_stream_bad_name_is_refused(api: Api):
    """A name outside its pattern cannot be declared."""
    assert_problem(await api.declare("9lives"), "invalid-field")


@pytest.mark.services
async def test_get_stream_tells_what_it_holds(api: Api):
    """A description carries rows, bytes, the oldest and newest time and the number of queries."""
    await api.declare()
    await api.rows([row(5), row(-5)])
    await api.register("SELECT * FROM trades")
    body = (await api.get("/v1/streams/trades")).json()
    assert (2, 1) == (body["rows"], body["queries"])
    assert "2026-11-21T09:59:55.000000Z" == body["oldest"]
    assert "2026-11-21T10:00:05.000000Z" == body["newest"]
    assert body["complete_from"] is None
    assert body["bytes"] > 0


@pytest.mark.services
async def test_list_streams_pages_go_on_by_name(api: Api):
    """A list comes in pages; each goes on after the last name of the one before."""
    for name in ("c", "a", "b"):
        await api.declare(name)
    first = (await api.get("/v1/streams?limit=2")).json()
    assert ["a", "b"] == [one["name"] for one in first["streams"]]
    second = (await api.get(first["next"])).json()
    assert ["c"] == [one["name"] for one in second["streams"]]
    assert second["next"] is None


@pytest.mark.services
async def test_delete_stream_with_queries_needs_cascade(api: Api):
    """A stream that queries use is dropped only together with them."""
    await api.declare()
    query_id = await api.register("SELECT * FROM trades")
    assert_problem(await api.send("DELETE", "/v1/streams/trades"), "has-queries", queries=1)
    gone = await api.send("DELETE", "/v1/streams/trades?cascade=true")
    assert (204, b"") == (gone.status_code, gone.content)
    assert_problem(await api.get("/v1/streams/trades"), "not-found")
    assert_problem(await api.get(f"/v1/queries/{query_id}"), "not-found")
    assert_problem(await api.send("DELETE", "/v1/streams/trades"), "not-found")


@pytest.mark.services
async def test_delete_stream_declared_again_is_another_stream(api: Api):
    """After a drop the name is free; rows are checked against the declaration in force."""
    await api.declare()
    await api.rows([row()])
    await api.send("DELETE", "/v1/streams/trades")
    await api.declare(columns=[{"name": "a", "type": "int64"}], time=None)
    assert_problem(await api.rows([row()]), "rows-rejected")
    assert 200 == (await api.rows([{"a": 1}])).status_code
    assert 1 == await api.count()


@pytest.mark.services
async def test_stream_declared_by_another_worker_is_loaded_again(api: Api):
    """A cached declaration that the log calls stale is loaded again, and the batch is checked anew."""
    await api.declare()
    await api.rows([row()])
    stale = api.service.catalogue.stream("trades")
    await api.send("DELETE", "/v1/streams/trades")
    await api.declare(columns=[{"name": "ts", "type": "timestamp"}])
    api.service.catalogue._held["trades"] = stale
    assert 200 == (await api.rows([row()])).status_code
    assert 1 == await api.count()


@MOVES_THE_CLOCK
async def test_rows_of_an_arrival_time_stream_tell_the_servers_clock():
    """NOW of a stream without a time column is the server's clock."""
    async with running(SETTINGS) as api:
        await api.declare(columns=[{"name": "a", "type": "int64"}], time=None)
        answer = await api.rows({"a": 1})
        assert "2026-11-21T10:00:00.000000Z" == answer.json()["now"]
        assert START_US == api.clock.now_us()
