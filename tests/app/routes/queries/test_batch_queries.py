"""Registering many queries at once: a line in, a line out, each with the status it would have had alone."""

import asyncio
import dataclasses
import gzip
import hashlib
import json
from typing import Any

import httpx2
import orjson
import pytest

from psoup.app.admission.rates import RATES
from psoup.app.http.access.keys import REGISTER
from psoup.app.http.problems import PROBLEM_TYPES
from psoup.app.routes.queries import batch_queries, registration as registering
from psoup.app.routes.queries.batch_queries import SLICE
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.errors import OverloadedError, StaleDeclarationError
from psoup.engine.store.errors import StoreUnavailableError
from psoup.engine.tuples.batch import Seq
from tests.app.faults import FaultyStore
from tests.app.support import (
    SETTINGS,
    START_US,
    WINDOW,
    Api,
    assert_problem,
    fill_no_more,
    row,
    running,
)
from tests.patience import WAIT_S

pytestmark = pytest.mark.anyio

SQL = f"SELECT sym, px FROM trades WHERE px > 40 {WINDOW}"
NDJSON = "application/x-ndjson"


async def send(api: Api, body: bytes, *, path: str = "", **headers: str) -> httpx2.Response:
    named = {"Content-Type": NDJSON} | {k.replace("_", "-"): v for k, v in headers.items()}
    return await api.send("POST", f"/v1/batch/queries{path}", content=body, headers=named)


async def batch(api: Api, *lines: dict[str, Any] | bytes, path: str = "") -> list[dict[str, Any]]:
    """Send lines, and return the lines of the answer in their order."""
    texts = [line if isinstance(line, bytes) else orjson.dumps(line) for line in lines]
    answer = await send(api, b"\n".join(texts), path=path)
    assert 200 == answer.status_code, answer.text
    assert NDJSON == answer.headers["content-type"]
    assert answer.content == b"" or answer.content.endswith(b"\n")
    found = [orjson.loads(line) for line in answer.content.splitlines()]
    assert list(range(len(found))) == [line["index"] for line in found]
    return found


def outcomes(found: list[dict[str, Any]]) -> list[Any]:
    """Return each line's status, with the code of its problem where it has one."""
    for line in found:
        assert ("problem" in line) == (line["status"] >= 400)
        if "problem" in line:
            problem = line["problem"]
            kind = PROBLEM_TYPES[problem["code"]]
            assert line["status"] == problem["status"] == kind.status
            assert {"type", "title", "detail", "retryable", "instance"} <= set(problem)
    return [line.get("problem", {}).get("code", line["status"]) for line in found]


@pytest.mark.services
async def test_batch_registers_each_line_as_by_itself(api: Api):
    """Every line is 201 with the description that GET gives, and answers old data."""
    await api.declare()
    await api.rows([row(0, sym="A", px=41), row(1, sym="B", px=39)])
    found = await batch(
        api,
        {"sql": SQL, "name": "dear", "labels": {"user": "42"}, "materialize": "complete"},
        {"sql": SQL},
        {"sql": "SELECT * FROM trades"},
    )
    assert [201, 201, 201] == outcomes(found)
    for line in found:
        described = line["query"]
        found_alone = (await api.get(f"/v1/queries/{described['id']}")).json()
        assert found_alone.pop("plan")
        assert described == found_alone
    assert [3, 4, 5] == [line["query"]["seq"] for line in found]
    assert ("dear", {"user": "42"}, "complete") == tuple(
        found[0]["query"][name] for name in ("name", "labels", "materialize")
    )
    assert 1 == (await api.results(found[1]["query"]["id"]))["count"]


@pytest.mark.services
async def test_batch_with_lines_that_are_refused_registers_the_others(api: Api):
    """A line that is refused says why, in its place, and holds nobody up."""
    await api.declare()
    found = await batch(
        api,
        {"sql": SQL},
        {"sql": "SELECT FROM"},
        {"sql": "SELECT * FROM nope"},
        {"sql": "SELECT price FROM trades"},
        {"sql": "SELECT sym, count(*) FROM trades"},
        {"sql": 7},
        {},
        b"[]",
        b'"SELECT"',
        {"sql": SQL, "nmae": "x"},
        {"sql": SQL, "materialize": "some"},
        {"sql": SQL, "name": "a\u0007"},
        {"sql": SQL, "name": "a\u0000"},
        {"sql": SQL},
    )
    assert [
        201,
        "sql-syntax",
        "unknown-stream",
        "unknown-column",
        "unsupported-sql",
        "invalid-field",
        "invalid-field",
        "invalid-field",
        "invalid-field",
        "unknown-field",
        "invalid-field",
        "invalid-field",
        "invalid-field",
        201,
    ] == outcomes(found)
    assert found[3]["problem"]["position"]["column"] == 8
    assert "name" == found[9]["problem"]["nearest"]
    assert "expected one of: auto, partial, complete, none" in str(found[10]["problem"]["errors"])
    assert 2 == len((await api.get("/v1/queries")).json()["queries"])


