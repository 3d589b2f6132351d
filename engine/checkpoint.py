"""Places where work that somebody waits for may end early: whoever began it may have gone, or its time may be over.

The engine knows no clock and no clients. Whoever calls it says by `checked_by` what is to be asked; what works long
asks it by `checkpoint` between pieces, and ends by what is raised. A fold is checked by nobody: it is a function of the
log. What is asked belongs to the thread's context, as it concerns all that a call does, down to the evaluation of one
text and the wait for a store.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

Check = Callable[[], None]
"""Returns while the work is wanted, else raises. Asked often: takes well below a microsecond."""


def _go_on() -> None:
    """Return: nothing ends the work."""


_CHECK: Final[ContextVar[Check]] = ContextVar("checkpoint", default=_go_on)


@contextmanager
def checked_by(check: Check) -> Iterator[None]:
    """Let every `checkpoint` of this context ask `check` meanwhile."""
    token = _CHECK.set(check)
    try:
        yield
    finally:
        _CHECK.reset(token)


def checkpoint() -> None:
    """Return while the work is wanted. Raises what its check raises. Cost: well below a microsecond."""
    _CHECK.get()()


def is_checked() -> bool:
    """Return whether somebody may end the work."""
    return _CHECK.get() is not _go_on
