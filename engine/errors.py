"""Every error the engine raises: one root, a stable `code` each, a message that says what to do.

The code travels to clients unchanged (`app/http/problems.py` maps it to an HTTP status), so a code is
never renamed. `detail` holds no text a user sent; `extras` may quote the sender's own request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

NO_STREAM = "No such stream is declared. GET /v1/streams lists those that are."
NO_QUERY = "No such query is registered. GET /v1/queries lists those that are."


class EngineError(Exception):
    """Root of all errors of psoup. `code` is stable; `extras` are the members its problem body adds."""

    code: ClassVar[str] = "internal"

    def __init__(self, detail: str, **extras: object) -> None:
        """Keep the sentence and the extra members of the problem body."""
        super().__init__(detail)
        self.detail = detail
        self.extras: Mapping[str, object] = extras


@dataclass(frozen=True, slots=True)
class TextPosition:
    """A place in a query's text: line and column count from 1, `length` in characters."""

    line: int
    column: int
    length: int


class SqlError(EngineError):
    """A query was refused: says where (position, excerpt with caret), what is wrong, and what to write instead.

    Both are said twice. `detail` and `remedy` name constructs of SQL and quote nothing, so they may be logged;
    `quoting` and `hint` quote the query and name streams and columns, for its sender alone.
    """

    def __init__(
        self,
        detail: str,
        *,
        position: TextPosition,
        excerpt: str,
        remedy: str,
        quoting: str | None = None,
        hint: str | None = None,
        **extras: object,
    ) -> None:
        """Keep the place in the text beside the sentences; those that quote are by default those that do not."""
        self.position = position
        self.excerpt = excerpt
        self.remedy = remedy
        self.quoting = detail if quoting is None else quoting
        self.hint = remedy if hint is None else hint
        super().__init__(detail, excerpt=excerpt, hint=self.hint, **extras)


class SqlSyntaxError(SqlError):
    """The text does not parse."""

    code = "sql-syntax"


class UnknownStreamError(SqlError):
    """FROM names a stream that is not declared."""

    code = "unknown-stream"


class UnknownColumnError(SqlError):
    """A column is not declared by the stream in FROM."""

    code = "unknown-column"


class TypeMismatchError(SqlError):
    """An operator is applied to types it does not take."""

    code = "type-mismatch"


class UnsupportedSqlError(SqlError):
    """The text parses, but lies outside the dialect."""

    code = "unsupported-sql"


class WindowEmptyError(SqlError):
    """The window can never hold an instant: BEGIN lies after END."""

    code = "window-empty"


class QueryTooComplexError(SqlError):
    """The query is over a limit; extras `limit`, `actual`."""

    code = "query-too-complex"


class ParameterError(SqlError):
    """A parameter has no value, one that does not fit its place, or no place; `errors` as in InvalidFieldError."""

    code = "invalid-field"


class InvalidFieldError(EngineError):
    """Known members with a wrong type or value; `errors` lists pointer and reason, 20 at most."""

    code = "invalid-field"

    def __init__(self, detail: str, *, errors: Sequence[tuple[str, str]]) -> None:
        """Keep (pointer, reason) pairs."""
        super().__init__(detail, errors=_listed(errors))


class NotFoundError(EngineError):
    """No such stream or query for this caller."""

    code = "not-found"


class QueryExpiredError(NotFoundError):
    """The query's time to live is over; extra `expired_at` is when it expired, in microseconds since the epoch."""

    code = "query-expired"

    def __init__(self, expired_us: int) -> None:
        """Say what to do: a handle never comes back."""
        super().__init__(
            "The query has expired: it was not used for its time to live. Register it again.",
            expired_at=expired_us,
        )


def gone_query(expired_us: int | None) -> NotFoundError:
    """Return what a request for a query is answered that is not standing; None = it is not known to have expired."""
    return NotFoundError(NO_QUERY) if expired_us is None else QueryExpiredError(expired_us)


class StreamDiffersError(EngineError):
    """A stream of that name exists with another definition; extra `diff`."""

    code = "stream-differs"


