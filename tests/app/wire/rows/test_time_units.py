"""Instants counted in seconds or milliseconds: converted exactly where declared, warned of where not."""

import json
from typing import Any

import pytest

from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import Declare
from psoup.engine.tuples.schema import schema_from_dict, schema_to_dict
from tests.app.support import START_US, Api, assert_problem

pytestmark = pytest.mark.anyio

AT_S = START_US // SECOND_US
COUNTS = {"s": AT_S, "ms": AT_S * 1_000 + 7, "us": START_US + 7, "ns": START_US * 1_000 + 7_000}
US = {"s": START_US, "ms": START_US + 7_000, "us": START_US + 7, "ns": START_US + 7}
TEXT = "2026-11-21T10:00:00.250000Z"
NDJSON, CSV = "application/x-ndjson", "text/csv"
COLUMNS = "application/vnd.psoup.columns+json"


def declaration(unit: str | None) -> dict[str, Any]:
    ts = {"name": "ts", "type": "timestamp"} | ({} if unit is None else {"unit": unit})
    return {"columns": [ts, {"name": "n", "type": "int64"}], "time": "ts"}


async def declared(api: Api, unit: str | None = None, **more: Any) -> dict[str, Any]:
    answer = await api.send("PUT", "/v1/streams/phone", json=declaration(unit) | more)
    assert 201 == answer.status_code, answer.text
    return dict(answer.json())


async def stored(api: Api) -> list[str]:
    query_id = await api.register("SELECT ts FROM phone")
    return [one["ts"] for one in (await api.results(query_id))["rows"]]


def bodies(values: list[object]) -> dict[str, bytes]:
    """Return the same rows in each format that has integers and texts."""
    rows = [{"ts": value, "n": i} for i, value in enumerate(values)]
    return {
        "application/json": json.dumps(rows).encode(),
        NDJSON: b"\n".join(json.dumps(row).encode() for row in rows),
        CSV: "\n".join(["ts,n", *(f"{row['ts']},{row['n']}" for row in rows), ""]).encode(),
        COLUMNS: json.dumps({"ts": values, "n": list(range(len(values)))}).encode(),
    }


@pytest.mark.parametrize("rows", [1, 40])
@pytest.mark.parametrize("media_type", [*bodies([])])
@pytest.mark.parametrize("unit", [*COUNTS])
async def test_integers_of_a_declared_unit_are_converted_exactly(api: Api, unit, media_type, rows):
    """Few values and many, in each format; the answer is as if microseconds had been sent."""
    await declared(api, unit)
    body = bodies([COUNTS[unit]] * rows)[media_type]
    answer = await api.body(body, media_type, name="phone")
    assert 200 == answer.status_code, answer.text
    assert "warnings" not in answer.json()
    at = US[unit]
    expected = f"2026-11-21T10:00:00.{at - START_US:06d}Z"
    assert [expected] * rows == await stored(api)


@pytest.mark.parametrize("media_type", [*bodies([])])
async def test_texts_are_read_as_ever_beside_a_unit(api: Api, media_type):
    """RFC 3339 has a unit of its own, in the same column and batch."""
    await declared(api, "ms")
    for rows in (1, 40):
        values = [COUNTS["ms"], TEXT] * rows
        assert (
            200
            == (await api.body(bodies(values)[media_type], media_type, name="phone")).status_code
        )
    found = await stored(api)
    assert {TEXT: 41, "2026-11-21T10:00:00.007000Z": 41} == {one: found.count(one) for one in found}


@pytest.mark.parametrize("media_type", [*bodies([])])
@pytest.mark.parametrize(
    ("unit", "count"), [("ns", 1_501), ("s", 10**12), ("ms", -(10**15)), ("ms", 10**30)]
)
async def test_counts_that_are_no_instant_are_refused(api: Api, unit, count, media_type):
    """Between two microseconds, or outside the years 1 to 9999: refused, with the unit that is declared."""
    await declared(api, unit)
    for rows in (0, 40):
        values = [COUNTS[unit]] * rows + [count]
        problem = assert_problem(
            await api.body(bodies(values)[media_type], media_type, name="phone"), "rows-rejected"
        )
        (error,) = problem["errors"]
        assert (rows, "out-of-range", "/ts") == (error["index"], error["code"], error["pointer"])
        assert "seconds" in error["expected"]


