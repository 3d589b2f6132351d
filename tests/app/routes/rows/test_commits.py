"""Commits: all parts at one position or none, once for each version, whatever is repeated."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest

from psoup.engine import limits
from psoup.engine.clock import ManualClock
from psoup.engine.log.operation import Staged, StageId
from psoup.engine.store.errors import StoreUnavailableError
from psoup.engine.tuples.arrow import arrow_schema, encode_batch
from psoup.engine.tuples.batch import Seq
from tests.app.faults import FaultyStore
from tests.app.staged import commit, stage, staged_commit
from tests.app.support import INTERFERES, START_US, Api, assert_problem, hurried, row, running
from tests.patience import WAIT_S

pytestmark = pytest.mark.anyio
SQL = "SELECT qty FROM trades"
NOBODY = "st_0000000000000000000000"


async def quantities(api: Api, query_id: str) -> list[int]:
    """Return what a query over `trades` answers, by its ids."""
    rows = (await api.results(query_id))["rows"]
    return [one["qty"] for one in sorted(rows, key=lambda one: int(one["_id"]))]


def stage_empty(api: Api, count: int) -> list[StageId]:
    """Stage so many parts without a row, by the shortest way; return their handles."""
    declaration = api.service.catalogue.stream("trades")
    body = encode_batch(pa.RecordBatch.from_pylist([], schema=arrow_schema(declaration.schema)))
    stages = [StageId(f"st_{number:022}") for number in range(count)]

    def stage_one(stage_id: StageId) -> None:
        part = Staged(stage_id, declaration.stream_id, "trades", 0, body, bytes(32))
        api.service.store.log.stage(part)

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(stage_one, stages))
    return stages


@pytest.mark.services
async def test_commit_shows_all_parts_in_their_order_at_one_position(api: Api):
    """What several have staged appears at once, in the order of the commit; the receipt says how much and where."""
    await api.declare()
    query_id = await api.register(SQL)
    parts = [await stage(api, [row(1, qty=2 * i), row(2, qty=2 * i + 1)]) for i in range(3)]
    assert [] == await quantities(api, query_id)
    answer = await commit(api, [parts[2], parts[0], parts[1]], version=7)
    told = answer.json()
    assert {"app": "spark-1", "version": 7, "accepted": 6, "seq": 5, "duplicate": False} == told
    assert (200, "5") == (answer.status_code, answer.headers["psoup-seq"])
    assert api.service.store.durability == answer.headers["psoup-durability"]
    assert [4, 5, 0, 1, 2, 3] == await quantities(api, query_id)
    assert told["seq"] == (await api.results(query_id, min_seq=told["seq"]))["seq"]
    assert 6 == (await api.rows(row(3))).json()["seq"]


@pytest.mark.services
async def test_commit_over_streams_shows_all_of_them_at_one_position(api: Api):
    """Parts may be of any streams: both show at the same position."""
    await api.declare()
    await api.declare("other")
    parts = [
        await stage(api, row(1, qty=1)),
        await stage(api, [row(1, qty=2), row(2, qty=3)], name="other"),
        await stage(api, row(1, qty=4)),
    ]
    told = (await commit(api, parts)).json()
    assert (4, 5) == (told["accepted"], told["seq"])
    assert [2, 2] == [await api.count(), await api.count("other")]
    again = (await commit(api, parts)).json()
    assert (0, True, 5) == (again["accepted"], again["duplicate"], again["seq"])


@pytest.mark.services
async def test_commit_sent_again_is_a_duplicate(api: Api):
    """Whoever lost the answer sends the same commit again, and learns what became of it."""
    await api.declare()
    parts = [await stage(api, row(1)), await stage(api, row(2))]
    first = (await commit(api, parts)).json()
    for _ in range(2):
        again = await commit(api, parts)
        assert first | {"accepted": 0, "duplicate": True} == again.json()
        assert 200 == again.status_code
    assert 2 == await api.count()


@pytest.mark.services
async def test_commit_of_a_batch_cut_otherwise_is_a_duplicate(api: Api):
    """A replay stages the same rows again, in other parts and another order: nothing is stored, its parts go."""
    await api.declare()
    rows = [row(i, qty=i, px=i / 3) for i in range(6)]
    first = await staged_commit(api, [rows[:2], rows[2:3], rows[3:]], version=4)
    replayed = [await stage(api, [rows[5], rows[0]]), await stage(api, rows[1:5])]
    again = (await commit(api, replayed, version=4)).json()
    assert (0, True, first["seq"]) == (again["accepted"], again["duplicate"], again["seq"])
    assert 6 == await api.count()
    assert_problem(await commit(api, replayed, version=5), "stage-missing", stages=replayed)


@pytest.mark.services
async def test_commit_of_an_older_version_is_a_duplicate(api: Api):
    """Versions only go up; gaps are allowed, and what lies in one counts as done."""
    await api.declare()
    seqs = [(await staged_commit(api, [row(v)], version=v))["seq"] for v in (3, 9)]
    between = await staged_commit(api, [row(50)], version=5)
    assert (0, True) == (between["accepted"], between["duplicate"])
    assert between["seq"] >= seqs[1]
    assert 2 == await api.count()


@pytest.mark.services
async def test_commit_of_other_rows_under_a_version_is_refused(api: Api):
    """One row more, less or otherwise is other content: refused, with the position of what was stored."""
    await api.declare()
    first = await staged_commit(api, [[row(1), row(2)]], version=4)
    for rows in ([row(1)], [row(1), row(2), row(2)], [row(1), row(2, px=1)]):
        part = await stage(api, rows)
        problem = await commit(api, [part], version=4)
        assert_problem(problem, "txn-content-differs", seq=first["seq"])
        assert 204 == (await api.send("DELETE", f"/v1/stages/{part}")).status_code
    assert 2 == await api.count()


@pytest.mark.services
async def test_commits_and_batches_of_a_producer_count_together(api: Api):
    """Rows sent with the producer's headers and parts that are committed have one table of versions."""
    await api.declare()
    txn = {"Psoup_Txn_App": "spark-1", "Psoup_Txn_Version": "4"}
    sent = (await api.rows([row(1), row(2)], **txn)).json()
    again = await staged_commit(api, [row(2), row(1)], version=4)
    assert (True, sent["seq"]) == (again["duplicate"], again["seq"])
    await staged_commit(api, [row(3), row(4)], version=5)
    again = (await api.rows([row(4), row(3)], **(txn | {"Psoup_Txn_Version": "5"}))).json()
    assert (0, True) == (again["accepted"], again["duplicate"])
    refused = await api.rows([row(4)], **(txn | {"Psoup_Txn_Version": "5"}))
    assert_problem(refused, "txn-content-differs")
    assert 4 == await api.count()


