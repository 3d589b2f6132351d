"""The head of a CSV: delimiter and column names, inferred from its first records."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from psoup.engine.limits import COLUMN_NAME_LENGTH_MAX, MIB
from psoup.pipeline.errors import DataFileError
from psoup.pipeline.files.opening import ByteCount, open_text, plain_suffix
from psoup.pipeline.files.options import SKIPPED, ReadOptions
from psoup.pipeline.files.readers.csv_records import Dialect, comments_blanked

SAMPLE_BYTES: Final = MIB
"""Bytes from which the delimiter is inferred; a header has to be shorter."""
_SAMPLE_RECORDS: Final = 20
_NAME_SHOWN: Final = 24
_TAB: Final = "\t"
_DELIMITERS: Final = {",": "a comma", ";": "a semicolon", _TAB: "a tab", "|": "a bar"}
_HASHED: Final = re.compile(r"#\s*(\S.*)")
"""A header written as a comment: `# user_a`, `#chrom`."""


@dataclass(frozen=True, slots=True)
class CsvHead:
    """The head of a CSV, known before its rows are read."""

    dialect: Dialect
    header_lines: int
    """Lines up to the end of the header."""
    fields: tuple[str, ...]
    """A name for each field of a record; `-`: the field is left out."""
    notes: tuple[str, ...]
    """Sentences about decisions that the user may not expect."""


def read_head(path: Path, options: ReadOptions) -> CsvHead:
    """Return how the file is written.

    Raises:
        DataFileError: no header, names missing or twice, fewer or more names than fields.
    """
    text = _front(path, options)
    dialect, notes = _dialect(path, options, text)
    records = records_of(io.StringIO(text, newline=""), dialect)
    first = next(records, None)
    second = next(records, None)
    if first is not None and (other := _within(first[1], dialect)) is not None:
        notes.append(
            f"the first record is one field, {first[1][0]!r}: where {_DELIMITERS[other]} separates fields,"
            f" pass --delimiter {'tab' if other == _TAB else repr(other)}"
        )
    if not options.header:
        count = None if first is None else len(first[1])
        return CsvHead(dialect, 0, _field_names(path, options, None, count), tuple(notes))
    if first is None:
        raise DataFileError("it has no header", file=str(path))
    line, header = first
    lines = line + sum(name.count("\n") for name in header)
    count = None if second is None else len(second[1])
    hashed = _HASHED.fullmatch(header[0])
    if hashed is not None and options.columns is None and count in {None, len(header)}:
        notes.append(f"the first column is called {hashed[1]!r}: the # in front begins the header")
        header = [hashed[1], *header[1:]]
    return CsvHead(dialect, lines, _field_names(path, options, header, count), tuple(notes))


def _front(path: Path, options: ReadOptions) -> str:
    """Return the whole lines within the first SAMPLE_BYTES of a file.

    Raises:
        DataFileError: the file cannot be read, or its first line is longer than that.
    """
    with open_text(path, ByteCount(), options.charset) as plain:
        sample = plain.read(SAMPLE_BYTES)
    text = sample.decode(errors="replace")
    if len(sample) < SAMPLE_BYTES:
        return text
    whole = text[: max(text.rfind("\n"), text.rfind("\r")) + 1]
    if not whole:
        raise DataFileError(
            f"its first line is longer than {SAMPLE_BYTES:,} bytes", file=str(path), line=1
        )
    return whole


def _dialect(path: Path, options: ReadOptions, text: str) -> tuple[Dialect, list[str]]:
    """Return the dialect of the records, and a note if the delimiter is not the usual one."""
    usual = _TAB if plain_suffix(path) == ".tsv" else ","
    dialect = Dialect(options.delimiter or usual, options.quotes, options.comment)
    if options.delimiter is not None:
        return dialect, []
    likely = _likely(text, dialect, options)
    if likely == dialect:
        return dialect, []
    return likely, [
        f"{_DELIMITERS[likely.delimiter]} separates the fields; pass --delimiter if that is wrong"
    ]


def records_of(text: io.TextIOBase, dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Yield (first line, cells) of each record that is neither empty nor a comment."""
    # Python refuses fields that are shorter than a record may be.
    csv.field_size_limit(max(csv.field_size_limit(), 2 * SAMPLE_BYTES))
    reader = csv.reader(
        comments_blanked(text, dialect),
        delimiter=dialect.delimiter,
        quoting=csv.QUOTE_MINIMAL if dialect.quoted else csv.QUOTE_NONE,
    )
    begins = 1
    for record in reader:
        if record:
            yield begins, record
        begins = reader.line_num + 1


