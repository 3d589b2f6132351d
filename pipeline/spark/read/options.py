"""The options of a read: of a query's answer, and of a stream's batches."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import orjson

from psoup.engine.limits import PAGE_ROWS_MAX
from psoup.engine.query.parameters import Parameters
from psoup.pipeline.errors import OptionError
from psoup.pipeline.spark.options import Connection, SparkOptions, read_options

Starting = int | Literal["earliest", "latest"]
_OF_STREAMS: Final = (
    "stream",
    "startingSeq",
    "maxBatchesPerTrigger",
    "hold",
    "failOnDataLoss",
    "lossKnownThrough",
    "allColumns",
)
_OF_ANSWERS: Final = (
    *("query", "sql", "params", "meta", "now", "minSeq", "history", "pageRows", "pushdown"),
)
_PARAMS: Final = '.option("params", \'{"min": 40}\')'


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """Options of `spark.read`. Either `query` or `sql` is given.

    Attributes:
        query: handle or name of a standing query; empty if `sql` is given.
        sql: text of a query that is registered for this read; `params`: the values of its parameters.
        meta: whether `_id` and `_x` are read as well.
        now: the instant to answer for; None: NOW.
        min_seq: the earliest position to answer for; None: the applied one.
        history: whether to wait for the answer that a job computes, where the window reaches past memory.
        page_rows: rows of a page; a task reads one page.
        pushdown: whether Spark's filters become part of the query.
    """

    connection: Connection
    query: str = ""
    sql: str | None = None
    params: Parameters = field(default_factory=dict)
    meta: bool = False
    now: str | None = None
    min_seq: int | None = None
    history: bool = False
    page_rows: int = PAGE_ROWS_MAX
    pushdown: bool = False

    @property
    def parameters(self) -> dict[str, str | int]:
        """Return the parameters of the invocation."""
        given: dict[str, str | int | None] = {
            "now": self.now,
            "min_seq": self.min_seq,
            "meta": None if self.meta else 0,
        }
        given["history"] = "true" if self.history else None
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrivalOptions:
    """Options of `spark.readStream`.

    Attributes:
        stream: the stream to read.
        starting: position of the first batch to read; `earliest`: the first that the log has, `latest`: the next one
            to arrive. Used only without a checkpoint.
        batches_per_trigger: batches of a micro-batch, at most; None: all that the log has.
        hold: whether the service keeps batches until this query has committed them.
        fail_on_loss: whether the query fails if batches are lost before it reads them.
        loss_known_through: batches up to this position may be lost without a failure.
        all_columns: whether the query ends once the stream has columns that it does not read.
    """

    connection: Connection
    stream: str
    starting: Starting = "earliest"
    batches_per_trigger: int | None = None
    hold: bool = False
    fail_on_loss: bool = True
    loss_known_through: int = 0
    all_columns: bool = False

    def may_lack(self, seq: int) -> bool:
        """Return whether the query goes on if the batch at this position is lost."""
        return not self.fail_on_loss or seq <= self.loss_known_through


def reads_stream(given: Mapping[str, str]) -> bool:
    """Return whether the options name a stream to read, not a query."""
    return read_options(given).text("stream") is not None


def answer_options(given: Mapping[str, str]) -> AnswerOptions:
    """Return the options of `spark.read`.

    Raises:
        AddressError, OptionError: names the malformed option, and what is expected.
    """
    options = read_options(given)
    _refuse(options, _OF_STREAMS, 'a stream\'s rows: spark.read takes .option("query", ...), or'
            ' .option("sql", "SELECT * FROM trades")')  # fmt: skip
    query, sql = options.text("query"), options.text("sql")
    if (query is None) == (sql is None):
        raise OptionError(
            "spark.read.format(\"psoup\") takes one of the options 'query', the handle or the name of a"
            " standing query, and 'sql', a text to register for this read."
        )
    params = options.text("params")
    if params is not None and sql is None:
        raise OptionError(
            "The option 'params' belongs to 'sql': a standing query has its values already."
        )
    page_rows = options.number("pageRows", least=1) or PAGE_ROWS_MAX
    if page_rows > PAGE_ROWS_MAX:
        raise OptionError(f"The option 'pageRows' is {page_rows}: expected 1 to {PAGE_ROWS_MAX}.")
    return AnswerOptions(
        connection=options.connection(),
        query=query or "",
        sql=sql,
        params={} if params is None else _params(params),
        meta=options.truth("meta"),
        now=options.text("now"),
        min_seq=options.number("minSeq", least=0),
        history=options.truth("history"),
        page_rows=page_rows,
        pushdown=options.truth("pushdown"),
    )


def arrival_options(given: Mapping[str, str]) -> ArrivalOptions:
    """Return the options of `spark.readStream`.

    Raises:
        AddressError, OptionError: names the malformed option, and what is expected.
    """
    options = read_options(given)
    _refuse(options, _OF_ANSWERS, 'a query\'s answer: readStream takes .option("stream", "trades")')
    return ArrivalOptions(
        connection=options.connection(),
        stream=options.required("stream", "trades"),
        starting=_starting(options.text("startingSeq") or "earliest"),
        batches_per_trigger=options.number("maxBatchesPerTrigger", least=1),
        hold=options.truth("hold"),
        fail_on_loss=options.text("failOnDataLoss") is None or options.truth("failOnDataLoss"),
        loss_known_through=options.number("lossKnownThrough", least=0) or 0,
        all_columns=options.truth("allColumns"),
    )


def _params(given: str) -> Parameters:
    try:
        params = orjson.loads(given)
    except orjson.JSONDecodeError:
        params = None
    if not isinstance(params, dict) or any(isinstance(one, dict | list) for one in params.values()):
        raise OptionError(
            "The option 'params' is no JSON object of numbers, texts, true, false and null: expected"
            f" {_PARAMS}."
        )
    return params


def _starting(given: str) -> Starting:
    match given.lower():
        case "earliest":
            return "earliest"
        case "latest":
            return "latest"
        case _ if given.isdecimal() and int(given) >= 1:
            return int(given)
        case _:
            raise OptionError(
                f"The option 'startingSeq' is {given!r}: expected earliest, latest, or the position of the"
                " first batch to read, from 1 on."
            )


def _refuse(options: SparkOptions, names: tuple[str, ...], of_what: str) -> None:
    wrong = [name for name in names if options.text(name) is not None]
    if wrong:
        raise OptionError(f"The option {wrong[0]!r} belongs to {of_what}.")
