"""Which names a service answers to, and which pages may change something, by its settings."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from psoup.app.errors import ForeignHostError, ForeignOriginError, SettingError
from psoup.app.http.access.sites import Sites
from psoup.app.settings import Settings, check_settings

KEYED = {"keys_file": Path("keys")}
PUBLIC = {"host": "0.0.0.0", "open_bind": True}
PROXIED = {**KEYED, "behind_proxy": True, "host": "0.0.0.0", "hosts": ("psoup.example",)}


def admitted(settings: dict[str, Any], method: str = "GET", **headers: str) -> bool:
    """Return whether a request passes that came to 192.0.2.7; Origin only where it is named."""
    named = [(name.encode(), value.encode()) for name, value in headers.items()]
    scope = {"method": method, "headers": named, "server": ("192.0.2.7", 8000)}
    try:
        Sites(Settings(**settings)).admit(scope)
    except (ForeignHostError, ForeignOriginError):
        return False
    return True


@pytest.mark.parametrize(
    ("settings", "host", "expected"),
    [
        ({}, "127.0.0.1:8000", True),
        ({}, "192.0.2.7", False),
        ({"host": "192.0.2.9", "open_bind": True}, "192.0.2.9:1", True),
        ({"host": "192.0.2.9", "open_bind": True}, "192.0.2.7", False),
        (PUBLIC, "192.0.2.7:80", True),
        (PUBLIC, "192.0.2.8", False),
        (PUBLIC, "api", False),
        ({**PUBLIC, "hosts": ("api",)}, "API.:8000", True),
        ({"hosts": ("2001:db8::1",)}, "[2001:db8::1]:8000", True),
        ({}, "[::1", False),
        ({}, "", False),
        ({}, "evil@localhost", True),
        ({}, "localhost@evil", False),
        ({**KEYED, **PUBLIC}, "whatever", True),
    ],
)
def test_host_is_a_name_of_the_service(settings, host, expected):
    """Loopback names, the address listened on, names that were configured; any, where a key is asked for."""
    assert expected == admitted(settings, host=host)


def test_host_that_is_missing_is_no_rebinding():
    """No browser leaves it out; old tools do, which ask for health."""
    assert admitted({})


@pytest.mark.parametrize(
    ("settings", "host", "origin", "expected"),
    [
        ({}, "localhost:8000", "http://localhost:8000", True),
        ({}, "localhost", "http://localhost:80", True),
        ({}, "localhost:8000", "http://localhost:3000", False),
        ({}, "localhost:8000", "http://127.0.0.1:8000", False),
        (KEYED, "a.example", "https://a.example", True),
        (KEYED, "a.example", "https://b.example", False),
        (PROXIED, "upstream:8000", "https://psoup.example", True),
        (PROXIED, "upstream:8000", "https://psoup.example:444", False),
        (PROXIED, "upstream:8000", "https://other.example", False),
        ({"hosts": ("psoup.example",)}, "localhost:8000", "http://psoup.example", False),
    ],
)
def test_origin_is_the_services_own(settings, host, origin, expected):
    """The same host and port as asked, whoever ended TLS; behind a proxy also the names it is known by."""
    assert expected == admitted(settings, "POST", host=host, origin=origin)
    assert admitted(settings, "GET", host=host, origin=origin), "reading is left to CORS"


@pytest.mark.parametrize("name", ["*", "http://a", "a:80", "a/b", "-a", "a b", "[::1]:80"])
def test_hosts_that_are_no_names_are_refused(name):
    """A name that could never match, or any name, is a mistake."""
    with pytest.raises(SettingError, match="hosts has"):
        check_settings(Settings(hosts=(name,)))


@pytest.mark.parametrize("name", ["a", "a.b-c.example.", "10.0.0.1", "::1", "my_api"])
def test_hosts_are_names_and_addresses(name):
    """Whatever a client may call the service by."""
    check_settings(dataclasses.replace(Settings(), hosts=(name,)))