async def test_unit_is_part_of_the_declaration(api: Api):
    """It is described, told apart, and only of a timestamp; a declaration without one is written as it always was."""
    described = await declared(api, "ms")
    assert "ms" == described["columns"][0]["unit"]
    assert "unit" not in described["columns"][1]
    again = await api.send("PUT", "/v1/streams/phone", json=declaration("s"))
    assert "columns" == assert_problem(again, "stream-differs")["diff"][0]["member"]
    wrong = {"columns": [{"name": "n", "type": "int64", "unit": "s"}]}
    problem = assert_problem(await api.send("PUT", "/v1/streams/x", json=wrong), "invalid-field")
    assert "/columns/0/unit" == problem["errors"][0]["pointer"]
    schema = api.service.results.stream("phone").schema
    assert schema == schema_from_dict(schema_to_dict(schema))
    plain = schema_to_dict(Declare(schema).schema) | {"columns": [["ts", "timestamp", False]]}
    assert plain == schema_to_dict(schema_from_dict(plain))


@pytest.mark.parametrize("media_type", [*bodies([])])
@pytest.mark.parametrize(("unit", "word"), [("s", "seconds"), ("ms", "milliseconds")])
async def test_counts_of_another_unit_are_stored_with_a_warning(api: Api, unit, word, media_type):
    """A phone's Date.now() is an instant in 1970: accepted as sent, and the answer says what it looks like."""
    await declared(api)
    answer = (
        await api.body(bodies([COUNTS[unit]] * 3)[media_type], media_type, name="phone")
    ).json()
    (warning,) = answer["warnings"]
    assert "timestamp-unit" == warning["code"]
    assert warning["detail"].startswith("ts: ")
    assert f"they look like {word}." in warning["detail"]
    assert f'"unit": "{unit}"' in warning["detail"]
    assert {"1970"} == {one[:4] for one in await stored(api)}


async def test_instants_that_are_plausible_are_not_warned_of(api: Api):
    """Microseconds of the present, small integers, texts, none at all; one that is right among many is enough."""
    await declared(
        api, columns=[{"name": "ts", "type": "timestamp"}, {"name": "u", "type": "timestamp"}]
    )
    for rows in (
        [],
        [{"ts": START_US}],
        [{"ts": 0}, {"ts": 1}],
        [{"ts": TEXT, "u": None}],
        [{"ts": COUNTS["ms"]}, {"ts": START_US}],
    ):
        answer = await api.rows(rows, name="phone")
        assert 200 == answer.status_code
        assert "warnings" not in answer.json()


@pytest.mark.parametrize("media_type", [one for one in bodies([]) if "arrow" not in one])
@pytest.mark.parametrize("written", ["1970-01-11T00:00:00Z", "1970-01-01T00:20:00Z"])
async def test_instants_of_1970_that_are_written_out_are_meant(api: Api, written, media_type):
    """A text says its unit: no count has been mistaken, whatever century it is of."""
    await declared(api)
    answer = await api.body(bodies([written] * 3)[media_type], media_type, name="phone")
    assert 200 == answer.status_code, answer.text
    assert "warnings" not in answer.json()
    assert {"1970"} == {one[:4] for one in await stored(api)}


async def test_staged_rows_are_warned_of_as_sent_ones(api: Api):
    """A part of a commit is checked alike."""
    await declared(api)
    body = bodies([COUNTS["s"]])["application/json"]
    answer = await api.send(
        "POST",
        "/v1/streams/phone/stages",
        content=body,
        headers={"Content-Type": "application/json"},
    )
    assert ["timestamp-unit"] == [one["code"] for one in answer.json()["warnings"]]


async def test_timestamp_that_dates_nothing_is_warned_of_where_it_is_declared(api: Api):
    """A stream with a timestamp and no `time` is declared as asked for, and the answer says what that means."""
    columns = [{"name": "ts", "type": "timestamp"}, {"name": "n", "type": "int64"}]
    for status in (201, 200):
        answer = await api.send("PUT", "/v1/streams/phone", json={"columns": columns})
        assert status == answer.status_code
        (warning,) = answer.json()["warnings"]
        assert "no-time-column" == warning["code"]
        assert '"time": "ts"' in warning["detail"]
    assert "warnings" not in (await api.get("/v1/streams/phone")).json()
    answer = await api.send("PUT", "/v1/streams/other", json={"columns": columns[1:]})
    assert "warnings" not in answer.json()
    answer = await api.send("PUT", "/v1/streams/dated", json={"columns": columns, "time": "ts"})
    assert "warnings" not in answer.json()
