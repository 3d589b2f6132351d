"""Raw batches, and the hold under which they outlive retention: what an archive is written from."""

import dataclasses
import io
import time
from typing import Any

import pyarrow as pa
import pytest

from psoup.app.wire.rows.body import ARROW, COLUMNS
from psoup.engine import limits
from psoup.engine.limits import RETIRED_US, SECOND_US, SEGMENT_ROWS
from tests.app.routes.rows.test_rows import EXPECTED, SCHEMA, TABLE, arrow_body
from tests.app.staged import staged_commit
from tests.app.support import (
    MOVES_THE_CLOCK,
    SETTINGS,
    START_US,
    Api,
    assert_problem,
    row,
    running,
)
from tests.patience import WAIT_S

pytestmark = pytest.mark.anyio
BATCHES = "/v1/streams/trades/batches"
ARCHIVE = "/v1/streams/trades/archive"


async def fetch(api: Api, seq: int, **headers: str) -> pa.Table:
    """Return one batch."""
    answer = await api.get(f"{BATCHES}/{seq}", headers=headers)
    assert (200, ARROW) == (answer.status_code, answer.headers["content-type"])
    return pa.ipc.open_stream(io.BytesIO(answer.content)).read_all()


async def listed(api: Api, query: str = "") -> list[int]:
    """Return the positions of a stream's batches."""
    answer = await api.get(f"{BATCHES}?{query}")
    assert 200 == answer.status_code, answer.text
    return [one["seq"] for one in answer.json()["batches"]]


async def hold(api: Api, through: int) -> Any:
    """Hold what lies past `through`; return what is held."""
    answer = await api.send("PUT", ARCHIVE, json={"through": through})
    assert 200 == answer.status_code, answer.text
    return answer.json()


@pytest.mark.services
async def test_batch_is_what_was_sent(api: Api):
    """Every value of every type comes back as it came in, with ids, position and arrival before the columns."""
    await api.declare()
    query_id = await api.register("SELECT * FROM trades")
    assert 200 == (await api.rows([row(9)])).status_code
    sent = (await api.body(arrow_body(TABLE, SCHEMA), ARROW)).json()
    found = await fetch(api, sent["seq"])
    added = [("_id", pa.int64()), ("_seq", pa.int64()), ("_arrival", pa.timestamp("us", "UTC"))]
    fields = [pa.field(name, kind, nullable=False) for name, kind in added]
    assert pa.schema([*fields, *SCHEMA]) == found.schema
    given = pa.Table.from_pydict(TABLE, schema=SCHEMA)
    assert given.equals(found.drop_columns([name for name, _ in added]))
    assert [sent["seq"]] * 2 == found["_seq"].to_pylist()
    shown = (await api.results(query_id))["rows"]
    assert EXPECTED == [{name: one[name] for name in SCHEMA.names} for one in shown[:2]]
    assert [int(one["_id"]) for one in shown[:2]] == found["_id"].to_pylist()
    (arrival,) = set(found["_arrival"].cast(pa.int64()).to_pylist())
    before = (await fetch(api, sent["seq"] - 1))["_arrival"].cast(pa.int64())[0].as_py()
    assert START_US <= before <= arrival
    packed = await api.get(f"{BATCHES}/{sent['seq']}", headers={"Accept-Encoding": "zstd"})
    assert "Accept-Encoding" in packed.headers["vary"]
    assert str(sent["seq"]) == packed.headers["psoup-seq"]
    assert (await api.results(query_id))["gen"] == int(packed.headers["psoup-gen"])


