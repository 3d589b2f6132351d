"""The engine's look at its store: settings, disk, clock, loss. Those who append learn from META what holds them up."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from psoup.engine.errors import IntegrityError
from psoup.engine.limits import SECOND_US
from psoup.engine.results.contract import Gen
from psoup.engine.store.condition import Loss, StoreCondition
from psoup.engine.store.contract import Durability
from psoup.storage import keys, refusals
from psoup.storage.disk import DiskWatch
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.write_token import WriteToken
from psoup.storage.redis.settings import verified_changes


@dataclass(frozen=True, slots=True)
class Guard:
    """What META says to those who append, as psoup_guard writes it."""

    settings: str
    full: str


@dataclass(frozen=True, slots=True)
class CountedLoss:
    """What META says of the latest loss, and which generation began with it (0 = an earlier psoup has not said)."""

    loss: Loss
    gen: Gen


def read_loss(client: RedisClient) -> CountedLoss | None:
    """Return the latest loss that was counted, None = none ever. Raises IntegrityError where it is damaged."""
    text = client.fetch_one("HGET", keys.META, "lost")
    if text is None:
        return None
    try:
        first, last, at_us, total, *gens = map(int, text.split())
        (gen,) = gens or [0]
    except ValueError as error:
        raise IntegrityError(f"{keys.META} is damaged: {error}.") from error
    return CountedLoss(Loss(first, last, at_us, total), Gen(gen))


class ConditionLook:
    """Looks when it is asked to. Thread-safe: the thread that opens the store anew is not the one that watches it.

    Invariant: what `_guard` says was written to META after the store was opened.
    """

    def __init__(
        self,
        client: RedisClient,
        token: WriteToken,
        *,
        clock_behind_us: Callable[[], int],
        disk_full_percent: float | None,
        settings_fixed: bool,
    ) -> None:
        """Look at nothing yet.

        Args:
            client: connections to the store.
            token: the right to write to META.
            clock_behind_us: how far the store's clock is behind what this process has told of it.
            disk_full_percent: from where on the disk is full; None = it is not seen from here.
            settings_fixed: nobody can change the server's settings while it runs.
        """
        self._client = client
        self._token = token
        self._clock_behind_us = clock_behind_us
        self._settings_fixed = settings_fixed
        self._looking = threading.Lock()
        self._disk: DiskWatch | None = None
        if disk_full_percent is not None:
            folder = client.configuration(["dir"]).get("dir")
            self._disk = DiskWatch(Path(folder), disk_full_percent) if folder else None
        self._guard: Guard | None = None
        """What META says, None = it is not known."""
        self._loss: Loss | None = None

    def begin(self, promised: Durability) -> None:
        """Look for the first time since the store was opened: before that nothing is appended."""
        with self._looking:
            counted = read_loss(self._client)
            self._loss = None if counted is None else counted.loss
            self._guard = None
            self._seen(promised)

    def look(self, promised: Durability) -> StoreCondition:
        """Return the store's condition, having let those who append know.

        Raises:
            FencedError: another engine has taken over.
            EngineError: what `RedisClient.call` raises.

        Cost: three round trips, one more where something has changed.
        """
        with self._looking:
            return self._seen(promised)

    def check(self) -> None:
        """Assert the invariants of the disk's watch."""
        if self._disk is not None:
            self._disk.check()

    def _seen(self, promised: Durability) -> StoreCondition:
        disk = None if self._disk is None else self._disk.look()
        verified = verified_changes(self._client, promised, fixed=self._settings_fixed)
        self._say(Guard(verified or "", "1" if disk is not None and disk.full else ""))
        (seconds, microseconds), arrival_us = self._client.fetch_together(
            [("TIME",), ("HGET", keys.HEAD, "ts")]
        )
        if arrival_us is None:  # the server has started without its data since
            raise refusals.recovering()
        now_us = int(seconds) * SECOND_US + int(microseconds)
        return StoreCondition(
            drifted=verified is None,
            disk=disk,
            clock_behind_us=max(0, int(arrival_us) - now_us, self._clock_behind_us()),
            loss=self._loss,
            loss_is_recent=self._loss is not None and self._loss.is_recent(now_us),
        )

    def _say(self, guard: Guard) -> None:
        if guard != self._guard:
            self._guard = None
            self._token.call("psoup_guard", [keys.META], [guard.settings, guard.full])
            self._guard = guard