class IncompatibleChangeError(EngineError):
    """A stream that holds tuples cannot be declared so; `errors` as in InvalidFieldError."""

    code = "incompatible-change"

    def __init__(self, detail: str, *, errors: Sequence[tuple[str, str]]) -> None:
        """Keep (pointer, reason) pairs."""
        super().__init__(detail, errors=_listed(errors))


class HasQueriesError(EngineError):
    """A stream that queries use is not dropped without cascade; extra `queries` is their number."""

    code = "has-queries"


class NameTakenError(EngineError):
    """Another query has this name; extra `id`."""

    code = "name-taken"


def name_taken(query_id: str) -> NameTakenError:
    """Return the refusal of a query's name that another definition has."""
    return NameTakenError(
        "Another query has this name. Remove it first, choose another name, or replace it: PUT /v1/queries/{name} with"
        " replace=true.",
        id=query_id,
    )


class TxnContentDiffersError(EngineError):
    """A producer sent other content under a version it had used; extra `seq` of the first."""

    code = "txn-content-differs"


class RequestKeyReusedError(EngineError):
    """A client sent another request under an idempotency key it had used; extra `seq` of the first."""

    code = "idempotency-key-reused"


class StageMissingError(EngineError):
    """A commit names parts that are not staged, or whose stream was declared anew since; extra `stages`: their ids."""

    code = "stage-missing"


class CommitTooLargeError(EngineError):
    """The parts of a commit hold more bytes together than one may; extra `max_bytes`."""

    code = "commit-too-large"


class StaleDeclarationError(EngineError):
    """The caller checked against a declaration that is no longer in force: load it again, check again."""

    code = "stale-declaration"


class GenDiffersError(EngineError):
    """A position is said to be of another history than the service's; extra `gen`: the service's."""

    code = "gen-differs"


class QuotaExceededError(EngineError):
    """A number of things is at its limit; extra `limit`."""

    code = "quota-exceeded"


class OverloadedError(EngineError):
    """The service has taken all the work it may hold; extras `reason`, `retry_after_s`."""

    code = "overloaded"


class RowsRejectedError(EngineError):
    """Rows do not fit their stream, nothing is stored; extras `errors` (first 100), `errors_total`."""

    code = "rows-rejected"


class NowOutOfRangeError(EngineError):
    """`now=` lies outside what is kept; extras `oldest`, `newest`."""

    code = "now-out-of-range"


class SeqOutOfRangeError(EngineError):
    """`seq=` lies before what is kept; extra `oldest`, the first position that may be asked for."""

    code = "seq-out-of-range"


class NotYetVisibleError(EngineError):
    """`min_seq` or `seq` is not applied yet; extra `applied`."""

    code = "not-yet-visible"


class QueryFillingError(EngineError):
    """The query is registered and its old data are not applied yet."""

    code = "query-filling"


class QuerySuspendedError(EngineError):
    """The query ran over a bound of joins and is answered no more; extras `since_seq`, `reason`."""

    code = "query-suspended"


class AnswerTooLargeError(EngineError):
    """The answer of a join that is found when it is asked for, or a series, is over a bound; extra `limit`."""

    code = "answer-too-large"


class HistoryTakenError(EngineError):
    """A worker acts on a history that is not its own: another one's claim runs, it has ended, or nobody claimed it."""

    code = "history-taken"


class HistoryPartsMissingError(EngineError):
    """A history is said to be done, and its parts do not make the answer; extras `parts` (missing ones), `rows`."""

    code = "history-parts-missing"


class HistoryFailedError(EngineError):
    """The job that computed a history has given up; extras `history`, `retry_at`."""

    code = "history-failed"


class BadPageError(EngineError):
    """The page token is forged, damaged, or belongs to another query."""

    code = "bad-page"


class PageExpiredError(EngineError):
    """A page needs what is no longer kept; extra `action` says what to do."""

    code = "page-expired"

    def __init__(
        self,
        detail: str = "This page needs tuples that left retention and are not held any more."
        " Invoke the query again.",
    ) -> None:
        """Keep the sentence; the cure is always the same."""
        super().__init__(detail, action="invoke")


class IntegrityError(EngineError):
    """State and store disagree: a bug or damage. The engine stops and repairs nothing silently."""

    code = "integrity"


def _listed(errors: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"pointer": pointer, "reason": reason} for pointer, reason in errors[:20]]
