"""A stream's batches past a position, as one process lists them again and again; and the hold that keeps them.

The service lists what is there, and says up to where something is gone: so it is known whether a batch was missed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from psoup.engine.limits import LIST_ROWS_MAX
from psoup.engine.tuples.schema import ColumnSchema, ColumnType
from psoup.pipeline.client import JsonObject, PsoupClient, check_generation
from psoup.pipeline.definition import columns_of
from psoup.pipeline.errors import ReadRefusedError

ARRIVAL_COLUMNS: Final = (
    ColumnSchema("_id", ColumnType.INT64, nullable=False),
    ColumnSchema("_seq", ColumnType.INT64, nullable=False),
    ColumnSchema("_arrival", ColumnType.TIMESTAMP, nullable=False),
)
"""A row's tuple id, and its batch's position and arrival, before the columns of the stream."""


@dataclass(frozen=True, slots=True)
class ListedBatch:
    """A batch that is there: its position, and the bytes of its rows."""

    seq: int
    nbytes: int


@dataclass(frozen=True, slots=True)
class ReadThrough:
    """Where a reader stands: in which history, and behind which batch.

    Attributes:
        gen: the history.
        seq: nothing up to this position is read any more.
        batches: how many were read on the way here from where it stood before; 0 = this is where it began.
        begin: where that was. Spark keeps it but for the first micro-batch, whose begin it asks for anew at a restart.
    """

    gen: int
    seq: int
    batches: int = 0
    begin: int | None = None


def columns_arriving(service: PsoupClient, stream: str) -> tuple[ColumnSchema, ...]:
    """Return the columns of a stream's rows as they are read, `ARRIVAL_COLUMNS` first.

    Raises:
        ReadRefusedError: there is no such stream, or as `with_arrival`.
    """
    description = service.stream(stream)
    if description is None:
        raise ReadRefusedError(f"The service at {service.url} has no stream {stream!r}.")
    return with_arrival(columns_of(description))


def with_arrival(columns: Sequence[ColumnSchema]) -> tuple[ColumnSchema, ...]:
    """Return `ARRIVAL_COLUMNS` and, behind them, those of a stream.

    Raises:
        ReadRefusedError: the stream has a column of such a name. Spark does not tell a letter's case.
    """
    added = {one.name for one in ARRIVAL_COLUMNS}
    for column in columns:
        if column.name.lower() in added:
            raise ReadRefusedError(
                f"The stream has a column {column.name!r} of its own, and Spark reads its rows with {sorted(added)} in"
                " front of them: declare it under another name to read or archive it with Spark."
            )
    return (*ARRIVAL_COLUMNS, *columns)


class Arrivals:
    """Lists one stream's batches, and fails where some are gone that were never listed."""

    def __init__(
        self,
        service: PsoupClient,
        stream: str,
        *,
        fail_on_loss: bool = True,
        loss_known_through: int = 0,
    ) -> None:
        """Ask nothing yet. Batches up to `loss_known_through` may be gone unread without a failure."""
        self._service = service
        self._stream = stream
        self._fail_on_loss = fail_on_loss
        self._loss_known_through = loss_known_through
        self._is_held = False

    def first(self) -> JsonObject:
        """Return `gen`, the applied `seq`, and `forgotten_through`: past that nothing is gone."""
        return self._service.batch_list(self._stream, limit=1)

    def hold_all(self) -> None:
        """Hold the stream before anything of it is listed."""
        self._service.hold(self._stream, 0)
        self._is_held = True

    def hold_on(self, start: ReadThrough) -> None:
        """Go on holding what is past `start`, with the hold of an earlier process or else a new one.

        Raises:
            GenerationChangedError: the history is another one than that of `start`.
        """
        if not self._is_held:
            self._service.hold(self._stream, start.seq, gen=start.gen)
            self._is_held = True

    def release(self, through: ReadThrough) -> None:
        """Let go of the batches up to `through`.

        Raises:
            GenerationChangedError: the history is another one than that of `through`.
            ReadRefusedError: somebody has ended the hold, and that is respected.
        """
        if self._service.held(self._stream) is None:
            raise ReadRefusedError(
                f"Stream {self._stream!r} is not held any more: somebody else has ended the hold, or dropped the"
                " stream. Run the query again to hold it anew; it says whether something was missed."
            )
        self._service.hold(self._stream, through.seq, gen=through.gen)

    def past(
        self, start: ReadThrough, *, up_to: int | None = None, most: int | None = None
    ) -> list[ListedBatch]:
        """Return the batches past `start` and up to `up_to`, the first `most` of them, ascending.

        Raises:
            GenerationChangedError: the history is another one than that of `start`.
            ReadRefusedError: batches are gone that were not read.

        Cost: one request for every 1,000 batches.
        """
        found: list[ListedBatch] = []
        after = start.seq
        limit = LIST_ROWS_MAX if most is None else min(most, LIST_ROWS_MAX)
        while True:
            page = self._service.batch_list(self._stream, after=after, limit=limit)
            check_generation(start.gen, page["gen"])
            found += [ListedBatch(int(one["seq"]), int(one["bytes"])) for one in page["batches"]]
            after = found[-1].seq if found else after
            is_past = (most is not None and len(found) >= most) or (
                up_to is not None and after >= up_to
            )
            if page["next"] is None or is_past:
                break
        # Told behind the list: whatever went meanwhile, or before, is at or before that position.
        forgotten = int(page["forgotten_through"])
        if self._fail_on_loss and forgotten > max(start.seq, self._loss_known_through):
            raise ReadRefusedError(
                f"Batches of stream {self._stream!r} past position {start.seq}, up to which it was read, are gone"
                " unread: retention dropped them. To go on with what is there, set"
                f' .option("lossKnownThrough", "{forgotten}") for these, or .option("failOnDataLoss", "false") for'
                ' all to come; to miss nothing, read with .option("hold", "true") from the beginning.'
            )
        return [one for one in found if up_to is None or one.seq <= up_to][:most]
