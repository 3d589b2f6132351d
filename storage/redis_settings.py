"""What a server has to be and how it has to be set so that psoup's promises hold, now and while it runs."""

import re
import threading
import time
from typing import Final

from engine import limits
from storage.errors import StoreUnsuitableError
from storage.redis_client import RedisClient
from storage.store import Durability

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


class SettingsWatch:
    """Looks now and then whether a server that runs is still set to keep what is promised. Thread-safe."""

    def __init__(self, client: RedisClient) -> None:
        """Watch the server of `client`; `begin` says that it was looked at."""
        self._client = client
        self._lock = threading.Lock()
        self._drifted = False
        self._looked_s = 0.0

    def begin(self) -> None:
        """Take note that the settings are right now."""
        with self._lock:
            self._drifted, self._looked_s = False, time.monotonic()

    def has_drifted(self, promised: Durability) -> bool:
        """Return whether the server, when last looked at, was set to keep less than `promised`.

        Looks at most every STORE_SETTINGS_CHECK_S. Raises StoreUnavailableError and RecoveringError as a look does.
        """
        with self._lock:
            if time.monotonic() - self._looked_s < limits.STORE_SETTINGS_CHECK_S:
                return self._drifted
            self._looked_s = time.monotonic()  # whoever asks meanwhile need not look too
        try:
            check_settings(self._client, promised)
            drifted = False
        except StoreUnsuitableError:
            drifted = True
        with self._lock:
            self._drifted = drifted
        return drifted
