"""What a store adds to the engine's errors: it is away, not yet verified, full, unsuitable, or silent.

All but `CommitUnknownError` and `FencedError` are definite: nothing was stored.
"""

from typing import Final

from psoup.engine.errors import EngineError


class StoreUnavailableError(EngineError):
    """The store does not answer. Nothing was stored; the same call may be sent again later."""

    code = "store-unavailable"


class RecoveringError(EngineError):
    """The store was not verified since it restarted, or an engine still reads it back. Nothing was stored."""

    code = "recovering"


class StoreFullError(EngineError):
    """The store has no memory or disk left. Nothing was stored; reads and removals still work."""

    code = "store-full"


class CommitUnknownError(EngineError):
    """The answer to an append was lost or cannot be read: it may be committed or not.

    Sending it again is exactly once for a batch with a producer's version and for a registration
    under the same handle or name; any other operation may be stored twice.
    """

    code = "commit-unknown"


class StoreUnsuitableError(EngineError):
    """This store cannot keep psoup's promises as it is: wrong version, settings, contents or folder."""

    code = "store-unsuitable"


class FencedError(EngineError):
    """Another engine writes to the store now. This one was taken for dead: it must end, and has nothing to undo."""

    code = "fenced"


TRANSIENT_ERRORS: Final = (
    StoreUnavailableError,
    RecoveringError,
    StoreFullError,
    CommitUnknownError,
)
"""The same call may succeed later, once the store is back, verified, or has room."""
