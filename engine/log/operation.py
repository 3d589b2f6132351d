"""Operations: everything that changes anything, as values. One operation = one entry = one seq."""

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import NewType

from engine.tuples.batch import Seq, TupleId
from engine.tuples.schema import StreamId, StreamSchema
from engine.tuples.value_type import value_type

QueryId = NewType("QueryId", str)
"""The handle: `q_` and 22 base62 characters; drawn by the app, never reused."""


class Materialize(StrEnum):
    """What is kept of a clause's matches between invocations.

    Source: Chandrasekaran & Franklin 2002, 5.1: NoMat, PSoup-P, PSoup-C; `AUTO` chooses by chunk.
    """

    AUTO = "auto"
    """What is sparse or costly to evaluate; dense cheap selections are read off the columns."""
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
class Drop:
    """A stream is dropped, together with `queries`: all standing queries that read it, or none."""

    stream_id: StreamId
    name: str
    queries: tuple[QueryId, ...] = ()


@value_type
class Txn:
    """A producer's name for its batch: at most once per (stream, app, version).

    `digest` is 32 bytes, equal for equal bags of typed rows whatever their order.
    """

    app: str
    version: int
    digest: bytes


@value_type
class Rows:
    """A batch of tuples, checked against the declaration `stream_id`; `body` is one Arrow IPC stream."""

    stream_id: StreamId
    name: str
    rows: int
    body: bytes = field(repr=False)
    txn: Txn | None = None


@value_type
class Register:
    """A standing query, already bound against the declarations `streams` (name -> id).

    `sql` is the canonical text, window included.
    """

    query_id: QueryId
    sql: str
    streams: Mapping[str, StreamId]
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    materialize: Materialize = Materialize.AUTO

    @property
    def definition(self) -> str:
        """Return what two registrations under one name have in common iff they are the same query."""
        return f"{self.materialize} {self.sql}"


@value_type
class Remove:
    """A standing query is removed."""

    query_id: QueryId


@value_type
class Tick:
    """Nothing but the passing of time: lets idle streams expire."""


Content = Declare | Drop | Rows | Register | Remove | Tick


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
