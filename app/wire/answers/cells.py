"""Columns to texts, a column at a time, and rows joined from them: no Python object for a value.

A column becomes pieces: Arrow arrays of texts, and constants between them. Joined row by row, the pieces of all
columns are the rows. What is constant is put into a piece where that costs nothing: around the texts of a
dictionary and around instants. Python sees distinct texts, and floats that CSV writes differently.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from psoup.app.wire.answers.instants import instant_array
from psoup.engine.invocation.position.answer import NO_PART
from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

CSV_SPECIAL: Final = frozenset(',"\r\n')
_COMMA: Final = ord(",")
_BETWEEN: Final = "-"
"""What stands between the tuple ids of a join row's parts."""
_SPARSE: Final = 8
"""A dictionary of this many texts for each row is searched for those in use, not marked."""

Piece: TypeAlias = pa.Array | str
RowIds: TypeAlias = NDArray[np.int64 | np.bytes_]


@dataclass(frozen=True, slots=True)
class Ids:
    """Ids of rows as a column of an answer, written as text.

    Tuple ids, (n,) int64, or (s, n) where a row has s parts, NO_PART for one that it lacks; or digests, (n,) bytes of
    one length.
    """

    values: RowIds

    @property
    def are_digests(self) -> bool:
        """Return whether they are texts already."""
        return self.values.dtype.kind == "S"

    def __len__(self) -> int:
        """Return the number of rows."""
        return int(self.values.shape[-1])

    def part(self, some: slice) -> "Ids":
        """Return the ids of a slice of rows, as a view."""
        return Ids(self.values[..., some])

    def to_list(self) -> list[str]:
        """Return the texts. For few: O(n) objects."""
        if self.are_digests:
            return [digest.decode() for digest in self.values.tolist()]
        if self.values.ndim == 1:
            return list(map(str, self.values.tolist()))
        return [_BETWEEN.join(map(_id_text, ids)) for ids in self.values.T.tolist()]

    def to_arrow(self) -> pa.StringArray:
        """Return the texts as an Arrow array."""
        texts = self.texts()
        if len(texts) == 1:
            return texts[0]
        return pc.binary_join_element_wise(*texts, _BETWEEN)

    def texts(self) -> list[pa.StringArray]:
        """Return the texts of the ids of each part: a row's are these with `-` between them."""
        if self.are_digests:
            return [pa.array(self.values).cast(pa.string())]
        return list(map(_id_texts, np.atleast_2d(self.values)))

    @property
    def lack_parts(self) -> bool:
        """Return whether a row lacks a part."""
        return not self.are_digests and self.values.ndim > 1 and NO_PART in self.values


def _id_text(tuple_id: int) -> str:
    return "" if tuple_id == NO_PART else str(tuple_id)


def _id_texts(tuple_ids: NDArray[np.int64]) -> pa.StringArray:
    """Return tuple ids as texts, the empty one for NO_PART."""
    texts = pa.array(tuple_ids).cast(pa.string())
    lacking = tuple_ids == NO_PART
    return pc.if_else(pa.array(lacking), "", texts) if lacking.any() else texts


@dataclass(frozen=True, slots=True)
class Style:
    """How a format writes values.

    Attributes:
        mark: what stands around instants and ids.
        null: what NULL is.
        texts: texts, and what is to stand before each, to what the format writes.
        floats: finite floats, NULL wherever the second array is False, to texts.
    """

    mark: str
    null: str
    texts: Callable[[Sequence[str], str], list[str]]
    floats: Callable[[NDArray[np.float64], NDArray[np.bool_] | None], pa.Array]


def pieces_of(column: Column | Ids, before: str, style: Style) -> tuple[list[Piece], str]:
    """Return pieces that make, of each value, `before` and its text; and what has yet to follow them."""
    if isinstance(column, Ids):
        first, *others = column.texts()
        pieces: list[Piece] = [before + style.mark, first]
        for text in others:
            pieces += [_BETWEEN, text]
        return pieces, style.mark
    if column.valid is not None and not column.valid.any():
        return [], before + style.null
    if column.type is ColumnType.INT64:
        mask = None if column.valid is None else ~column.valid
        return [before, pa.array(column.values, mask=mask).cast(pa.string())], ""
    if column.type is ColumnType.FLOAT64:
        return [before, style.floats(column.values, column.valid)], ""
    if column.type is ColumnType.TIMESTAMP:
        return [_instants(column, before, style)], ""
    texts, codes = _text_list(column, before, style)
    return [pa.array(texts, pa.string()).take(pa.array(codes))], ""


def joined(pieces: Sequence[Piece], length: int, style: Style) -> pa.Buffer:
    """Return the `length` rows that pieces make, one behind the other."""
    if all(isinstance(piece, str) for piece in pieces):
        return pa.py_buffer("".join(pieces).encode() * length)
    rows = pc.binary_join_element_wise(
        *pieces, "", null_handling="replace", null_replacement=style.null
    )
    return _bytes_of(rows)


