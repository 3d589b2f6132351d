"""Flow control of one connection: nothing is read while what was read before waits for its turn."""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from uvicorn.protocols.http.flow_control import FlowControl


class TurnFlow(FlowControl):
    """uvicorn's flow control, of which reading stays paused while bytes are held, whoever wants to go on."""

    _holding = False

    def hold(self, *, holding: bool) -> None:
        """Read nothing while bytes are held, and read on when they are not any more."""
        if holding == self._holding:
            return
        self._holding = holding
        if holding:
            self.pause_reading()
        else:
            self.resume_reading()

    def resume_reading(self) -> None:
        """Read on, unless bytes are held."""
        if not self._holding:
            super().resume_reading()
