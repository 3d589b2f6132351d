"""The bodies of failures with the members that go with their codes, as the OpenAPI shows them."""

from collections.abc import Mapping, Sequence
from typing import Final

from pydantic import BaseModel, Field

from psoup.app.http.problems import PROBLEM_TYPES
from psoup.app.wire.models.problem import Problem
from psoup.app.wire.models.warnings import PositionAnswer

_MAX: Final = "How many there may be."


class SimpleProblem(Problem):
    """A problem that says all in `detail`."""


class BadBodyProblem(Problem):
    """The body is not what its media type says."""

    reason: str | None = Field(default=None, description="What is wrong with it.")
    offset: int | None = Field(default=None, description="Where, in bytes or columns from 0.")
    limit: int | None = Field(default=None, description="The bound that it is over.")
    line: int | None = Field(default=None, description="Line of a batch, from 1.")
    column: str | None = Field(
        default=None,
        description="Of rows by columns: the one meant; of others: the one named twice.",
    )
    columns: list[str] | None = Field(
        default=None, description="Of rows by columns: two of unlike lengths."
    )
    field: str | None = Field(
        default=None,
        description="Of a control body: the name of the member that stands twice, or where the text stands.",
    )


class UnknownFieldProblem(Problem):
    """A member or a parameter does not exist."""

    field: str = Field(description="Its name, or where it stands.")
    nearest: str | None = Field(description="The name that may have been meant.")


class NotFoundProblem(Problem):
    """There is no such stream, query or path."""

    stream: str | None = Field(default=None, description="The name that no stream has.")
    nearest: str | None = Field(
        default=None, description="The declared name that may have been meant."
    )


class ScopeProblem(Problem):
    """The key lacks a scope."""

    scope: str = Field(description="The scope that is needed.")


class SupportedProblem(Problem):
    """A representation, a media type or an encoding is not one of those that are taken."""

    supported: list[str] = Field(description="Those that are.")


class StreamDifference(BaseModel):
    """A member in which two declarations of a stream differ, as declared and as given."""

    member: str = Field(description="Its name.")
    declared: object = Field(description="As it is.")
    given: object = Field(description="As it was sent.")


class StreamDiffersProblem(Problem):
    """The stream exists with another definition."""

    diff: list[StreamDifference] = Field(description="Each member that differs.")


class HasQueriesProblem(Problem):
    """Standing queries read the stream."""

    queries: int = Field(description="How many.")


class NameTakenProblem(Problem):
    """Another query has the name."""

    id: str = Field(description="Its handle.")


class UsedProblem(Problem):
    """The version, or the idempotency key, was used for something else."""

    seq: int = Field(description="Position of what was sent first.")


class StageMissingProblem(Problem):
    """Parts of a commit are not staged, or not any more."""

    stages: list[str] = Field(description="Their handles.")


class GenDiffersProblem(Problem):
    """The position is of another history than the service's."""

    gen: int = Field(description="The service's.")


class SuspendedProblem(Problem):
    """The query ran over a cap."""

    since_seq: int = Field(description="Position at which it was suspended.")
    reason: str = Field(description="The bound that it ran over.")


class HistoryPartsProblem(Problem):
    """The parts of a history do not make an answer."""

    parts: list[int] = Field(description="Those that are missing.")
    rows: int | None = Field(default=None, description="Rows of those that are there.")


class HistoryFailedProblem(Problem):
    """The job that computed the answer has given up."""

    history: str = Field(description="Handle of the history.")
    retry_at: str = Field(description="When it may be asked for again.")


class PageExpiredProblem(Problem):
    """The page needs what is no longer kept."""

    action: str = Field(description="What to do: `invoke` the query again.")


class TooLargeProblem(Problem):
    """A body is over a limit."""

    limit: str = Field(description="What is limited.")
    max_bytes: int | None = Field(default=None, description=_MAX)
    max_rows: int | None = Field(default=None, description=_MAX)
    max_lines: int | None = Field(default=None, description=_MAX)
    max_members: int | None = Field(default=None, description=_MAX)
    max_messages: int | None = Field(default=None, description=_MAX)


class CommitTooLargeProblem(Problem):
    """The parts of a commit are over a limit together."""

    max_bytes: int = Field(description=_MAX)


class LimitProblem(Problem):
    """Over a limit."""

    limit: int = Field(description="The limit.")


class WrongField(BaseModel):
    """One wrong member or parameter."""

    pointer: str = Field(description="JSON pointer of a member; `?name` of a parameter.")
    reason: str = Field(description="What was expected.")


class InvalidFieldProblem(Problem):
    """Members or parameters have wrong types or values."""

    errors: list[WrongField] = Field(description="The first 20 of them.")
    position: PositionAnswer | None = Field(
        default=None, description="Of a parameter of a query: where it stands in the text."
    )
    excerpt: str | None = Field(default=None, description="As of a query that is refused.")
    hint: str | None = Field(default=None, description="As of a query that is refused.")


