"""A stream's batches past a position, listed repeatedly by one process; and the hold that keeps them in the log.

The service lists the batches that it has, and says up to where it has forgotten some: so a lost batch is noticed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psoup.client.calls import JsonObject, PsoupClient, check_generation
from psoup.engine.limits import LIST_ROWS_MAX
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.definition import columns_of
from psoup.pipeline.errors import ReadRefusedError

ARRIVAL_COLUMNS: Final = (
    ColumnSchema("_id", ColumnType.INT64, nullable=False),
    ColumnSchema("_seq", ColumnType.INT64, nullable=False),
    ColumnSchema("_arrival", ColumnType.TIMESTAMP, nullable=False),
)
"""Tuple id of a row, position and arrival of its batch; they precede the columns of the stream."""


@dataclass(frozen=True, slots=True)
class ListedBatch:
    """A batch that the log has: its position, and the size of its rows in bytes."""

    seq: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class ReadThrough:
    """The position of a reader.

    Attributes:
        gen: generation of the log.
        seq: batches up to this position are read.
        batches: number of batches from the reader's previous position to this one; 0: this is its first position.
        begin: the previous position. Spark keeps it for every micro-batch but the first, whose begin it asks for anew
            at a restart.
    """

    gen: int
    seq: int
    batches: int = 0
    begin: int | None = None


def columns_arriving(service: PsoupClient, stream: str) -> tuple[ColumnSchema, ...]:
    """Return the columns with which Spark reads a stream's rows, `ARRIVAL_COLUMNS` first.

    Raises:
        ReadRefusedError: there is no such stream, or as `with_arrival`.
    """
    description = service.stream(stream)
    if description is None:
        raise ReadRefusedError(f"The service at {service.url} has no stream {stream!r}.")
    return with_arrival(columns_of(description))


def with_arrival(columns: Sequence[ColumnSchema]) -> tuple[ColumnSchema, ...]:
    """Return `ARRIVAL_COLUMNS`, then the columns of a stream.

    Raises:
        ReadRefusedError: the stream has a column of such a name. Spark ignores the case of names.
    """
    added = {column.name for column in ARRIVAL_COLUMNS}
    for column in columns:
        if column.name.lower() in added:
            raise ReadRefusedError(
                f"The stream has a column {column.name!r} of its own, and Spark reads its rows with {sorted(added)} in"
                " front of them. To read or archive the stream with Spark, declare it with another name for the column."
            )
    return (*ARRIVAL_COLUMNS, *columns)


class Arrivals:
    """Lists the batches of one stream, and fails if some were forgotten before they were listed."""

    def __init__(
        self,
        service: PsoupClient,
        stream: str,
        *,
        fail_on_loss: bool = True,
        loss_known_through: int = 0,
    ) -> None:
        """Send no request yet. Batches up to `loss_known_through` may be lost without a failure."""
        self._service = service
        self._stream = stream
        self._fail_on_loss = fail_on_loss
        self._loss_known_through = loss_known_through
        self._is_held = False

    def first(self) -> JsonObject:
        """Return `gen`, the applied `seq`, and `forgotten_through`: no batch past it is lost."""
        return self._service.batch_list(self._stream, limit=1)

    def columns(self) -> tuple[ColumnSchema, ...]:
        """Return the columns that the stream has now, as `columns_arriving` does."""
        return columns_arriving(self._service, self._stream)

    def hold_all(self) -> None:
        """Hold all batches of the stream, before they are listed."""
        self._service.hold(self._stream, 0)
        self._is_held = True

    def hold_on(self, start: ReadThrough) -> None:
        """Hold the batches past `start`: with the hold of an earlier process, else with a new one.

        Raises:
            GenerationChangedError: the log is of another generation than `start`.
        """
        if not self._is_held:
            self._service.hold(self._stream, start.seq, gen=start.gen)
            self._is_held = True

    def release(self, through: ReadThrough) -> None:
        """Release the batches up to `through`.

        Raises:
            GenerationChangedError: the log is of another generation than `through`.
            ReadRefusedError: somebody has ended the hold; it is not renewed.
        """
        if self._service.held(self._stream) is None:
            raise ReadRefusedError(
                f"Stream {self._stream!r} is not held any more: somebody else has ended the hold, or dropped the"
                " stream. Run the query again to hold the stream anew; it says whether batches were lost."
            )
        self._service.hold(self._stream, through.seq, gen=through.gen)

    def past(
        self, start: ReadThrough, *, up_to: int | None = None, most: int | None = None
    ) -> list[ListedBatch]:
        """Return the batches past `start` and up to `up_to`, the first `most` of them, ascending.

        Raises:
            GenerationChangedError: the log is of another generation than `start`.
            ReadRefusedError: batches were lost before they were read.

        Cost: one request for every 1,000 batches.
        """
        batches: list[ListedBatch] = []
        after = start.seq
        limit = LIST_ROWS_MAX if most is None else min(most, LIST_ROWS_MAX)
        while True:
            page = self._service.batch_list(self._stream, after=after, limit=limit)
            check_generation(start.gen, page["gen"])
            batches += [
                ListedBatch(int(listed["seq"]), int(listed["bytes"])) for listed in page["batches"]
            ]
            after = batches[-1].seq if batches else after
            is_past = (most is not None and len(batches) >= most) or (
                up_to is not None and after >= up_to
            )
            if page["next"] is None or is_past:
                break
        # Read after the list: batches forgotten meanwhile, or before, lie at or before this position.
        forgotten = int(page["forgotten_through"])
        if self._fail_on_loss and forgotten > max(start.seq, self._loss_known_through):
            raise ReadRefusedError(
                f"Batches of stream {self._stream!r} past position {start.seq}, up to which it was read, are gone"
                " unread: retention dropped them. To go on with what is there, set"
                f' .option("lossKnownThrough", "{forgotten}") for these, or .option("failOnDataLoss", "false") for'
                ' all to come; to miss nothing, read with .option("hold", "true") from the beginning.'
            )
        return [batch for batch in batches if up_to is None or batch.seq <= up_to][:most]
