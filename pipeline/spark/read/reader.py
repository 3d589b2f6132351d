"""`spark.read`: the answer of a standing query, page by page, or of a SQL text that is registered for the read.

Spark plans a read in one process and runs it in others, each with a copy of the reader. A partition carries all that
its task needs.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType
from typing_extensions import override

from psoup.client.calls import JsonObject, PsoupClient, RetryPolicy
from psoup.client.errors import ServiceProblem
from psoup.engine import limits
from psoup.engine.query.parameters import Parameters
from psoup.pipeline.errors import ReadRefusedError
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
    """One page of an answer: its address, its number of rows, and the answer that it belongs to."""

    address: str
    rows: int
    answer: str


@dataclass(frozen=True)
class TextPartition(InputPartition):
    """A whole answer, of a text that the task registers with these parameters, reads and removes."""

    text: str
    params: Parameters


def schema_to_read(given: Mapping[str, str]) -> StructType:
    """Return the columns of the query's answer, or of the stream, that the options name.

    A text is registered to learn its columns, and removed again.

    Raises:
        OptionError: an option is malformed, or neither query nor stream is named.
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
    """Return the reader of the answer that the options name.

    Spark refuses readers with `pushFilters` unless its setting for that is on, so only a reader with the option
    `pushdown` has the method.

    Raises:
        OptionError: an option is malformed, or names a stream.
    """
    options = answer_options(given)
    kind = PushingReader if options.pushdown else PsoupReader
    return kind(options, schema)


class PsoupReader(DataSourceReader):
    """Reads an answer: of a standing query one page in each task, of a text all of it in one task.

    All pages belong to one answer, of the moment at which Spark planned the first action. Spark keeps the plan with the
    DataFrame, which therefore shows the same answer at every action: load again to see a newer one. Every task that
    reads a text registers it anew.

    The declared columns may be any of the query's columns, in any order.
    """

    def __init__(self, options: AnswerOptions, schema: StructType) -> None:
        """Keep the options. Sends no request yet."""
        self._options = options
        self._schema = schema
        self._text = options.sql
        self._params = options.params

    @override
    def partitions(self) -> Sequence[InputPartition]:
        """Return one partition for each page; a single one for a text.

        Raises:
            ReadRefusedError, SchemaMismatchError: no such query, or it lacks the declared columns.
            ServiceProblem: the answer has too many pages; raise the option `pageRows`.
        """
        if self._text is not None:
            return [TextPartition(self._text, self._params)]
        with _planning(self._options.connection) as service:
            description = _described(service, self._options)
            self._check(description)
            return pages_of(service, description["id"], self._options)

    @override
    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition, in exactly the declared columns.

        Raises:
            ReadRefusedError: the page has expired, or its number of rows differs.
        """
        with open_client(self._options.connection) as service:
            if isinstance(partition, PagePartition):
                yield from self._page(service, partition)
            elif isinstance(partition, TextPartition):
                with registered(service, partition.text, partition.params) as description:
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
    """Reads the answer of a query with Spark's filters pushed into it, as far as psoup can express them.

    Spark up to 4.3 keeps pushed filters with the DataFrame instead of with the plan: after a read with a filter, later
    plans over the same DataFrame also see only the rows that passed it. So this reader is used only on request, and the
    user has to load anew for each filter.
    """

    @override
    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Push the filters that the query can express; return the others, which Spark applies."""
        with _planning(self._options.connection) as service:
            description = _described(service, self._options)
        shown = {one.name: one.type for one in columns_shown(description, meta=False)}
        text, left = push(description["canonical"], shown, filters)
        if len(left) < len(filters):
            self._text, self._params = text, {}  # the canonical text has the values as constants
        return left


def pages_of(service: PsoupClient, query_id: str, options: AnswerOptions) -> list[PagePartition]:
    """Return the pages of the query's answer, at present or at the instant in the options."""
    answer = _answered(service, query_id, options)
    left = int(answer["count"])
    what = f"The answer of query {query_id} at position {answer['seq']}, NOW {answer['now']},"
    found = []
    for address in answer["pages"]:
        rows = min(left, options.page_rows)
        found.append(PagePartition(address, rows, what))
        left -= rows
    return found


def _answered(service: PsoupClient, query_id: str, options: AnswerOptions) -> JsonObject:
    """Return the envelope of the query's answer with its pages; waits for a job that computes it.

    Raises ReadRefusedError if none has after HISTORY_LIFE_S, when the service forgets what nobody computes.
    """
    pause, answer = threading.Event(), {}
    for _ in range(limits.HISTORY_LIFE_S // limits.HISTORY_POLL_S):
        answer = service.answer_pages(query_id, limit=options.page_rows, **options.parameters)
        if "pages" in answer:
            return answer
        pause.wait(limits.HISTORY_POLL_S)
    raise ReadRefusedError(
        f"No job has computed the answer of query {query_id} past memory within {limits.HISTORY_LIFE_S} s: it is"
        f" {answer['history']['state']}. Start one (psoup pipeline history --archive DIR), or read without the option"
        " 'history'."
    )


def _described(service: PsoupClient, options: AnswerOptions) -> JsonObject:
    """Return the description of the query that the options name."""
    if options.sql is not None:
        with registered(service, options.sql, options.params) as description:
            return description
    return standing(service, options.query)


def _planning(connection: Connection) -> PsoupClient:
    """Return a client for planning, while the user waits: a wrong address fails at once."""
    retry = RetryPolicy(budget_s=connection.retry_s)
    return PsoupClient(connection.url, token=connection.token, retry=retry)
