"""The header of a Zeek log, which says what a CSV leaves open, in lines that begin with #.

What it says is put into the options, so that the rows are read as those of any file with fields.
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from psoup.engine.tuples.schema import ColumnType
from psoup.pipeline.errors import DataFileError
from psoup.pipeline.files.opening import ByteCount, open_text
from psoup.pipeline.files.options import EpochUnit, ReadOptions

_HEAD_BYTES: Final = 65_536
_TYPES: Final = {
    "time": ColumnType.TIMESTAMP,
    "bool": ColumnType.BOOL,
    "count": ColumnType.INT64,
    "int": ColumnType.INT64,
    "port": ColumnType.INT64,
    "double": ColumnType.FLOAT64,
    "interval": ColumnType.FLOAT64,
}
"""Types of Zeek with a type of psoup; all others, such as addresses and sets, are text."""


def zeek_options(path: Path, options: ReadOptions) -> ReadOptions:
    """Return the options, completed by the header; given options take precedence.

    Raises:
        DataFileError: there is no such header.
    """
    lines = _header(path, options)
    separator = lines.get("#separator", "").encode().decode("unicode_escape")
    fields = tuple(lines.get("#fields", "").split(separator)) if len(separator) == 1 else ()
    kinds = lines.get("#types", "").split(separator or None)
    if len(fields) < 1 or len(fields) != len(kinds):
        raise DataFileError(
            "it has no header of Zeek with #separator, #fields and #types",
            file=str(path),
            hint="If it is another kind of log, pass --input-format csv.",
        )
    names = options.columns or fields
    types = {
        name: _TYPES.get(kind, ColumnType.STRING) for name, kind in zip(names, kinds, strict=False)
    }
    types = {name: kind for name, kind in types.items() if name not in options.skip}
    return dataclasses.replace(
        options,
        delimiter=separator,
        quotes=False,
        comment="#",
        header=False,
        columns=names,
        nulls=(lines.get("#unset_field", "-").lstrip(separator), *options.nulls),
        types=tuple({**types, **dict(options.types)}.items()),
        epoch=options.epoch or EpochUnit.SECONDS,
    )


def _header(path: Path, options: ReadOptions) -> Mapping[str, str]:
    """Return the lines of the header by their first word."""
    with open_text(path, ByteCount(), options.charset) as plain:
        head = plain.read(_HEAD_BYTES).decode(errors="replace")
    header = {}
    for line in head.splitlines():
        if not line.startswith("#"):
            break
        word = line.replace("\t", " ").split(" ", 1)[0]
        header[word] = line[len(word) + 1 :]
    return header
