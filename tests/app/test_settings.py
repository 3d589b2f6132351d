"""Settings: defaults, environment, command line, bounds; and the exit codes of a start that fails."""

import dataclasses
import json
import os
import signal
import socket
from pathlib import Path

import httpx2
import pytest

from psoup.app.errors import SettingError
from psoup.app.operate.lifecycle import EXIT_ADDRESS, EXIT_SETTINGS, EXIT_STORE
from psoup.app.processes.serve import serve
from psoup.app.settings import SETTINGS, Settings, load_settings
from psoup.engine.clock import ManualClock
from psoup.engine.store.errors import StoreUnavailableError
from tests.app.faults import FaultyStore
from tests.forked import started
from tests.patience import WAIT_S


def test_settings_are_all_described():
    """Each field of `Settings` has its row, in the same order, and a default inside its bounds."""
    assert [one.name for one in dataclasses.fields(Settings)] == list(SETTINGS)
    load_settings({})


def test_settings_come_from_the_command_line_before_the_environment():
    """What is given wins over PSOUP_ variables, these over defaults; other variables are no matter."""
    environment = {"PSOUP_PORT": "9", "PSOUP_DOCS": "off", "PSOUP_DATA": "d", "PATH": "x",
                   "PSOUP_CORS_ORIGINS": "https://a, https://b", "PSOUP_STORE": ""}  # fmt: skip
    settings = load_settings(environment, port=10, host=None)
    assert (10, False, Path("d"), "127.0.0.1", ("https://a", "https://b"), None) == (
        settings.port,
        settings.docs,
        settings.data,
        settings.host,
        settings.cors_origins,
        settings.store,
    )


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        ({"PSOUP_PROT": "1"}, "no such setting"),
        ({"PSOUP_PORT": "many"}, "PSOUP_PORT is 'many'"),
        ({"PSOUP_PORT": "70000"}, "expected port from 0 to 65535."),
        ({"PSOUP_PORT": "abc"}, "PSOUP_PORT is 'abc': expected port from 0 to 65535."),
        ({"PSOUP_PROT": "8000"}, "Did you mean PSOUP_PORT?"),
        ({"PSOUP_HOST": "0.0.0.0"}, "give --keys-file"),
        ({"PSOUP_DOCS": "maybe"}, "expected on or off"),
        ({"PSOUP_LOG_LEVEL": "loud"}, "debug, info, warning, error"),
        ({"PSOUP_REQUESTS_IN_FLIGHT": "0"}, "expected requests from 1 to 1024."),
        ({"PSOUP_STORE": "redis://h:0"}, "a port is 1 to 65535"),
        ({"PSOUP_STORE_PASSWORD_FILE": "f"}, "no store that asks for a password"),
        ({"PSOUP_STORE": "memory://", "PSOUP_STORE_PASSWORD_FILE": "f"}, "no store that asks"),
        ({"PSOUP_HOSTS": "a,*"}, "hosts has '*'"),
        ({"PSOUP_TLS_KEY_FILE": "f"}, "TLS takes both"),
    ],
)
def test_settings_that_cannot_be_are_refused_by_name(environment, text):
    """A wrong setting says which, what was given and what is accepted."""
    with pytest.raises(SettingError) as refused:
        load_settings(environment)
    assert text in refused.value.detail


def test_settings_show_no_password():
    """What is written of them by accident, in a trace or a log, does not hold the store's."""
    settings = load_settings({"PSOUP_STORE": "redis://u:secret@h"})
    assert settings.store is not None
    assert "secret" in settings.store
    assert "secret" not in repr(settings)


def test_serve_on_a_taken_address_ends_with_its_code():
    """A port in use is an exit code of its own, before a store is opened."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert EXIT_ADDRESS == serve(Settings(store="memory://", port=port))


def test_serve_with_settings_that_cannot_be_ends_with_its_code():
    """An unknown kind of store and an open address without keys are refused at the start."""
    assert EXIT_SETTINGS == serve(Settings(store="file:///x", port=0))
    assert EXIT_SETTINGS == serve(Settings(store="memory://", port=0, host="0.0.0.0"))


def test_serve_in_a_folder_that_cannot_be_used_ends_with_the_stores_code(tmp_path, said):
    """A data folder that cannot be is the store's trouble, not the address's."""
    (tmp_path / "file").touch()
    assert EXIT_STORE == serve(Settings(data=tmp_path / "file" / "data", port=0))
    first, line = said
    assert ("starting", str(tmp_path / "file" / "data")) == (first["event"], first["store"])
    assert ("not-started", "store-unsuitable") == (line["event"], line["code"])


def test_serve_whose_store_does_not_end_says_so(monkeypatch, said):
    """A store that was served and cannot be closed is `not-stopped`, never `not-started`."""

    def close() -> None:
        raise StoreUnavailableError("The server does not end.")

    store = FaultyStore(ManualClock(0))
    monkeypatch.setattr(store, "close", close)
    monkeypatch.setattr("psoup.storage.opening.open_store", lambda *_, **__: store)
    monkeypatch.setattr("psoup.app.connection.server.Server.run", lambda *_, **__: None)
    assert EXIT_STORE == serve(Settings(store="memory://", port=0))
    assert ["starting", "not-stopped"] == [line["event"] for line in said]


@pytest.mark.service
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_serve_ends_as_asked_with_code_zero(number):
    """A served process says where it listens, and ends cleanly when it is told to."""
    ours, theirs = os.pipe()
    command = ["serve", "--store", "memory://", "--port", "0", "--log-format", "json"]
    with os.fdopen(theirs, "wb") as output:
        process = started("psoup", command, output=output, env=os.environ)
    try:
        with os.fdopen(ours) as said:
            lines = map(json.loads, said)
            url = next(line["url"] for line in lines if line["event"] == "listening")
            assert 200 == httpx2.get(f"{url}/readyz").status_code
            process.send_signal(number)
            assert "ended" == [line["event"] for line in lines][-1]
        assert 0 == process.wait(WAIT_S)
    finally:
        process.kill()
