"""The store's clock is set forward and back: NOW stands still, and everybody is told for how long."""

import pytest

from psoup.engine.limits import SECOND_US
from tests.attack.target import Kind, Target, launched
from tests.patience import wait_until
from tests.stores import SharedServer

JUMP_S = 3_600
HEAD = "{ps}:log:h"


def warnings(target: Target) -> list[str]:
    answer = target.ask("GET", "/readyz")
    assert answer.status_code == 200, "every request is answered rightly"
    found: list[str] = answer.json()["warnings"]
    return found


# The worker is told all that `serve` is, and when it is over.
@pytest.mark.parametrize("kind", [pytest.param("serve", marks=pytest.mark.slow), "worker"])
def test_clock_that_jumped_there_and_back_is_told(
    kind: Kind, attacked_server: SharedServer, tmp_path
):
    """In the log, in `/readyz`, `/v1/status` and the meters; and when it is over."""
    client = attacked_server.client
    with launched(kind, attacked_server, tmp_path) as target:
        columns = {"columns": [{"name": "x", "type": "int64"}]}
        assert target.ask("PUT", "/v1/streams/s", json=columns).status_code == 201
        assert [] == warnings(target)
        ahead_us = int(client.fetch_one("HGET", HEAD, "ts")) + JUMP_S * SECOND_US
        # What a batch leaves that arrived while the clock was an hour ahead.
        client.fetch_one("HSET", HEAD, "ts", ahead_us)
        assert target.ask("POST", "/v1/streams/s/rows", json=[{"x": 1}]).status_code == 200
        assert ahead_us == int(client.fetch_one("HGET", HEAD, "ts")), "it stands still"
        wait_until(lambda: "clock-behind" in warnings(target), "it warns")
        status = target.ask("GET", "/v1/status").json()
        assert JUMP_S - 120 < status["store"]["clock_behind_s"] <= JUMP_S
        assert ["clock-behind"] == status["warnings"]
        meters = target.ask("GET", "/metrics").text
        assert "psoup_store_clock_behind_seconds" in meters
        assert target.engine.wait_for("clock-behind")["level"] == "warning"
        client.fetch_one("HSET", HEAD, "ts", ahead_us - JUMP_S * SECOND_US)
        if kind == "worker":  # the engine in `serve` has told of that hour, and goes on from there
            wait_until(lambda: not warnings(target), "it is over")
            target.engine.wait_for("clock-behind-over")
