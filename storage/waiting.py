"""Waiting for a server: with patience while it works, with less while it shows no sign of work."""

import time
from collections.abc import Mapping
from typing import Final

from psoup.engine import limits

POLL_S: Final = 0.005
"""Between two looks at a server."""


class Patience:
    """One wait. It ends STORE_LOAD_S after the last sign of work, STORE_WORK_S after its beginning."""

    def __init__(self) -> None:
        """Begin to wait."""
        self._begun = self._worked = time.monotonic()

    def pause(self, *, working: bool) -> bool:
        """Wait a moment and return True; return False at once where waiting any longer is of no use."""
        now = time.monotonic()
        if working:
            self._worked = now
        if now - self._worked > limits.STORE_LOAD_S or now - self._begun > limits.STORE_WORK_S:
            return False
        time.sleep(POLL_S)
        return True


def works(persistence: Mapping[str, str]) -> bool:
    """Return whether a server, by its section `persistence`, loads its files or writes them anew."""
    return "1" in (
        persistence["loading"],
        persistence["aof_rewrite_in_progress"],
        persistence["aof_rewrite_scheduled"],
    )
