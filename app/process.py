"""What every process of psoup has in common: how it begins, how signals end it, and the code it ends with."""

import resource
from collections.abc import Callable
from typing import Protocol

import structlog

from app.interrupts import interruptible
from app.log_lines import configure_logging
from app.settings import Settings, check_settings
from engine import limits
from engine.errors import EngineError

EXIT_OK = 0
EXIT_SETTINGS = 2
EXIT_STORE = 3
EXIT_ADDRESS = 4
EXIT_FENCED = 5

_LOG = structlog.get_logger("psoup.process")


class Closable(Protocol):
    """A store, as far as its end goes."""

    def close(self) -> None:
        """Let go of everything."""
        ...


def run_process(settings: Settings, work: Callable[[], int]) -> int:
    """Do the work of a process until a signal ends it, and return the exit code.

    0 = ended as asked; 2 = settings that cannot be; 3 = the store cannot be opened (its folder is used by
    another process or cannot be used, no answer, unsuitable), cannot be gone on with, or does not end; 4 = the
    address cannot be listened on; 5 = another engine has taken over the store.

    Args:
        settings: of this start.
        work: returns the code, at the latest after a KeyboardInterrupt; may raise what prevents a start.
    """
    configure_logging(level=settings.log_level, style=settings.log_format)
    _allow_files(settings.connections + limits.FILES_RESERVED)
    try:
        check_settings(settings)
        with interruptible():
            code = work()
    except KeyboardInterrupt:
        code = EXIT_OK
    except EngineError as error:
        _LOG.error("not-started", code=error.code, detail=error.detail)
        return EXIT_SETTINGS if error.code in ("setting", "store-url") else EXIT_STORE
    except OSError as error:
        place = f"{settings.host}:{settings.port}"
        _LOG.error("not-started", address=place, detail=error.strerror or str(error))
        return EXIT_ADDRESS
    if code == EXIT_OK:
        _LOG.info("ended")
    return code


def close_after(store: Closable, work: Callable[[], int]) -> int:
    """Return the code of `work`, once the store is closed; EXIT_STORE if only that goes wrong."""
    code = EXIT_STORE
    try:
        code = work()
    finally:
        try:
            store.close()
        except EngineError as error:
            _LOG.error("not-stopped", code=error.code, detail=error.detail)
            code = code or EXIT_STORE
    return code


def _allow_files(count: int) -> None:
    """Let this process and its children have so many open files, or as many as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if wanted < count:
        _LOG.warning("few-open-files", allowed=wanted, wanted=count)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