@pytest.mark.services
async def test_commit_that_is_new_for_one_stream_alone_is_refused(api: Api):
    """A version that one stream has and another has not is no whole: nothing is stored."""
    await api.declare()
    await api.declare("other")
    first = await staged_commit(api, [row(1)], version=4)
    parts = [await stage(api, row(1)), await stage(api, row(1), name="other")]
    problem = await commit(api, parts, version=4)
    assert_problem(problem, "txn-content-differs", seq=first["seq"])
    assert [1, 0] == [await api.count(), await api.count("other")]
    assert 2 == (await commit(api, parts, version=5)).json()["accepted"]


@pytest.mark.services
async def test_commit_of_parts_that_are_not_staged_names_them(api: Api):
    """Unknown parts, and those that went with another version, are listed; the others wait for a better commit."""
    await api.declare()
    gone, kept = await stage(api, row(1)), await stage(api, row(2))
    assert 200 == (await commit(api, [gone], version=1)).status_code
    problem = await commit(api, [kept, NOBODY, gone], version=2)
    assert_problem(problem, "stage-missing", stages=[NOBODY, gone])
    assert 1 == await api.count()
    assert 1 == (await commit(api, [kept], version=2)).json()["accepted"]


@pytest.mark.services
async def test_commit_to_a_stream_declared_anew_is_refused(api: Api):
    """Parts that were checked against a declaration that is gone are missing; so are those of a dropped stream."""
    await api.declare()
    await api.declare("other")
    parts = [await stage(api, row(1)), await stage(api, row(1), name="other")]
    assert 204 == (await api.send("DELETE", "/v1/streams/trades")).status_code
    assert_problem(await commit(api, parts), "stage-missing", stages=parts[:1])
    await api.declare()
    assert_problem(await commit(api, parts), "stage-missing", stages=parts[:1])
    assert [0, 0] == [await api.count(), await api.count("other")]
    assert 1 == (await staged_commit(api, [row(1)], version=1))["accepted"]


