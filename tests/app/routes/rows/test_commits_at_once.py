"""Commits, discards and batches of one producer at once: whatever comes first, each version is stored once."""

import asyncio
import io
import random

import pyarrow as pa
import pytest
import zstandard

from psoup.client.calls import ARROW_STREAM, PsoupClient, RetryPolicy, Txn
from tests.app.routes.rows.test_rows import SCHEMA, TABLE, arrow_body
from tests.app.serving import served
from tests.app.staged import commit, stage
from tests.app.support import SETTINGS, STREAM, Api, row

pytestmark = pytest.mark.anyio


@pytest.mark.services
async def test_commits_of_the_same_parts_at_once_store_them_once(api: Api):
    """One of them stores, all others are told that it was stored, and where."""
    await api.declare()
    parts = [await stage(api, [row(i), row(i)]) for i in range(3)]
    answers = await asyncio.gather(*(commit(api, parts) for _ in range(6)))
    told = [one.json() for one in answers]
    assert {200} == {one.status_code for one in answers}
    assert [0] * 5 + [6] == sorted(one["accepted"] for one in told)
    assert 1 == len({one["seq"] for one in told})
    assert 6 == await api.count()


@pytest.mark.services
async def test_commits_of_one_part_as_two_versions_at_once_store_it_once(api: Api):
    """A part goes with the version that comes first, and is missing for the other."""
    await api.declare()
    part = await stage(api, row(1))
    answers = await asyncio.gather(*(commit(api, [part], version=v, app=f"a{v}") for v in range(4)))
    assert [200, 409, 409, 409] == sorted(one.status_code for one in answers)
    assert 1 == await api.count()


@pytest.mark.services
async def test_commits_discards_and_rows_of_a_version_at_once(api: Api):
    """A version comes by commit or by rows, its parts may be let go at any time: it is whole, once, or not at all."""
    seed = 20_261_122
    chance = random.Random(seed)
    await api.declare()
    stored = 0
    for version in range(8):
        parts = [await stage(api, row(version, qty=i)) for i in range(2)]
        txn = {"Psoup_Txn_App": "spark-1", "Psoup_Txn_Version": str(version)}
        rows = [row(version, qty=i) for i in range(2)]
        work = [
            commit(api, parts, version=version),
            commit(api, parts, version=version),
            api.send("DELETE", f"/v1/stages/{chance.choice(parts)}"),
            api.rows(rows, **txn),
        ]
        chance.shuffle(work)
        answers = await asyncio.gather(*work)
        accepted = [one.json().get("accepted") for one in answers if one.status_code == 200]
        assert 1 == sum(map(bool, accepted)), f"seed {seed}, version {version}"
        stored += 2
        assert stored == await api.count(), f"seed {seed}, version {version}"
    await asyncio.to_thread(api.service.backend.stop)
    api.service.check()


def test_client_against_a_service_on_a_socket():
    """Each call of the client to the real server: staged in Arrow and zstd, committed, read by pages and by batches."""
    body = zstandard.compress(arrow_body(TABLE, SCHEMA))
    with served(SETTINGS) as (host, port):
        retry = RetryPolicy(budget_s=5, from_the_start=True)
        with PsoupClient(f"http://{host}:{port}", retry=retry) as service:
            service.declare("trades", STREAM)
            query_id = service.register("SELECT sym, qty FROM trades")["id"]
            parts = [
                service.stage("trades", body, content_type=ARROW_STREAM, encoding="zstd")
                for _ in range(3)
            ]
            txn, stages = Txn("job", 1), [one["stage"] for one in parts]
            service.discard(stages.pop())
            told = service.commit(txn, stages)
            assert (4, False) == (told["accepted"], told["duplicate"])
            assert told | {"accepted": 0, "duplicate": True} == service.commit(txn, stages)
            listed = service.answer_pages(query_id, limit=3, min_seq=told["seq"])
            tables = [_table(page) for url in listed["pages"] for page in service.arrow_page(url)]
            assert [3, 1] == [one.num_rows for one in tables]
            whole = pa.concat_tables(tables)
            # In order of their times: the first row of each part, then the second.
            sent = pa.Table.from_pydict(TABLE, schema=SCHEMA)["qty"].to_pylist()
            by_time = [value for value in sent for _ in stages]
            assert by_time == whole["qty"].to_pylist()
            assert 2 == service.hold("trades", 0)["held_batches"]
            seqs = [one["seq"] for one in service.batches("trades")]
            assert [told["seq"] - 1, told["seq"]] == seqs
            assert seqs == [one["seq"] for one in service.batch_list("trades")["batches"]]
            last = service.batch("trades", seqs[1])
            assert last is not None
            assert sent == _table(last)["qty"].to_pylist()
            assert service.batch("trades", told["seq"] + 1) is None
            assert 0 == service.hold("trades", told["seq"])["held_batches"]
            held = service.held("trades")
            assert held is not None
            assert told["seq"] == held["through"]
            service.unhold("trades")
            assert service.held("trades") is None


def _table(stream: bytes) -> pa.Table:
    return pa.ipc.open_stream(io.BytesIO(stream)).read_all()
