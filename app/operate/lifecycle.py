"""The start and the end that all processes of psoup share: signals, exit codes, the first and last log lines."""

import gc
import resource
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Final, Protocol

import structlog

from psoup.app.errors import ListenError, SettingError
from psoup.app.operate.interrupts import Terminated, interruptible, uninterrupted
from psoup.app.operate.log_lines import configure_logging
from psoup.app.settings import Settings, check_settings
from psoup.engine import limits
from psoup.engine.errors import EngineError
from psoup.engine.store.address import StoreUrlError, read_store_address
from psoup.engine.store.errors import StoreUnavailableError

EXIT_OK = 0
EXIT_SETTINGS = 2
EXIT_STORE = 3
EXIT_ADDRESS = 4
EXIT_FENCED = 5
EXIT_INTERRUPTED = 130

_NEW_OBJECTS_PER_LOOK: Final = 50_000

_START_STORE: Final = (
    "Start it, redis-server --appendonly yes --appendfsync always, or correct --store (PSOUP_STORE); without --store, psoup"
    " serve brings a store of its own."
)
"""What to do where the server of --store does not answer."""

_LOG = structlog.get_logger("psoup.process")


class Closable(Protocol):
    """What `close_after` needs of a store."""

    def close(self) -> None:
        """Release everything."""
        ...


class Start:
    """Whether a process is still starting: it is, until it answers or folds."""

    def __init__(self) -> None:
        """The start begins now."""
        self._begun_s = time.monotonic()
        self._is_over = False

    def end(self) -> float:
        """End the start; return the seconds that it took."""
        self._is_over = True
        return time.monotonic() - self._begun_s

    def code_of(self, interrupt: KeyboardInterrupt) -> int:
        """Return the exit code after an interrupt: EXIT_INTERRUPTED for Ctrl-C during the start, else EXIT_OK."""
        is_given_up = not self._is_over and not isinstance(interrupt, Terminated)
        return EXIT_INTERRUPTED if is_given_up else EXIT_OK


def run_process(settings: Settings, work: Callable[[Start], int]) -> int:
    """Do the work of a process until a signal ends it, and return the exit code.

    0 = ended as asked; 2 = settings that cannot be, or too few open files; 3 = the store cannot be opened (its folder
    is used by another process or cannot be used, no answer, unsuitable), cannot be gone on with, or does not end, or
    the system refuses what a start takes; 4 = the address cannot be listened on; 5 = another engine has taken over the
    store; 130 = Ctrl-C while it started.

    Args:
        settings: of this start.
        work: does it and returns the exit code; a KeyboardInterrupt ends it. May raise an EngineError, a ListenError
            or an OSError where the process cannot start.
    """
    start = Start()
    pace_collector()
    configure_logging(level=settings.log_level, style=settings.log_format)
    try:
        _allow_files(settings.connections)
        check_settings(settings)
        with interruptible(keyboard_once=True):
            code = work(start)
    except KeyboardInterrupt as interrupt:
        code = start.code_of(interrupt)
    except EngineError as error:
        detail = error.detail
        if isinstance(error, StoreUnavailableError) and settings.store is not None:
            detail = f"{detail} {_START_STORE}"
        _LOG.error("not-started", code=error.code, detail=detail, store=_named(settings))
        wrong_settings = isinstance(error, SettingError | StoreUrlError)
        return EXIT_SETTINGS if wrong_settings else EXIT_STORE
    except ListenError as error:
        _LOG.error("not-started", address=error.address, detail=error.detail)
        return EXIT_ADDRESS
    except OSError as error:
        detail = f"The system refused what a start takes: {error}."
        _LOG.error("not-started", detail=detail, store=_named(settings))
        return EXIT_STORE
    if code in (EXIT_OK, EXIT_INTERRUPTED):
        _LOG.info("ended")
    return code


def pace_collector() -> None:
    """Make Python's collector search for reference cycles less often, in the whole process.

    Standing queries are many small objects that live long and form no cycles: searching them again and again took
    almost half the time of a bulk registration, and a fifth of a start, which loads as many objects with its modules.
    Garbage of requests is freed by reference counts.
    """
    gc.set_threshold(_NEW_OBJECTS_PER_LOOK, 50, 100)


def note_starting(settings: Settings, process: str, **more: object) -> None:
    """Log which process starts, and where its data are: its first line, written before anything takes long."""
    store = _named(settings)
    _LOG.info("starting", process=process, version=version("psoup"), store=store, **more)


def _named(settings: Settings) -> str:
    """Return the address or folder of the store, without a password."""
    if settings.store is None:
        return str(settings.data.absolute())
    try:
        return str(read_store_address(settings.store))
    except StoreUrlError:  # the line says so beside it
        return "unreadable"


def close_after(store: Closable, work: Callable[[], int]) -> int:
    """Return the code of `work`, once the store is closed; EXIT_STORE if only closing fails.

    No signal interrupts closing, which takes STORE_STOP_S at most: it would leave the embedded server running.
    """
    code = EXIT_STORE
    try:
        code = work()
    finally:
        with uninterrupted():
            try:
                store.close()
            except EngineError as error:
                _LOG.error("not-stopped", code=error.code, detail=error.detail)
                code = code or EXIT_STORE
    return code


def _allow_files(connections: int) -> None:
    """Let this process and its children open a file for each connection, or as many as the system allows.

    Raises:
        SettingError: those are not enough to run at all.
    """
    wanted = connections + limits.FILES_RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if allowed <= limits.FILES_RESERVED:
        raise SettingError(
            f"This process may open {allowed} files, and psoup needs more than {limits.FILES_RESERVED}: those are its"
            f" own, and each connection is one more. Raise the limit: ulimit -n {wanted}."
        )
    if allowed < wanted:
        _LOG.warning("few-open-files", allowed=allowed, wanted=wanted)
    if soft != resource.RLIM_INFINITY and soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
