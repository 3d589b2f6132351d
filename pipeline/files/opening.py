"""Opens files: recognises compression by the first bytes and the format by the name, and counts the bytes read.

Files are decompressed block by block, so memory does not depend on their size.
"""

import bz2
import codecs
import gzip
import hashlib
import io
import lzma
import shutil
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, cast

import pyarrow as pa

from psoup.engine.limits import MIB
from psoup.pipeline.errors import DataFileError
from psoup.pipeline.files.options import FileFormat

DAMAGE: Final = (EOFError, OSError, zlib.error, lzma.LZMAError)
"""Raised by decompressors for truncated or foreign bytes."""

_MAGIC: Final = {
    b"\x1f\x8b": "gzip",
    b"\xfd7zXZ\x00": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
}
_MARKS: Final = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""Byte order marks. A mark that begins with another one stands before it."""
_COMPRESSED_SUFFIXES: Final = frozenset({".gz", ".xz", ".bz2", ".zst", ".zstd"})

_START_BYTES: Final = 512
_SAVE_AS_CSV: Final = "Save the sheet as CSV (UTF-8), and load that file."
_WORKBOOKS: Final = frozenset({".xlsx", ".xlsm", ".xls", ".ods"})
_OTHERS: Final = {
    b"PK\x03\x04": (
        "it is a workbook or a ZIP archive, not text",
        f"{_SAVE_AS_CSV} Unpack an archive first.",
    ),
    b"\xd0\xcf\x11\xe0": ("it is a workbook of an old Excel, not text", _SAVE_AS_CSV),
    b"PAR1": ("it is Parquet, not text", "Pass --input-format parquet."),
    b"%PDF": ("it is a PDF, not text", "Export the table as CSV."),
    b"SQLite format 3": ("it is a database of SQLite, not text", "Export the table as CSV."),
}
"""First bytes of files that are often given a name of text, what they are, and what to do."""

_FORMATS: Final = {
    ".csv": FileFormat.CSV,
    ".tsv": FileFormat.CSV,
    ".txt": FileFormat.CSV,
    ".ndjson": FileFormat.NDJSON,
    ".jsonl": FileFormat.NDJSON,
    ".json": FileFormat.JSON,
    ".geojson": FileFormat.GEOJSON,
    ".log": FileFormat.ZEEK,
    ".parquet": FileFormat.PARQUET,
    ".pq": FileFormat.PARQUET,
}


def plain_suffix(path: Path) -> str:
    """Return the suffix that names the format, in lower case: `.csv` of `a.csv.xz`."""
    name = path.name.lower()
    stem, dot, last = name.rpartition(".")
    if dot + last in _COMPRESSED_SUFFIXES:
        name = stem
    return Path(name).suffix


def format_of(path: Path) -> FileFormat:
    """Return the format that the suffix of the file's name stands for.

    Raises:
        DataFileError: the suffix is unknown.
    """
    suffix = plain_suffix(path)
    if suffix in _WORKBOOKS:
        raise DataFileError("it is a workbook", file=str(path), hint=_SAVE_AS_CSV)
    try:
        return _FORMATS[suffix]
    except KeyError:
        raise DataFileError(
            "its name does not tell the format",
            file=str(path),
            hint=f"Pass --input-format {'|'.join(FileFormat)}.",
        ) from None


def refuse_binary(path: Path, *, charset: str | None) -> None:
    """Refuse a file whose first bytes are those of no text.

    Raises:
        DataFileError: it is of another format, or its first line holds NUL and no `charset` is given.
    """
    with open_bytes(path, ByteCount()) as plain:
        start = plain.read(_START_BYTES)
    for magic, (what, hint) in _OTHERS.items():
        if start.startswith(magic):
            raise DataFileError(what, file=str(path), hint=hint)
    if charset is None and b"\x00" in start.split(b"\n")[0] and not start.startswith(tuple(_MARKS)):
        raise DataFileError(
            "it is no text: its first line holds NUL",
            file=str(path),
            hint="Load a file of text; if it is UTF-16 or UTF-32, pass --charset.",
        )


class ByteCount:
    """Counts the bytes on disk that have been read, for progress."""

    def __init__(self) -> None:
        """Start at 0."""
        self._file: io.FileIO | None = None
        self._ended_at = 0

    @property
    def read(self) -> int:
        """Return the bytes read in the running pass, or in the last one."""
        file = self._file
        if file is None or file.closed:
            return self._ended_at
        return file.tell()

    @contextmanager
    def watch(self, path: Path) -> Iterator["io.BufferedReader[io.FileIO]"]:
        """Open the file for one pass, and count the bytes that it reads."""
        with path.open("rb", buffering=0) as file, io.BufferedReader(file, MIB) as raw:
            self._file = file
            try:
                yield raw
            finally:
                self._ended_at = file.tell()
                self._file = None


@contextmanager
def open_bytes(path: Path, count: ByteCount) -> Iterator[IO[bytes]]:
    """Open a file for reading its decompressed bytes.

    Raises:
        DataFileError: the file cannot be read, or is damaged.
    """
    try:
        with count.watch(path) as raw:
            yield _plain(raw, raw.peek(8))
    except DAMAGE as error:
        missing = isinstance(error, FileNotFoundError | IsADirectoryError | PermissionError)
        reason = (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
        what = f"it cannot be read: {reason}" if missing else f"it is damaged: {reason}"
        raise DataFileError(what, file=str(path)) from error


def _plain(raw: "io.BufferedReader[io.FileIO]", start: bytes) -> IO[bytes]:
    match next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None):
        case "gzip":
            return cast("IO[bytes]", gzip.GzipFile(fileobj=raw))
        case "xz":
            return cast("IO[bytes]", lzma.LZMAFile(raw))
        case "bzip2":
            return cast("IO[bytes]", bz2.BZ2File(raw))
        case "zstd":
            # Arrow's reader: unlike zstandard's it says so where a frame is cut short.
            frames = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "zstd")
            return cast("IO[bytes]", io.BufferedReader(frames, MIB))
        case _:
            return cast("IO[bytes]", raw)


@contextmanager
def open_text(path: Path, count: ByteCount, charset: str | None) -> Iterator[IO[bytes]]:
    """Open a file for reading its decompressed text as UTF-8 without a byte order mark.

    Args:
        path: of the file.
        count: counts the bytes on disk.
        charset: of the text; None: the one of the byte order mark, else UTF-8, which is not validated here.

    Raises:
        DataFileError: the file cannot be read, is damaged, or has another encoding.
    """
    with open_bytes(path, count) as plain:
        start = cast("io.BufferedReader", plain).peek(4)[:4]
        named = next((name for mark, name in _MARKS.items() if start.startswith(mark)), None)
        if named == "utf-8":
            plain.read(len(codecs.BOM_UTF8))
        used = charset or named or "utf-8"
        if codecs.lookup(used).name == "utf-8":
            yield plain
            return
        try:
            yield io.BufferedReader(_Recoded(plain, used), MIB)
        except UnicodeError as error:
            raise DataFileError(
                f"the text is not {used}: {error}", file=str(path), hint="Correct --charset."
            ) from error


class _Recoded(io.RawIOBase):
    """Recodes bytes of another encoding to UTF-8."""

    def __init__(self, plain: IO[bytes], charset: str) -> None:
        self._plain = plain
        self._decoder = codecs.getincrementaldecoder(charset)()
        self._rest = b""

    def readable(self) -> bool:  # type: ignore[explicit-override]
        return True

    def readinto(self, buffer: Any) -> int:  # type: ignore[explicit-override]  # noqa: ANN401 (a writable buffer)
        while not self._rest:
            block = self._plain.read(MIB)
            self._rest = self._decoder.decode(block, final=not block).encode()
            if not block and not self._rest:
                return 0
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


@contextmanager
def plain_file(path: Path, count: ByteCount) -> Iterator[Path]:
    """Yield the path of a decompressed file, for random access; a compressed file is unpacked to disk first.

    Raises:
        DataFileError: the file cannot be read, or is damaged.
    """
    with open_bytes(path, count) as plain:
        if isinstance(plain, io.BufferedReader) and isinstance(plain.raw, io.FileIO):
            yield path
            return
        with tempfile.NamedTemporaryFile(prefix="psoup-plain-") as unpacked:
            shutil.copyfileobj(plain, unpacked, MIB)
            unpacked.flush()
            yield Path(unpacked.name)


def digest_of(path: Path, count: ByteCount) -> str:
    """Return the SHA-256 of the bytes on disk, in hexadecimal digits; `count` counts them.

    Raises:
        DataFileError: the file cannot be read.
    """
    try:
        with count.watch(path) as raw:
            return hashlib.file_digest(raw, "sha256").hexdigest()
    except OSError as error:
        raise DataFileError(
            f"it cannot be read: {error.strerror or error}", file=str(path)
        ) from error
