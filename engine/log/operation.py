"""Operations: everything that changes anything, as values. One operation = one entry = one seq."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import StrEnum
from typing import Final, NewType

from psoup.engine.query.parameters import RegisteredText
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.schema import StreamId, StreamSchema
from psoup.engine.tuples.value_type import value_type

QueryId = NewType("QueryId", str)
"""The handle: `q_` and 22 base62 characters; drawn by the app, never reused."""

StageId = NewType("StageId", str)
"""A staged part: `st_` and 22 base62 characters; drawn by the app, never reused."""

_DIGEST_BYTES: Final = 32


class Materialize(StrEnum):
    """Which of a clause's hits are kept between invocations.

    Source: Chandrasekaran & Franklin 2002, 5.1: NoMat, PSoup-P, PSoup-C; `AUTO` chooses by chunk.
    """

    AUTO = "auto"
    """Hits that are sparse or costly to compute; dense, cheap hits are computed at each invocation."""
    PARTIAL = "partial"
    """All matches of sealed chunks; the window is applied when invoked."""
    COMPLETE = "complete"
    """As `PARTIAL`, always as ordered lists, so that an invocation only cuts the window out."""
    NONE = "none"
    """Nothing: every invocation evaluates the clause over the columns."""


@value_type
class Declare:
    """A stream is declared."""

    schema: StreamSchema


@value_type
class Alter:
    """A stream is declared otherwise from now on: `schema`, which differs in what may change (`altered`).

    `declared` is the declaration that it takes the place of, as in `Rows`.
    """

    stream_id: StreamId
    schema: StreamSchema
    declared: StreamSchema | None = field(default=None, compare=False, repr=False)


@value_type
class Drop:
    """A stream is dropped, together with `queries`: all standing queries that read it, or none.

    `declared` is as in `Rows`.
    """

    stream_id: StreamId
    name: str
    queries: tuple[QueryId, ...] = ()
    declared: StreamSchema | None = field(default=None, compare=False, repr=False)


@value_type
class Txn:
    """A producer's name for its batch: at most once per (stream, app, version).

    `digest` is 32 bytes, equal for equal bags of typed rows whatever their order: the sum of a number for each
    row, modulo 2^256, big-endian.
    """

    app: str
    version: int
    digest: bytes


def sum_digests(digests: Iterable[bytes]) -> bytes:
    """Return the digest of a bag of rows from those of its parts, however it was cut."""
    total = sum(int.from_bytes(digest) for digest in digests)
    return (total % (1 << 8 * _DIGEST_BYTES)).to_bytes(_DIGEST_BYTES)


@value_type
class RequestKey:
    """A client's name for one request, under which an operation is stored at most once in REQUEST_KEY_LIFE_S.

    `name` holds the scope in which the client's text counts; `digest` is 32 bytes, equal for equal requests.
    """

    name: str
    digest: bytes


@value_type
class Rows:
    """A batch of tuples, checked against the declaration `stream_id`; `body` is one Arrow IPC stream.

    `declared` is that declaration, for the log to compare when it is appended, and is not kept: a log that has lost its
    end may give an id a second time. None = there is one appender. `key` is for the log as well, and not kept.

    With `more` the next entry is of the same commit: no position between the two is ever shown or published. All
    entries of a commit have its app and version, and the digest of all its rows of their stream.
    """

    stream_id: StreamId
    name: str
    rows: int
    body: bytes = field(repr=False)
    txn: Txn | None = None
    more: bool = False
    declared: StreamSchema | None = field(default=None, compare=False, repr=False)
    key: RequestKey | None = field(default=None, compare=False, repr=False)


@value_type
class Staged:
    """A part of a commit to come: a batch, checked as `Rows` is, that counts for nothing until it is committed.

    `digest` is that of its rows, as a `Txn` has it; `declared` is as in `Rows`.
    """

    stage_id: StageId
    stream_id: StreamId
    name: str
    rows: int
    body: bytes = field(repr=False)
    digest: bytes = field(repr=False)
    declared: StreamSchema | None = field(default=None, compare=False, repr=False)


@value_type
class Commit:
    """Staged parts that become visible at one position, as version `version` of `app`: 1 or more, each named once.

    Their order is that of the tuples.
    """

    app: str
    version: int
    stages: tuple[StageId, ...]


def definition(materialize: Materialize, sql: str) -> str:
    """Return a text that is equal for two queries iff they are defined alike; `sql` is the canonical text."""
    return f"{materialize} {sql}"


@value_type
class Register:
    """A standing query, already bound against the declarations `streams` (name -> id).

    `sql` is the canonical text, window included; `text` is the one registered, where it has parameters or names of its
    own for streams that it joins. `declared` has those declarations by name, and `key` is, as in `Rows`. `ttl_us` is
    how long it stands without being used; None = for ever.
    """

    query_id: QueryId
    sql: str
    streams: Mapping[str, StreamId]
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    materialize: Materialize = Materialize.AUTO
    declared: Mapping[str, StreamSchema] = field(default_factory=dict, compare=False, repr=False)
    text: RegisteredText | None = None
    ttl_us: int | None = None
    key: RequestKey | None = field(default=None, compare=False, repr=False)

    @property
    def definition(self) -> str:
        """Return a text that is equal for two registrations under one name iff they define the same query."""
        return definition(self.materialize, self.sql)


@value_type
class Replace:
    """The query under the handle of `query`, which has its name, is what `query` says from now on.

    `changed_seq` is the last operation that has made it what it is, for the log to compare when it is appended, and is
    not kept. None = only another definition is to replace the one that stands.
    """

    query: Register
    changed_seq: Seq | None = field(default=None, compare=False, repr=False)


@value_type
class Renew:
    """A standing query was used: it stands for its time to live from now on."""

    query_id: QueryId


@value_type
class Remove:
    """A standing query is removed."""

    query_id: QueryId


@value_type
class Expire:
    """A standing query goes, because its time to live is over."""

    query_id: QueryId


@value_type
class Tick:
    """Nothing but the passing of time: lets idle streams expire."""


OfQuery = Register | Replace | Renew | Remove | Expire
Content = Declare | Alter | Drop | Rows | Register | Replace | Renew | Remove | Expire | Tick


def key_of(content: Content) -> RequestKey | None:
    """Return the key that a client has given an operation; None = it has none."""
    return content.key if isinstance(content, Rows | Register) else None


def carried_bytes(content: Content) -> int:
    """Return the bytes of a body, of the texts of a query, or of the handles that a Drop lists. Cost: O(bytes)."""
    match content:
        case Rows():
            return len(content.body)
        case Register():
            texts = [content.sql] if content.text is None else [content.sql, content.text.sql]
            return sum(len(text.encode()) for text in texts)
        case Replace():
            return carried_bytes(content.query)
        case Drop():
            return sum(map(len, content.queries))
        case _:
            return 0


@value_type
class Operation:
    """One entry of the log.

    `arrival_us` never decreases with `seq`. `first_tuple_id` is the id of a batch's first tuple; for
    other kinds the id the next tuple will get.
    """

    seq: Seq
    arrival_us: int
    first_tuple_id: TupleId
    content: Content
