"""What the API pages say of operations beside their declarations: tags, descriptions, parameters of paths."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from psoup.app.wire.handles import handle_pattern


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation as the API pages describe it.

    Attributes:
        tag: one of TAGS.
        text: what it does.
        body: what it takes, where no model says it.
    """

    tag: str
    text: str
    body: str = ""


_STREAMS: Final = "Streams"
_ROWS: Final = "Rows"
_QUERIES: Final = "Queries"
_RESULTS: Final = "Results"
_ARCHIVE: Final = "Archive"
_OPERATIONS: Final = "Operations"
_TAKES_ROWS: Final = "Rows of the stream, as objects, as lines, as CSV below a line of names, as an Arrow stream, or by columns."
TAGS: Final[Mapping[str, str]] = {
    _STREAMS: "Declarations: the columns of rows, what dates them, how long they are kept.",
    _ROWS: "Data on its way in: one batch in one request, or parts that are committed together.",
    _QUERIES: "Standing queries: registered once, kept up to date until they are removed.",
    _RESULTS: "Invocations: the answer of a standing query, at an instant, page by page.",
    _ARCHIVE: "Batches to be archived, and answers that a job computes from the archive.",
    _OPERATIONS: "Health, figures and limits of the service.",
}
OPERATIONS: Final[Mapping[str, Operation]] = {
    "declare_stream": Operation(
        _STREAMS,
        "Declares a stream. Declaring it again just so is `200` and changes nothing; another definition is `409`"
        " with the differences. `202`: committed, not applied by the deadline.",
    ),
    "list_streams": Operation(
        _STREAMS, "Lists streams by name, a page at a time: `next` is the URL of the next page."
    ),
    "get_stream": Operation(
        _STREAMS, "Answers a stream's definition, what it holds now, and how far back it is whole."
    ),
    "change_stream": Operation(
        _STREAMS,
        "Changes what a stream keeps: of `retention` the parts given, where `null` lifts a bound. What that drops goes at once;"
        " what is gone does not come back where a bound is widened. Sent twice it changes nothing the second time. With"
        " `If-Match` it is `412` where the declaration is another one than the `ETag` says.",
    ),
    "drop_stream": Operation(
        _STREAMS,
        "Drops a stream with its rows. A stream that standing queries read is dropped only with `cascade=true`,"
        " which removes those queries as well.",
    ),
    "sample_stream": Operation(
        _STREAMS,
        "Answers the latest rows of a stream in the order in which they came, the newest last, and how many it holds.",
    ),
    "match_rows": Operation(
        _QUERIES,
        "Answers for each row, which is not stored, the standing queries that it would hit: those whose FROM and WHERE it"
        " satisfies, whatever their windows; of queries over several streams those that it satisfies as far as they ask of"
        " this stream alone. Rows are checked as rows that are sent.",
    ),
    "append_rows": Operation(
        _ROWS,
        "Stores a batch of rows, all of them or none. `200`: every later answer shows them; `202`: committed, not"
        " applied by the deadline, and `min_seq` waits for `seq`. With the two `Psoup-Txn` headers a batch is stored at"
        " most once, however often it is sent. Bodies may be compressed with gzip or zstd.",
        _TAKES_ROWS,
    ),
    "stage_rows": Operation(
        _ROWS,
        "Checks and keeps a part of a commit. Nobody sees its rows before the commit that names it; an hour later"
        " it is forgotten.",
        _TAKES_ROWS,
    ),
    "commit_stages": Operation(
        _ROWS,
        "Makes staged parts visible, all at one position, of one stream or several. A version that was committed"
        " before is a duplicate: nothing is stored twice.",
    ),
    "discard_stage": Operation(
        _ROWS, "Forgets a staged part; one that is not there is no error. What was committed stays."
    ),
    "list_batches": Operation(
        _ARCHIVE,
        "Lists the batches that a stream still holds, past the position `after`. `forgotten_through`: batches up to"
        " there have gone.",
    ),
    "get_batch": Operation(
        _ARCHIVE,
        "Answers the rows of one batch as an Arrow stream, with their ids, their position and their arrival.",
    ),
    "hold_batches": Operation(
        _ARCHIVE,
        "Says that batches up to `through` are archived. From the first time on, later batches outlive retention"
        " until they are archived as well.",
    ),
    "get_hold": Operation(_ARCHIVE, "Answers how far a stream is archived, and what is held back."),
    "unhold_batches": Operation(
        _ARCHIVE, "Ends the hold: batches go with retention again, archived or not."
    ),
    "register_query": Operation(
        _QUERIES,
        "Registers a windowed SQL query and answers its handle. Old rows are applied to it before `201`, so its first"
        " invocation is whole. With a `name`, registering it again is `200` with the same handle. With a `ttl` it expires when nobody has used"
        " it for so long, and is `410` then. A refused text is `422` with its place and what to write instead.",
    ),
    "list_queries": Operation(
        _QUERIES,
        "Lists standing queries in the order of their registration, filtered, a page at a time.",
    ),
    "put_query": Operation(
        _QUERIES,
        "Registers a query under the name in the path, so that declaring it again changes nothing: `200`. Where the name"
        " stands for another definition (SQL, values of parameters, `materialize`) that is `409`, or with `replace=true`"
        " the query is replaced: its handle stays, `version` is one more, and clients with a cursor get a `reset`."
        " Labels belong to no definition: they are those of the registration or replacement.",
    ),
    "change_query": Operation(
        _QUERIES,
        "Changes what is given of a query, and leaves the rest: `sql`, `params`, `labels`, `ttl`. Another definition is its"
        " next `version`, and clients with a cursor get a `reset`; labels and time to live change nothing they have. With"
        " `If-Match` it is `412` where the query is another one by now.",
    ),
    "remove_queries": Operation(
        _QUERIES,
        "Removes all queries that have each `label` given, and answers how many. They go one after the other: a request"
        " that fails amid it may be sent again.",
    ),
    "get_query": Operation(
        _QUERIES,
        "Answers a query's canonical text, window, columns and state: `live`, `filling` or `suspended`.",
    ),
    "validate_query": Operation(
        _QUERIES,
        "Answers what a registration of the same body would, and stores nothing: canonical text, window, columns and"
        " warnings; the plan by which rows meet the query, and a forecast from a sample of the rows that are held. What"
        " a registration refuses is refused here in the same words.",
    ),
    "remove_query": Operation(
        _QUERIES,
        "Removes a query with what is kept of its answers. Its handle is never used again.",
    ),
    "register_queries": Operation(
        _QUERIES,
        "Registers one query a line and answers one line for each, in order: a handle, or the problem of that line."
        " Lines that fail leave the others as they are.",
        "A query on each line, as `POST /v1/queries` takes it.",
    ),
    "invoke_query": Operation(
        _RESULTS,
        "Answers the rows that a query's window shows now, or at the instant `now`. All pages of an answer belong to one"
        " position and instant. `_id` is a row's identity, `_x` the instant at which it leaves the window. With `wait` it"
        " is answered when something has changed since `cursor`, or when the time is over.",
    ),
    "explain_row": Operation(
        _RESULTS,
        "Answers why a query shows a stored row, or does not: each predicate of its condition with the value that it reads"
        " and what it comes to (`true`, `false`, or `null` for SQL's unknown), and from when to when the window shows the"
        " row. What it says of a row is what the query answers.",
    ),
    "explain_given": Operation(
        _RESULTS,
        "Answers the same of a row that is not stored, as if it arrived now: NOW is where it would be with the row. Rows are"
        " checked as rows that are sent. What row windows and LEFT JOIN make of other rows is left out.",
    ),
    "invoke_series": Operation(
        _RESULTS,
        "Answers what a query's window shows at each of a sequence of instants, all at one position: what a chart draws."
        " Of a query with groups it reads the rows once, however many points there are. Rows have no `_id` and `_x`."
        " CSV and Arrow have the rows of all points as one table, each behind the instant of its point, `_now`.",
    ),
    "invoke_queries": Operation(
        _RESULTS,
        "Answers the first page of many queries, all at one position and one instant. A handle that nobody"
        " knows is answered with a problem in its place.",
    ),
    "follow_query": Operation(
        _RESULTS,
        "Tells what a query answers, or, with a cursor, what has changed since, and then each change as it happens: a stream"
        " of server-sent events, each with the envelope of an answer. `Last-Event-ID` goes before `cursor`. What comes"
        " faster than its client reads is one event. The stream ends after some five minutes, and a browser goes on with"
        " another; after an event `end`, which holds a problem, nothing will follow.",
    ),
    "sync_queries": Operation(
        _RESULTS,
        "Answers what has changed in many queries, each since its cursor, all at one position; waits for the first"
        " change where nothing has, if it is to. With `Accept: text/event-stream` it goes on with each change. It changes"
        " nothing, so `QUERY` asks the same.",
    ),
    "list_histories": Operation(
        _ARCHIVE, "Lists the answers past memory that clients have asked for, the oldest first."
    ),
    "work_on_history": Operation(
        _ARCHIVE,
        "For the job that computes answers from the archive: claims a history for a worker (`running`), renews the"
        " claim, or ends it (`done`, `failed`).",
    ),
    "drop_history": Operation(
        _ARCHIVE, "Forgets a history and its parts; one that is not there is no error."
    ),
    "put_history_part": Operation(
        _ARCHIVE,
        "Sends one part of a claimed history's rows, in the answer's order. A part sent again replaces the first.",
        "Rows with the columns of the answer, as an Arrow stream.",
    ),
    "health": Operation(
        _OPERATIONS, "Says that the process runs, whatever state the service is in."
    ),
    "ready": Operation(
        _OPERATIONS, "Says whether requests are answered rightly now; if not, `reasons` says why."
    ),
    "metrics": Operation(
        _OPERATIONS, "Answers the meters of the process, or of all workers of its port."
    ),
    "status": Operation(
        _OPERATIONS, "Answers what the service holds, what it has done, and how fast, in one look."
    ),
    "top_queries": Operation(
        _OPERATIONS,
        "Answers which queries match most, take most bytes, or are invoked most. Matches and bytes are counted for a"
        " condition, by the engine since it began, and are some seconds old; invocations by the process that answers.",
    ),
    "limits": Operation(
        _OPERATIONS,
        "Answers every limit by its name, those in force by settings, and how much is used.",
    ),
    "llms": Operation(
        _OPERATIONS,
        "Answers the contract in a page, with three requests to begin with, for language models and for people in a"
        " hurry: [llmstxt.org](https://llmstxt.org) says how such a page is made.",
    ),
}
"""By operation id."""
PATH_PARAMETERS: Final[Mapping[str, str]] = {
    "streams/{name}": "Name of a stream: a letter or `_`, and up to 63 letters, digits or `_`.",
    "queries/{id}": f"Handle of a query, as its registration answers it: `{handle_pattern('q_')}`; for PUT a name.",
    "stages/{id}": "Handle of a staged part.",
    "histories/{id}": "Handle of a history.",
    "batches/{seq}": "Position of a batch.",
    "parts/{n}": "Number of a part, from 0.",
}
"""What they are, by the parameter and the segment in front of it."""
