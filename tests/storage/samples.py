"""Operations as the tests of stores need them: small, and told apart by their arguments."""

import hashlib
from collections.abc import Mapping

from psoup.engine.log.operation import (
    Commit,
    Declare,
    Materialize,
    QueryId,
    Register,
    RequestKey,
    Rows,
    Staged,
    StageId,
    Txn,
)
from psoup.engine.query.parameters import RegisteredText
from psoup.engine.tuples.schema import ClockKind, ColumnSchema, ColumnType, StreamId, StreamSchema


def declare(name: str = "a", columns: int = 1) -> Declare:
    """Return a declaration of `columns` integer columns."""
    listed = tuple(ColumnSchema(f"x{i}", ColumnType.INT64) for i in range(columns))
    return Declare(StreamSchema(name, listed, None, ClockKind.SERVER))


def rows(
    stream_id: int,
    name: str = "a",
    *,
    count: int = 3,
    body: bytes = b"body",
    txn: Txn | None = None,
    key: RequestKey | None = None,
) -> Rows:
    """Return a batch; stores do not look into bodies."""
    return Rows(StreamId(stream_id), name, count, body, txn, key=key)


def txn(app: str = "loader", version: int = 0, content: str = "one") -> Txn:
    """Return a producer's version whose digest is that of `content`."""
    return Txn(app, version, hashlib.sha256(content.encode()).digest())


def request_key(name: str = "key", content: str = "one") -> RequestKey:
    """Return a client's key of a request whose digest is that of `content`."""
    return RequestKey(name, hashlib.sha256(content.encode()).digest())


def stage_id(number: int) -> StageId:
    """Return the id of part `number`."""
    return StageId(f"st_{number:022d}")


def staged(
    number: int,
    stream_id: int = 1,
    name: str = "a",
    *,
    count: int = 3,
    body: bytes = b"part",
    content: str = "one",
) -> Staged:
    """Return part `number`, whose digest is that of `content`."""
    digest = hashlib.sha256(content.encode()).digest()
    return Staged(stage_id(number), StreamId(stream_id), name, count, body, digest)


def commit(*numbers: int, app: str = "job", version: int = 0) -> Commit:
    """Return the commit of these parts."""
    return Commit(app, version, tuple(map(stage_id, numbers)))


def query_id(number: int) -> QueryId:
    """Return the handle number `number`."""
    return QueryId(f"q_{number:022d}")


def register(
    number: int,
    stream_id: int,
    stream: str = "a",
    *,
    sql: str | None = None,
    name: str | None = None,
    ttl_us: int | None = None,
    key: RequestKey | None = None,
) -> Register:
    """Return the registration of handle `number` over one stream."""
    text = f"SELECT x0 FROM {stream} WHERE x0 > {number}" if sql is None else sql
    labels = {"team": "süd"}
    registered = RegisteredText(":süd", {"süd": "a'", "n": number}) if number % 3 == 1 else None
    read = {stream: StreamId(stream_id)}
    return Register(
        query_id(number), text, read, name, labels, text=registered, ttl_us=ttl_us, key=key
    )


def join(
    number: int,
    streams: Mapping[str, int],
    sql: str,
    materialize: Materialize = Materialize.AUTO,
) -> Register:
    """Return the registration of handle `number` over several streams, or over one that joins itself."""
    read = {name: StreamId(stream_id) for name, stream_id in streams.items()}
    return Register(query_id(number), sql, read, None, {}, materialize)
