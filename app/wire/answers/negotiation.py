"""Which representation and which encoding an answer gets: Accept and Accept-Encoding (RFC 9110, 12.5)."""

import functools
import gzip
from collections.abc import Callable, Mapping
from typing import Final

import zstandard

from psoup.app.errors import NotAcceptableError
from psoup.app.wire.rows.body import ALIASES, ARROW, CSV, JSON, NDJSON

FORMATS: Final[Mapping[str, str]] = {"json": JSON, "ndjson": NDJSON, "csv": CSV, "arrow": ARROW}
ENCODED_BYTES_MIN: Final = 1_024
"""Below this a compressed answer is hardly smaller."""
_GZIP_LEVEL: Final = 1
_ZSTD_LEVEL: Final = 1
_LEAST_WEIGHT: Final = 0.0005
"""Below every weight but 0: they have three decimals."""
_HEADERS_KNOWN_MAX: Final = 64
"""Values of a header whose meaning is remembered: a client sends the same one each time."""
_ENCODERS: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "zstd": lambda body: zstandard.compress(body, _ZSTD_LEVEL),
    "gzip": lambda body: gzip.compress(body, _GZIP_LEVEL, mtime=0),
}
"""In the order of preference where a client has none."""


@functools.lru_cache(_HEADERS_KNOWN_MAX)
def choose_format(wanted: str | None, accept: str | None) -> str:
    """Return one of the formats: what `format=` names, else the best of Accept, else json.

    Raises:
        NotAcceptableError: Accept allows none of them.
    """
    if wanted is not None:
        return wanted
    if accept is None or not accept.strip():
        return "json"
    weights = _weights(accept)
    best, best_weight = "", 0.0
    for name, media_type in FORMATS.items():
        weight = _weight_of(media_type, weights)
        if weight > best_weight:
            best, best_weight = name, weight
    if not best:
        raise NotAcceptableError(
            "No representation of the answer is acceptable.", supported=list(FORMATS.values())
        )
    return best


def accepts(accept: str | None, media_type: str) -> bool:
    """Return whether Accept allows a media type, the only one there is."""
    return not accept or not accept.strip() or _weight_of(media_type, _weights(accept)) > 0


def encode_content(body: bytes, accept_encoding: str | None) -> tuple[bytes, str | None]:
    """Return the body in the coding of most weight that is worth it, and the coding; None = as it is.

    Where a client refuses them all, the body as it is is better than none (RFC 9110, 12.5.3).
    """
    if not accept_encoding:
        return body, None
    weights = _weights(accept_encoding)
    as_it_is = _coding_weight("identity", weights)
    if len(body) < ENCODED_BYTES_MIN and as_it_is > 0:
        return body, None
    best, best_weight = None, 0.0
    for name in _ENCODERS:
        weight = _coding_weight(name, weights)
        if weight > best_weight:
            best, best_weight = name, weight
    if best is None or as_it_is > best_weight:
        return body, None
    return _ENCODERS[best](body), best


def takes_coding(name: str, accept_encoding: str | None) -> bool:
    """Return whether a body may come in a content coding."""
    return accept_encoding is not None and _coding_weight(name, _weights(accept_encoding)) > 0


def _coding_weight(name: str, weights: Mapping[str, float]) -> float:
    """Return the weight of a content coding; what is not named has that of `*`, identity the least."""
    unnamed = _LEAST_WEIGHT if name == "identity" else 0.0
    return weights.get(name, weights.get("*", unnamed))


@functools.lru_cache(_HEADERS_KNOWN_MAX)
def _weights(header: str) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for part in header.split(","):
        name, *parameters = (piece.strip().lower() for piece in part.split(";"))
        weight = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                weight = _number(parameter[2:])
        if name:
            found[name] = max(weight, found.get(name, 0.0))
    return found


def _weight_of(media_type: str, weights: Mapping[str, float]) -> float:
    """Return the weight of the most specific range that covers `media_type`."""
    family = media_type.partition("/")[0] + "/*"
    others = (alias for alias, name in ALIASES.items() if name == media_type)
    for name in (media_type, *others, family, "*/*"):
        if name in weights:
            return weights[name]
    return 0.0


def _number(text: str) -> float:
    try:
        return min(max(0.0, float(text)), 1.0)  # in this order NaN is 0
    except ValueError:
        return 0.0
