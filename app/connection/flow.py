"""Flow control of one connection: it reads nothing while bytes wait to be parsed."""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import asyncio

from uvicorn.protocols.http.flow_control import FlowControl

from psoup.app.connection.signals import Signal


class TurnFlow(FlowControl):
    """uvicorn's flow control; while bytes are held, reading stays paused even if uvicorn resumes it."""

    _holding = False

    def __init__(self, transport: asyncio.Transport) -> None:
        """Control `transport`, which takes bytes."""
        super().__init__(transport)
        writable = Signal()
        writable.set()
        self._is_writable_event = writable  # type: ignore[assignment] # as far as it is used

    def hold(self, *, holding: bool) -> None:
        """Pause reading while bytes are held; resume it when they are not."""
        if holding == self._holding:
            return
        self._holding = holding
        if holding:
            self.pause_reading()
        else:
            self.resume_reading()

    def resume_reading(self) -> None:
        """Resume reading, unless bytes are held."""
        if not self._holding:
            super().resume_reading()
