"""What the server refuses, as errors: by the words of its answers."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from psoup.engine.errors import EngineError, IntegrityError
from psoup.engine.store.errors import (
    StoreFullError,
    StoreUnavailableError,
    StoreUnsuitableError,
)
from psoup.storage import refusals

NOT_KNOWN: Final = (
    *("unknown command", "unknown subcommand", "Unknown subcommand", "ACL failure in script"),
)
STANDING: Final[Mapping[Any, Callable[[], EngineError]]] = {
    b"RECOVERING": refusals.recovering,
    b"SETTINGS": refusals.settings_changed,
    b"DISK": refusals.disk_full,
}
"""What a Function answers where the server is not to be written to or read yet, and what is raised for it."""


def standing_refusal(answer: Sequence[Any]) -> EngineError | None:
    """Return what is raised for an answer that hangs on the server and not on the call; None = it is another one."""
    return STANDING[answer[0]]() if answer[0] in STANDING else None


def refusal_of(text: str, command: Sequence[object], rules: str) -> EngineError:
    """Return what is raised for a command that was refused with `text`; `rules` is what the ACL has to give."""
    if text.startswith(NOT_KNOWN):
        return not_allowed(command, rules)
    if text.startswith("MISCONF"):
        return StoreFullError(
            "The store cannot write to its disk. Nothing was changed. Free space on it."
        )
    if text.startswith("Can't execute an AOF background rewriting"):
        return StoreUnavailableError(
            "The store cannot begin to write its file anew; its log says why. Free space on its disk."
        )
    if text.startswith("BUSY"):
        return StoreUnavailableError("The store is busy with a long script. Nothing was changed.")
    if "unction not found" in text:
        return refusals.recovering()
    return refused_call(text.split(" ", 1)[0])


def refused_call(cause: str) -> IntegrityError:
    """Return the error for a call that no sound store refuses; `cause` is the first word of what it said."""
    return IntegrityError(f"The store refused a call it should take: {cause}.")


def memory_full() -> StoreFullError:
    """Return the error for a store without memory for a call."""
    return StoreFullError(
        "The store has no memory left. Nothing was changed. Remove queries or streams, shorten"
        " retention, or raise its maxmemory."
    )


def not_allowed(command: Sequence[object], rules: str) -> StoreUnsuitableError:
    """Return the error for a command that the server lacks, or does not let this user run."""
    words = [str(word) for word in command[:2]]  # a third may be data
    if words[0] not in ("CONFIG", "FUNCTION", "FCALL", "FCALL_RO"):
        del words[1:]
    return StoreUnsuitableError(
        f"The store does not run {' '.join(words)} for psoup: the server lacks it, or its ACL does not"
        f" let this user use it on psoup's keys. Use Redis 7.0 or newer, or Valkey, and allow: {rules}"
    )