async def test_batch_lines_are_refused_as_single_requests_are(api: Api):
    """Differential: one line and one request with the same member are the same problem."""
    await api.declare()
    for body in ({"sql": "SELECT price FROM trades"}, {"sql": SQL, "labels": {"a:b": "c"}}, {}):
        (line,) = await batch(api, body)
        alone = (await api.send("POST", "/v1/queries", json=body)).json()
        assert alone | {"instance": ""} == line["problem"] | {"instance": ""}


@pytest.mark.services
async def test_batch_with_one_name_twice_registers_it_once(api: Api):
    """The second line of a name finds the first one's query, or is refused for another definition."""
    await api.declare()
    first, same, other, kept, unnamed = await batch(
        api,
        {"sql": SQL, "name": "dear", "labels": {"a": "1"}},
        {"sql": SQL.lower(), "name": "dear", "labels": {"a": "2"}},
        {"sql": "SELECT * FROM trades", "name": "dear"},
        {"sql": SQL, "name": "dear", "materialize": "none"},
        {"sql": SQL},
    )
    assert [201, 200, "name-taken", "name-taken", 201] == outcomes(
        [first, same, other, kept, unnamed]
    )
    assert first["query"] == same["query"]
    assert first["query"]["id"] == other["problem"]["id"] == kept["problem"]["id"]
    assert first["query"]["id"] != unnamed["query"]["id"]
    (again,) = await batch(api, {"sql": SQL, "name": "dear"})
    assert (200, first["query"]) == (again["status"], again["query"])


async def test_batch_told_to_be_short_answers_handles(api: Api):
    """`describe=ids` leaves of each query its handle and its position; problems stay whole."""
    await api.declare()
    found = await batch(api, {"sql": SQL}, {"sql": "no"}, {"sql": SQL}, path="?describe=ids")
    assert [201, "sql-syntax", 201] == outcomes(found)
    assert {"index", "status", "id", "seq"} == set(found[0])
    described = (await api.get(f"/v1/queries/{found[2]['id']}")).json()
    assert (described["id"], described["seq"]) == (found[2]["id"], found[2]["seq"])
    assert_problem(await send(api, b"{}", path="?describe=no"), "invalid-field")


async def test_batch_passes_over_blank_lines(api: Api):
    """Lines of white space are none: they have no index and no answer."""
    await api.declare()
    line = orjson.dumps({"sql": SQL})
    found = await batch(api, b"", line, b"  \t", line + b"\r", b"")
    assert [201, 201] == outcomes(found)
    assert [] == await batch(api, b"\n \n")


async def test_batch_in_other_media_types_and_encodings(api: Api):
    """The alias and gzip are taken as for rows; JSON and CSV are not."""
    await api.declare()
    body = orjson.dumps({"sql": SQL})
    assert 200 == (await send(api, body, Content_Type="application/jsonl")).status_code
    packed = await send(api, gzip.compress(body), Content_Encoding="gzip")
    assert [201] == outcomes([orjson.loads(packed.content)])
    for media_type in ("application/json", "text/csv"):
        assert_problem(await send(api, body, Content_Type=media_type), "unsupported-media")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"{", None),
        (b"SELECT * FROM trades", None),
        (b'{"sql": "a", "sql": "b"}', "duplicate member"),
        (b'{"sql": "a", "labels": {"x": "1", "x": "1"}}', "duplicate member"),
        (b'{"sql": "\xff"}', "not UTF-8"),
        (b'\xef\xbb\xbf{"sql": "a"}', "bom"),
        (b'{"sql": "\\ud800"}', "lone surrogate"),
        (b'{"sql": NaN}', "not a JSON number"),
        (b'{"sql": ' + b"[" * 40 + b"]" * 40 + b"}", "depth"),
    ],
)
async def test_batch_that_is_not_ndjson_is_refused_whole(api: Api, line, reason):
    """A line that is no strict JSON refuses the body, names the line, and registers nothing."""
    await api.declare()
    good = orjson.dumps({"sql": SQL})
    body = b"\n".join([good, b"", line, good])
    problem = assert_problem(await send(api, body), "bad-body", line=3)
    assert reason is None or reason == problem["reason"]
    if "offset" in problem:
        assert len(good) + 2 <= problem["offset"] <= len(good) + 2 + len(line)
    assert [] == (await api.get("/v1/queries")).json()["queries"]


