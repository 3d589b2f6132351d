"""A thread that looks at the store's condition each second; its own, since one operation may be folded for minutes.

Each change of the condition is logged once. While the store is unavailable the last condition is kept.
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
"""Logged with an error of a look that is none of the store's; the last condition is kept, and looks go on."""

_LOG = structlog.get_logger("psoup.store_watch")


@dataclass(frozen=True, slots=True)
class WatchStatistics:
    """Looks at the store, and those that failed."""

    looks: int
    failures: int


class StoreWatch:
    """Looks at the store until `stop`."""

    def __init__(self, look: Callable[[], StoreCondition]) -> None:
        """Make the thread; it does nothing before `start`. `look` is `Store.look`."""
        self._look = look
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="psoup-watch", daemon=True)
        self._condition = NOTHING_SEEN
        self._looks = self._failures = 0
        self._fails = False
        """Whether the last look raised an error that is none of the store's."""

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
        """Raise AssertionError if the thread runs on after `stop`. For tests."""
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
    """Log the reasons and warnings that have begun, and those that have ended."""
    old, new = ({*condition.reasons, *condition.warnings} for condition in (before, after))
    for name in sorted(new - old):
        log = _LOG.error if name in SEVERE else _LOG.warning
        log(name, **_facts(name, after))
    for name in sorted(old - new):
        _LOG.info(f"{name}-over")


def _facts(name: str, condition: StoreCondition) -> Mapping[str, object]:
    """Return the members of the log line of a reason or warning."""
    if name == OPERATIONS_LOST and condition.loss is not None:
        return {"first_seq": condition.loss.first, "last_seq": condition.loss.last}
    if name == CONFIG_DRIFT:
        return {"detail": "The store is set to keep less than is promised. Nothing is appended."}
    if name.startswith("disk") and condition.disk is not None:
        return asdict(condition.disk)
    return {"behind_s": round(condition.clock_behind_us / SECOND_US, 1)}
