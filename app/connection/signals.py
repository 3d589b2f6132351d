"""An event of asyncio that takes a hundred bytes while nobody waits for it: thousands of connections have two each."""

import asyncio
from typing import Literal


class Signal:
    """Set or not, as `asyncio.Event`, whose queue takes 900 bytes. Used in one event loop."""

    __slots__ = ("_is_set", "_waiting")

    def __init__(self) -> None:
        """Begin not set."""
        self._is_set = False
        self._waiting: list[asyncio.Future[None]] = []

    def is_set(self) -> bool:
        """Return whether it is set."""
        return self._is_set

    def set(self) -> None:
        """Set it, and wake all who wait."""
        self._is_set = True
        for one in self._waiting:
            if not one.done():
                one.set_result(None)

    def clear(self) -> None:
        """Set it no more."""
        self._is_set = False

    async def wait(self) -> Literal[True]:
        """Return when it is set, or has been meanwhile."""
        if not self._is_set:
            one: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(one)
            try:
                await one
            finally:
                self._waiting.remove(one)
        return True