def distinct_texts(column: Column) -> tuple[list[str], NDArray[Any]]:
    """Return the texts that a column has, each once, and which of them each value is that is not NULL.

    Cost: O(values) and a mark for each text of the dictionary, or O(v log v) where few of them can be in use.
    """
    dictionary = column.dictionary or ()
    codes = column.values if column.valid is None else column.values[column.valid]
    size = len(dictionary)
    if size > _SPARSE * len(codes):
        used, places = np.unique(codes, return_inverse=True)
    else:
        marks = np.zeros(size, np.bool_)
        marks[codes] = True
        used, places = np.flatnonzero(marks), (np.cumsum(marks, dtype=np.int32) - 1)[codes]
    return list(map(dictionary.__getitem__, used.tolist())), places


def text_array(column: Column) -> pa.StringArray:
    """Return a column of texts as the Arrow array of its values."""
    texts, places = distinct_texts(column)
    if column.valid is None:
        return pa.array(texts, pa.string()).take(pa.array(places))
    codes = np.zeros(len(column), places.dtype)
    codes[column.valid] = places
    return pa.array(texts, pa.string()).take(pa.array(codes, mask=~column.valid))


def csv_text(text: str) -> str:
    """Return a text as CSV has it: in quotes where it has to be, or is empty."""
    if text and CSV_SPECIAL.isdisjoint(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _text_list(column: Column, before: str, style: Style) -> tuple[list[str], NDArray[Any]]:
    """Return `before` and each distinct text, NULL's at the end, and which of them each value is."""
    if column.type is ColumnType.BOOL:
        texts, codes = [before + "false", before + "true"], column.values.astype(np.int32)
    else:
        plain, codes = distinct_texts(column)
        texts = style.texts(plain, before)
    if column.valid is None:
        return texts, codes
    places = np.full(len(column), len(texts), codes.dtype)
    places[column.valid] = codes if column.type is ColumnType.STRING else codes[column.valid]
    return [*texts, before + style.null], places


def _instants(column: Column, before: str, style: Style) -> pa.Array:
    head, tail = before + style.mark, style.mark
    if column.valid is None:
        return instant_array(column.values, before=head, after=tail)
    texts = instant_array(np.where(column.valid, column.values, 0), before=head, after=tail)
    return pc.if_else(pa.array(column.valid), texts, before + style.null)


def _json_texts(texts: Sequence[str], before: str) -> list[str]:
    whole = "".join(texts)
    # All at once: what is escaped is longer than it was.
    if len(orjson.dumps(whole)) > len(whole if whole.isascii() else whole.encode()) + 2:
        return [before + orjson.dumps(text).decode() for text in texts]
    return [f'{before}"{text}"' for text in texts]


def _csv_texts(texts: Sequence[str], before: str) -> list[str]:
    if all(texts) and CSV_SPECIAL.isdisjoint("".join(texts)):
        return [before + text for text in texts]
    return [before + csv_text(text) for text in texts]


def _json_floats(values: NDArray[np.float64], valid: NDArray[np.bool_] | None) -> pa.Array:
    """Return orjson's texts: it writes an array at once, and no text holds a comma."""
    written = orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY)
    commas = np.flatnonzero(np.frombuffer(written, np.uint8) == _COMMA)
    count = len(values)
    offsets = np.zeros(count + 1, np.int32)
    # Behind "[" and i commas a text ends where it would without them.
    offsets[1:count] = commas - np.arange(1, count)
    offsets[count:] = len(written) - 1 - max(count, 1)
    kept = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    texts = pa.py_buffer(written[1:-1].replace(b",", b""))
    return pa.StringArray.from_buffers(count, pa.py_buffer(offsets), texts, kept)


def _csv_floats(values: NDArray[np.float64], valid: NDArray[np.bool_] | None) -> pa.Array:
    """Return Python's texts, which are orjson's but where either writes an exponent."""
    texts = _json_floats(values, valid)
    size = np.abs(values)
    differ = (size >= 1e16) | ((size < 1e-4) & (size > 0))
    if valid is not None:
        differ &= valid
    if not differ.any():
        return texts
    others = pa.array(list(map(repr, values[differ].tolist())), pa.string())
    return pc.replace_with_mask(texts, pa.array(differ), others)


def _bytes_of(texts: pa.Array) -> pa.Buffer:
    """Return the bytes of all texts of an array that is no slice of another and has no NULL."""
    _, offsets, data = texts.buffers()
    if data is None:
        return pa.py_buffer(b"")
    size = int(np.frombuffer(offsets, np.int32)[len(texts)])
    return data.slice(0, size)


JSON_STYLE: Final = Style('"', "null", _json_texts, _json_floats)
CSV_STYLE: Final = Style("", "", _csv_texts, _csv_floats)
