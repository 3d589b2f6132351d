"""What both connections share: the settings of HTTP, a request as it is sent, an answer as it came."""

import re
import ssl
from typing import Any, Final

import httpx2

from psoup.client.connections.address import checked_token, checked_url, target
from psoup.client.connections.messages import Answer, Request, Unreached

CONNECT_TIMEOUT_S: Final = 5.0
ANSWER_TIMEOUT_S: Final = 90.0
"""Longer than any deadline of the service, which therefore answers first, with a reason."""

_NUMBER: Final = re.compile(r"^\[Errno -?\d+\] ")
_REASONS: Final = tuple(
    (re.compile(pattern), reason, hint)
    for pattern, reason, hint in (
        (
            r"Name or service not known|nodename nor servname|name resolution|No address associated",
            "no host of this name is known",
            "Is the address right?",
        ),
        (
            r"WRONG_VERSION_NUMBER|RECORD_LAYER_FAILURE",
            "what listens there does not speak TLS",
            "Write http:// in place of https://.",
        ),
        (
            r"CERTIFICATE_VERIFY_FAILED\W*certificate verify failed: (.*?)\W*(?:\(_ssl.*)?$",
            r"its certificate is not trusted: \1",
            "SSL_CERT_FILE names a file of certificates to trust.",
        ),
    )
)
"""Reasons of the system or of TLS: as they are written, in plain words, and what to do."""


def settings(url: str, token: str | None) -> dict[str, Any]:
    """Return the arguments of an HTTP client for a service.

    Raises:
        AddressError: `url` or `token` is malformed.
    """
    headers = {"User-Agent": "psoup"}
    if token:
        headers["Authorization"] = f"Bearer {checked_token(token)}"
    return {
        "headers": headers,
        "timeout": httpx2.Timeout(ANSWER_TIMEOUT_S, connect=CONNECT_TIMEOUT_S),
        "trust_env": False,  # a proxy of the surroundings has no business between the two
        "follow_redirects": False,  # psoup answers none, and the token is for this service alone
        "verify": _certificates(checked_url(url)),
    }


def prepared(
    client: httpx2.Client | httpx2.AsyncClient, url: str, request: Request
) -> httpx2.Request:
    """Return a request as it is sent. Raises ForeignAddressError: it would go elsewhere; nothing was sent."""
    silence_s = request.silence_s or ANSWER_TIMEOUT_S
    return client.build_request(
        request.method,
        target(url, request.path),
        params=dict(request.params) if request.params else None,
        content=request.content,
        headers=dict(request.headers),
        timeout=httpx2.Timeout(silence_s, connect=CONNECT_TIMEOUT_S),
    )


def answer_of(came: httpx2.Response, content: bytes) -> Answer:
    """Return an answer as an operation sees it."""
    return Answer(
        status=came.status_code,
        url=str(came.request.url.copy_with(query=None)),
        headers={name.lower(): value for name, value in came.headers.items()},
        content=content,
        parameters=dict(came.request.url.params),
        next_link=came.links.get("next", {}).get("url"),
    )


def unreached(error: httpx2.RequestError) -> Unreached:
    """Return why there is no answer."""
    connected = not isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout)
    given = _NUMBER.sub("", str(error)).rstrip(".") or type(error).__name__
    silent = isinstance(error, httpx2.ReadTimeout)
    for pattern, reason, hint in _REASONS:
        if match := pattern.search(given):
            return Unreached(match.expand(reason), connected, silent=silent, hint=hint)
    return Unreached(given, connected, silent=silent)


def _certificates(url: str) -> ssl.SSLContext:
    """Return the authorities that verify a service's certificate: the system's, or those of SSL_CERT_FILE.

    None of them for http, which shows no certificate: reading them takes 20 ms.
    """
    if url.lower().startswith("https:"):
        return ssl.create_default_context()
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
