"""Sends rows so that each batch is stored once, however often it has to be sent."""

from collections.abc import Iterable
from dataclasses import dataclass

from psoup.client.appends.rows import Batch
from psoup.client.appends.writers import Writer
from psoup.client.connections import operations
from psoup.client.connections.messages import JsonObject, Operation
from psoup.client.connections.operations import Txn
from psoup.client.errors import PsoupError, ServiceProblem


@dataclass(frozen=True, slots=True)
class Receipt:
    """What the service says of appended rows.

    Attributes:
        accepted: rows that were stored by this call.
        duplicate: whether some were stored before: an answer had been lost, or the same `txn` was given again.
        seq: the position of the last batch: every answer from it on shows all rows.
        now: the stream's NOW; None: it has a time column and no row yet.
        warnings: what looks like a mistake in rows that were stored as sent.
    """

    accepted: int
    duplicate: bool
    seq: int
    now: str | None
    warnings: tuple[JsonObject, ...] = ()


def appended(
    stream: str, batches: Iterable[Batch], writer: Writer, txn: Txn | None
) -> Operation[Receipt]:
    """Append batches one after the other, each whole or not at all.

    Args:
        stream: its name.
        batches: of the rows.
        writer: names the batches where no `txn` is given.
        txn: the name and version of the first batch; the next ones count on.

    Raises:
        DefinitionError: the rows cannot be sent; batches before were.
        ServiceProblem: the service refused a batch; those before it are stored. A note says how many rows these have.
        ServiceUnreachableError: nothing answers. A note says how to send the same rows again, each once.
    """
    first = txn or writer.next()
    accepted, duplicate, warnings = 0, False, []
    receipt: JsonObject = {}
    for number, batch in enumerate(batches):
        named = Txn(first.app, first.version + number)
        if txn is None:
            writer.advance(named.version)
        try:
            receipt = yield from operations.append(
                stream, batch.content, content_type=batch.content_type, txn=named
            )
        except PsoupError as error:
            error.add_note(_fate(error, batch, first))
            raise
        accepted += receipt["accepted"]
        duplicate = duplicate or receipt["duplicate"]
        warnings += receipt.get("warnings", ())
    return Receipt(accepted, duplicate, receipt["seq"], receipt["now"], tuple(warnings))


def _fate(error: PsoupError, batch: Batch, first: Txn) -> str:
    """Return what is stored after a failure, and how to go on."""
    if isinstance(error, ServiceProblem) and not error.retryable:
        return f"Of the rows given the first {batch.first_row:,} are stored, and no other."
    return (
        f"Of the rows given the first {batch.first_row:,} are stored; of the next {batch.rows:,} it is not known. To send"
        f" the same rows again, each once: append(rows, txn=psoup.Txn({first.app!r}, {first.version}))."
    )
