"""A byte of a body that changes under a running service: nobody is served it, and no engine starts over it."""

import signal

import pytest

from psoup.storage import keys
from tests.app.real_processes import Process
from tests.attack.target import EACH_KIND, launched
from tests.patience import wait_until

pytestmark = pytest.mark.redis

STREAM = {
    "columns": [
        {"name": "ts", "type": "timestamp", "nullable": False},
        {"name": "n", "type": "int64"},
    ],
    "time": "ts",
}


@pytest.mark.parametrize("kind", EACH_KIND)
def test_body_that_was_changed_is_not_served_and_keeps_an_engine_from_starting(
    kind, attacked_server, tmp_path
):
    """`503 integrity` names the operation to whoever reads the batch; the next engine ends with code 3 and says why."""
    client = attacked_server.client
    with launched(kind, attacked_server, tmp_path) as target:
        assert target.ask("PUT", "/v1/streams/a", json=STREAM).status_code in (200, 201)
        rows = [{"ts": 1_000 * n, "n": n} for n in range(100)]
        sent = target.ask("POST", "/v1/streams/a/rows", json=rows)
        assert sent.status_code in (200, 201, 202), sent.text
        seq = sent.json()["seq"]
        path = f"/v1/streams/a/batches/{seq}"
        wait_until(lambda: target.ask("GET", path).status_code == 200, "the batch is applied")
        entries = client.fetch_one("XRANGE", keys.LOG, "-", "+")
        client.fetch_one("UNLINK", keys.LOG)
        for entry_id, flat in entries:
            place = flat.index(b"b") + 1
            if entry_id == b"%d-0" % seq:
                flat[place] = flat[place].replace(
                    (57).to_bytes(8, "little"), (58).to_bytes(8, "little")
                )
            client.fetch_one("XADD", keys.LOG, entry_id, *flat)
        answer = target.ask("GET", path)
        assert (503, "integrity") == (answer.status_code, answer.json()["code"])
        assert f"Operation {seq} of the log is damaged" in answer.json()["detail"]
        target.engine.send(signal.SIGTERM)
        assert 0 == target.engine.wait()
        command = "serve" if kind == "serve" else "engine"
        again = Process(command, attacked_server.url, tmp_path / command)
        try:
            again.start(*(["--port", "0"] if kind == "serve" else []))
            assert (
                f"Operation {seq} of the log is damaged" in again.wait_for("fold-stopped")["detail"]
            )
            if kind == "worker":
                assert 3 == again.wait()
        finally:
            again.close()
