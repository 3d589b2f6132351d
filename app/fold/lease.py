"""The lease of an engine on its store: a thread renews it, and while it lasts a standby waits.

The thread is its own, because one operation may take longer to fold than a lease lasts. Writes do not depend on the
lease: the store refuses an engine that has lost it, however late that engine finds out. Reads from this process's
memory do: once the lease may have ended, another engine may have taken over and applied more.
"""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import structlog

from psoup.engine import limits
from psoup.engine.errors import EngineError
from psoup.engine.store.errors import FencedError

RENEWAL_FAILED: Final = "lease-renewal-failed"
"""Logged once, with an error of a renewal that is none of the store's; renewals go on, and `-over` says when one
succeeds. If none does, the lease ends: the engine is not ready, and a standby takes over.
"""

_LOG = structlog.get_logger("psoup.lease")


@dataclass(frozen=True, slots=True)
class LeaseStatistics:
    """How often the lease was renewed, and how often that failed."""

    renewals: int
    failures: int


class Lease:
    """Renews a lease until `stop`, or until the store says that another engine has taken over."""

    def __init__(
        self,
        renew: Callable[[], None],
        *,
        lease_s: float,
        on_fenced: Callable[[FencedError], None],
        elapsed_s: Callable[[], float],
    ) -> None:
        """Make the thread; it does nothing before `start`.

        Args:
            renew: one renewal, as `Store.renew`.
            lease_s: seconds that it lasts.
            on_fenced: called once, from this thread, with the store's refusal; then the thread ends. It must not
                wait for this thread.
            elapsed_s: a clock that goes on while the process is stopped.
        """
        self._renew = renew
        self._lease_s = lease_s
        self._every_s = lease_s * limits.LEASE_RENEW_S / limits.LEASE_S
        self._on_fenced = on_fenced
        self._elapsed_s = elapsed_s
        self._asked_s: float | None = None
        """When the last successful renewal began."""
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="psoup-lease", daemon=True)
        self._renewals = self._failures = 0
        self._is_broken = False
        """Whether the last renewal raised an error that is none of the store's."""

    @property
    def lasts(self) -> bool:
        """Return whether the lease lasts: no other engine can have taken over.

        A store that no other process can reach is not leased; then it is always True.
        """
        return self._asked_s is None or self._elapsed_s() - self._asked_s < self._lease_s

    def start(self, asked_s: float) -> None:
        """Start the thread, which renews at once: taking over, which began at `asked_s`, may have taken long."""
        self._asked_s = asked_s
        self._thread.start()

    def stop(self) -> None:
        """End the thread and wait for it. Blocks for one call of the store; twice, or unstarted, does nothing."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()

    def statistics(self) -> LeaseStatistics:
        """Return counters."""
        return LeaseStatistics(self._renewals, self._failures)

    def check(self) -> None:
        """Raise AssertionError if the thread runs on after `stop`. For tests."""
        if self._stopping.is_set() and self._thread.is_alive():
            raise AssertionError("a lease that was stopped is renewed no more")

    def _run(self) -> None:
        while not self._stopping.is_set():
            asked_s = self._elapsed_s()
            try:
                self._renew()
            except FencedError as refusal:
                self._on_fenced(refusal)
                return
            except EngineError as error:
                self._failures += 1
                _LOG.debug("not-renewed", code=error.code, detail=error.detail)
            except Exception:  # noqa: BLE001 (whatever it is, the next renewal may succeed)
                self._failures += 1
                if not self._is_broken:
                    _LOG.exception(RENEWAL_FAILED)
                self._is_broken = True
            else:
                self._renewals += 1
                self._asked_s = asked_s
                if self._is_broken:
                    _LOG.info(f"{RENEWAL_FAILED}-over")
                self._is_broken = False
            self._stopping.wait(self._every_s)
