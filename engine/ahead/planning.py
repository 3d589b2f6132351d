"""Which chunks the next operations will make whole, and the batches that hold their rows. Reads state, changes none.

Executors can settle a chunk only if the bodies of all its rows are known. So the planner keeps the bodies of each
stream's open chunk: fewer than 4,096 rows. After a start, or after a void operation, some are unknown; the engine then
settles that chunk itself, and planning resumes with the next one.
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
"""A body is cut to its rows of the open chunk if these are fewer than one in so many of its rows."""


@dataclass(frozen=True, slots=True)
class BodySlice:
    """Rows `[first, past)` of a batch body; `rows` is the row count that the log gives for the body."""

    body: bytes
    rows: int
    first: int
    past: int

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.past - self.first

    def cut(self, schema: StreamSchema) -> "BodySlice":
        """Return a slice of the same rows whose body holds no others.

        Raises:
            IntegrityError: the body is no batch of the stream, or its row count differs.
        """
        if len(self) == self.rows:
            return self
        batch = decode_batch(schema, self.body)
        if batch.num_rows != self.rows:
            raise IntegrityError(
                f"A batch of stream {schema.name} has {batch.num_rows} rows, and {self.rows} are noted."
            )
        body = encode_batch(batch.slice(self.first, len(self)))
        return BodySlice(body, len(self), 0, len(self))


@dataclass(frozen=True, slots=True)
class ChunkTask:
    """Chunks `[first_chunk, past_chunk)` of a stream, with bodies (and row counts) of exactly their rows."""

    stream_id: StreamId
    first_chunk: int
    past_chunk: int
    bodies: tuple[tuple[bytes, int], ...]


class KnownRows:
    """The rows `[first_row, past_row)` at the end of one stream, whose bodies are known."""

    def __init__(self, row: int) -> None:
        """Begin with no rows, at row `row`."""
        self.first_row = self.past_row = row
        self._slices: list[BodySlice] = []

    def add(self, body: bytes, rows: int) -> None:
        """Append the rows of a body."""
        if rows:
            self._slices.append(BodySlice(body, rows, 0, rows))
            self.past_row += rows

    @property
    def whole(self) -> range:
        """Return the numbers of the chunks whose rows are all known."""
        return range(-(-self.first_row // CHUNK_ROWS), self.past_row // CHUNK_ROWS)

    def tasks(
        self, stream_id: StreamId, schema: StreamSchema, most: int, whole: range
    ) -> Iterator[ChunkTask]:
        """Yield these whole chunks as tasks of at most `most` chunks, ascending. Raises as `BodySlice.cut` does."""
        for first in whole[::most]:
            past = min(first + most, whole.stop)
            slices = self._between(first * CHUNK_ROWS, past * CHUNK_ROWS)
            cut = [part.cut(schema) for part in slices]
            yield ChunkTask(stream_id, first, past, tuple((part.body, part.rows) for part in cut))

    def forget_whole(self, schema: StreamSchema) -> None:
        """Keep only the rows of the open chunk. Raises as `BodySlice.cut` does, and then knows no rows."""
        begin = max(self.first_row, self.past_row // CHUNK_ROWS * CHUNK_ROWS)
        slices = list(self._between(begin, self.past_row))
        self.first_row, self._slices = self.past_row, []
        if slices and KEPT_PART_MAX * len(slices[0]) < slices[0].rows:
            slices[0] = slices[0].cut(schema)
        self.first_row, self._slices = begin, slices

    def check(self) -> None:
        """Raise AssertionError unless the slices cover exactly the rows. For tests."""
        if sum(map(len, self._slices)) != self.past_row - self.first_row:
            raise AssertionError("slices cover exactly the rows that are known")

    def _between(self, first_row: int, past_row: int) -> Iterator[BodySlice]:
        """Yield slices of these rows, all of which are known."""
        row = self.first_row
        for part in self._slices:
            begin, end = max(first_row, row), min(past_row, row + len(part))
            if begin < end:
                at = part.first - row
                yield replace(part, first=at + begin, past=at + end)
            row += len(part)


class ChunkPlanner:
    """Follows the operations of all streams, and plans the chunks that they make whole."""

    def __init__(self) -> None:
        """Begin with no streams."""
        self._known: dict[StreamId, KnownRows] = {}

    def note(self, state: State, operations: Iterable[Operation]) -> Sequence[StreamId]:
        """Note the operations that are applied next; return the streams to which they add rows.

        Args:
            state: the state before the first of them.
            operations: rows and ticks only.
        """
        self._known = {
            stream_id: known
            for stream_id, known in self._known.items()
            if stream_id in state.streams
        }
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
        """Return the chunks of a stream that the operations make whole, and whose bodies are all known."""
        return self._known[stream_id].whole

    def tasks(self, stream_id: StreamId, schema: StreamSchema, most: int) -> list[ChunkTask]:
        """Return these chunks as tasks of at most `most` chunks. Raises as `BodySlice.cut` does."""
        known = self._known[stream_id]
        return list(known.tasks(stream_id, schema, most, known.whole))

    def forget_whole(self, stream_id: StreamId, schema: StreamSchema) -> None:
        """Keep only the bodies of a stream's open chunk."""
        try:
            self._known[stream_id].forget_whole(schema)
        except IntegrityError:  # the engine will void the operation
            del self._known[stream_id]

    def forget(self) -> None:
        """Forget the rows of all streams."""
        self._known.clear()

    def check(self) -> None:
        """Raise AssertionError unless the known rows of each stream hold together. For tests."""
        for known in self._known.values():
            known.check()

    def _at(self, stream: StreamState) -> KnownRows:
        """Return the known rows of a stream, which end at its last row in `stream`."""
        record = stream.record
        known = self._known.get(record.stream_id)
        if known is None or known.past_row != record.rows:
            return KnownRows(record.rows)
        return known
