"""`Idempotency-Key`: a client's name for one request that changes something, which then counts once.

Source: draft-ietf-httpapi-idempotency-key-header. The log keeps what a key was sent with (`RequestKey`), so every
process of a store says the same.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from psoup.app.errors import IdempotencyKeyError
from psoup.engine import limits
from psoup.engine.log.operation import RequestKey

IDEMPOTENCY_KEY: Final = "Idempotency-Key"
REPLAYED: Final[Mapping[str, str]] = {"Idempotency-Replayed": "?1"}
"""Headers of an answer that repeats the first one."""
IDEMPOTENCY_HEADER: Final[Mapping[str, Any]] = {
    "name": IDEMPOTENCY_KEY,
    "in": "header",
    "required": False,
    "description": "A name for this request, for a day: sent again with the same body it is answered as the first time.",
    "schema": {"type": "string", "minLength": 1, "maxLength": limits.REQUEST_KEY_BYTES_MAX},
}
_BLANKS: Final = b" \t"
_LOWER: Final = IDEMPOTENCY_KEY.lower().encode()
_TEXT: Final = re.compile(r'"([^"\\]*)"|([^"]*)')
"""A String of structured fields (RFC 9651) without escapes, or the same without its quotes."""


def key_in(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return the key of a request with these headers; None = it has none.

    Raises:
        IdempotencyKeyError: it came several times, is empty, too long or not printable.
    """
    found = _values(headers)
    if not found:
        return None
    key = _key(found[0])
    size = len(key.encode())
    if len(found) > 1 or not key.isprintable() or not 1 <= size <= limits.REQUEST_KEY_BYTES_MAX:
        raise IdempotencyKeyError(
            f"{IDEMPOTENCY_KEY} has 1 to {limits.REQUEST_KEY_BYTES_MAX} bytes of printable text in UTF-8, with or"
            " without quotes around it, and is sent once."
        )
    return key


def request_key(key: str, digest: bytes, *, of: str, sender: str | None) -> RequestKey:
    """Return a key as the log has it.

    Args:
        key: as the client has written it.
        digest: of what was sent with it.
        of: what the request is for, within which the key counts.
        sender: the service's key that the client has, if it has one.
    """
    return RequestKey("\0".join((of, sender or "", key)), digest)


def refuse_key(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Raise IdempotencyKeyError where a request has a key that would not be looked at."""
    if _values(headers):
        raise IdempotencyKeyError(
            f"This request takes no {IDEMPOTENCY_KEY}, so it was not begun. POST of rows and of one query take one."
        )


def _key(value: bytes) -> str:
    """Return the text of a header's value; "" where it is none. No two texts are taken for one."""
    try:
        text = _TEXT.fullmatch(value.strip(_BLANKS).decode())
    except UnicodeDecodeError:
        return ""
    return (text[1] or text[2] or "") if text else ""


def _values(headers: Iterable[tuple[bytes, bytes]]) -> Sequence[bytes]:
    return [value for name, value in headers if name == _LOWER]
