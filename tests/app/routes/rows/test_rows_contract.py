"""What sending rows promises beyond the rows: positions of duplicates, charges, media types."""

import dataclasses
import hashlib
import json

import pytest

from psoup.app.admission.rates import Rates
from tests.app.support import SETTINGS, STREAM, Api, assert_problem, row, running

pytestmark = pytest.mark.anyio


async def test_txn_duplicate_of_an_unknown_original_names_a_position_that_shows_it(api: Api):
    """A version that was skipped is answered the head: always a number, in the body and in the header."""
    await api.declare()
    await api.rows(row(), Psoup_Txn_App="a", Psoup_Txn_Version="4")
    last = await api.rows(row(), Psoup_Txn_App="a", Psoup_Txn_Version="9")
    answer = await api.rows(row(1), Psoup_Txn_App="a", Psoup_Txn_Version="7")
    assert (200, True) == (answer.status_code, answer.json()["duplicate"])
    assert last.json()["seq"] == answer.json()["seq"]
    assert str(last.json()["seq"]) == answer.headers["psoup-seq"]
    described = (await api.get("/openapi.json")).json()["components"]["schemas"]["IngestAnswer"]
    assert "integer" == described["properties"]["seq"].get("type")
    assert "seq" in described["required"]


async def test_rows_are_charged_to_a_key_once(tmp_path, monkeypatch):
    """The rows of a batch are paid for once, though a stale declaration has them read twice."""
    line = {"id": "all", "sha256": hashlib.sha256(b"all").hexdigest()}
    keys = tmp_path / "keys"
    keys.write_text(json.dumps({**line, "scopes": ["admin", "ingest:*"]}))
    bearer = {"Authorization": "Bearer all"}
    taken = []
    monkeypatch.setattr(Rates, "take", lambda _, key, kind, units=1: taken.append((kind, units)))
    async with running(dataclasses.replace(SETTINGS, keys_file=keys)) as api:
        await api.send("PUT", "/v1/streams/trades", json=STREAM, headers=bearer)
        stale = api.service.catalogue.stream("trades")
        await api.send("DELETE", "/v1/streams/trades", headers=bearer)
        await api.send("PUT", "/v1/streams/trades", json=STREAM, headers=bearer)
        api.service.catalogue._held["trades"] = stale
        taken.clear()
        answer = await api.rows([row(), row(1)], **bearer)
        assert (200, 2) == (answer.status_code, answer.json()["accepted"])
    assert [("ingest", 1), ("rows", 2)] == taken


@pytest.mark.parametrize(("method", "path"), [("PUT", "/v1/streams/s"), ("POST", "/v1/queries")])
@pytest.mark.parametrize("charset", ["latin-1", '"iso-8859-1"', "utf-16"])
async def test_control_bodies_of_another_charset_are_unsupported(api: Api, method, path, charset):
    """JSON is UTF-8: a control body that says it is not is 415, as rows are."""
    for name, code in ((charset, "unsupported-media"), ("UTF-8", "invalid-field")):
        headers = {"Content-Type": f"application/json; Charset={name}"}
        answer = await api.send(method, path, content=b"{}", headers=headers)
        assert_problem(answer, code)