@pytest.mark.services
async def test_batches_are_listed_by_position(api: Api):
    """All batches of the stream and no others, those of a commit each by itself, in pages of any length."""
    await api.declare()
    await api.declare("other")
    seqs = [(await api.rows(row(i))).json()["seq"] for i in range(2)]
    await api.rows(row(1), name="other")
    last = (await staged_commit(api, [row(1), [row(2), row(3)], row(4)], version=1))["seq"]
    seqs += [last - 2, last - 1, last]
    body = (await api.get(BATCHES)).json()
    assert ("trades", last, None) == (body["stream"], body["seq"], body["next"])
    assert 0 == body["forgotten_through"]
    assert seqs == [one["seq"] for one in body["batches"]]
    assert all(one["bytes"] > 0 for one in body["batches"])
    assert seqs[2:] == await listed(api, f"after={seqs[1]}")
    assert [] == await listed(api, f"after={last}")
    assert [] == await listed(api, f"after={2**62}")
    found, following = [], f"{BATCHES}?limit=2"
    while following:
        page = (await api.get(following)).json()
        assert len(page["batches"]) <= 2
        found += [one["seq"] for one in page["batches"]]
        following = page["next"]
    assert seqs == found
    rows = [(await fetch(api, seq)).num_rows for seq in seqs]
    assert [1, 1, 1, 2, 1] == rows
    arrivals = {(await fetch(api, seq))["_arrival"][0] for seq in seqs[2:4]}
    assert 1 == len(arrivals)


@pytest.mark.services
async def test_batches_that_are_not_there_are_not_found(api: Api):
    """No such stream, another stream's, another kind of operation, one to come, no number: all alike."""
    assert_problem(await api.get(BATCHES), "not-found")
    assert_problem(await api.get(f"{BATCHES}/2"), "not-found")
    await api.declare()
    await api.declare("other")
    seq = (await api.rows(row(1), name="other")).json()["seq"]
    for text in (str(seq), "1", "0", str(seq + 1), str(2**62), "-1", "x", "1.0", "9" * 30):
        assert_problem(await api.get(f"{BATCHES}/{text}"), "not-found")
    assert_problem(await api.get(f"{BATCHES}?after=-1"), "invalid-field")
    assert_problem(await api.get(f"{BATCHES}?before=1"), "unknown-field", field="before")


@pytest.mark.services
async def test_batches_of_a_stream_declared_anew_are_its_own(api: Api):
    """What the stream of before had is not that of the one that has its name now."""
    await api.declare()
    seq = (await api.rows(row(1))).json()["seq"]
    assert 1 == (await hold(api, 0))["held_batches"]
    await api.send("DELETE", "/v1/streams/trades")
    assert_problem(await api.get(ARCHIVE), "not-found")
    await api.declare()
    assert_problem(await api.get(ARCHIVE), "not-found")
    assert [] == await listed(api)
    assert_problem(await api.get(f"{BATCHES}/{seq}"), "not-found")


@pytest.mark.services
async def test_hold_goes_forward_only_and_ends(api: Api):
    """It is told with what lies past it, never goes back, and is gone when it is let go, as often as one likes."""
    await api.declare()
    assert_problem(await api.get(ARCHIVE), "not-found")
    assert 204 == (await api.send("DELETE", ARCHIVE)).status_code
    seqs = [(await api.rows([row(i)] * 9)).json()["seq"] for i in range(4)]
    sizes = {one["seq"]: one["bytes"] for one in (await api.get(BATCHES)).json()["batches"]}
    for asked, through in ((0, 0), (seqs[1], seqs[1]), (seqs[0], seqs[1]), (seqs[3], seqs[3])):
        held = [seq for seq in seqs if seq > through]
        told = await hold(api, asked)
        assert {
            "stream": "trades",
            "through": through,
            "held_batches": len(held),
            "held_bytes": sum(sizes[seq] for seq in held),
        } == told
        assert told == (await api.get(ARCHIVE)).json()
    for _ in range(2):
        assert 204 == (await api.send("DELETE", ARCHIVE)).status_code
        assert_problem(await api.get(ARCHIVE), "not-found")
    assert 0 == (await hold(api, 0))["through"]


async def test_hold_is_read_strictly(api: Api):
    """No such stream, members of a wrong type, members that do not exist, no body."""
    problem = await api.send("PUT", ARCHIVE, json={"through": 0})
    assert_problem(problem, "not-found")
    assert_problem(await api.send("DELETE", ARCHIVE), "not-found")
    await api.declare()
    for value in (-1, "1", 1.0, True, None, 2**63):
        problem = await api.send("PUT", ARCHIVE, json={"through": value})
        assert "/through" == assert_problem(problem, "invalid-field")["errors"][0]["pointer"]
    problem = await api.send("PUT", ARCHIVE, json={"through": 0, "until": 3})
    assert_problem(problem, "unknown-field", field="/until")
    assert_problem(await api.send("PUT", ARCHIVE), "unsupported-media")


