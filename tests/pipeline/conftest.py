"""Files for the tests of this folder: written in any format and compression."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".xz": lzma.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.ZstdCompressor().compress,
}


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Return a function that writes a file, compressed as its name says, and returns its path."""

    def written(name: str, content: str | bytes) -> Path:
        body = content.encode() if isinstance(content, str) else content
        packer = PACKERS.get(Path(name).suffix, bytes)
        path = tmp_path / name
        path.write_bytes(packer(body))
        return path

    return written
