"""The data folder: one process at a time, nobody else's eyes, and a place for the server's socket."""

import errno
import fcntl
import hashlib
import os
import re
import secrets
import stat
import tempfile
from pathlib import Path
from typing import Final

from psoup.engine.store.errors import StoreFullError, StoreUnsuitableError
from psoup.storage.disk import spent_disk

SOCKET_PATH_BYTES_MAX: Final = 100
"""Linux takes 107, macOS 103."""
ROOT: Final = 0
"""Who may write in any folder anyway."""
ENGINE_ID: Final = re.compile(r"[0-9a-f]{32}")


class FolderLock:
    """The right of one process to use a data folder; given back when it closes or ends."""

    def __init__(self, data: Path) -> None:
        """Make the folder if it is not there, and lock it.

        An empty one of this user's is closed to others, as one made here is. One with other files in it
        keeps its mode, as far as only its owner may write in it: it may have other uses, and what is written here
        is private by its own mode.

        Raises:
            StoreUnsuitableError: others may write in it, or another psoup uses it; the message names its process.
            OSError: it cannot be made or written.
        """
        data.mkdir(mode=0o700, parents=True, exist_ok=True)
        if data.stat().st_uid == os.geteuid() and not any(data.iterdir()):
            data.chmod(0o700)
        _refuse_writers(data)
        lock = os.open(data / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        self._file = os.fdopen(lock, "r+", encoding="utf-8")
        if not lock_file(lock):
            holder = self._file.read().strip()
            self._file.close()
            raise StoreUnsuitableError(
                f"The data folder {data} is used by another psoup, process {holder}."
                " Stop that one, or give this one another folder with --data."
            )
        self._file.truncate(0)
        self._file.write(str(os.getpid()))
        self._file.flush()

    def close(self) -> None:
        """Give the folder back. Twice is harmless."""
        self._file.close()


def _refuse_writers(data: Path) -> None:
    """Refuse a folder in which others may put, replace or remove files, whatever the files' own modes are.

    Raises:
        StoreUnsuitableError: it is another user's than this one or root, or its group or everybody may write in it.
    """
    found = data.stat()
    if found.st_uid not in (os.geteuid(), ROOT):
        raise StoreUnsuitableError(
            f"The data folder {data} is of another user (id {found.st_uid}), who may replace its files."
            f" Give psoup a folder of its own user (id {os.geteuid()}) with --data."
        )
    if stat.S_IMODE(found.st_mode) & (stat.S_IWGRP | stat.S_IWOTH):
        raise StoreUnsuitableError(
            f"Others may write in the data folder {data} (mode {stat.S_IMODE(found.st_mode):04o}), and replace"
            f" its files. Take the right from them (chmod go-w {data}), or name a folder inside it with"
            " --data: psoup makes it, closed to others."
        )


def engine_id(data: Path) -> str:
    """Return the id of a locked data folder, made on first use: who has it takes its store back at once.

    The lock proves that the folder's former process is no more, so its lease need not end first.
    """
    path = data / "engine.id"
    if path.exists() and ENGINE_ID.fullmatch(known := path.read_text("ascii", "replace")):
        return known
    made = secrets.token_hex(16)
    temporary = path.with_suffix(".tmp")
    temporary.touch(mode=0o600)
    temporary.write_text(made, "ascii")
    temporary.replace(path)
    return made


def unusable(data: Path, error: OSError) -> StoreUnsuitableError | StoreFullError:
    """Return the refusal of a data folder that the system does not let psoup use."""
    if error.errno == errno.ENOSPC:
        return spent_disk(data)
    return StoreUnsuitableError(
        f"The data folder {data} cannot be used: {error.strerror or error}"
        f"{'' if error.filename is None else f' ({error.filename})'}."
        " Give psoup a folder that this user can write, with space on its disk, with --data."
    )


def lock_file(descriptor: int) -> bool:
    """Return whether the file is now locked for this descriptor and those who inherit it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def socket_path(data: Path) -> Path:
    """Return where a socket may lie: in the data folder, or for a long path in a folder of this user."""
    path = private_folder(data / "run") / "psoup.sock"
    if len(os.fsencode(path)) <= SOCKET_PATH_BYTES_MAX:
        return path
    own = private_folder(Path(tempfile.gettempdir()) / f"psoup-{os.getuid()}")
    name = hashlib.sha256(os.fsencode(data)).hexdigest()[:16]
    return own / f"{name}.sock"


def private_folder(path: Path) -> Path:
    """Return `path`, made if absent; refuse one that others could have put there or can enter."""
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if (
        not stat.S_ISDIR(found.st_mode)
        or found.st_uid != os.geteuid()
        or stat.S_IMODE(found.st_mode) & 0o077
    ):
        raise StoreUnsuitableError(
            f"{path} has to be a folder of this user that nobody else can enter (mode 0700)."
        )
    return path