async def test_hold_of_a_position_to_come_is_not_yet_visible():
    """Nobody has archived what is not there: 503 with the applied position, as for `min_seq`."""
    async with running(dataclasses.replace(SETTINGS, invoke_deadline_s=0.05)) as api:
        api.in_haste = True
        await api.declare()
        problem = await api.send("PUT", ARCHIVE, json={"through": 2})
        assert_problem(problem, "not-yet-visible", applied=1)


async def forget_all(api: Api) -> None:
    """Let retention drop whatever `trades` holds but for its last ten rows, and the log what it can of them."""
    more = SEGMENT_ROWS + 10
    many = {"ts": [START_US + 9 * SECOND_US] * more, "qty": [7] * more}
    sent = await api.send(
        "POST", "/v1/streams/trades/rows", json=many, headers={"Content-Type": COLUMNS}
    )
    assert 200 == sent.status_code
    api.clock.advance(RETIRED_US)


async def until_gone(api: Api, seq: int) -> None:
    """Return once a batch is trimmed; every row sent lets the service look again."""
    latest = time.monotonic() + WAIT_S
    while (await api.get(f"{BATCHES}/{seq}")).status_code == 200:
        assert time.monotonic() < latest, f"batch {seq} is trimmed"
        await api.rows(row(9))


@MOVES_THE_CLOCK
async def test_held_batches_outlive_retention_until_they_are_archived(api: Api):
    """Answers forget them, the log does not; as `through` passes them they go, and all go without a hold."""
    await api.declare(retention={"rows": 10})
    query_id = await api.register("SELECT qty FROM trades WHERE qty < 3")
    loose = (await api.rows(row(0, qty=0))).json()["seq"]
    held = [(await api.rows([row(i, qty=i)] * 2)).json()["seq"] for i in (1, 2)]
    assert 2 == (await hold(api, loose))["held_batches"]
    assert 5 == (await api.results(query_id))["count"]
    await forget_all(api)
    await until_gone(api, loose)
    assert 0 == (await api.results(query_id))["count"]
    assert held == (await listed(api))[:2]
    assert [1, 1] == (await fetch(api, held[0]))["qty"].to_pylist()
    assert held[1] == (await listed(api, f"after={held[0]}"))[0]
    await hold(api, held[0])
    await until_gone(api, held[0])
    assert [2, 2] == (await fetch(api, held[1]))["qty"].to_pylist()
    assert 204 == (await api.send("DELETE", ARCHIVE)).status_code
    await until_gone(api, held[1])
    assert 10 == await api.count()


@pytest.mark.services
async def test_limits_tell_what_is_staged(api: Api):
    """`/v1/limits` has the bounds of stages, and how much of them is used; meters have it too."""
    await api.declare()
    await api.send("POST", "/v1/streams/trades/stages", json=row(1))
    body = (await api.get("/v1/limits")).json()
    assert limits.STAGED_BYTES_MAX == body["limits"]["staged_bytes_max"]
    used = body["use"]["staged_bytes_max"]
    assert used > 100
    assert f"psoup_staged_bytes {float(used)}" in (await api.get("/metrics")).text


@pytest.mark.services
async def test_hold_is_moved_by_positions_of_this_history_alone(api: Api):
    """A position of another one would let go of batches that nobody has read."""
    await api.declare()
    told = (await api.rows([row(0)])).json()
    gen = (await api.get(BATCHES)).json()["gen"]
    await hold(api, 0)
    for through in (told["seq"], told["seq"] + 9):
        other = {"through": through, "gen": gen - 1}
        assert_problem(await api.send("PUT", ARCHIVE, json=other), "gen-differs", gen=gen)
    assert 0 == (await api.get(ARCHIVE)).json()["through"]
    moved = await api.send("PUT", ARCHIVE, json={"through": told["seq"], "gen": gen})
    assert (200, told["seq"]) == (moved.status_code, moved.json()["through"])
