"""Settings of the store that are changed while it runs: nothing more is acknowledged than is on disk."""

from collections.abc import Iterator, Mapping

import pytest

from tests.attack.target import Target
from tests.patience import wait_until
from tests.stores import SharedServer

pytestmark = pytest.mark.services
ROW = [{"x": 1}]


@pytest.fixture(scope="module")
def target_settings() -> Mapping[str, object]:
    """The default ones, in a service of its own: the settings of its store are changed."""
    return {}


@pytest.fixture(autouse=True)
def put_right(attacked_server: SharedServer) -> Iterator[None]:
    """Leave the server as it was."""
    yield
    attacked_server.client.fetch_one("CONFIG", "SET", "appendfsync", "always")


def reasons(target: Target) -> list[str]:
    found: list[str] = target.ask("GET", "/readyz").json()["reasons"]
    return found


def test_next_append_after_a_change_is_not_stored(target: Target, attacked_server: SharedServer):
    """From the very next one on, without a word from the engine; reads go on, and so does all when it is put right."""
    columns = {"columns": [{"name": "x", "type": "int64"}]}
    assert target.ask("PUT", "/v1/streams/s", json=columns).status_code == 201
    query = target.ask("POST", "/v1/queries", json={"sql": "SELECT * FROM s"}).json()["id"]
    first = target.ask("POST", "/v1/streams/s/rows", json=ROW)
    assert "fsync" == first.headers["psoup-durability"]
    set_fsync = ("CONFIG", "SET", "appendfsync")
    attacked_server.client.fetch_one(*set_fsync, "everysec")
    for method, path, body in (
        ("POST", "/v1/streams/s/rows", ROW),
        ("PUT", "/v1/streams/t", columns),
        ("POST", "/v1/queries", {"sql": "SELECT x FROM s"}),
        ("DELETE", f"/v1/queries/{query}", None),
    ):
        answer = target.ask(method, path, json=body)
        assert (503, "store-unsuitable") == (answer.status_code, answer.json()["code"])
        assert "psoup-durability" not in answer.headers
    wait_until(lambda: "config-drift" in reasons(target), "it says that settings have drifted")
    assert target.ask("POST", "/v1/streams/s/rows", json=ROW).status_code == 503
    assert 1 == len(target.ask("GET", f"/v1/queries/{query}/results").json()["rows"])
    attacked_server.client.fetch_one(*set_fsync, "always")
    wait_until(lambda: not reasons(target), "it is ready again")
    again = target.ask("POST", "/v1/streams/s/rows", json=ROW)
    assert (200, "fsync") == (again.status_code, again.headers["psoup-durability"])


def test_change_of_another_setting_holds_up_for_a_moment(
    target: Target, attacked_server: SharedServer
):
    """Whatever was changed, the engine looks and goes on."""
    columns = {"columns": [{"name": "x", "type": "int64"}]}
    attacked_server.client.fetch_one("CONFIG", "SET", "loglevel", "notice")
    wait_until(
        lambda: target.ask("PUT", "/v1/streams/u", json=columns).status_code in {200, 201},
        "it appends again",
    )
    assert 200 == target.ask("GET", "/v1/streams/u").status_code
    assert [] == reasons(target)
