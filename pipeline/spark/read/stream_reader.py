"""`spark.readStream`: a stream's batches in the order in which the service took them, each of them once.

An offset says behind which batch of which history the reader stands. What lies between two offsets is the same
whenever it is read, so Spark may read it as often as it has to.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType
from typing_extensions import override

from psoup.engine.limits import MIB
from psoup.pipeline.client import PsoupClient, check_generation
from psoup.pipeline.errors import ReadRefusedError
from psoup.pipeline.spark.read.arrivals import Arrivals, ListedBatch, ReadThrough, columns_arriving
from psoup.pipeline.spark.read.options import arrival_options
from psoup.pipeline.spark.read.shaping import arrow_schema_declared, check_declared, rows_declared
from psoup.pipeline.spark.staging import open_client

Offset = dict[str, Any]
"""The members of a `ReadThrough`: what Spark keeps in the checkpoint, as JSON."""

PARTITION_BYTES: Final = 16 * MIB
"""Batches of one task, about: some hundred milliseconds of work."""
PARTITION_BATCHES: Final = 1_000
"""Of one task at most: each is a request, a millisecond or more."""


@dataclass(frozen=True)
class BatchesPartition(InputPartition):
    """Batches that one task reads, by their positions in one history."""

    gen: int
    seqs: tuple[int, ...]


class PsoupStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the batches of one stream.

    With the option `hold` the service keeps every batch until this query has processed it, and nothing can be
    missed. A stream has one such hold: one query a stream may ask for it, and whoever gives that query up for good
    ends the hold (DELETE /v1/streams/{name}/archive), or the log grows. Without it retention may drop batches that
    were not read yet; the query then fails, also where they were planned to be read (`failOnDataLoss`).

    One process asks for offsets and partitions, tasks in others read. Spark copies the reader before it asks it
    anything, so the connection is opened with the first question.
    """

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        """Keep what to read. Asks nothing yet.

        Raises:
            OptionError: the options do not say what to read.
        """
        self._options = arrival_options(given)
        self._schema = schema
        self._service: PsoupClient | None = None
        self._arrivals: Arrivals | None = None
        self._target: int | None = None
        """Where a query with availableNow ends: what arrives later is left to the next one."""
        self._listed: tuple[ReadThrough, list[ListedBatch]] | None = None
        """What the last `latestOffset` found, and behind what: `partitions` is mostly asked for just that."""

    @override
    def initialOffset(self) -> Offset:
        """Return the offset before the first batch to read; holds the stream first, where that was asked for."""
        arrivals, starting = self._asked(), self._options.starting
        if self._options.hold:
            arrivals.hold_all()
        first = arrivals.first()
        seq = int(first["seq"])
        if isinstance(starting, int):
            seq = starting - 1
        elif starting == "earliest":
            seq = int(first["forgotten_through"])
        return asdict(ReadThrough(int(first["gen"]), seq))

    @override
    def getDefaultReadLimit(self) -> ReadLimit:
        """Return how much a micro-batch may read. Spark has no limit by batches: a file stands for one."""
        most = self._options.batches_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxFiles(most)

    @override
    def prepareForTriggerAvailableNow(self) -> None:
        """Let the query end with what is there now."""
        self._target = int(self._asked().first()["seq"])

    @override
    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """Return the offset of the last batch to read now: `start` itself where there is none.

        Raises:
            GenerationChangedError: the history is another one than that of `start`.
            ReadRefusedError: batches that were not read are gone.
        """
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        begin = ReadThrough(**start)
        found = self._asked(begin).past(begin, up_to=self._target, most=most)
        self._listed = begin, found
        if not found:
            return start
        return asdict(ReadThrough(begin.gen, found[-1].seq, len(found), begin.seq))

    @override
    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return the batches past `start` and up to `end`, about PARTITION_BYTES of them each.

        Raises:
            GenerationChangedError, ReadRefusedError: as `latestOffset`; or not all of the batches are there any more.
        """
        begin, until = ReadThrough(**start), ReadThrough(**end)
        if begin == until:
            return []
        check_generation(until.gen, begin.gen)
        if until.begin is not None:
            begin = replace(begin, seq=until.begin)
        if self._listed is not None and self._listed[0].seq == begin.seq:
            found = [one for one in self._listed[1] if one.seq <= until.seq]
        else:
            found = self._asked(begin).past(begin, up_to=until.seq)
        if len(found) != until.batches and not self._options.may_lack(begin.seq + 1):
            raise ReadRefusedError(
                f"Of the {until.batches} batches of stream {self._options.stream!r} past position {begin.seq} and up"
                f" to {until.seq} only {len(found)} are there: retention dropped the others before they were read."
                ' Add .option("hold", "true"), so that the next query misses nothing.'
            )
        return [BatchesPartition(begin.gen, seqs) for seqs in grouped(found)]

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition, a RecordBatch for each batch of the stream.

        Raises:
            GenerationChangedError: a batch is one of another history.
            ReadRefusedError: a batch is gone that may not be.
            SchemaMismatchError: the stream was declared anew, with other columns.
        """
        if not isinstance(partition, BatchesPartition):
            return
        declared = arrow_schema_declared(self._schema)
        with open_client(self._options.connection) as service:
            for seq in partition.seqs:
                body = service.batch(self._options.stream, seq, gen=partition.gen)
                if body is None:
                    self._check_loss(service, partition.gen, seq)
                    continue
                for batch in pa.ipc.open_stream(body):
                    yield rows_declared(batch, declared)

    @override
    def commit(self, end: Offset) -> None:
        """Let the service forget what has been processed, where it holds the stream for this query."""
        if self._options.hold:
            through = ReadThrough(**end)
            self._asked(through).release(through)

    @override
    def stop(self) -> None:
        """Close the connection. The hold stays: the query may go on from its checkpoint."""
        if self._service is not None:
            self._service.close()
        self._service = self._arrivals = None

    def _check_loss(self, service: PsoupClient, gen: int, seq: int) -> None:
        """Raise unless a batch that is not there may be gone, and was dropped from this stream, of this history."""
        stream = self._options.stream
        if not self._options.may_lack(seq):
            raise ReadRefusedError(
                f"The batch of stream {stream!r} at position {seq} is gone: retention dropped it before it was read."
                ' Add .option("hold", "true"), so that the next query misses nothing.'
            )
        check_generation(gen, int(service.batch_list(stream, limit=1)["gen"]))
        check_declared(self._schema, columns_arriving(service, stream))

    def _asked(self, start: ReadThrough | None = None) -> Arrivals:
        """Return the stream's arrivals; on the first call open the connection, and compare the columns.

        A query that goes on from a checkpoint, at `start`, takes its hold up again.
        """
        options = self._options
        if self._arrivals is None:
            self._service = open_client(options.connection)
            check_declared(self._schema, columns_arriving(self._service, options.stream))
            self._arrivals = Arrivals(
                self._service,
                options.stream,
                fail_on_loss=options.fail_on_loss,
                loss_known_through=options.loss_known_through,
            )
        if options.hold and start is not None:
            self._arrivals.hold_on(start)
        return self._arrivals


def grouped(batches: Sequence[ListedBatch]) -> Iterator[tuple[int, ...]]:
    """Yield the positions of batches that follow each other: about PARTITION_BYTES, at most PARTITION_BATCHES."""
    group: list[int] = []
    nbytes = 0
    for one in batches:
        if group and (nbytes + one.nbytes > PARTITION_BYTES or len(group) == PARTITION_BATCHES):
            yield tuple(group)
            group, nbytes = [], 0
        group.append(one.seq)
        nbytes += one.nbytes
    if group:
        yield tuple(group)
