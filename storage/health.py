"""What is known of any store: what it lets an operation survive, and how it is."""

from dataclasses import dataclass
from enum import StrEnum

from psoup.engine import limits


class Durability(StrEnum):
    """What a committed operation survives; shown with every answer.

    MEMORY: nothing beyond the process. EVERYSEC: the death of any process, but for the last second.
    FSYNC: power failure.
    """

    MEMORY = "memory"
    EVERYSEC = "everysec"
    FSYNC = "fsync"


@dataclass(frozen=True, slots=True)
class StoreHealth:
    """How a store is. `reasons` are those of `/readyz`, none = it is ready.

    Attributes:
        reasons: among `store-down`, `recovering`, `no-engine` (none writes to it), `memory-high`. What only the engine
            looks at is in its `StoreCondition`.
        memory_bytes: memory the store uses for data; 0 where it does not say.
        memory_max_bytes: the most it may use, None = no bound.
    """

    reasons: tuple[str, ...] = ()
    memory_bytes: int = 0
    memory_max_bytes: int | None = None


def memory_is_high(used: int, most: int) -> bool:
    """Return whether `used` bytes of a store's memory are near its bound, 0 = it has none."""
    return bool(most) and used * 100 > most * limits.STORE_MEMORY_HIGH_PERCENT
