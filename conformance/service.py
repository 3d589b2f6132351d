"""A psoup service at some address, by plain HTTP/1.1 over one connection."""

import http.client
import json
import urllib.parse
from typing import Any, NamedTuple, Self

Json = dict[str, Any]
TIMEOUT_S = 60.0
SUCCESSES = frozenset({200, 201, 202, 204})


class RefusedError(Exception):
    """The service answered a request with another status than it had to."""


class Reply(NamedTuple):
    """What came: status, headers by their names in small letters, and the body, None where it is no JSON."""

    status: int
    headers: dict[str, str]
    body: Any


class Service:
    """A service; `key` is sent as its bearer token. Use it as a context manager: it holds a connection."""

    def __init__(self, url: str, key: str | None = None) -> None:
        """Raises ValueError where `url` is no address."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"{url!r} is no address such as http://127.0.0.1:8000")
        kind = (
            http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        )
        self._connection = kind(parts.hostname, parts.port, timeout=TIMEOUT_S)
        self._url, self._key = url, key
        self._root = parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.requests = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def another(self) -> "Service":
        """Return another connection to the same service."""
        return Service(self._url, self._key)

    def send(
        self, method: str, path: str, body: object = None, headers: dict[str, str] | None = None
    ) -> Reply:
        """Send one request. Raises OSError or HTTPException where no answer comes."""
        content = None if body is None else json.dumps(body).encode()
        given = {**self._headers, **(headers or {})}
        if content is not None:
            given["Content-Type"] = "application/json"
        self.requests += 1
        try:
            self._connection.request(method, self._root + path, content, given)
            reply = self._connection.getresponse()
            text = reply.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            raise
        try:
            read = json.loads(text) if text else None
        except ValueError:
            read = None
        return Reply(reply.status, {n.lower(): v for n, v in reply.getheaders()}, read)

    def call(self, method: str, path: str, body: object = None) -> Json:
        """Send one request that has to succeed; return its JSON body. Raises RefusedError."""
        return succeeded(self.send(method, path, body), f"{method} {path}")


def succeeded(reply: Reply, request: str) -> Json:
    """Return the JSON body of a success. Raises RefusedError for any other reply."""
    if reply.status not in SUCCESSES:
        raise RefusedError(f"{request} is answered {reply.status}: {reply.body}")
    return reply.body or {}
