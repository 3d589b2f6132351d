"""Server-sent events: bytes of a `text/event-stream` (WHATWG HTML, 9.2)."""

from typing import Any, Final

from psoup.engine import limits

MEDIA_TYPE: Final = "text/event-stream"
PING: Final = b":\n\n"
"""A comment: nothing to its reader, but something to proxies, and to a network that has lost it."""


def event(name: str, data: bytes, *, cursor: str | None = None) -> bytes:
    """Return one event; `data` is JSON on one line. A browser sends the last `cursor` when it connects again."""
    last = b"" if cursor is None else b"id: %b\n" % cursor.encode("ascii")
    return b"event: %b\n%bdata: %b\n\n" % (name.encode("ascii"), last, data)


def retry(milliseconds: int) -> bytes:
    """Return what tells a browser how long to wait before it connects again."""
    return b"retry: %d\n\n" % milliseconds


def described_events(result: str) -> dict[str, Any]:
    """Return what the OpenAPI says of a stream of events; `result` says what its events `result` are."""
    text = (
        f"Server-sent events, each ended by an empty line. It begins with `retry`. {result}"
        f" `end`: nothing will follow, and a `Problem` says why. A comment, `:`, comes every {limits.EVENTS_PING_S:g} s in which nothing happens."
    )
    return {"schema": {"type": "string", "description": text}}
