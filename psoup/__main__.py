"""The `psoup` of the installation, and `python -m psoup`. It ends quietly where Ctrl-C comes while it is loaded.

An interrupt that comes before `main` begins is Python's affair, and a traceback: so this module imports nothing that is
not there already, and the package imports nothing either.
"""

import io
import os
import sys

INTERRUPTED = 130
"""`psoup.app.cli.common.ExitCode.INTERRUPTED`, which takes loading."""


def main() -> None:
    """Run the command line and end the process."""
    try:
        _open_closed_files()
        _buffer_files()
        _run()
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    finally:
        # Python remembers an interrupt that struck code made from text (a dataclass is), even where it was handled, and
        # would end the process by a signal instead of its exit code. Other code made from text lets it forget.
        exec("")  # noqa: S102
        _leave_garbage()


def _run() -> None:
    """Load the command line and run it; afterwards nothing is left to interrupt."""
    import signal  # noqa: PLC0415 (a part of the start)

    ending = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    try:
        # orjson is loaded while signals wait: an interrupt while it starts ends the process by a segmentation fault.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ending)
        try:
            import orjson  # noqa: F401, PLC0415 (for those that import it later)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        from psoup.app.cli.application import main as run  # noqa: PLC0415 (the slow part of a start)

        run()
    finally:
        for number in ending:
            signal.signal(number, signal.SIG_IGN)


def _leave_garbage() -> None:
    """Let Python end without looking for garbage in all that was loaded, time and again: half a second of its end."""
    import gc  # noqa: PLC0415 (not there before the start)

    gc.freeze()


def _open_closed_files() -> None:
    """Let standard files that the parent has closed lead nowhere: another file or socket would take their numbers."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            os.open(os.devnull, os.O_RDWR)  # the lowest free number, which is this one
            setattr(sys, name, open(number, mode, encoding="utf-8"))  # noqa: PTH123, SIM115 (by its number)


def _buffer_files() -> None:
    """Let standard files that pass each write on (`PYTHONUNBUFFERED`, as in the image) write all of it.

    Python hands such a write to the system once and drops what is not taken: a pipe takes a part where the process is
    stopped meanwhile and continued. A buffer writes the rest too.
    """
    for number, name in ((1, "stdout"), (2, "stderr")):
        file = getattr(sys, name)
        if isinstance(getattr(file, "buffer", None), io.FileIO):
            buffered = open(  # noqa: SIM115 (by its number)
                number, "w", 1, encoding=file.encoding, errors=file.errors, closefd=False
            )
            setattr(sys, name, buffered)


if __name__ == "__main__":
    main()
