"""The watch: what begins and ends is logged once, and an absent store leaves what was seen last."""

from collections.abc import Iterator

import pytest
import structlog.testing

from psoup.app.fold.store_watch import StoreWatch
from psoup.engine import limits
from psoup.engine.store.condition import DiskUse, Loss, StoreCondition
from psoup.engine.store.errors import StoreUnavailableError
from tests.patience import wait_until

WELL = StoreCondition()
FULL = DiskUse(91.0, 5, full=True, high=True)
BAD = StoreCondition(drifted=True, disk=FULL, clock_behind_us=9_000_000)
LOSS = StoreCondition(loss=Loss(3, 7, 0, 5), loss_is_recent=True)


class Store:
    """A store that shows one condition after another, then the last one."""

    def __init__(self, *seen: StoreCondition | None) -> None:
        self._seen: Iterator[StoreCondition | None] = iter(seen)
        self._last = seen[-1]
        self.looks = 0

    def look(self) -> StoreCondition:
        self.looks += 1
        found = next(self._seen, self._last)
        if found is None:
            raise StoreUnavailableError("It is away.")
        return found


@pytest.mark.parametrize(
    ("seen", "said"),
    [
        ((WELL, WELL), []),
        (
            (WELL, BAD, BAD, WELL),
            [
                ("error", "config-drift"),
                ("error", "disk-full"),
                ("warning", "clock-behind"),
                ("info", "config-drift-over"),
                ("info", "disk-full-over"),
                ("info", "clock-behind-over"),
            ],
        ),
        ((LOSS, None), [("error", "operations-lost")]),
    ],
)
def test_watch_logs_what_begins_and_ends(monkeypatch, seen, said):
    """Each once, at its level; a look that fails changes nothing."""
    monkeypatch.setattr(limits, "STORE_CONDITION_S", 0.001)
    store = Store(*seen)
    watch = StoreWatch(store.look)
    with structlog.testing.capture_logs() as lines:
        watch.start()
        wait_until(lambda: store.looks > len(seen) + 1, "it has looked at all of it")
        watch.stop()
    assert sorted(said) == sorted((line["log_level"], line["event"]) for line in lines)
    assert next(one for one in reversed(seen) if one is not None) == watch.condition
    statistics = watch.statistics()
    assert statistics.looks > statistics.failures
    watch.check()


def test_watch_goes_on_after_what_nobody_expected(monkeypatch):
    """It is logged once, with where it came from, and when it is over; meanwhile the last condition stands."""
    monkeypatch.setattr(limits, "STORE_CONDITION_S", 0.001)
    damage = [ValueError("no number"), KeyError("used"), None]
    looks: list[StoreCondition] = []

    def look() -> StoreCondition:
        looks.append(BAD)
        if 1 < len(looks) < 5 and (error := damage[len(looks) - 2]) is not None:
            raise error
        return BAD

    watch = StoreWatch(look)
    with structlog.testing.capture_logs() as lines:
        watch.start()
        wait_until(lambda: len(looks) > 5, "it looks on")
        watch.stop()
    failed = [line for line in lines if line["event"].startswith("store-look-failed")]
    assert ["store-look-failed", "store-look-failed-over"] == [line["event"] for line in failed]
    assert ("error", True) == (failed[0]["log_level"], failed[0]["exc_info"])
    assert (BAD, 2) == (watch.condition, watch.statistics().failures)
    watch.check()


def test_conditions_are_reasons_or_warnings():
    """What refuses additions is a reason not to be ready; what only has to be known is a warning."""
    assert (("config-drift", "disk-full"), ("clock-behind",)) == (BAD.reasons, BAD.warnings)
    assert ((), ("operations-lost",)) == (LOSS.reasons, LOSS.warnings)
    assert ((), ()) == (WELL.reasons, WELL.warnings)
