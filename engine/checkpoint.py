"""Checkpoints: places where long work ends early, because its client has gone or its deadline has passed.

The engine knows no clock and no clients. A caller sets a check for the work it begins (`checked_by`); long work calls
`checkpoint` between its pieces, which raises what the check raises. A fold has no check: it is a function of the log.
The check belongs to the thread's context, so it holds for everything that a call does, down to the evaluation of one
text and the wait for a store.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

Check = Callable[[], None]
"""Returns while the work is wanted, else raises. Called often: takes well below a microsecond."""


def _go_on() -> None:
    """Return: nothing ends the work."""


_CHECK: Final[ContextVar[Check]] = ContextVar("checkpoint", default=_go_on)
_CHECK_HOLD: Final[ContextVar[Check]] = ContextVar("checkpoint-hold", default=_go_on)


@contextmanager
def checked_by(check: Check, *, holds: Check = _go_on) -> Iterator[None]:
    """Let every `checkpoint` of this context call `check` meanwhile, and every `check_hold` call `holds`."""
    token, holding = _CHECK.set(check), _CHECK_HOLD.set(holds)
    try:
        yield
    finally:
        _CHECK_HOLD.reset(holding)
        _CHECK.reset(token)


def checkpoint() -> None:
    """Return while the work is wanted. Raises what its check raises. Cost: well below a microsecond."""
    _CHECK.get()()


def check_hold() -> None:
    """Return where the work may hold its thread, as it is about to: for another process, a large page, or long texts.

    Raises what its check of that raises.
    """
    _CHECK_HOLD.get()()


def is_checked() -> bool:
    """Return whether the work has a check that may end it."""
    return _CHECK.get() is not _go_on
