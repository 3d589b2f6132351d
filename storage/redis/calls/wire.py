"""Commands as they are sent to Redis and its likes."""

from collections.abc import Callable
from typing import cast

import hiredis

_pack = cast("Callable[[tuple[bytes | str | int, ...]], bytes]", hiredis.pack_command)


class CommandPacker:
    """Packs commands for redis-py's connections.

    Their own packer calls hiredis too, and looks at each argument first, for which it takes as long again.
    """

    def pack(self, *words: bytes | str | int) -> list[bytes]:
        """Return a command as it is sent."""
        return [_pack(words)]
