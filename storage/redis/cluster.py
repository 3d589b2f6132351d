"""What a data folder remembers of its store, so that an empty or older one is not taken for the right one.

`cluster.json` holds the cluster's id, its generation, the highest seq seen and whether psoup ended in good
order. It may lag behind the store, never run ahead of it: the seq was committed before it was written here. So
a disk that does not take it fails nothing that is committed: it is counted, and tried again at the next operation.
"""

import os
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import orjson

from psoup.engine import limits
from psoup.engine.results.contract import Gen
from psoup.engine.store.errors import StoreUnsuitableError
from psoup.engine.tuples.batch import Seq


@dataclass(frozen=True, slots=True)
class Remembered:
    """What the file says. `clean` = `seq` was the head when psoup let go of the store."""

    cluster: str
    gen: Gen
    seq: Seq
    clean: bool


@dataclass(frozen=True, slots=True)
class AcknowledgedPosition:
    """The largest seq that somebody was told is committed, and is applied."""

    head: Seq
    applied: Seq


@dataclass(frozen=True, slots=True)
class ClusterStatistics:
    """What is on disk (None = nothing yet), and how often it could not be written."""

    file: Remembered | None
    failures: int


class ClusterMemory:
    """The file, and what this process has been told since. Thread-safe."""

    def __init__(self, path: Path) -> None:
        """Read the file, if there is one.

        Raises:
            StoreUnsuitableError: it cannot be read.
        """
        self._path = path
        self._lock = threading.Lock()
        self._head = Seq(0)
        self._applied = Seq(0)
        self._file: Remembered | None = None
        self._failures = 0
        if path.exists():
            try:
                self._file = Remembered(**orjson.loads(path.read_bytes()))
            except (orjson.JSONDecodeError, TypeError) as error:
                raise StoreUnsuitableError(
                    f"{path} is damaged. It says which store belongs to this folder: restore it, or"
                    " remove it if the store is known to be the right one."
                ) from error

    @property
    def path(self) -> Path:
        """Return where the file is, or will be."""
        return self._path

    @property
    def file(self) -> Remembered | None:
        """What the file says; None = this folder has had no store yet."""
        return self._file

    def told(self) -> AcknowledgedPosition:
        """Return what this process, or the last one with this folder, was told: a store that has less has lost it.

        Ask before the store is asked, because appends go on meanwhile. An append whose answer has come and was not
        noted yet is not in it: a store that loses just that within a moment is not found out.
        """
        with self._lock:
            seq = Seq(0) if self._file is None else self._file.seq
            return AcknowledgedPosition(max(self._head, seq), self._applied)

    def belong_to(self, cluster: str, gen: Gen, head: Seq) -> None:
        """Remember a verified store. Returns once that is on disk, but for the seq, which may lag.

        Raises:
            StoreUnsuitableError: it cannot be written, and what the file says is of another history.
        """
        with self._lock:
            self._head = max(self._head, head)
            wanted = Remembered(cluster, gen, self._head, clean=False)
            self._try_write(wanted)
            if self._file is None or replace(self._file, seq=self._head) != wanted:
                raise StoreUnsuitableError(
                    f"{self._path} cannot be written. It has to say which store belongs to the data"
                    " folder: free space on its disk, and let this user write there."
                )

    def saw_head(self, seq: Seq) -> None:
        """Take note that `seq` is committed; every SEQ_REMEMBERED_EVERY operations on disk."""
        with self._lock:
            self._head = max(self._head, seq)
            if self._file and self._head - self._file.seq >= limits.SEQ_REMEMBERED_EVERY:
                self._try_write(replace(self._file, seq=self._head))

    def saw_applied(self, seq: Seq) -> None:
        """Take note that operations up to `seq` are applied."""
        with self._lock:
            self._applied = max(self._applied, seq)

    def close(self, *, clean: bool) -> None:
        """Write down the last seq; `clean` = nothing can have been committed behind it.

        Where that cannot be written the end was not clean: the next start is the more careful.
        """
        with self._lock:
            if self._file is not None:
                self._try_write(replace(self._file, seq=self._head, clean=clean))

    def statistics(self) -> ClusterStatistics:
        """Return what is on disk and how often writing failed."""
        with self._lock:
            return ClusterStatistics(self._file, self._failures)

    def check(self) -> None:
        """Assert that, once a store is open, neither the file nor the applied seq is ahead of the head."""
        with self._lock:
            opened = self._head > 0
            assert not opened or self._applied <= self._head
            assert not opened or self._file is None or self._file.seq <= self._head

    def _try_write(self, remembered: Remembered) -> None:
        try:
            self._write(remembered)
        except OSError:
            self._failures += 1

    def _write(self, remembered: Remembered) -> None:
        """Replace the file: after a crash it is the old one or the new one, whole."""
        temporary = self._path.with_suffix(".tmp")
        with temporary.open("wb") as file:
            os.fchmod(file.fileno(), 0o600)
            file.write(orjson.dumps(asdict(remembered)))
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(self._path)
        folder = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
        self._file = remembered
