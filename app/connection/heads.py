"""Bounds of a request's head: its time to arrive, and the refusal of one that is too large."""

from psoup.app.http.edge import headers_too_large, url_too_long
from psoup.app.settings import Settings
from psoup.engine import limits
from psoup.engine.errors import EngineError


def head_allowance_s(settings: Settings) -> float:
    """Return the seconds for a head to arrive, from its first byte: enough for the largest one at the least rate."""
    rate = settings.request_bytes_per_s_min
    allowed = settings.request_grace_s
    allowed += limits.HEADERS_BYTES_MAX / rate if rate else settings.request_s
    return min(allowed, settings.request_s)


def head_refusal(url: bytes) -> EngineError:
    """Return the refusal of a head over its limit; `url` is the part of its URL that has arrived."""
    if len(url) > limits.URL_BYTES_MAX:
        return url_too_long()
    return headers_too_large("bytes of all headers", limits.HEADERS_BYTES_MAX)
