"""What web pages of the origins that were named may send, and read of the answers."""

from collections.abc import Sequence
from typing import Final

from starlette.middleware.cors import CORSMiddleware

from psoup.app.http.edge import Application, Headers
from psoup.app.settings import Settings

_ALLOWED_METHODS: Final = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "QUERY")
_ALLOWED_HEADERS: Final = (
    "Authorization",
    "Content-Encoding",
    "Content-Type",
    "Idempotency-Key",
    "If-Match",
    "If-None-Match",
    "Last-Event-ID",
    "Prefer",
    "Psoup-Txn-App",
    "Psoup-Txn-Version",
)
EXPOSED_HEADERS: Final = (
    "ETag",
    "Retry-After",
    "Location",
    "Link",
    "Request-Id",
    "Idempotency-Replayed",
    "RateLimit",
    "RateLimit-Policy",
    "Psoup-Gen",
    "Psoup-Seq",
    "Psoup-Now",
    "Psoup-Count",
    "Psoup-Cursor",
    "Psoup-Reset",
    "Psoup-Next",
    "Psoup-Changes-At",
    "Psoup-Complete",
    "Psoup-Complete-From",
    "Psoup-Poll-After-Ms",
    "Psoup-Warnings",
    "Psoup-Durability",
)
"""Headers that scripts of allowed origins may read, beside those that browsers always show."""


_EXPOSED: Final = ", ".join(EXPOSED_HEADERS).encode()


def shared(answering: Application, settings: Settings) -> Application:
    """Return `answering`, and around it what lets web pages of the origins that were named read its answers."""
    if not settings.cors_origins:
        return answering
    return CORSMiddleware(
        answering,
        allow_origins=list(settings.cors_origins),
        allow_methods=list(_ALLOWED_METHODS),
        allow_headers=list(_ALLOWED_HEADERS),
        expose_headers=list(EXPOSED_HEADERS),
    )


def shown_to(headers: Headers, origins: Sequence[str]) -> Headers:
    """Return the headers by which the web page that sent a request reads its refusal; none for other `origins`.

    For refusals that are written outside of what `shared` has put around the application.
    """
    for name, value in headers:
        if name == b"origin" and value.decode("latin-1") in origins:
            return (
                (b"access-control-allow-origin", value),
                (b"vary", b"Origin"),
                (b"access-control-expose-headers", _EXPOSED),
            )
    return ()
