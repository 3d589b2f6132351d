"""Files for the tests of this folder: written in any format and compression."""

import bz2
import gzip
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import zstandard

from psoup.engine.tuples.schema import ColumnSchema
from psoup.pipeline.files.data_file import DataFile
from psoup.pipeline.files.notes import notes_on
from psoup.pipeline.files.options import ReadOptions

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


@dataclass(frozen=True)
class Inferred:
    """A file as it is read without a schema: types by column, the notes, and the rows with times as text."""

    types: dict[str, str]
    notes: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def inferred(path: Path, **options: Any) -> Inferred:
    """Survey a file and read it as it was surveyed."""
    file = DataFile(path, ReadOptions(**options))
    found = file.survey()
    file.settle(found, {column.name: column.type for column in found})
    columns = [ColumnSchema(column.name, column.type) for column in found]
    rows: list[tuple[Any, ...]] = []
    for batch in file.batches(columns, rows=1_000):
        arrays = [
            a.cast(pa.string()) if pa.types.is_timestamp(a.type) else a for a in batch.columns
        ]
        rows += zip(*(array.to_pylist() for array in arrays), strict=True)
    return Inferred(
        {c.name: c.type.value for c in columns},
        (*file.notes, *notes_on(found, time=options.get("time"))),
        rows,
    )