@pytest.mark.services
async def test_discard_after_a_commit_does_nothing(api: Api):
    """What is committed stays, and the commit is still known when it is sent again."""
    await api.declare()
    part = await stage(api, row(1))
    first = (await commit(api, [part])).json()
    assert 204 == (await api.send("DELETE", f"/v1/stages/{part}")).status_code
    assert 1 == await api.count()
    assert first | {"accepted": 0, "duplicate": True} == (await commit(api, [part])).json()


@pytest.mark.services
async def test_commit_of_too_many_bytes_is_refused(api: Api, monkeypatch: pytest.MonkeyPatch):
    """The parts have a bound together; fewer of them can be committed."""
    monkeypatch.setattr(limits, "COMMIT_BYTES_MAX", 2_000)
    await api.declare()
    parts = [await stage(api, row(i)) for i in range(3)]
    assert_problem(await commit(api, parts), "commit-too-large", max_bytes=2_000)
    assert 0 == await api.count()
    assert 2 == (await commit(api, parts[:2])).json()["accepted"]


@pytest.mark.parametrize(
    ("members", "pointer"),
    [
        ({"stages": []}, "/stages"),
        ({"stages": [NOBODY, NOBODY]}, "/stages"),
        ({"stages": [f"st_{i:022}" for i in range(limits.COMMIT_STAGES_MAX + 1)]}, "/stages"),
        ({"stages": [NOBODY, "st_x"]}, "/stages/1"),
        ({"stages": [5]}, "/stages/0"),
        ({"stages": NOBODY}, "/stages"),
        ({"version": -1}, "/version"),
        ({"version": limits.APP_VERSION_MAX + 1}, "/version"),
        ({"version": "4"}, "/version"),
        ({"version": True}, "/version"),
        ({"app": ""}, "/app"),
        ({"app": "é" * 101}, "/app"),
        ({"app": "a\nb"}, "/app"),
        ({"app": None}, "/app"),
    ],
)
async def test_commit_with_wrong_members_is_invalid(api: Api, members, pointer):
    """A member of a wrong type or value is 422 and named."""
    body = {"app": "a", "version": 1, "stages": [NOBODY], **members}
    answer = await api.send("POST", "/v1/commits", json=body)
    problem = assert_problem(answer, "invalid-field")
    assert [pointer] == [one["pointer"] for one in problem["errors"]]


async def test_commit_members_that_do_not_exist_or_lack_are_named(api: Api):
    """An unknown member is 400 with the nearest one; one that lacks is 422; a member twice is no body."""
    body = {"app": "a", "version": 1, "stages": [NOBODY]}
    answer = await api.send("POST", "/v1/commits", json=body | {"stage": NOBODY})
    assert_problem(answer, "unknown-field", field="/stage", nearest="stages")
    problem = await api.send("POST", "/v1/commits", json={"app": "a", "version": 1})
    assert "/stages" == assert_problem(problem, "invalid-field")["errors"][0]["pointer"]
    answer = await api.send("POST", "/v1/commits?wait=1", json=body)
    assert_problem(answer, "unknown-field", field="wait")
    twice = b'{"app": "a", "version": 1, "version": 1, "stages": []}'
    headers = {"Content-Type": "application/json"}
    answer = await api.send("POST", "/v1/commits", content=twice, headers=headers)
    assert_problem(answer, "bad-body")


@pytest.mark.services
async def test_commit_of_the_most_parts_there_may_be(api: Api):
    """1,024 parts become visible together, and count as one version."""
    await api.declare()
    query_id = await api.register(SQL)
    parts = [await stage(api, row(1, qty=i)) for i in range(4)]
    few = limits.COMMIT_STAGES_MAX - len(parts)
    empty = await asyncio.to_thread(stage_empty, api, few)
    told = (await commit(api, [*parts[:2], *empty, *parts[2:]])).json()
    assert (4, limits.COMMIT_STAGES_MAX + 2) == (told["accepted"], told["seq"])
    assert list(range(4)) == await quantities(api, query_id)