async def test_batch_without_a_byte_is_refused(api: Api):
    """An empty body is no NDJSON of no lines: it is a body that got lost."""
    assert_problem(await send(api, b""), "bad-body", reason="empty")


async def test_batch_over_a_limit_is_refused_whole(api: Api, monkeypatch):
    """Too many lines, blank ones among them, or too many bytes: nothing is registered."""
    await api.declare()
    monkeypatch.setattr(limits, "BATCH_QUERIES_MAX", 3)
    line = orjson.dumps({"sql": SQL})
    for body in (b"\n".join([line] * 4), b"\n" * 4):
        assert_problem(await send(api, body), "body-too-large", max_lines=3)
    assert 3 == len(await batch(api, line, line, line, b""))
    monkeypatch.setattr(limits, "BODY_INGEST_BYTES_MAX", 100)
    assert_problem(await send(api, line * 2), "body-too-large", max_bytes=100)


async def test_batch_line_over_the_limit_of_a_registration_is_refused(api: Api, monkeypatch):
    """A line has the limit that a request of its own has."""
    await api.declare()
    monkeypatch.setattr(limits, "BODY_REGISTER_BYTES_MAX", 300)
    found = await batch(api, {"sql": SQL}, {"sql": SQL, "labels": {"a": "b" * 120, "c": "d" * 120}})
    assert [201, "body-too-large"] == outcomes(found)


async def test_batch_past_the_quota_is_refused_line_by_line(api: Api, monkeypatch):
    """What fits is registered; the rest is 429 each."""
    await api.declare()
    monkeypatch.setattr(limits, "QUERIES_COUNT_MAX", 2)
    found = await batch(api, *[{"sql": SQL}] * 4)
    assert [201, 201, "quota-exceeded", "quota-exceeded"] == outcomes(found)


async def test_batch_of_many_slices_keeps_the_order(api: Api, monkeypatch):
    """Lines are registered in their order, wherever they are cut, and others are answered meanwhile."""
    await api.declare()
    monkeypatch.setattr(batch_queries, "SLICE", 7)
    names = [f"n{i}" for i in range(40)]
    registering = asyncio.create_task(
        batch(api, *[{"sql": SQL, "name": name} for name in names], path="?describe=ids")
    )
    others = [await api.register("SELECT px FROM trades") for _ in range(3)]
    found = await registering
    seqs = [line["seq"] for line in found]
    assert sorted(set(seqs)) == seqs
    listed = (await api.get("/v1/queries?limit=100")).json()["queries"]
    assert names == [one["name"] for one in listed if one["name"]]
    assert set(others) == {one["id"] for one in listed if not one["name"]}


async def test_batch_answers_carry_the_last_position(api: Api):
    """`Psoup-Seq` shows all of them; where nothing was registered there is none."""
    await api.declare()
    answer = await send(api, b'{"sql": "SELECT * FROM trades"}\n{"sql": "x"}')
    durability = api.service.store.durability
    assert ("2", durability) == (answer.headers["psoup-seq"], answer.headers["psoup-durability"])
    assert "psoup-seq" not in (await send(api, b'{"sql": "x"}')).headers


@pytest.fixture
def store() -> FaultyStore:
    return FaultyStore(ManualClock(START_US))


async def test_batch_that_is_not_applied_in_time_is_202_or_not_begun(store, monkeypatch):
    """What is committed is filling, and described so; what was not begun says so and can be sent again."""
    monkeypatch.setattr(batch_queries, "SLICE", 3)
    store.log.tells_ids = False
    quick = dataclasses.replace(SETTINGS, register_deadline_s=1, invoke_deadline_s=1)
    async with running(quick, store=store) as api:
        await api.declare()
        lines = [{"sql": SQL, "name": "dear"}, {"sql": SQL, "name": "dear"}, {"sql": SQL}]
        with store.waiting("log", "read"):
            found = await batch(api, *lines, *lines)
            assert [202] * 3 + ["overloaded"] * 3 == outcomes(found)
            described = [line["query"] for line in found[:3]]
            assert {"filling"} == {one["state"] for one in described}
            assert described[0] == described[1]
            listed = (await api.get("/v1/queries?state=filling")).json()["queries"]
            assert [described[0], described[2]] == listed
        assert await api.service.applied.wait(Seq(3), timeout_s=WAIT_S)
        assert [200, 200, 201] == outcomes(await batch(api, *lines))


