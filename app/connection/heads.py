"""The bounds of a request's head: how long it may take to arrive, and what is said of one that is too large."""

from psoup.app.http.edge import headers_too_large, url_too_long
from psoup.app.settings import Settings
from psoup.engine import limits
from psoup.engine.errors import EngineError


def head_allowance_s(settings: Settings) -> float:
    """Return how many seconds after its first byte a head has to be there: as the largest one at the least rate."""
    rate = settings.request_bytes_per_s_min
    allowed = settings.request_grace_s
    allowed += limits.HEADERS_BYTES_MAX / rate if rate else settings.request_s
    return min(allowed, settings.request_s)


def head_refusal(url: bytes) -> EngineError:
    """Return the refusal of a head over its limit, as far as it has arrived."""
    if len(url) > limits.URL_BYTES_MAX:
        return url_too_long()
    return headers_too_large("bytes of all headers", limits.HEADERS_BYTES_MAX)
