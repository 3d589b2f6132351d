"""Operations and records as bytes, and back. Every form begins with its version.

What one side writes the other asserts: encoding checks that it can read back what it wrote, decoding
that it reads what it knows. Decoding trusts its input otherwise: psoup wrote it.
"""

import functools
import hashlib
import struct
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, assert_never

import orjson

from psoup.engine.limits import APP_VERSION_MAX, ENTRY_BYTES_MAX, STREAMS_COUNT_CEILING
from psoup.engine.log.operation import (
    Alter,
    Content,
    Declare,
    Drop,
    Expire,
    Materialize,
    QueryId,
    Register,
    Remove,
    Renew,
    Replace,
    Rows,
    Tick,
    Txn,
)
from psoup.engine.query.hops import Hops
from psoup.engine.query.parameters import RegisteredText
from psoup.engine.query.window import Bound, Window
from psoup.engine.results.delta import (
    BatchRecord,
    ClauseRecord,
    JoinRecord,
    QueryRecord,
    StreamRecord,
    Suspension,
)
from psoup.engine.results.hits import ClauseId
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.schema import StreamId, StreamSchema, schema_from_dict, schema_to_dict

FORMAT: Final = 1

BATCH: Final = struct.Struct("<B6q")

_KINDS_OF_HANDLES: Final[Mapping[type[Renew | Remove | Expire], str]] = {
    Renew: "renew",
    Remove: "remove",
    Expire: "expire",
}
"""Operations that say a query's handle and nothing else."""
_REGISTER_LATER: Final = (None, None)
_QUERY_LATER: Final = ((), None, 1, 0, None, None, 0)
"""What the members mean that are left out, since what is written has none: those that came with later versions."""


def encode_content(content: Content) -> tuple[str, bytes, bytes]:
    """Return (kind, header, body) of an operation; only batches have a body, the others an empty one."""
    body = b""
    value: Any
    match content:
        case Declare():
            kind, value = "declare", schema_to_dict(content.schema)
        case Alter():
            kind, value = "alter", [content.stream_id, schema_to_dict(content.schema)]
        case Drop():
            assert len(set(content.queries)) == len(content.queries)
            kind, value = "drop", [content.stream_id, content.name, content.queries]
        case Rows():
            assert len(content.body) <= ENTRY_BYTES_MAX, "the app refuses larger batches"
            kind, body = "rows", content.body
            txn = _encode_txn(content.txn)
            value = [content.stream_id, content.name, content.rows, txn, content.more]
        case Register():
            kind, value = "register", _encode_register(content)
        case Replace():
            kind, value = "replace", _encode_register(content.query)
        case Renew() | Remove() | Expire():
            kind, value = _KINDS_OF_HANDLES[type(content)], content.query_id
        case Tick():
            kind, value = "tick", None
        case _:
            assert_never(content)
    header = orjson.dumps([FORMAT, value])
    assert decode_content(kind, header, body) == content, "what is written can be read"
    return kind, header, body


def decode_content(kind: str, header: bytes, body: bytes) -> Content:
    """Return the operation that `encode_content` wrote."""
    version, value = orjson.loads(header)
    assert version == FORMAT
    match kind:
        case "declare":
            return Declare(schema_from_dict(value))
        case "alter":
            return Alter(StreamId(value[0]), schema_from_dict(value[1]))
        case "drop":
            return Drop(StreamId(value[0]), value[1], tuple(value[2]))
        case "rows":
            stream_id, name, rows, txn, more = value
            return Rows(StreamId(stream_id), name, rows, body, _decode_txn(txn), more)
        case "register":
            return _decode_register(value)
        case "replace":
            return Replace(_decode_register(value))
        case "tick":
            return Tick()
        case _:
            pass
    for of_handle, its_kind in _KINDS_OF_HANDLES.items():
        if kind == its_kind:
            return of_handle(QueryId(value))
    raise AssertionError(f"an operation of unknown kind {kind!r} in the log")


