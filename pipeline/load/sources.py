"""The files of a load: named, matched by a pattern, or copied from a pipe.

A load reads a file several times: for its columns, its digest and its rows. A pipe can be read only once, so it is
copied to a temporary file, which is removed when the load ends.
"""

import csv
import errno
import glob
import os
import stat
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from psoup.client.errors import DefinitionError
from psoup.engine import limits
from psoup.engine.limits import APPS_COUNT_MAX, GIB, MIB
from psoup.pipeline.errors import DataFileError

STANDARD_INPUT: Final = "standard input"
_INPUT_NAMES: Final = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_INPUT_FD: Final = 0


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read, and its name in messages; the two differ for a pipe."""

    path: Path
    name: str

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Raise errors about the file with its given name, and errors of parsers as DataFileErrors."""
        try:
            yield
        except DataFileError as error:
            if error.file != str(self.path) or error.file == self.name:
                raise
            raise error.renamed(self.name) from error
        except (UnicodeDecodeError, csv.Error, RecursionError) as error:
            raise DataFileError(
                f"its content cannot be read: {error}",
                file=self.name,
                hint="If the file has another format than its name says, pass --input-format.",
            ) from error


@contextmanager
def sources(
    given: Sequence[str], on_copied: Callable[[str, int], None]
) -> Iterator[tuple[Source, ...]]:
    """Yield the files that `given` names, in order; files that match a pattern are sorted by name.

    Args:
        given: paths, patterns (`day-*.csv`, `**` for folders within folders), `-` for standard input.
        on_copied: called with a pipe's name and the bytes copied so far.

    Raises:
        DataFileError: a file is missing or has no rows to read, or a pipe is longer than LOAD_PIPE_BYTES_MAX.
        DefinitionError: no file is named, or more than a load may have.
    """
    names = list(dict.fromkeys(name for pattern in given for name in _matches(pattern)))
    if not names:
        raise DefinitionError("No file is named: pass its path, or - for standard input.")
    if len(names) > APPS_COUNT_MAX:
        raise DefinitionError(
            f"{len(names):,} files are named: a load may have {APPS_COUNT_MAX:,} at most. Put several into one file."
        )
    if sum(name in _INPUT_NAMES for name in names) > 1:
        raise DefinitionError(
            "Standard input is named twice: it can be read only once. Name it once."
        )
    with ExitStack() as stack:
        yield tuple(_source(name, stack, on_copied) for name in names)


def _matches(given: str) -> list[str]:
    """Return the names that a pattern matches, sorted; the name itself if it is no pattern or names a file."""
    if given in _INPUT_NAMES or not glob.has_magic(given) or os.path.lexists(given):
        return [given]
    matching = glob.glob(given, recursive=True)  # noqa: PTH207 (Path.glob takes no absolute pattern)
    files = sorted(name for name in matching if not Path(name).is_dir())
    if not files:
        raise DataFileError("no file matches this pattern", file=given)
    return files


def _source(name: str, stack: ExitStack, on_copied: Callable[[str, int], None]) -> Source:
    if name in _INPUT_NAMES:
        folder = _temporary_folder(stack)
        return _copied(_INPUT_FD, STANDARD_INPUT, folder / STANDARD_INPUT, on_copied)
    try:
        mode = os.stat(name).st_mode  # noqa: PTH116 (a Path cannot hold every name: "" is ".")
    except (OSError, ValueError) as error:
        raise _unreadable(name, error) from error
    if stat.S_ISREG(mode):
        return Source(Path(name), name)
    if stat.S_ISFIFO(mode):
        folder = _temporary_folder(stack)
        return _copied(name, name, folder / Path(name).name, on_copied)
    if stat.S_ISDIR(mode):
        raise DataFileError(
            "it is a folder", file=name, hint=f"Name its files: '{name.rstrip('/')}/*.csv'."
        )
    kind = "a socket" if stat.S_ISSOCK(mode) else "a device"
    raise DataFileError(f"it is {kind}, not a file", file=name)


def _temporary_folder(stack: ExitStack) -> Path:
    try:
        return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="psoup-load-")))
    except OSError as error:
        raise DefinitionError(
            f"There is no folder to copy a pipe to: {error.strerror or error}. Set TMPDIR to a folder that can be written."
        ) from error


def _copied(
    opened: str | int, name: str, path: Path, on_copied: Callable[[str, int], None]
) -> Source:
    """Copy a pipe to `path`, up to LOAD_PIPE_BYTES_MAX."""
    copied = 0
    on_copied(name, copied)
    try:
        with (
            open(opened, "rb", buffering=0, closefd=opened != _INPUT_FD) as pipe,
            path.open("wb") as copy,
        ):
            while block := pipe.read(MIB):
                copied += len(block)
                if copied > limits.LOAD_PIPE_BYTES_MAX:
                    raise DataFileError(
                        f"more than {limits.LOAD_PIPE_BYTES_MAX // GIB} GiB came through a pipe",
                        file=name,
                        hint="Write the data to a file, and load the file.",
                    )
                copy.write(block)
                on_copied(name, copied)
    except OSError as error:
        if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
            raise DataFileError(
                f"it cannot be copied to {path.parent}: {error.strerror}",
                file=name,
                hint="Set TMPDIR to a folder with enough room, or write the data to a file and load the file.",
            ) from error
        raise _unreadable(name, error) from error
    return Source(path, name)


def _unreadable(name: str, error: OSError | ValueError) -> DataFileError:
    reason = error.strerror if isinstance(error, OSError) else None
    return DataFileError(f"it cannot be read: {reason or error}", file=name or "''")
