"""A stream's batches past a position, as one process lists them again and again; and the hold that keeps them.

The service lists what is there. Whether everything is there it says only for a stream that is held.
"""

from dataclasses import dataclass
from typing import Final

from engine.limits import LIST_ROWS_MAX
from engine.tuples.schema import ColumnSchema, ColumnType
from pipeline.archiving import check_history
from pipeline.client import JsonObject, Service
from pipeline.definition import columns_of
from pipeline.errors import ReadRefusedError

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
        batches: how many were read on the way here from where it stood before; 0 = this is where it began, and
            `seq` need not be that of a batch.
    """

    gen: int
    seq: int
    batches: int = 0


def columns_arriving(service: Service, stream: str) -> tuple[ColumnSchema, ...]:
    """Return the columns of a stream's rows as they are read, `ARRIVAL_COLUMNS` first.

    Raises:
        ReadRefusedError: there is no such stream.
    """
    description = service.stream(stream)
    if description is None:
        raise ReadRefusedError(f"The service at {service.url} has no stream {stream!r}.")
    return (*ARRIVAL_COLUMNS, *columns_of(description))


class Arrivals:
    """Lists one stream's batches, and fails where some may be gone that were never listed.

    Retention drops the oldest first, mostly. So as long as the batch that was read last is there, those that came
    later are; where it is gone, they may be. That is no reason to fail where the stream has been held since that
    batch was read, or where this object has found nothing behind it before.
    """

    def __init__(self, service: Service, stream: str, *, fail_on_loss: bool) -> None:
        """Ask nothing yet."""
        self._service = service
        self._stream = stream
        self._fail_on_loss = fail_on_loss
        self._is_held = False
        self._sure_from: int | None = None
        """Nothing past here is dropped before it is released."""
        self._quiet_at: int | None = None
        """Where `past` has found nothing."""

    def first(self) -> JsonObject:
        """Return `gen`, the applied `seq`, and in `batches` the first batch that is there."""
        return self._service.batch_list(self._stream, limit=1)

    def hold_all(self) -> None:
        """Hold the stream before anything of it is listed."""
        self._service.hold(self._stream, 0)
        self._is_held, self._sure_from = True, 0

    def hold_on(self, start: ReadThrough) -> None:
        """Go on holding what is past `start`, with the hold of an earlier process or else a new one.

        Raises:
            HistoryChangedError: the history is another one than that of `start`.
        """
        if self._is_held:
            return
        check_history(start.gen, int(self.first()["gen"]))
        before = self._service.held(self._stream)
        self._service.hold(self._stream, start.seq, gen=start.gen)
        self._is_held = True
        if before is not None and before["through"] <= start.seq:
            self._sure_from = start.seq

    def release(self, through: ReadThrough) -> None:
        """Let go of the batches up to `through`.

        Raises:
            HistoryChangedError: the history is another one than that of `through`.
            ReadRefusedError: the stream was not held any more, so that later ones may be gone already.
        """
        if self._service.held(self._stream) is None:
            raise ReadRefusedError(
                f"Stream {self._stream!r} is not held any more: somebody else has ended the hold, or dropped the"
                " stream. What arrived since may be gone unread."
            )
        self._service.hold(self._stream, through.seq, gen=through.gen)

    def past(
        self, start: ReadThrough, *, up_to: int | None = None, most: int | None = None
    ) -> list[ListedBatch]:
        """Return the batches past `start` and up to `up_to`, the first `most` of them, ascending.

        Raises:
            HistoryChangedError: the history is another one than that of `start`.
            ReadRefusedError: batches may be gone that were not read.

        Cost: one request for every 1,000 batches.
        """
        found: list[ListedBatch] = []
        has_start, after = start.batches == 0, max(start.seq - 1, 0)
        limit = LIST_ROWS_MAX if most is None else min(most + 1, LIST_ROWS_MAX)
        while True:
            page = self._service.batch_list(self._stream, after=after, limit=limit)
            check_history(start.gen, page["gen"])
            for one in page["batches"]:
                after = int(one["seq"])
                has_start = has_start or after == start.seq
                if after > start.seq:
                    found.append(ListedBatch(after, int(one["bytes"])))
            is_past = (most is not None and len(found) >= most) or (
                up_to is not None and after >= up_to
            )
            if page["next"] is None or is_past:
                break
        if not (has_start or self._is_sure(start)):
            raise self._maybe_gone(start)
        if self._is_held and self._sure_from is None:
            self._sure_from = start.seq
        if not found:
            self._quiet_at = start.seq
        return [one for one in found if up_to is None or one.seq <= up_to][:most]

    def _is_sure(self, start: ReadThrough) -> bool:
        """Return whether nothing that came after `start` can be gone, or nobody minds."""
        is_held = self._sure_from is not None and self._sure_from <= start.seq
        return is_held or start.seq == self._quiet_at or not self._fail_on_loss

    def _maybe_gone(self, start: ReadThrough) -> ReadRefusedError:
        return ReadRefusedError(
            f"Batches of stream {self._stream!r} may be gone unread: the one at position {start.seq}, which was read"
            " last, is not there any more. Retention dropped it, and may have dropped later ones, or the stream was"
            ' declared anew. To go on with what is there, set .option("failOnDataLoss", "false"); to miss nothing,'
            ' read with .option("hold", "true") from the beginning.'
        )