async def test_batch_whose_first_slice_meets_a_store_that_is_away_is_refused_whole(store):
    """Nothing was stored: it is one problem, with Retry-After."""
    async with running(store=store) as api:
        await api.declare()
        with store.failing("log", "append_many", StoreUnavailableError("Away.")):
            assert_problem(await send(api, orjson.dumps({"sql": SQL})), "store-unavailable")


async def test_batch_whose_later_slice_meets_a_store_that_is_away_says_so_by_line(
    store, monkeypatch
):
    """What was registered before is told; each of the others has the problem in its place."""
    monkeypatch.setattr(batch_queries, "SLICE", 2)
    async with running(store=store) as api:
        await api.declare()
        calls = []

        def away() -> None:
            calls.append(1)
            if len(calls) == 2:
                raise StoreUnavailableError("Away.")

        store.log.before["append_many"] = away
        found = await batch(api, *[{"sql": SQL}] * 5)
    assert [201, 201, "store-unavailable", "store-unavailable", 201] == outcomes(found)
    assert found[2]["problem"]["retryable"]


async def test_batch_bound_to_a_stream_declared_anew_is_bound_once_more(api: Api, monkeypatch):
    """A stream that changes under way is found stale by the log, and its lines are bound again."""
    await api.declare()
    plain = registering.prepare
    stale = {1, 3}
    count = -1

    def prepare(body, *, streams, **more):
        nonlocal count
        count += 1
        if count in stale:
            streams = {name: (Seq(99), schema) for name, (_, schema) in streams.items()}
        return plain(body, streams=streams, **more)

    monkeypatch.setattr(batch_queries, "prepare", prepare)
    found = await batch(api, *[{"sql": SQL, "name": f"n{i}"} for i in range(5)])
    assert [201] * 5 == outcomes(found)
    assert [f"n{i}" for i in range(5)] == [line["query"]["name"] for line in found]
    stale |= set(range(count, count + 20))
    found = await batch(api, {"sql": SQL})
    assert [StaleDeclarationError.code] == outcomes(found)


async def test_batch_takes_one_place_among_appends(store):
    """A slice on its way counts as one append, and is refused as one."""
    async with running(dataclasses.replace(SETTINGS, appends_in_flight=1), store=store) as api:
        await api.declare()
        with store.waiting("log", "append_many") as reached:
            first = asyncio.create_task(batch(api, {"sql": SQL}, {"sql": SQL}))
            assert await asyncio.to_thread(reached.wait, WAIT_S)
            assert 1 == api.service.submission.statistics().in_flight
            answer = await send(api, orjson.dumps({"sql": SQL}))
            assert_problem(answer, OverloadedError.code, reason="appends-in-flight")
        assert [201, 201] == outcomes(await first)


async def test_batch_counts_as_requests_of_a_key_by_its_lines(tmp_path):
    """A full batch is a key's burst of registrations; the next one is told when to come."""
    keys = tmp_path / "keys"
    digest = hashlib.sha256(b"secret").hexdigest()
    keys.write_text(json.dumps({"id": "k", "sha256": digest, "scopes": [REGISTER, "admin"]}) + "\n")
    async with running(dataclasses.replace(SETTINGS, keys_file=keys)) as api:
        fill_no_more(api)
        api.client.headers["Authorization"] = "Bearer secret"
        line = orjson.dumps({"sql": "x"})
        lines = limits.BATCH_QUERIES_MAX - 2 * batch_queries.LINES_PER_UNIT
        body = b"\n".join([line] * lines)
        assert 200 == (await send(api, body)).status_code
        answer = await send(api, body)
        assert_problem(answer, "rate-limited")
        assert int(answer.headers["retry-after"]) in (5, 6)
        one = await send(api, b"\n".join([line] * batch_queries.LINES_PER_UNIT))
        assert 200 == one.status_code, "what is left of the burst is one request"
        del api.client.headers["Authorization"]
        assert_problem(await send(api, body), "unauthenticated")
    assert limits.BATCH_QUERIES_MAX == batch_queries.LINES_PER_UNIT * RATES["register"].burst
    assert 0 < SLICE < limits.BATCH_QUERIES_MAX
