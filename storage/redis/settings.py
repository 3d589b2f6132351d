"""What a server has to be and how it has to be set so that psoup's promises hold, now and while it runs."""

import re
from typing import Final

from psoup.engine.store.contract import Durability
from psoup.engine.store.errors import StoreUnsuitableError
from psoup.storage.redis.calls.client import RedisClient

VERSION_MIN: Final = (7, 0)
"""The first with Functions."""

REQUIRED: Final = {
    "appendonly": ("yes", "without it a restart forgets everything"),
    "maxmemory-policy": ("noeviction", "any other may evict results and log"),
    "no-appendfsync-on-rewrite": ("no", "yes turns appendfsync always off while it rewrites"),
}
"""Setting -> (value, what goes wrong otherwise)."""


def check_server(client: RedisClient, asked: Durability) -> Durability:
    """Return the durability the server's settings give.

    Raises:
        StoreUnsuitableError: too old, a replica, or set so that less than `asked` is kept; the
            message names each setting and its value.
    """
    server = client.info("server")
    version = re.match(r"(\d+)\.(\d+)", server["redis_version"])
    if version is None or tuple(map(int, version.groups())) < VERSION_MIN:
        raise StoreUnsuitableError(
            f"The store is a server of version {server['redis_version']}; psoup needs Redis 7.0"
            " or newer, or Valkey."
        )
    if client.info("replication")["role"] != "master":
        raise StoreUnsuitableError("The store is a replica. Give psoup the address of the primary.")
    return check_settings(client, asked)


def check_settings(client: RedisClient, asked: Durability) -> Durability:
    """Return the durability the server is set to now; one round trip.

    Raises:
        StoreUnsuitableError: less than `asked` is kept; the message names each setting and its value.
    """
    settings = client.configuration([*REQUIRED, "appendfsync"])
    wrong = [
        f"{name} {value} (it is {settings.get(name, 'not shown')}: {reason})"
        for name, (value, reason) in REQUIRED.items()
        if settings.get(name) != value
    ]
    levels = {"always": Durability.FSYNC, "everysec": Durability.EVERYSEC}
    durability = levels.get(settings.get("appendfsync", ""))
    if durability is None or (asked is Durability.FSYNC and durability is not asked):
        wrong.append(
            f"appendfsync always (it is {settings.get('appendfsync', 'not shown')}; everysec may lose"
            " the last second and is accepted only where durability everysec is asked for)"
        )
    if wrong:
        raise StoreUnsuitableError("The store's settings have to be: " + "; ".join(wrong) + ".")
    assert durability is not None
    return durability


FIXED: Final = "fixed"
"""Said in the place of a number of changes where nobody can change the settings: as in common.lua."""


def verified_changes(client: RedisClient, promised: Durability, *, fixed: bool) -> str | None:
    """Return how often the settings had been changed when they were found to keep what is promised, None = they do not.

    Who finds the same number later, as psoup_append does, knows that nobody has changed them since. CONFIG RESETSTAT
    begins to count anew: that is found by the next look. FIXED where the server takes no changes (`fixed`).
    Cost: two round trips. Raises what `RedisClient.info` does.
    """
    calls = client.info("commandstats").get("cmdstat_config|set", "calls=0")
    try:
        check_settings(client, promised)
    except StoreUnsuitableError:
        return None
    return FIXED if fixed else calls.partition(",")[0].removeprefix("calls=")