def _encode_register(content: Register) -> list[object]:
    assert content.streams, "a query reads a stream"
    value: list[object] = [content.query_id, content.sql, dict(content.streams), content.name]
    value += [dict(content.labels), content.materialize]
    return _with_later(value, [_encode_text(content.text), content.ttl_us], _REGISTER_LATER)


def _decode_register(value: list[Any]) -> Register:
    query_id, sql, streams, name, labels, materialize, *more = value
    text, ttl_us = _padded(more, _REGISTER_LATER)
    return Register(
        QueryId(query_id),
        sql,
        streams,
        name,
        labels,
        Materialize(materialize),
        text=_decode_text(text),
        ttl_us=ttl_us,
    )


def _with_later(
    value: list[object], later: Sequence[object], defaults: Sequence[object]
) -> list[object]:
    """Return members and behind them later ones, up to the last that is not its default."""
    past = len(later)
    while past and later[past - 1] == defaults[past - 1]:
        past -= 1
    return [*value, *later[:past]]


def _padded(later: Sequence[Any], defaults: Sequence[Any]) -> Sequence[Any]:
    """Return later members, and the defaults of those that were left out."""
    return [*later, *defaults[len(later) :]]


def _encode_text(text: RegisteredText | None) -> list[object] | None:
    return None if text is None else [text.sql, dict(text.params)]


def _decode_text(value: list[Any] | None) -> RegisteredText | None:
    return None if value is None else RegisteredText(*value)


def _encode_txn(txn: Txn | None) -> list[object] | None:
    if txn is None:
        return None
    assert 0 <= txn.version <= APP_VERSION_MAX
    return [txn.app, txn.version, txn.digest.hex()]


def _decode_txn(value: list[Any] | None) -> Txn | None:
    return None if value is None else Txn(value[0], value[1], bytes.fromhex(value[2]))


@functools.lru_cache(maxsize=STREAMS_COUNT_CEILING)
def declaration_digest(schema: StreamSchema) -> str:
    """Return what is equal for identical declarations: SHA-256 of their one written form, in hex.

    It does not matter whether a column was declared at first or added. Every append asks for it, so it is remembered.
    """
    return hashlib.sha256(_declaration(schema)).hexdigest()


def text_digest(text: str) -> str:
    """Return the SHA-256 of a text, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def encode_declaration(schema: StreamSchema) -> bytes:
    """Return a stream's declaration, the part of its record that seldom changes; and how many columns were added."""
    return _declaration(schema, schema.added) if schema.added else _declaration(schema)


def _declaration(schema: StreamSchema, *later: int) -> bytes:
    return orjson.dumps([FORMAT, schema_to_dict(schema), *later])


def encode_stream(record: StreamRecord) -> bytes:
    """Return a stream's record without its declaration."""
    return orjson.dumps(
        [
            FORMAT,
            record.stream_id,
            record.rows,
            record.bytes,
            record.high_water_us,
            record.floor_row,
            record.floor_us,
            record.forgotten_us,
            record.dropped_row,
            record.arrival_us,
            record.queries,
            *([record.replaced_seq] if record.replaced_seq else []),
        ]
    )


def decode_stream(record: bytes, declaration: bytes) -> StreamRecord:
    """Return the record that `encode_stream` and `encode_declaration` wrote."""
    return decode_counters(record, decode_declaration(declaration))


def decode_declaration(value: bytes) -> StreamSchema:
    """Return the schema that `encode_declaration` wrote."""
    version, schema, *later = orjson.loads(value)
    assert version == FORMAT
    return replace(schema_from_dict(schema), added=later[0]) if later else schema_from_dict(schema)


def decode_counters(value: bytes, schema: StreamSchema) -> StreamRecord:
    """Return the record that `encode_stream` wrote, of a stream declared so."""
    version, stream_id, *counters = orjson.loads(value)
    assert version == FORMAT
    return StreamRecord(StreamId(stream_id), schema, *counters)


def encode_clause(record: ClauseRecord) -> bytes:
    """Return a clause's record, its streams in front for the Function that reads them."""
    streams = ",".join(map(str, record.streams))
    value: list[object] = [record.materialize, record.kept_row, record.block_row]
    if record.join is not None:
        value.append(_encode_join(record.join))
    return streams.encode() + b" " + orjson.dumps([FORMAT, record.clause_id, record.text, *value])


