"""`spark.readStream`: the batches of a stream in the order of the log, each once.

An offset is the position of a batch, and the generation of the log. The batches between two offsets are always the
same, so Spark may read them as often as it has to.
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

from psoup.client.calls import PsoupClient, check_generation
from psoup.engine.limits import MIB
from psoup.pipeline.errors import ReadRefusedError, SchemaMismatchError
from psoup.pipeline.spark.read.arrivals import Arrivals, ListedBatch, ReadThrough, columns_arriving
from psoup.pipeline.spark.read.options import arrival_options
from psoup.pipeline.spark.read.shaping import arrow_schema_declared, check_declared, rows_declared
from psoup.pipeline.spark.staging import open_client

Offset = dict[str, Any]
"""The members of a `ReadThrough`, which Spark keeps in the checkpoint as JSON."""

PARTITION_BYTES: Final = 16 * MIB
"""Size of the batches of one task, about: some hundred milliseconds of work."""
PARTITION_BATCHES: Final = 1_000
"""Batches of one task, at most: each is a request of a millisecond or more."""


@dataclass(frozen=True)
class BatchesPartition(InputPartition):
    """Batches that one task reads: generation of the log, and their positions."""

    gen: int
    seqs: tuple[int, ...]


class PsoupStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reads the batches of one stream.

    With the option `hold` the service keeps every batch until this query has processed it, so that none is lost. A
    stream has one such hold, for one query. Whoever gives that query up for good has to end the hold (DELETE
    /v1/streams/{name}/archive), or the log grows. Without `hold`, retention may drop batches before they are read; the
    query then fails, even after they were planned (`failOnDataLoss`).

    One process plans offsets and partitions; tasks in other processes read. Spark copies the reader before it uses it,
    so the first request opens the connection.
    """

    def __init__(self, given: Mapping[str, str], schema: StructType) -> None:
        """Keep the options. Sends no request yet.

        Raises:
            OptionError: an option is malformed, or the stream is not named.
        """
        self._options = arrival_options(given)
        self._schema = schema
        self._service: PsoupClient | None = None
        self._arrivals: Arrivals | None = None
        self._target: int | None = None
        """Position at which a query with availableNow ends; later batches are left to the next one."""
        self._listed: tuple[ReadThrough, list[ListedBatch]] | None = None
        """Batches that the last `latestOffset` listed, and its start: `partitions` mostly needs the same ones."""

    @override
    def initialOffset(self) -> Offset:
        """Return the offset before the first batch to read. With `hold`, hold the stream first."""
        arrivals, starting = self._opened(), self._options.starting
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
        """Return the limit of a micro-batch. Spark has no limit of batches, so its limit of files stands for it."""
        most = self._options.batches_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxFiles(most)

    @override
    def prepareForTriggerAvailableNow(self) -> None:
        """End the query at the present position."""
        self._target = int(self._opened().first()["seq"])

    @override
    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:
        """Return the offset of the last batch to read now; `start` itself if there is none.

        Raises:
            GenerationChangedError: the log is of another generation than `start`.
            ReadRefusedError: batches were lost before they were read.
            SchemaMismatchError: with `allColumns`, the stream has columns that this query does not read.
        """
        most = limit.max_files if isinstance(limit, ReadMaxFiles) else None
        begin = ReadThrough(**start)
        arrivals = self._opened(begin)
        batches = arrivals.past(begin, up_to=self._target, most=most)
        if batches and self._options.all_columns:
            self._check_all_columns(arrivals)
        self._listed = begin, batches
        if not batches:
            return start
        return asdict(ReadThrough(begin.gen, batches[-1].seq, len(batches), begin.seq))

    @override
    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return the batches past `start` and up to `end` in partitions of about PARTITION_BYTES.

        Raises:
            GenerationChangedError, ReadRefusedError: as `latestOffset`; or some of the batches are lost.
        """
        begin, until = ReadThrough(**start), ReadThrough(**end)
        if begin == until:
            return []
        check_generation(until.gen, begin.gen)
        if until.begin is not None:
            begin = replace(begin, seq=until.begin)
        if self._listed is not None and self._listed[0].seq == begin.seq:
            batches = [batch for batch in self._listed[1] if batch.seq <= until.seq]
        else:
            batches = self._opened(begin).past(begin, up_to=until.seq)
        if len(batches) != until.batches and not self._options.may_lack(begin.seq + 1):
            raise ReadRefusedError(
                f"Of the {until.batches} batches of stream {self._options.stream!r} past position {begin.seq} and up"
                f" to {until.seq} only {len(batches)} are there: retention dropped the others before they were read."
                ' Add .option("hold", "true"), so that the next query misses nothing.'
            )
        return [BatchesPartition(begin.gen, seqs) for seqs in grouped(batches)]

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition, a RecordBatch for each batch of the stream.

        Raises:
            GenerationChangedError: the log is of another generation than the partition.
            ReadRefusedError: a batch is lost, which the options do not allow.
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
        """With `hold`, let the service forget the batches that are processed."""
        if self._options.hold:
            through = ReadThrough(**end)
            self._opened(through).release(through)

    @override
    def stop(self) -> None:
        """Close the connection. The hold stays, because the query may go on from its checkpoint."""
        if self._service is not None:
            self._service.close()
        self._service = self._arrivals = None

    def _check_loss(self, service: PsoupClient, gen: int, seq: int) -> None:
        """Raise unless a missing batch may be lost, and the stream and the generation of the log are unchanged."""
        stream = self._options.stream
        if not self._options.may_lack(seq):
            raise ReadRefusedError(
                f"The batch of stream {stream!r} at position {seq} is gone: retention dropped it before it was read."
                ' Add .option("hold", "true"), so that the next query misses nothing.'
            )
        check_generation(gen, int(service.batch_list(stream, limit=1)["gen"]))
        check_declared(self._schema, columns_arriving(service, stream))

    def _check_all_columns(self, arrivals: Arrivals) -> None:
        """Raise where the stream has more columns than are read. Asked behind the list: its batches have no others."""
        missing = [one.name for one in arrivals.columns() if one.name not in self._schema.names]
        if missing:
            raise SchemaMismatchError(
                f"Stream {self._options.stream!r} has columns that this query does not read, which may have been added since it"
                f" began: {', '.join(missing)}. Nothing is lost: run it again."
            )

    def _opened(self, start: ReadThrough | None = None) -> Arrivals:
        """Return the stream's arrivals; the first call opens the connection and compares the columns.

        A query that goes on from a checkpoint, at `start`, renews its hold.
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
    """Yield groups of consecutive batches, as positions: about PARTITION_BYTES, at most PARTITION_BATCHES each."""
    group: list[int] = []
    nbytes = 0
    for batch in batches:
        if group and (nbytes + batch.nbytes > PARTITION_BYTES or len(group) == PARTITION_BATCHES):
            yield tuple(group)
            group, nbytes = [], 0
        group.append(batch.seq)
        nbytes += batch.nbytes
    if group:
        yield tuple(group)
