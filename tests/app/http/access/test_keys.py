"""Keys and rates: who may call what, and how often."""

import dataclasses
import hashlib
import json
from pathlib import Path

import pytest

from psoup.app.admission.rates import RATES, Rates
from psoup.app.errors import RateLimitedError, SettingError
from psoup.app.http.access.keys import load_keys
from psoup.app.routes.queries import query_changes
from psoup.app.settings import check_settings
from tests.app.support import SETTINGS, STREAM, assert_problem, fill_no_more, row, running

pytestmark = pytest.mark.anyio

KEYS = {
    "all": ["admin", "register", "read", "ingest:*"],
    "reader": ["read"],
    "feeder": ["ingest:trades"],
}


@pytest.fixture
def keyed(tmp_path):
    path = tmp_path / "keys"
    lines = [
        {"id": name, "sha256": hashlib.sha256(name.encode()).hexdigest(), "scopes": scopes}
        for name, scopes in KEYS.items()
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return dataclasses.replace(SETTINGS, keys_file=path, host="0.0.0.0", behind_proxy=True)


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


async def test_keys_open_what_their_scopes_name(keyed):
    """Each request needs its scope; `ingest` is given by stream or for all."""
    async with running(keyed) as api:
        made = await api.send("PUT", "/v1/streams/trades", json=STREAM, headers=bearer("all"))
        assert 201 == made.status_code
        rows = await api.rows(row(), **bearer("feeder"))
        assert 200 == rows.status_code
        assert 200 == (await api.get("/v1/streams", headers=bearer("reader"))).status_code
        refused = await api.rows(row(), **bearer("reader"))
        assert_problem(refused, "scope-missing", scope="ingest:trades")
        refused = await api.get("/v1/streams", headers=bearer("feeder"))
        assert_problem(refused, "scope-missing", scope="read")
        refused = await api.send("DELETE", "/v1/streams/trades", headers=bearer("reader"))
        assert_problem(refused, "scope-missing", scope="admin")
        assert 200 == (await api.get("/healthz")).status_code


async def test_keys_of_a_stream_stage_and_commit(keyed):
    """Staging needs the stream's scope; committing and discarding that of any: parts are known to who staged them."""
    async with running(keyed) as api:
        for name in ("trades", "other"):
            await api.send("PUT", f"/v1/streams/{name}", json=STREAM, headers=bearer("all"))
        path = "/v1/streams/trades/stages"
        answer = await api.send("POST", path, json=row(), headers=bearer("feeder"))
        assert 201 == answer.status_code
        stage = answer.json()["stage"]
        refused = await api.send("POST", path, json=row(), headers=bearer("reader"))
        assert_problem(refused, "scope-missing", scope="ingest:trades")
        path = "/v1/streams/other/stages"
        refused = await api.send("POST", path, json=row(), headers=bearer("feeder"))
        assert_problem(refused, "scope-missing", scope="ingest:other")
        commit = {"app": "a", "version": 1, "stages": [stage]}
        for method, path, body in (
            ("POST", "/v1/commits", commit),
            ("DELETE", f"/v1/stages/{stage}", None),
        ):
            refused = await api.send(method, path, json=body, headers=bearer("reader"))
            assert_problem(refused, "scope-missing", scope="ingest:*")
            done = await api.send(method, path, json=body, headers=bearer("feeder"))
            assert done.status_code in (200, 204)


async def test_keys_for_batches_and_archives(keyed):
    """Batches are read, an archive is held by who declares streams."""
    async with running(keyed) as api:
        await api.send("PUT", "/v1/streams/trades", json=STREAM, headers=bearer("all"))
        await api.rows(row(), **bearer("feeder"))
        batches, archive = "/v1/streams/trades/batches", "/v1/streams/trades/archive"
        for path in (batches, f"{batches}/2"):
            assert 200 == (await api.get(path, headers=bearer("reader"))).status_code
            refused = await api.get(path, headers=bearer("feeder"))
            assert_problem(refused, "scope-missing", scope="read")
        for method, body in (("PUT", {"through": 1}), ("GET", None), ("DELETE", None)):
            refused = await api.send(method, archive, json=body, headers=bearer("reader"))
            assert_problem(refused, "scope-missing", scope="admin")
            done = await api.send(method, archive, json=body, headers=bearer("all"))
            assert done.status_code in (200, 204)


async def test_keys_over_their_rate_of_rows_stage_no_more(keyed):
    """Rows that are staged count as rows that are sent."""
    async with running(keyed) as api:
        await api.send("PUT", "/v1/streams/trades", json=STREAM, headers=bearer("all"))
        fill_no_more(api)
        api.app.state.context.rates.take("feeder", "rows", RATES["rows"].burst)
        path = "/v1/streams/trades/stages"
        refused = await api.send("POST", path, json=[row()] * 99_999, headers=bearer("feeder"))
        assert_problem(refused, "rate-limited")
        assert refused.headers["ratelimit"].startswith('"rows";r=')


async def test_keys_remove_more_queries_than_their_burst_by_one_label(keyed, monkeypatch):
    """A removal takes the whole burst at most: else no wait would ever be long enough."""
    monkeypatch.setattr(query_changes, "LINES_PER_UNIT", 1)
    async with running(keyed) as api:
        await api.send("PUT", "/v1/streams/trades", json=STREAM, headers=bearer("all"))
        count = int(RATES["register"].burst) + 10
        line = {"sql": "SELECT px FROM trades WHERE px > 40", "labels": {"user": "42"}}
        answer = await api.send(
            "POST",
            "/v1/batch/queries",
            content="\n".join([json.dumps(line)] * count).encode(),
            headers={**bearer("all"), "Content-Type": "application/x-ndjson"},
        )
        assert 200 == answer.status_code, answer.text
        fill_no_more(api)
        path = "/v1/queries?label=user:42"
        removed = await api.send("DELETE", path, headers=bearer("all"))
        assert {"deleted": count} == removed.json()
        assert_problem(await api.send("DELETE", path, headers=bearer("all")), "rate-limited")


@pytest.mark.parametrize("path", ["/v1/top", "/v1/streams/trades/sample"])
async def test_keys_over_their_rate_of_invocations_ask_nothing_else(keyed, path):
    """What reads all queries, or many rows, counts as an invocation."""
    async with running(keyed) as api:
        await api.send("PUT", "/v1/streams/trades", json=STREAM, headers=bearer("all"))
        assert 200 == (await api.get(path, headers=bearer("reader"))).status_code
        fill_no_more(api)
        api.app.state.context.rates.take("reader", "invoke", RATES["invoke"].burst)
        refused = await api.get(path, headers=bearer("reader"))
        assert_problem(refused, "rate-limited")


@pytest.mark.parametrize(
    "headers", [{}, bearer(""), bearer("nobody"), {"Authorization": "Basic all"}]
)
async def test_keys_unknown_are_all_refused_alike(keyed, headers):
    """No key, a malformed and an unknown one get the same answer."""
    async with running(keyed) as api:
        answer = await api.get("/v1/streams", headers=headers)
        assert_problem(answer, "unauthenticated")
        assert "Bearer" == answer.headers["www-authenticate"]


async def test_keys_over_their_rate_are_refused_until_it_is_refilled(keyed):
    """Registrations past the burst are 429 with Retry-After and RateLimit; other kinds go on."""
    async with running(keyed) as api:
        fill_no_more(api)
        answers = [
            await api.send("DELETE", "/v1/streams/nope", headers=bearer("all"))
            for _ in range(int(RATES["register"].burst) + 20)
        ]
        assert {404, 429} == {one.status_code for one in answers}
        assert_problem(answers[-1], "rate-limited")
        assert answers[-1].headers["ratelimit"].startswith('"register";r=0;t=')
        assert '"register";q=10;w=1' == answers[-1].headers["ratelimit-policy"]
        assert 200 == (await api.get("/v1/streams", headers=bearer("all"))).status_code


def test_rates_refill_with_time():
    """A bucket gives its burst at once and its rate from then on; without a key there is none."""
    now = [0.0]
    rates = Rates(monotonic_s=lambda: now[0])
    rates.take("k", "invoke", 200)
    with pytest.raises(RateLimitedError):
        rates.take("k", "invoke")
    rates.take("other", "invoke")
    rates.take(None, "invoke", 10**9)
    now[0] += 0.5
    rates.take("k", "invoke", 50)
    with pytest.raises(RateLimitedError) as refused:
        rates.take("k", "invoke", 100)
    assert 1 == refused.value.extras["retry_after_s"]
    rates.check()
    assert (2, 2) == (rates.statistics().buckets, rates.statistics().refused)


@pytest.mark.parametrize(
    "line",
    ["x", "[]", '{"id":"a"}', '{"id":"a","sha256":"zz","scopes":[]}',
     json.dumps({"id": "a", "sha256": "00" * 31, "scopes": []}),
     json.dumps({"id": "a", "sha256": "00" * 32, "scopes": ["root"]})],
)  # fmt: skip
def test_keys_file_with_a_line_that_is_no_key_is_refused(tmp_path, line):
    """A line that is not a key stops the start, and says which."""
    path = tmp_path / "keys"
    path.write_text(line)
    with pytest.raises(SettingError, match="keys:1"):
        load_keys(path)


def test_keys_file_that_is_not_there_is_refused(tmp_path):
    """A keys file that cannot be read stops the start: never an open door by mistake."""
    with pytest.raises(SettingError, match="cannot be read"):
        load_keys(tmp_path / "nope")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "psoup.example"])
