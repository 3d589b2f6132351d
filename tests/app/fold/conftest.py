"""What tests of rows at hand share."""

from collections.abc import Iterator

import pytest

from psoup.app.fold import loop as fold_loop
from psoup.engine import limits
from psoup.engine.clock import ManualClock
from tests.app.faults import FaultyStore
from tests.app.fold.appending import Appending
from tests.app.fold.folding import folding
from tests.app.support import START_US
from tests.patience import WAIT_S


@pytest.fixture
def one(monkeypatch: pytest.MonkeyPatch) -> Iterator[Appending]:
    """Yield a loop that has recovered and nothing but its being told wakes: nothing is read, published or noted."""
    monkeypatch.setattr(fold_loop, "IDLE_S", 10 * WAIT_S)
    monkeypatch.setattr(limits, "PUBLISH_AFTER_S", WAIT_S)
    monkeypatch.setattr(limits, "FIGURES_EVERY_S", WAIT_S)
    with folding(FaultyStore(ManualClock(START_US))) as running:
        appending = Appending(running)
        yield appending
        appending.hand.check()