@pytest.mark.services
async def test_commit_appears_whole_or_not_at_all(api: Api):
    """Whoever polls while commits of many parts go in sees all rows of each or none, at growing positions."""
    await api.declare()
    await api.declare("other")
    query_ids = [await api.register(SQL), await api.register("SELECT qty FROM other")]
    size, rounds = 10, 3
    done = asyncio.Event()
    seen: list[tuple[int, int, int]] = []

    async def poll() -> None:
        while not done.is_set():
            asked = {"queries": query_ids, "count": "only"}
            body = (await api.send("POST", "/v1/invoke", json=asked)).json()
            seen.append((body["seq"], *(one["count"] for one in body["results"])))

    pollers = [asyncio.create_task(poll()) for _ in range(2)]
    receipts = []
    for version in range(rounds):
        parts = [await stage(api, [row(1, qty=i)] * 3) for i in range(size)]
        parts += [await stage(api, [row(1, qty=i)], name="other") for i in range(size)]
        parts = parts[::2] + parts[1::2]
        receipts.append((await commit(api, parts, version=version)).json()["seq"])
    done.set()
    await asyncio.gather(*pollers)
    for seq, trades, other in seen:
        commits = sum(one <= seq for one in receipts)
        assert (3 * size * commits, size * commits) == (trades, other), (seq, receipts)
    inside = set(range(receipts[0], receipts[-1])) - set(receipts)
    assert not inside & {seq for seq, *_ in seen}


@INTERFERES
async def test_commit_is_accepted_when_it_is_committed_and_not_applied():
    """At the deadline it is 202 with the same body; later the rows show."""
    store = FaultyStore(ManualClock(START_US))
    async with running(store=store) as api:
        await api.declare()
        parts = [await stage(api, row(1)), await stage(api, row(2))]
        with store.waiting("log", "read"), hurried(api):
            answer = await commit(api, parts)
            told = {"app": "spark-1", "version": 1, "accepted": 2, "seq": 3, "duplicate": False}
            assert (202, told) == (answer.status_code, answer.json())
        assert await api.service.applied.wait(Seq(3), timeout_s=WAIT_S)
        assert 2 == await api.count()


@INTERFERES
async def test_commit_whose_answer_was_lost_is_found_out_by_sending_it_again():
    """An outcome that is not known in time is told as that; the same commit then tells what became of it."""
    store = FaultyStore(ManualClock(START_US))
    async with running(store=store) as api:
        await api.declare()
        parts = [await stage(api, row(1)), await stage(api, row(2))]
        with store.failing("log", "commit", StoreUnavailableError("Away.")):
            assert_problem(await commit(api, parts), "store-unavailable")
        assert 0 == await api.count()
        with store.waiting("log", "commit"), hurried(api):
            problem = assert_problem(await commit(api, parts), "commit-unknown")
            assert "it is done once" in problem["detail"]
        assert await api.service.applied.wait(Seq(3), timeout_s=WAIT_S)
        again = await commit(api, parts)
        assert (200, True, 3) == (again.status_code, again.json()["duplicate"], again.json()["seq"])
        assert 2 == await api.count()


@INTERFERES
async def test_commit_is_turned_away_while_the_backlog_is_full(monkeypatch: pytest.MonkeyPatch):
    """A full backlog takes no commit, which is kept for a better time; what is done already is answered."""
    store = FaultyStore(ManualClock(START_US))
    async with running(store=store) as api:
        await api.declare()
        done, later = [await stage(api, row(1))], [await stage(api, row(2))]
        await commit(api, done)
        monkeypatch.setattr(limits, "BACKLOG_OPERATIONS_MAX", 0)
        assert_problem(await commit(api, later, version=2), "overloaded")
        assert (await commit(api, done)).json()["duplicate"]
        monkeypatch.undo()
        assert 1 == (await commit(api, later, version=2)).json()["accepted"]


async def test_commits_of_more_producers_than_there_may_be_are_refused(api: Api, monkeypatch):
    """A producer counts for each stream that its commit has parts of."""
    monkeypatch.setattr(limits, "APPS_COUNT_MAX", 1)
    await api.declare()
    await staged_commit(api, [row(1)], version=1)
    part = [await stage(api, row(2))]
    problem = await commit(api, part, app="another")
    assert_problem(problem, "quota-exceeded")
    assert 1 == (await commit(api, part, version=2)).json()["accepted"]
