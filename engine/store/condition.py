"""What an engine sees of its store now and then, and every process tells: settings, disk, clock, loss."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psoup.engine import limits
from psoup.engine.limits import SECOND_US

CONFIG_DRIFT: Final = "config-drift"
DISK_FULL: Final = "disk-full"
DISK_HIGH: Final = "disk-high"
CLOCK_BEHIND: Final = "clock-behind"
OPERATIONS_LOST: Final = "operations-lost"


@dataclass(frozen=True, slots=True)
class DiskUse:
    """The disk that the store's files are on.

    Attributes:
        used_percent: of what users of this machine may have, as `df` counts.
        free_bytes: left for them, in whole MiB.
        full: nothing may be added to the store.
        high: little is missing to that.
    """

    used_percent: float
    free_bytes: int
    full: bool
    high: bool


@dataclass(frozen=True, slots=True)
class Loss:
    """Committed operations that the store has lost, as far as psoup had written down that they were committed.

    Attributes:
        first, last: seqs of the latest loss; they may have been given again since, in a later generation.
        at_us: when it was found, by the store's clock.
        total: operations lost in all losses of the store.
    """

    first: int
    last: int
    at_us: int
    total: int

    def is_recent(self, now_us: int) -> bool:
        """Return whether it is to be told of at this instant of the store's clock: for LOSS_SHOWN_S."""
        return now_us - self.at_us < limits.LOSS_SHOWN_S * SECOND_US


@dataclass(frozen=True, slots=True)
class StoreCondition:
    """A store at one look of its engine's. Two looks at a store that is as it was are equal: only news is told.

    Attributes:
        drifted: it is set to keep less than is promised, so nothing is appended.
        disk: None = not visible from here.
        clock_behind_us: the clock has so long to go to the last arrival; NOW stands still until then.
        loss: the latest one, None = none was ever found.
        loss_is_recent: `Loss.is_recent` at the look.
    """

    drifted: bool = False
    disk: DiskUse | None = None
    clock_behind_us: int = 0
    loss: Loss | None = None
    loss_is_recent: bool = False

    @property
    def recent_loss(self) -> Loss | None:
        """Return the latest loss as long as it is recent."""
        return self.loss if self.loss_is_recent else None

    @property
    def reasons(self) -> Sequence[str]:
        """Return why nothing is added to the store: reasons not to be ready."""
        full = self.disk is not None and self.disk.full
        found = {CONFIG_DRIFT: self.drifted, DISK_FULL: full}
        return tuple(name for name, holds in found.items() if holds)

    @property
    def warnings(self) -> Sequence[str]:
        """Return what an operator has to know although every request is answered rightly."""
        found = {
            OPERATIONS_LOST: self.recent_loss is not None,
            DISK_HIGH: self.disk is not None and self.disk.high and not self.disk.full,
            CLOCK_BEHIND: self.clock_behind_us >= limits.CLOCK_BEHIND_S * SECOND_US,
        }
        return tuple(name for name, holds in found.items() if holds)


NOTHING_SEEN: Final = StoreCondition()
