"""The right of one engine to write: a token in META that every writing Function of the engine's compares first.

A token is (epoch, nonce). Whoever acquires the store gets a fresh one, and with that the former one is worth nothing,
however long its holder was held up: its next write is refused. The lease only says when another may try.
"""

import secrets
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from psoup.engine.errors import EngineError, IntegrityError
from psoup.engine.limits import SECOND_US
from psoup.engine.store.errors import FencedError, RecoveringError, StoreUnavailableError
from psoup.storage import keys
from psoup.storage.redis.calls.client import Argument, RedisClient

NONCE_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class StoreHolder:
    """Another engine has the store: who, and for how many seconds yet unless it says that it is alive."""

    owner: str
    seconds: float


@dataclass(frozen=True, slots=True)
class TokenStatistics:
    """The epoch that is held (0 = none), and how often its lease was prolonged."""

    epoch: int
    renewals: int


def runs(now_us: int, from_us: int, until_us: int) -> bool:
    """Return whether a lease runs. One from later does not: the server's clock was set back."""
    return from_us <= now_us < until_us


class WriteToken:
    """An engine's token, from `acquire` to `release`. Thread-safe."""

    def __init__(self, client: RedisClient, owner: str, lease_s: float) -> None:
        """Hold nothing yet.

        Args:
            client: connections to the store.
            owner: id of the data folder, whose lock this process has.
            lease_s: how long the store stays with an engine that says nothing.
        """
        self._client = client
        self._owner = owner
        self._lease_ms = round(lease_s * 1_000)
        self._lock = threading.Lock()
        self._epoch = 0
        self._nonce = ""
        self._next = ""
        """The nonce that the store is to hold, and may hold already; "" = it is not to change."""
        self._renewing = threading.Lock()
        self._renewals = 0

    @property
    def held(self) -> bool:
        """Return whether it was acquired; another engine may have taken over since."""
        return self._epoch > 0

    def holder(self) -> StoreHolder | None:
        """Return which other engine has the store; None = nobody, or this one. Needs no Function.

        Raises:
            IntegrityError: META does not say who has it.
        """
        (seconds, microseconds), (owner, *token) = self._client.fetch_together(
            [("TIME",), ("HMGET", keys.META, "owner", "epoch", "lease_from", "lease_until")]
        )
        if owner is None and not any(token):
            return None  # the store is empty
        now_us = int(seconds) * SECOND_US + int(microseconds)
        _, from_us, until_us = map(_number, token)
        name = (owner or b"").decode(errors="replace")
        if not runs(now_us, from_us, until_us) or name == self._owner:
            return None
        return StoreHolder(name, (until_us - now_us) / SECOND_US)

    def confirm(self) -> None:
        """Raise FencedError where another engine has acquired the store since. Needs no Function."""
        epoch = self._client.fetch_one("HGET", keys.META, "epoch")
        if epoch is None or _number(epoch) != self._epoch:
            raise _fenced(self._epoch)

    def acquire(self, durability: str) -> StoreHolder | None:
        """Take the store, which from now on refuses every earlier token; or return who has it.

        Args:
            durability: the level it is set to, for those who may not ask it.

        Raises:
            RecoveringError: there is nothing to take: the store is empty.
            EngineError: what `RedisClient.call` raises. Whether it was taken is then open: acquire again.
        """
        nonce = secrets.token_hex(NONCE_BYTES)
        answer = self._client.call(
            "psoup_acquire",
            [keys.META],
            [nonce, self._owner, self._lease_ms, self._client.library_sha, durability],
        )
        if answer[0] == b"HELD":
            return StoreHolder(answer[2].decode(), int(answer[1]) / 1_000)
        with self._lock:
            self._epoch, self._nonce, self._next = int(answer[1]), nonce, ""
        return None

    def renew(self) -> None:
        """Prolong the lease. Raises FencedError where another engine has the store."""
        with self._renewing:  # one at a time: behind each it is known which nonce the store holds
            with self._lock:
                following = self._next or self._nonce
            self.call("psoup_renew", [keys.META], [self._lease_ms, following])
            with self._lock:
                self._nonce = following
                self._next = "" if self._next == following else self._next
                self._renewals += 1

    def change(self) -> None:
        """Prolong the lease under another nonce: whatever was sent before and not answered can run no more.

        Without it a part of a publish that was given up could run behind what tidied up after it.

        Raises:
            FencedError: another engine has the store.
            EngineError: what `RedisClient.call` raises. Change again before anything else is called.
        """
        with self._lock:
            self._next = self._next or secrets.token_hex(NONCE_BYTES)
        self.renew()

    def release(self) -> bool:
        """End the lease, so that another need not wait for it. Return whether it was this engine's to the end.

        False where another has taken over or the store is away; never raises these.
        """
        try:
            self.call("psoup_release", [keys.META])
        except (FencedError, RecoveringError, StoreUnavailableError):
            return False
        finally:
            with self._lock:
                self._epoch, self._nonce = 0, ""
        return True

    def call(
        self,
        function: str,
        key_names: Sequence[str],
        arguments: Sequence[Argument] = (),
        *,
        lost: type[EngineError] = StoreUnavailableError,
    ) -> list[Any]:
        """Return the answer of a Function that only the engine may call; the token goes in front of `arguments`.

        Raises:
            FencedError: another engine has acquired the store; nothing was changed.
            EngineError: what `RedisClient.call` raises.
        """
        with self._lock:
            epoch, nonce = self._epoch, self._nonce
        answer = self._client.call(function, key_names, [epoch, nonce, *arguments], lost=lost)
        if answer[0] == b"FENCED":
            raise _fenced(epoch)
        return answer

    def statistics(self) -> TokenStatistics:
        """Return what is held."""
        with self._lock:
            return TokenStatistics(self._epoch, self._renewals)

    def check(self) -> None:
        """Assert that epoch and nonce are there together."""
        with self._lock:
            assert (self._epoch > 0) == bool(self._nonce)


def _number(kept: bytes | None) -> int:
    """Return a number of the token as META has it. Raises IntegrityError where it is none."""
    if kept is None or not kept.isdigit():
        raise IntegrityError(
            f"{keys.META} is damaged: it does not say which engine has the store. Restore it from a copy."
        )
    return int(kept)


def _fenced(epoch: int) -> FencedError:
    return FencedError(
        f"Another engine has taken over the store that this one held as epoch {epoch}: it was held up"
        " for longer than its lease. Nothing was changed. Stop it; start it again as a standby."
    )
