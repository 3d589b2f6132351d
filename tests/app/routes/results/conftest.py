"""What tests of results share: the clock of those who wait."""

import time
from types import SimpleNamespace

import pytest

from psoup.app.routes.results import long_poll


@pytest.fixture
def waiting_clock(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Return the clock of waits, whose `monotonic` a test sets ahead."""
    clock = SimpleNamespace(monotonic=time.monotonic)
    monkeypatch.setattr(long_poll, "time", clock)
    return clock
