"""Who may call what: keys with scopes, from a file; or, without one, everybody on this machine.

The file holds one JSON object per line: `{"id": "spark", "sha256": "<hex of the key's SHA-256>",
"scopes": ["ingest:*"]}`. Only hashes are kept: a key is 256 random bits, so a fast hash is right.
"""

import base64
import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import orjson

from psoup.app.errors import ScopeMissingError, SettingError, UnauthenticatedError
from psoup.app.http.access.guesses import Guesses
from psoup.engine import limits

READ: Final = "read"
REGISTER: Final = "register"
ADMIN: Final = "admin"
INGEST: Final = "ingest"
SCOPES: Final = (READ, REGISTER, ADMIN)
_PREFIX: Final = "bearer "
_NOBODY: Final = bytes(32)
_KEY_BYTES: Final = 32
_KEY_PREFIX: Final = "psoup_"
"""The prefix by which secret scanners recognise a key."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sent a request. `scopes` None = everything is allowed."""

    key_id: str | None
    scopes: frozenset[str] | None

    def require(self, scope: str, *, stream: str | None = None) -> None:
        """Refuse a request that needs a scope this caller lacks.

        `ingest` is given by stream. A request that names no stream, but parts that somebody has staged, takes that
        of any stream.

        Raises:
            ScopeMissingError: says which scope is needed.
        """
        if self.allows(scope, stream=stream):
            return
        needed = f"{INGEST}:{stream or '*'}" if scope == INGEST else scope
        raise ScopeMissingError("The key lacks the scope this request needs.", scope=needed)

    def allows(self, scope: str, *, stream: str | None = None) -> bool:
        """Return whether the caller has a scope; `ingest` is that of a stream, or of any if none is named."""
        return self.scopes is None or _has(self.scopes, scope, stream)


def _has(scopes: frozenset[str], scope: str, stream: str | None) -> bool:
    if scope != INGEST:
        return scope in scopes
    if stream is None:
        return any(one.startswith(f"{INGEST}:") for one in scopes)
    return not scopes.isdisjoint({f"{INGEST}:{stream}", f"{INGEST}:*"})


ANYBODY: Final = Caller(None, None)


class Keys:
    """The keys in force. Without a keys file no request needs a key."""

    def __init__(
        self, callers: Mapping[bytes, Caller], *, required: bool, guesses: Guesses | None = None
    ) -> None:
        """Keep callers by the SHA-256 of their key; `guesses` counts the wrong ones."""
        self._callers = dict(callers)
        self.required = required
        self.guesses = guesses or Guesses()

    def caller(self, authorization: str | None, *, address: str) -> Caller:
        """Return who sends this Authorization header, from this address.

        Raises:
            UnauthenticatedError: no key, a malformed or an unknown one; the error does not say which.
            RateLimitedError: too many wrong ones came from the address; no key was compared, not even the right one.
        """
        if not self.required:
            return ANYBODY
        if authorization is None:
            raise UnauthenticatedError  # a missing key is no guess
        self.guesses.refuse_over(address)
        found = self._known(authorization)
        if found is None:
            self.guesses.failed(address)
            raise UnauthenticatedError
        return found

    def _known(self, given: str) -> Caller | None:
        key = given[len(_PREFIX) :].strip() if given.lower().startswith(_PREFIX) else ""
        digest = hashlib.sha256(key.encode()).digest()
        found: Caller | None = None
        # Every key is compared, whatever comes out: the time tells nothing about which are known.
        for known, caller in [*self._callers.items(), (_NOBODY, ANYBODY)]:
            if hmac.compare_digest(known, digest):
                found = caller
        return found if key else None


def load_keys(path: Path | None, *, processes: int = 1) -> Keys:
    """Return the keys in the file `path`; where none is given, nobody needs one. `processes` answer for one service.

    Raises:
        SettingError: the file cannot be read, or a line is not a key.
    """
    if path is None:
        return Keys({}, required=False)
    try:
        lines = path.read_bytes().splitlines()
    except OSError as error:
        raise SettingError(f"keys_file {path} cannot be read: {error.strerror}.") from error
    callers = dict(_key(line, f"{path}:{i}") for i, line in enumerate(lines, 1) if line.strip())
    return Keys(callers, required=True, guesses=Guesses(processes=processes))


def new_key(
    key_id: str, scopes: Sequence[str], random: Callable[[int], bytes]
) -> tuple[str, bytes]:
    """Return a new key, and its line of the keys file.

    Args:
        key_id: names the key in the log; its rates are counted by it.
        scopes: what it allows.
        random: returns so many random bytes, which nobody can guess.

    Raises:
        SettingError: the id is too long, or a scope is none.
    """
    secret = base64.urlsafe_b64encode(random(_KEY_BYTES)).rstrip(b"=").decode()
    key = f"{_KEY_PREFIX}{secret}"
    digest = hashlib.sha256(key.encode()).hexdigest()
    line = orjson.dumps({"id": key_id, "sha256": digest, "scopes": list(dict.fromkeys(scopes))})
    _key(line, key_id)
    return key, line


def _key(line: bytes, place: str) -> tuple[bytes, Caller]:
    try:
        value = orjson.loads(line)
        digest, scopes = bytes.fromhex(value["sha256"]), frozenset(map(str, value["scopes"]))
        key_id = str(value["id"])
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise SettingError(
            f"{place} is not a key: expected an object with id, sha256 (hex) and scopes."
        ) from error
    known = set(SCOPES)
    wrong = [s for s in scopes if s not in known and not s.startswith(f"{INGEST}:")]
    if wrong:
        raise SettingError(
            f"{place} has the scope {sorted(wrong)[0]!r}: expected one of {', '.join(SCOPES)},"
            f" {INGEST}:<stream> and {INGEST}:*."
        )
    if len(digest) != len(_NOBODY) or len(key_id) > limits.QUERY_NAME_LENGTH_MAX:
        raise SettingError(
            f"{place} is not a key: sha256 has 64 hex digits, an id at most"
            f" {limits.QUERY_NAME_LENGTH_MAX} characters."
        )
    return digest, Caller(key_id, scopes)
