"""Page tokens: opaque and signed, each valid for one answer or list alone.

A token is base64url of a 16-byte HMAC-SHA-256 and the JSON of its position; the signature covers the
subject too (a query's id, a list's name), so one answer's token never opens another. Cursors
(`cursors.py`) are signed in the same way.
"""

import base64
import binascii
import contextlib
import hashlib
import hmac
import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path

import orjson

from psoup.app.errors import SettingError
from psoup.engine.errors import BadPageError

KEY_BYTES = 32
_SIGNATURE_BYTES = 16


class PageTokens:
    """Signs and reads tokens with one key. Holds nothing else. Any thread may use it."""

    def __init__(self, find_key: Callable[[], bytes]) -> None:
        """Sign with the key that `find_key` returns. Tokens stay valid over restarts with the same key.

        `learn` calls `find_key`, or else the first use of the key does. It may block, and raise.
        """
        self._find_key = find_key
        self._key: bytes | None = None

    def learn(self) -> None:
        """Replace the key by the one that `find_key` returns now. May block; raises what `find_key` does."""
        self._key = self._find_key()

    def sign(self, subject: str, position: object) -> str:
        """Return the token of a `position` (plain JSON values) of `subject`."""
        return self.sign_bytes(subject, orjson.dumps(position))

    def sign_bytes(self, subject: str, payload: bytes) -> str:
        """Return the token of a `payload` of `subject`. The same payload has the same token."""
        return _text(self._signature(subject, payload) + payload)

    def digest(self, subject: str, facts: bytes) -> str:
        """Return a text that stands for these facts: equal for equal ones, and made with the same key."""
        return _text(self._signature(subject, facts))

    def read(self, subject: str, token: str) -> object:
        """Return the position that was signed for `subject`. Raises what `read_bytes` does."""
        position: object = orjson.loads(self.read_bytes(subject, token))
        return position

    def read_bytes(self, subject: str, token: str) -> bytes:
        """Return the payload that was signed for `subject`.

        Raises:
            BadPageError: the token is forged, damaged, signed with another key, or of another subject.
        """
        try:
            raw = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise _bad() from error
        signature, payload = raw[:_SIGNATURE_BYTES], raw[_SIGNATURE_BYTES:]
        if _text(raw) != token:  # base64 has several texts for some bytes: one of them is the token
            raise _bad()
        if not hmac.compare_digest(signature, self._signature(subject, payload)):
            raise _bad()
        return payload

    def _signature(self, subject: str, payload: bytes) -> bytes:
        key = self._key
        if key is None:
            key = self._key = self._find_key()
        message = subject.encode() + b"\0" + payload
        return hmac.digest(key, message, hashlib.sha256)[:_SIGNATURE_BYTES]


def page_key(path: Path | None) -> bytes:
    """Return the key kept in `path`, made there on first use; a fresh one where no path is given.

    The file appears whole or not at all, is synced, and only its owner may read it: a key that a crash
    cut short would be one that anybody can guess.

    Raises:
        SettingError: the file does not hold KEY_BYTES bytes.
        OSError: it cannot be read or made.
    """
    if path is None:
        return secrets.token_bytes(KEY_BYTES)
    with contextlib.suppress(FileExistsError):
        if not path.exists():
            _make_key(path)
    key = path.read_bytes()
    if len(key) != KEY_BYTES:
        raise SettingError(
            f"The key of page tokens in {path} has {len(key)} bytes, expected {KEY_BYTES}: remove the"
            " file, and the next start makes another. Page tokens handed out before are then refused."
        )
    return key


def _make_key(path: Path) -> None:
    """Write a fresh key to `path`. Raises FileExistsError: another process was first, and its key counts."""
    with tempfile.TemporaryDirectory(prefix=f".{path.name}-", dir=path.parent) as folder:
        unfinished = Path(folder) / path.name
        file = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(file, "wb") as writer:
            writer.write(secrets.token_bytes(KEY_BYTES))
            writer.flush()
            os.fsync(file)
        os.link(unfinished, path)  # unlike a rename it never replaces
    parent = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(parent)
    finally:
        os.close(parent)


def _text(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def _bad() -> BadPageError:
    return BadPageError("The page token is not one that this answer gave. Begin again without it.")
