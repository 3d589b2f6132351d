"""The look at a store's condition each second, in a thread of its own: an operation may be folded for minutes.

What begins and what ends is logged, once. While the store is away the last condition stands.
"""

import threading
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Final

import structlog

from psoup.engine import limits
from psoup.engine.errors import EngineError
from psoup.engine.limits import SECOND_US
from psoup.engine.store.condition import (
    CONFIG_DRIFT,
    DISK_FULL,
    NOTHING_SEEN,
    OPERATIONS_LOST,
    StoreCondition,
)

SEVERE: Final = frozenset({OPERATIONS_LOST, DISK_FULL, CONFIG_DRIFT})
"""Logged as errors; everything else is a warning."""
LOOK_FAILED: Final = "store-look-failed"
"""Logged with what a look raised that is no error of a store; the last condition stands, and the looks go on."""

_LOG = structlog.get_logger("psoup.store_watch")


@dataclass(frozen=True, slots=True)
class WatchStatistics:
    """How often the store was looked at, and how often it could not be."""

    looks: int
    failures: int


class StoreWatch:
    """Looks until it is stopped."""

    def __init__(self, look: Callable[[], StoreCondition]) -> None:
        """Make the thread; it does nothing before `start`. `look` is `Store.look`."""
        self._look = look
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="psoup-watch", daemon=True)
        self._condition = NOTHING_SEEN
        self._looks = self._failures = 0
        self._fails = False
        """The last look met what no store says."""

    @property
    def condition(self) -> StoreCondition:
        """Return the store's condition as it was last seen."""
        return self._condition

    def start(self) -> None:
        """Start the thread, which looks at once."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for it. Blocks for one look; twice, or unstarted, does nothing."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def statistics(self) -> WatchStatistics:
        """Return counters."""
        return WatchStatistics(self._looks, self._failures)

    def check(self) -> None:
        """Raise AssertionError if it looks at what it was told to let go of. For tests."""
        if self._stopping.is_set() and self._thread.is_alive():
            raise AssertionError("a watch that was stopped looks no more")

    def _run(self) -> None:
        while not self._stopping.is_set():
            self._looks += 1
            try:
                condition = self._look()
            except EngineError:  # whoever needs the store finds out by itself
                self._failures += 1
            except Exception:  # noqa: BLE001 (whatever it is, the next look may succeed)
                self._failures += 1
                if not self._fails:
                    _LOG.exception(LOOK_FAILED)
                self._fails = True
            else:
                if self._fails:
                    _LOG.info(f"{LOOK_FAILED}-over")
                self._fails = False
                _log_changes(self._condition, condition)
                self._condition = condition
            self._stopping.wait(limits.STORE_CONDITION_S)


def _log_changes(before: StoreCondition, after: StoreCondition) -> None:
    """Log what holds and did not before, and what holds no more."""
    stood, stands = ({*one.reasons, *one.warnings} for one in (before, after))
    for name in sorted(stands - stood):
        say = _LOG.error if name in SEVERE else _LOG.warning
        say(name, **_facts(name, after))
    for name in sorted(stood - stands):
        _LOG.info(f"{name}-over")


def _facts(name: str, condition: StoreCondition) -> Mapping[str, object]:
    """Return what is told of a condition beside its name."""
    if name == OPERATIONS_LOST and condition.loss is not None:
        return {"first_seq": condition.loss.first, "last_seq": condition.loss.last}
    if name == CONFIG_DRIFT:
        return {"detail": "The store is set to keep less than is promised. Nothing is appended."}
    if name.startswith("disk") and condition.disk is not None:
        return asdict(condition.disk)
    return {"behind_s": round(condition.clock_behind_us / SECOND_US, 1)}