class IncompatibleChangeProblem(Problem):
    """The stream cannot be changed so."""

    errors: list[WrongField] = Field(description="The first 20 members that cannot be.")


class WrongRow(BaseModel):
    """One value of one row that does not fit its column."""

    index: int | None = Field(description="Of the row, from 0; null for the names of columns.")
    line: int | None = Field(
        default=None, description="Of the row, from 1, where bodies have lines."
    )
    pointer: str = Field(description="JSON pointer of the value in its row.")
    code: str = Field(description="`type-mismatch`, `out-of-range`, `missing`, ...: stable.")
    expected: str = Field(description="What the column takes.")
    got: str | None = Field(description="The value as JSON, cut short; null where there is none.")


class RowsProblem(Problem):
    """Rows do not fit their stream."""

    errors: list[WrongRow] = Field(description="The first 100 of them.")
    errors_total: int = Field(description="How many there are in all.")


class SqlProblem(Problem):
    """A query was refused, at a place of its text."""

    position: PositionAnswer = Field(description="The place.")
    excerpt: str = Field(description="The line with a caret under the place.")
    hint: str = Field(description="What is wrong and what to write instead, quoting the text.")


class ComplexQueryProblem(SqlProblem):
    """The query is over a limit."""

    limit: int = Field(description="The limit.")
    actual: int = Field(description="What the query has.")


class NowProblem(Problem):
    """The instant lies outside what is kept."""

    oldest: str | None = Field(
        description="The earliest instant that may be asked for; null: none."
    )
    newest: str | None = Field(description="The latest; null: none.")


class SeqProblem(Problem):
    """The position lies before what is kept."""

    oldest: int = Field(description="The first position that may be asked for.")


class OverloadedProblem(Problem):
    """All the work that the service holds is taken."""

    reason: str = Field(description="Of what there is no more.")


class QueryExpiredProblem(Problem):
    """The query's time to live is over."""

    expired_at: str = Field(description="When it expired.")


class StoreFullProblem(Problem):
    """The store takes nothing more."""

    reason: str | None = Field(
        default=None, description="`disk-full` where its server has ended for that."
    )


class NotVisibleProblem(Problem):
    """The position is not applied yet."""

    applied: int = Field(description="The position that is.")


_BY_CODE: Final[Mapping[str, type[Problem]]] = {
    "bad-body": BadBodyProblem,
    "unknown-field": UnknownFieldProblem,
    "scope-missing": ScopeProblem,
    "not-found": NotFoundProblem,
    "not-acceptable": SupportedProblem,
    "unsupported-media": SupportedProblem,
    "stream-differs": StreamDiffersProblem,
    "has-queries": HasQueriesProblem,
    "name-taken": NameTakenProblem,
    "txn-content-differs": UsedProblem,
    "idempotency-key-reused": UsedProblem,
    "stage-missing": StageMissingProblem,
    "gen-differs": GenDiffersProblem,
    "query-suspended": SuspendedProblem,
    "query-expired": QueryExpiredProblem,
    "history-parts-missing": HistoryPartsProblem,
    "history-failed": HistoryFailedProblem,
    "page-expired": PageExpiredProblem,
    "body-too-large": TooLargeProblem,
    "commit-too-large": CommitTooLargeProblem,
    "url-too-long": LimitProblem,
    "headers-too-large": LimitProblem,
    "quota-exceeded": LimitProblem,
    "answer-too-large": LimitProblem,
    "invalid-field": InvalidFieldProblem,
    "incompatible-change": IncompatibleChangeProblem,
    "rows-rejected": RowsProblem,
    "sql-syntax": SqlProblem,
    "unknown-stream": SqlProblem,
    "unknown-column": SqlProblem,
    "type-mismatch": SqlProblem,
    "unsupported-sql": SqlProblem,
    "window-empty": SqlProblem,
    "query-too-complex": ComplexQueryProblem,
    "now-out-of-range": NowProblem,
    "seq-out-of-range": SeqProblem,
    "overloaded": OverloadedProblem,
    "not-yet-visible": NotVisibleProblem,
    "store-full": StoreFullProblem,
}
PROBLEM_BODIES: Final[Mapping[str, type[Problem]]] = {
    code: _BY_CODE.get(code, SimpleProblem) for code in PROBLEM_TYPES
}
"""The model of each code's body."""
CODES: Final[Mapping[type[Problem], Sequence[str]]] = {
    model: tuple(code for code, theirs in PROBLEM_BODIES.items() if theirs is model)
    for model in PROBLEM_BODIES.values()
}
"""The codes whose bodies have a model."""
