"""psoup: windowed SQL over live streams, invoked whenever you come back.

    import psoup

    db = psoup.connect("http://localhost:8000")

docs/python.md shows the rest. Names are loaded when they are used, so that importing this costs nothing.

Everything else is imported from here too (`psoup.engine...`). The rooms lie beside this folder and are linked into it,
so that no package of psoup's takes a name as common as `app` from whoever installs it.
"""

TYPE_CHECKING = False  # that of typing takes time to load: Ctrl-C would be a traceback then
if TYPE_CHECKING:
    from psoup.client.aio import AsyncDatabase, AsyncMirror, AsyncQuery, AsyncStream, aconnect
    from psoup.client.answers import Series
    from psoup.client.appends.appending import Receipt
    from psoup.client.changes.rule import Change
    from psoup.client.connections.operations import Txn
    from psoup.client.connections.retrying import RetryPolicy
    from psoup.client.database import Database, connect
    from psoup.client.errors import (
        AddressError,
        DefinitionError,
        MirrorError,
        MissingPackageError,
        PsoupError,
        QueryExpiredError,
        ServiceProblem,
        ServiceUnreachableError,
    )
    from psoup.client.mirrors import Mirror, open_mirror
    from psoup.client.queries import Answers, Query
    from psoup.client.streams import Matches, Stream

__all__ = [
    "AddressError",
    "Answers",
    "AsyncDatabase",
    "AsyncMirror",
    "AsyncQuery",
    "AsyncStream",
    "Change",
    "Database",
    "DefinitionError",
    "Matches",
    "Mirror",
    "MirrorError",
    "MissingPackageError",
    "PsoupError",
    "Query",
    "QueryExpiredError",
    "Receipt",
    "RetryPolicy",
    "Series",
    "ServiceProblem",
    "ServiceUnreachableError",
    "Stream",
    "Txn",
    "aconnect",
    "connect",
    "open_mirror",
]

_MODULES = {
    "aio": ("AsyncDatabase", "AsyncMirror", "AsyncQuery", "AsyncStream", "aconnect"),
    "answers": ("Series",),
    "appends.appending": ("Receipt",),
    "database": ("Database", "connect"),
    "errors": (
        *("AddressError", "DefinitionError", "MirrorError", "MissingPackageError", "PsoupError"),
        *("QueryExpiredError", "ServiceProblem", "ServiceUnreachableError"),
    ),
    "mirrors": ("Mirror", "open_mirror"),
    "connections.operations": ("Txn",),
    "queries": ("Answers", "Query"),
    "connections.retrying": ("RetryPolicy",),
    "changes.rule": ("Change",),
    "streams": ("Matches", "Stream"),
}
"""Where in `psoup.client` each name is."""
_PLACES = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Load the module of a name, the first time that it is used."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib  # noqa: PLC0415 (as above)

    found: object = getattr(importlib.import_module(f"psoup.client.{_PLACES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the names that are there, loaded or not."""
    return sorted({*globals(), *__all__})