def decode_clause(value: bytes) -> ClauseRecord:
    """Return the record that `encode_clause` wrote."""
    streams, _, rest = value.partition(b" ")
    version, clause_id, text, materialize, kept_row, block_row, *joins = orjson.loads(rest)
    assert version == FORMAT
    (join,) = joins or (None,)
    return ClauseRecord(
        ClauseId(clause_id),
        text,
        tuple(StreamId(int(stream_id)) for stream_id in streams.split(b",")),
        Materialize(materialize),
        kept_row,
        block_row,
        None if join is None else _decode_join(join),
    )


def _encode_join(join: JoinRecord) -> list[object]:
    since = join.suspended
    return [join.group, join.fronts, None if since is None else [since.since_seq, since.reason]]


def _decode_join(value: list[Any]) -> JoinRecord:
    group, fronts, since = value
    suspended = None if since is None else Suspension(Seq(since[0]), since[1])
    return JoinRecord(ClauseId(group), tuple(fronts), suspended)


def encode_query(record: QueryRecord) -> bytes:
    """Return a query's record, seq and clause in front for the Function that reads them."""
    front = f"{record.seq} {record.clause_id} ".encode()
    window: list[object] = [
        None if bound is None else [bound.us, bound.moving]
        for bound in (record.window.begin, record.window.end)
    ]
    hops = record.window.hops
    if hops is not None:
        window.append([hops.every_us, hops.align_us])
    value: list[object] = [
        record.query_id,
        record.canonical,
        window,
        record.name,
        dict(record.labels),
    ]
    later = [record.ranges, _encode_text(record.text), record.version, record.defined_seq]
    later += [record.ttl_us, record.expires_us, record.amended_seq]
    return front + orjson.dumps([FORMAT, *_with_later(value, later, _QUERY_LATER)])


def decode_query(value: bytes) -> QueryRecord:
    """Return the record that `encode_query` wrote."""
    seq, clause_id, rest = value.split(b" ", 2)
    version, query_id, canonical, window, name, labels, *more = orjson.loads(rest)
    assert version == FORMAT
    ranges, text, version_number, defined_seq, *times, amended_seq = _padded(more, _QUERY_LATER)
    ttl_us, expires_us = times
    begin, end = (None if bound is None else Bound(*bound) for bound in window[:2])
    hops = [Hops(*one) for one in window[2:]]
    return QueryRecord(
        query_id=QueryId(query_id),
        seq=Seq(int(seq)),
        clause_id=ClauseId(int(clause_id)),
        canonical=canonical,
        window=Window(begin, end, *hops),
        name=name,
        labels=labels,
        ranges=tuple(ranges),
        text=_decode_text(text),
        version=version_number,
        defined_seq=Seq(defined_seq),
        ttl_us=ttl_us,
        expires_us=expires_us,
        amended_seq=Seq(amended_seq),
    )


def encode_expired(expired_us: int) -> bytes:
    """Return when a query expired, as it is kept of one that is remembered."""
    return b"%d" % expired_us


def decode_expired(value: bytes) -> int:
    """Return what `encode_expired` wrote."""
    return int(value)


def encode_batch(record: BatchRecord) -> bytes:
    """Return a batch's record: 49 bytes, without the stream and seq it is kept under."""
    return BATCH.pack(
        FORMAT,
        record.first_row,
        record.rows,
        record.bytes,
        record.first_tuple_id,
        record.oldest_us,
        record.newest_us,
    )


def decode_batch(stream_id: StreamId, seq: Seq, value: bytes) -> BatchRecord:
    """Return the record that `encode_batch` wrote."""
    version, first_row, rows, size, first_tuple_id, oldest_us, newest_us = BATCH.unpack(value)
    assert version == FORMAT
    return BatchRecord(
        stream_id, seq, first_row, rows, size, TupleId(first_tuple_id), oldest_us, newest_us
    )