def _within(record: Sequence[str], dialect: Dialect) -> str | None:
    """Return another delimiter that a record of a single field contains, or None."""
    others = (delimiter for delimiter in _DELIMITERS if delimiter != dialect.delimiter)
    return next((other for other in others if len(record) == 1 and other in record[0]), None)


def _likely(text: str, usual: Dialect, options: ReadOptions) -> Dialect:
    """Return the usual dialect, or that of another delimiter if only that one makes records of equal length."""
    for delimiter in (usual.delimiter, *(one for one in _DELIMITERS if one != usual.delimiter)):
        tried = Dialect(delimiter, usual.quoted, usual.comment)
        counts = []
        for _, record in records_of(io.StringIO(text, newline=""), tried):
            counts.append(len(record))
            if len(counts) == _SAMPLE_RECORDS:
                break
        names, rest = counts[:1], set(counts[1:])
        # One name less than fields is how R labels its rows.
        if (
            names
            and names[0] > 1
            and (rest <= {names[0]} or (options.header and rest == {names[0] + 1}))
        ):
            return tried
    return usual


def _field_names(
    path: Path, options: ReadOptions, header: list[str] | None, fields: int | None
) -> tuple[str, ...]:
    """Return a name for each field of a record, `-` where it is left out."""

    def refuse(reason: str, hint: str) -> DataFileError:
        return DataFileError(reason, file=str(path), line=1, hint=hint)

    if options.columns is not None:
        count = fields if fields is not None else len(header or options.columns)
        if len(options.columns) != count:
            given = len(options.columns)
            raise refuse(
                f"--columns names {given} fields, the records have {count}",
                f"Name {count}, with - for one to leave out.",
            )
        names = tuple(options.columns)
    elif header is None:
        raise refuse("without a header the columns have no names", "Pass --columns a,b,c.")
    else:
        names = tuple(header)
        if fields is not None and fields != len(names):
            hint = f"Pass --columns {_suggested(names, fields)} (- leaves a field out)."
            if len(names) == 1 and any(one in names[0] for one in _DELIMITERS):
                hint = "Pass the --delimiter that separates the fields, or none to have it told."
            elif names[0].startswith("#"):
                hint = "Where lines that begin with # are comments, pass --comment '#'."
            raise refuse(
                f"the header names {len(names)} columns, the first record has {fields} fields", hint
            )
    used = [name for name in names if name != SKIPPED]
    longest = max(used, key=len, default="")
    if len(longest) > COLUMN_NAME_LENGTH_MAX:
        raise refuse(
            f"the column {longest[:_NAME_SHOWN]!r}... has a name of {len(longest):,} characters, {COLUMN_NAME_LENGTH_MAX} at most",
            "Is the delimiter right (--delimiter)? Pass --columns with names of your own.",
        )
    twice = sorted({name for name in used if used.count(name) > 1})
    if twice or "" in used:
        what = (
            f"two columns are called {twice[0]!r}" if twice and twice[0] else "a column has no name"
        )
        numbered = _numbered(names)
        raise refuse(
            what, f"Pass --columns {_suggested(numbered, len(names))} with names of your own."
        )
    return names


def _numbered(names: Sequence[str]) -> list[str]:
    """Return the names with a number behind those that came before: `v`, `v_2`."""
    numbered: list[str] = []
    for name in names:
        again = sum(earlier == name for earlier in names[: len(numbered)])
        own = f"{name}_{again + 1}" if again and name not in {"", SKIPPED} else name
        numbered.append(own)
    return numbered


def _suggested(names: Sequence[str], fields: int) -> str:
    """Return a list to paste: the header's names, with `-` for fields without a name.

    If one name is missing, it is the first one: R and pandas write row labels without a name.
    """
    missing = [SKIPPED] * max(fields - len(names), 0)
    shown = [*missing, *(name or SKIPPED for name in names)][:fields]
    listed = ",".join(shown)
    return f"'{listed}'" if any(not c.isalnum() and c not in ",-_" for c in listed) else listed
