"""`spark.read`: the answer of a standing query, page by page, or of a text that is registered for the read.

Spark plans a read in one process and carries it out in others, each with a copy of the reader. What a task
needs rides in its partition.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType
from typing_extensions import override

from psoup.pipeline.client import JsonObject, PsoupClient, RetryPolicy
from psoup.pipeline.errors import ReadRefusedError, ServiceProblem
from psoup.pipeline.spark.options import Connection
from psoup.pipeline.spark.read.arrivals import columns_arriving
from psoup.pipeline.spark.read.options import (
    AnswerOptions,
    answer_options,
    arrival_options,
    reads_stream,
)
from psoup.pipeline.spark.read.pushdown import push
from psoup.pipeline.spark.read.queries import columns_shown, registered, standing
from psoup.pipeline.spark.read.shaping import arrow_schema_declared, check_declared, rows_declared
from psoup.pipeline.spark.schema import struct_type
from psoup.pipeline.spark.staging import open_client


@dataclass(frozen=True)
class PagePartition(InputPartition):
    """One page of an answer: where it is, how many rows it has, and which answer it belongs to."""

    address: str
    rows: int
    answer: str


@dataclass(frozen=True)
class TextPartition(InputPartition):
    """A whole answer: that of a text which the task registers, reads and removes."""

    text: str


def schema_to_read(given: Mapping[str, str]) -> StructType:
    """Return the columns of what the options name: a query's answer, or a stream's rows.

    Of a text that is no standing query the service knows the columns once it is registered; it is removed again.

    Raises:
        OptionError: the options do not say what to read.
        ReadRefusedError: there is no such query or stream, or the text is refused.
        ServiceProblem, ServiceUnreachableError: the service failed, or does not answer.
    """
    if reads_stream(given):
        arrivals = arrival_options(given)
        with _planning(arrivals.connection) as service:
            return struct_type(columns_arriving(service, arrivals.stream))
    options = answer_options(given)
    with _planning(options.connection) as service:
        return struct_type(columns_shown(_described(service, options), meta=options.meta))


def reader_of(given: Mapping[str, str], schema: StructType) -> DataSourceReader:
    """Return the reader of what the options name.

    Spark refuses a reader that takes filters over unless its setting for that is on: so only one that was asked
    to do so has the method.

    Raises:
        OptionError: they do not say what to read, or name what cannot be read so.
    """
    options = answer_options(given)
    kind = PushingReader if options.pushdown else PsoupReader
    return kind(options, schema)


class PsoupReader(DataSourceReader):
    """Reads an answer: of a standing query a page a task, of a text all of it in one task.

    All pages belong to one answer, whenever they are read and however often: that of the moment at which Spark
    planned the first action. Spark keeps that plan with the DataFrame, which therefore shows the same answer at
    every action; to see a newer one, load again. A text is registered anew by every task that reads it.

    The declared columns may be some of those that the query shows, in any order.
    """

    def __init__(self, options: AnswerOptions, schema: StructType) -> None:
        """Keep what to read. Asks nothing yet."""
        self._options = options
        self._schema = schema
        self._text = options.sql

    @override
    def partitions(self) -> Sequence[InputPartition]:
        """Return a partition for every page; one alone for a text.

        Raises:
            ReadRefusedError, SchemaMismatchError: no such query, or it does not show the declared columns.
            ServiceProblem: the answer has more pages than are listed: raise the option `pageRows`.
        """
        if self._text is not None:
            return [TextPartition(self._text)]
        with _planning(self._options.connection) as service:
            description = _described(service, self._options)
            self._check(description)
            return pages_of(service, description["id"], self._options)

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition, in exactly the declared columns.

        Raises:
            ReadRefusedError: the page is no longer kept, or does not have the rows that it had.
        """
        with open_client(self._options.connection) as service:
            if isinstance(partition, PagePartition):
                yield from self._page(service, partition)
            elif isinstance(partition, TextPartition):
                with registered(service, partition.text) as description:
                    self._check(description)
                    for page in pages_of(service, description["id"], self._options):
                        yield from self._page(service, page)

    def _check(self, description: JsonObject) -> None:
        check_declared(self._schema, columns_shown(description, meta=self._options.meta))

    def _page(self, service: PsoupClient, page: PagePartition) -> Iterator[pa.RecordBatch]:
        declared = arrow_schema_declared(self._schema)
        rows = 0
        try:
            for body in service.arrow_page(page.address):
                for batch in pa.ipc.open_stream(body):
                    rows += batch.num_rows
                    yield rows_declared(batch, declared)
        except ServiceProblem as problem:
            if problem.problem != "page-expired":
                raise
            raise ReadRefusedError(
                f"{page.answer} is no longer kept: {problem.detail} Load the DataFrame again; where its"
                " rows are needed for longer than the streams keep them, write or persist() them first."
            ) from problem
        if rows != page.rows:
            raise ReadRefusedError(
                f"A page of {page.answer} has {rows} rows where {page.rows} were announced: the answer"
                " was cut on its way. Read again."
            )


class PushingReader(PsoupReader):
    """Reads an answer in which Spark's filters hold already, as far as psoup means exactly the same by them.

    The query with the filters in it is a text of its own. Spark up to 4.3 keeps what was pushed with the loaded
    DataFrame instead of with the plan: a DataFrame that was read with one filter shows what passes that filter to
    later plans as well. So this reader is there for those who ask for it, and load for each filter anew.
    """

    @override
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take over what the query can say; return the other filters, which are Spark's."""
        with _planning(self._options.connection) as service:
            description = _described(service, self._options)
        shown = {one.name: one.type for one in columns_shown(description, meta=False)}
        text, left = push(description["canonical"], shown, filters)
        if len(left) < len(filters):
            self._text = text
        return left


def pages_of(service: PsoupClient, query_id: str, options: AnswerOptions) -> list[PagePartition]:
    """Return the pages of what the query answers now, or at the instant that is asked for."""
    answer = service.answer_pages(query_id, limit=options.page_rows, **options.parameters)
    left = int(answer["count"])
    what = f"The answer of query {query_id} at position {answer['seq']}, NOW {answer['now']},"
    found = []
    for address in answer["pages"]:
        rows = min(left, options.page_rows)
        found.append(PagePartition(address, rows, what))
        left -= rows
    return found


def _described(service: PsoupClient, options: AnswerOptions) -> JsonObject:
    """Return the description of what the options name."""
    if options.sql is not None:
        with registered(service, options.sql) as description:
            return description
    return standing(service, options.query)


def _planning(connection: Connection) -> PsoupClient:
    """Return a client for the user's own waiting: one whose address is wrong is told so at once."""
    retry = RetryPolicy(budget_s=connection.retry_s)
    return PsoupClient(connection.url, token=connection.token, retry=retry)
