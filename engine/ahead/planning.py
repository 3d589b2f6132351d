"""Which chunks operations to come will make whole, and which bodies these are made of. Reads state, changes none.

A chunk can be settled elsewhere if all bodies of its rows are at hand. Those of the chunk that is still open are kept
for that: less than 4,096 rows of each stream. Where they are not (after a start, or after an operation that was void),
the chunk is left to the engine, and the next one begins with bodies that are known.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from psoup.engine.errors import IntegrityError
from psoup.engine.limits import CHUNK_ROWS
from psoup.engine.log.operation import Operation, Rows
from psoup.engine.state.state import State, StreamState
from psoup.engine.tuples.arrow import decode_batch, encode_batch
from psoup.engine.tuples.schema import StreamId, StreamSchema

KEPT_PART_MAX = 4
"""Of a body of which less than one row in so many belongs to the open chunk, these rows alone are kept."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Rows `[first, past)` of a body that is said to have `rows`."""

    body: bytes
    rows: int
    first: int
    past: int

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.past - self.first

    def cut(self, schema: StreamSchema) -> "Piece":
        """Return a piece that is a whole body with these rows alone.

        Raises:
            IntegrityError: the body is no batch of the stream, or has another number of rows.
        """
        if len(self) == self.rows:
            return self
        batch = decode_batch(schema, self.body)
        if batch.num_rows != self.rows:
            raise IntegrityError(
                f"A batch of stream {schema.name} has {batch.num_rows} rows, and {self.rows} are noted."
            )
        body = encode_batch(batch.slice(self.first, len(self)))
        return Piece(body, len(self), 0, len(self))


@dataclass(frozen=True, slots=True)
class ChunkTask:
    """Chunks `[first_chunk, past_chunk)` of a stream, and the bodies of exactly their rows, whole."""

    stream_id: StreamId
    first_chunk: int
    past_chunk: int
    bodies: tuple[tuple[bytes, int], ...]


class KnownRows:
    """The last rows of one stream whose bodies are at hand: `[first_row, past_row)`."""

    def __init__(self, row: int) -> None:
        """Begin with none, before row `row`."""
        self.first_row = self.past_row = row
        self._pieces: list[Piece] = []

    def add(self, body: bytes, rows: int) -> None:
        """Add the rows of a body behind the last one."""
        if rows:
            self._pieces.append(Piece(body, rows, 0, rows))
            self.past_row += rows

    @property
    def whole(self) -> range:
        """Return the numbers of the chunks all of whose rows are at hand."""
        return range(-(-self.first_row // CHUNK_ROWS), self.past_row // CHUNK_ROWS)

    def tasks(
        self, stream_id: StreamId, schema: StreamSchema, most: int, whole: range
    ) -> Iterator[ChunkTask]:
        """Yield these of the whole chunks as tasks of `most` at most, ascending. Raises as `Piece.cut` does."""
        for first in whole[::most]:
            past = min(first + most, whole.stop)
            pieces = self._between(first * CHUNK_ROWS, past * CHUNK_ROWS)
            cut = [piece.cut(schema) for piece in pieces]
            yield ChunkTask(stream_id, first, past, tuple((one.body, one.rows) for one in cut))

    def forget_whole(self, schema: StreamSchema) -> None:
        """Keep the rows of the open chunk alone. Raises as `Piece.cut` does, having forgotten everything."""
        begin = max(self.first_row, self.past_row // CHUNK_ROWS * CHUNK_ROWS)
        pieces = list(self._between(begin, self.past_row))
        self.first_row, self._pieces = self.past_row, []
        if pieces and KEPT_PART_MAX * len(pieces[0]) < pieces[0].rows:
            pieces[0] = pieces[0].cut(schema)
        self.first_row, self._pieces = begin, pieces

    def check(self) -> None:
        """Raise AssertionError unless the pieces are the rows. For tests."""
        if sum(map(len, self._pieces)) != self.past_row - self.first_row:
            raise AssertionError("pieces are the rows that are known")

    def _between(self, first_row: int, past_row: int) -> Iterator[Piece]:
        """Yield the pieces of these rows, all of them known."""
        row = self.first_row
        for piece in self._pieces:
            begin, end = max(first_row, row), min(past_row, row + len(piece))
            if begin < end:
                at = piece.first - row
                yield replace(piece, first=at + begin, past=at + end)
            row += len(piece)


class Planner:
    """What is known of the rows of every stream, as operations pass by."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._known: dict[StreamId, KnownRows] = {}

    def note(self, state: State, operations: Iterable[Operation]) -> Sequence[StreamId]:
        """Take note of operations that are applied next, and return the streams that they bring rows to.

        Args:
            state: that before the first of them.
            operations: rows and ticks alone.
        """
        self._known = {one: known for one, known in self._known.items() if one in state.streams}
        touched: dict[StreamId, KnownRows] = {}
        for operation in operations:
            content = operation.content
            if not isinstance(content, Rows):
                continue
            stream = state.streams.get(content.stream_id)
            if stream is None or stream.record.schema.name != content.name:
                continue  # void
            known = touched.get(content.stream_id)
            if known is None:
                known = touched[content.stream_id] = self._at(stream)
            known.add(content.body, content.rows)
        self._known |= touched
        return list(touched)

    def whole(self, stream_id: StreamId) -> range:
        """Return the chunks of a stream that are whole then, and whose bodies are at hand."""
        return self._known[stream_id].whole

    def tasks(self, stream_id: StreamId, schema: StreamSchema, most: int) -> list[ChunkTask]:
        """Return them as tasks of `most` chunks at most. Raises as `Piece.cut` does."""
        known = self._known[stream_id]
        return list(known.tasks(stream_id, schema, most, known.whole))

    def forget_whole(self, stream_id: StreamId, schema: StreamSchema) -> None:
        """Keep of a stream the bodies of its open chunk alone."""
        try:
            self._known[stream_id].forget_whole(schema)
        except IntegrityError:  # the engine will find it void
            del self._known[stream_id]

    def forget(self) -> None:
        """Know nothing of any stream."""
        self._known.clear()

    def check(self) -> None:
        """Raise AssertionError unless what is known of each stream holds together. For tests."""
        for known in self._known.values():
            known.check()

    def _at(self, stream: StreamState) -> KnownRows:
        """Return what is known of the rows up to the last one built."""
        record = stream.record
        known = self._known.get(record.stream_id)
        if known is None or known.past_row != record.rows:
            return KnownRows(record.rows)
        return known
