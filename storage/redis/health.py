"""How a store is, by what its server says of its memory."""

from collections.abc import Mapping

from psoup.engine import limits
from psoup.engine.store.contract import StoreHealth


def memory_health(memory: Mapping[str, str], *reasons: str) -> StoreHealth:
    """Return the health of a server by INFO's section `memory`; `reasons` are those known before."""
    used, most = int(memory["used_memory"]), int(memory["maxmemory"])  # a bound of 0 is none
    if most and used * 100 > most * limits.STORE_MEMORY_HIGH_PERCENT:
        reasons += ("memory-high",)
    return StoreHealth(reasons, used, most or None)
