"""Checks of `Host` and `Origin`: web pages must not use the service through the browser of somebody who can reach it.

A browser sends what any page asks it to send, and names the page's origin. A page whose own host name was made to
point here (DNS rebinding) even counts as the service's own: only `Host` then tells the two apart.

Both checks are for services that trust whoever reaches them. `Host` is compared where no keys are asked for: a key is
in a header that browsers do not send by themselves, and load balancers ask by address. `Origin` is compared always:
it concerns changes alone, and nobody but a browser sends it.
"""

from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from psoup.app.errors import ForeignHostError, ForeignOriginError
from psoup.app.hosts import is_any_address, is_loopback
from psoup.app.http.edge import Scope
from psoup.app.settings import Settings

_READS: Final = ("GET", "HEAD", "OPTIONS", "QUERY")
_PORTS: Final = {"http": 80, "https": 443}
_ELSEWHERE: Final = (b"cross-site", b"same-site")
"""Values of `Sec-Fetch-Site` for requests by pages of other origins."""
_HOSTS_KNOWN_MAX: Final = 64
"""Values of `Host` whose judgement is remembered: a client sends the same one each time."""


class Sites:
    """The host names that the service answers to, and the origins whose pages may change something."""

    def __init__(self, settings: Settings) -> None:
        """Take the names from `settings`."""
        self._any_host = settings.keys_file is not None
        self._names = {_bare(name) for name in settings.hosts}
        self._origins = frozenset(settings.cors_origins)
        self._is_bound_to_all = is_any_address(settings.host)
        self._is_behind_proxy = settings.behind_proxy
        if not self._is_bound_to_all:
            self._names.add(_bare(settings.host))
        self._is_own = lru_cache(_HOSTS_KNOWN_MAX)(self._is_ours)

    def admit(self, scope: Scope) -> None:
        """Check the `Host` and `Origin` of a request. Cost: O(headers).

        Raises:
            ForeignHostError: no key is asked for, and `Host` is none of the service's names.
            ForeignOriginError: it changes something for a page of another origin.
        """
        hosts: list[str] = []
        origins: list[str] = []
        from_elsewhere = False
        for name, value in scope["headers"]:
            if name == b"host":
                hosts.append(value.decode("latin-1"))
            elif name == b"origin":
                origins.append(value.decode("latin-1"))
            elif name == b"sec-fetch-site":
                from_elsewhere |= value in _ELSEWHERE
        if not self._any_host:
            server = scope.get("server")  # the address that the connection was made to
            address = None if server is None else server[0]
            for host in hosts:
                if not self._is_own(host, address):
                    raise ForeignHostError
        if scope["method"] in _READS:
            return
        if any(not self._may_change(origin, hosts) for origin in origins) or (
            from_elsewhere and not origins
        ):
            raise ForeignOriginError

    def _is_ours(self, host: str, address: str | None) -> bool:
        name = _name(host)
        if name in self._names or is_loopback(name):
            return True
        return self._is_bound_to_all and address is not None and name == _bare(address)

    def _may_change(self, origin: str, hosts: list[str]) -> bool:
        """Return whether pages of `origin` may change something: the service's own, and those that were named."""
        if origin in self._origins:
            return True
        try:
            parts = urlsplit(origin)
            port = parts.port
        except ValueError:
            return False
        if parts.scheme not in _PORTS or not parts.hostname:
            return False  # `null`, or no web page
        if self._is_behind_proxy and port is None and _bare(parts.hostname) in self._names:
            return True  # the proxy may have put another name into Host
        # The scheme is left out: a proxy in front may have ended TLS.
        known = {_with_port(host, parts.scheme) for host in hosts}
        return (_bare(parts.hostname), port or _PORTS[parts.scheme]) in known


def _name(host: str) -> str:
    """Return the name or address of a `Host`, without its port; "" where it is none."""
    try:
        return _bare(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return ""


def _with_port(host: str, scheme: str) -> tuple[str, int]:
    try:
        return _name(host), urlsplit(f"//{host}").port or _PORTS[scheme]
    except ValueError:
        return "", 0


def _bare(name: str) -> str:
    """Return a name as names are compared: in lower case, without the brackets of IPv6 and the last dot."""
    return name.lower().strip("[]").removesuffix(".")