def test_open_addresses_need_keys(host):
    """Without keys the server binds to loopback only, unless somebody says otherwise."""
    with pytest.raises(SettingError, match="reachable from elsewhere"):
        check_settings(dataclasses.replace(SETTINGS, host=host))
    check_settings(dataclasses.replace(SETTINGS, host=host, open_bind=True))
    check_settings(dataclasses.replace(SETTINGS, host="::1"))


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "psoup.example"])
def test_keys_do_not_travel_readable_unless_a_proxy_is_said_to_be_there(keyed, host):
    """Beyond loopback keys need TLS, here or in front; `open_bind` says neither. On loopback they need none."""
    bare = dataclasses.replace(keyed, host=host, behind_proxy=False)
    for settings in (bare, dataclasses.replace(bare, open_bind=True)):
        with pytest.raises(SettingError, match=r"unencrypted.*--behind-proxy"):
            check_settings(settings)
    check_settings(dataclasses.replace(bare, behind_proxy=True))
    check_settings(dataclasses.replace(bare, tls_cert_file=Path("c"), tls_key_file=Path("k")))
    check_settings(dataclasses.replace(bare, host="127.0.0.1"))
    with pytest.raises(SettingError, match="there are no keys"):
        check_settings(dataclasses.replace(bare, keys_file=None, behind_proxy=True))
