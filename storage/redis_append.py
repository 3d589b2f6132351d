"""psoup_append: an operation as its call, and its answer as what became of the operation."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, assert_never

from engine import limits
from engine.errors import EngineError
from engine.log.contract import Appended
from engine.log.operation import Content, Declare, Drop, QueryId, Register, Remove, Rows, Tick
from engine.tuples.batch import Seq
from engine.tuples.schema import StreamId, StreamSchema
from storage import keys, refusals
from storage.encoding import declaration_digest, encode_content, text_digest
from storage.redis_client import Argument
from storage.sums import body_sum, head_sum

REFUSALS: Final[Mapping[bytes, Callable[[Sequence[bytes]], EngineError]]] = {
    b"BACKLOG": lambda _: refusals.backlog_full(),
    b"DIFFERS": lambda facts: refusals.stream_differs(int(facts[0])),
    b"HASQUERIES": lambda facts: refusals.has_queries(int(facts[0])),
    b"NAMETAKEN": lambda facts: refusals.name_taken(facts[0].decode()),
    b"NOQUERY": lambda _: refusals.query_not_found(),
    b"NOSTREAM": lambda _: refusals.stream_not_found(),
    b"STALE": lambda _: refusals.stale_declaration(),
    b"TXN": lambda facts: refusals.txn_content_differs(int(facts[0])),
}
"""What psoup_append answers when it refuses, and what is raised for it."""


def append_call(
    content: Content, *, together: bool = False
) -> tuple[str, list[str], list[Argument]]:
    """Return (function, keys, arguments) that append `content`: see psoup_append in functions.lua.

    `together`: whoever sends it looks itself, behind all that is sent with it, whether settings were changed.
    """
    kind, header, body = encode_content(content)
    rows = content.rows if isinstance(content, Rows) else 0
    freeing = isinstance(content, Drop | Remove | Tick)
    return (
        "psoup_append_freeing" if freeing else "psoup_append",
        [
            keys.HEAD,
            keys.LOG,
            keys.SIZES,
            keys.LOG_STREAMS,
            keys.LOG_QUERIES,
            keys.LOG_NAMES,
            keys.LOG_READERS,
            keys.LOG_APPS,
            _producers_key(content),
            keys.OWNERS,
            keys.HOLDS,
            keys.EMPTY,
            *([keys.TRIMMED, keys.HISTORIES] if freeing else []),
        ],
        [
            keys.META,
            kind,
            header,
            body,
            rows,
            limits.BACKLOG_OPERATIONS_MAX,
            limits.BACKLOG_BYTES_MAX,
            _count_max(content),
            f"{head_sum(kind.encode(), header)} {body_sum(body)}",
            int(together),
            *_checked(content),
        ],
    )


def content_of(arguments: Sequence[Argument]) -> tuple[bytes, bytes]:
    """Return header and body from the arguments of an `append_call`: all of it that may be large."""
    _, _, header, body, *_ = arguments
    assert isinstance(header, bytes)
    assert isinstance(body, bytes)
    return header, body


def read_answer(answer: Sequence[bytes], content: Content) -> Appended:
    """Return what became of `content` by the answer to its call.

    Raises:
        EngineError: it was refused, as `Log.append` says.
    """
    what, *facts = answer
    if what == b"OK":
        seq, arrival_us = map(int, facts)
        return Appended(Seq(seq), arrival_us)
    if what == b"DUP":
        seq, query_id, arrival_us = int(facts[0]), facts[1].decode(), int(facts[2])
        original = QueryId(query_id) if query_id else None
        return Appended(Seq(seq), arrival_us, duplicate=True, query_id=original)
    raise _refusal(what, facts, content)


def declared(schema: StreamSchema | None) -> str:
    """Return what stands in a call for the declaration that something was checked against; '' = it does not matter."""
    return "" if schema is None else declaration_digest(schema)


def _producers_key(content: Content) -> str:
    """Return the key of the producers this operation may touch; of no stream where it touches none."""
    return keys.producers(content.stream_id if isinstance(content, Rows | Drop) else StreamId(0))


def _count_max(content: Content) -> int:
    match content:
        case Declare():
            return limits.STREAMS_COUNT_MAX
        case Register():
            return limits.QUERIES_COUNT_MAX
        case _:
            return limits.APPS_COUNT_MAX


def _checked(content: Content) -> list[Argument]:
    """Return what the catalogue is asked about this operation: see psoup_append."""
    match content:
        case Declare():
            return [content.schema.name, declaration_digest(content.schema)]
        case Drop():
            return [content.name, content.stream_id, declared(content.declared), *content.queries]
        case Rows():
            front: list[Argument] = [content.name, content.stream_id, declared(content.declared)]
            front.append(limits.APP_DIGESTS_KEPT)
            if content.txn is None:
                return [*front, ""]
            txn = content.txn
            return [*front, keys.name_hash(txn.app), txn.version, txn.digest.hex()]
        case Register():
            name = "" if content.name is None else keys.name_hash(content.name)
            arguments: list[Argument] = [content.query_id, name, text_digest(content.definition)]
            for stream, stream_id in content.streams.items():
                arguments += [stream, stream_id, declared(content.declared.get(stream))]
            return arguments
        case Remove():
            return [content.query_id]
        case Tick():
            return []
    assert_never(content)


def _refusal(what: bytes, facts: Sequence[bytes], content: Content) -> EngineError:
    """Return the error for an answer of psoup_append."""
    if what == b"QUOTA":
        return _quota(content)
    assert what in REFUSALS, "an answer that this version does not know"
    return REFUSALS[what](facts)


def _quota(content: Content) -> EngineError:
    match content:
        case Declare():
            return refusals.streams_quota()
        case Register():
            return refusals.queries_quota()
        case _:
            return refusals.apps_quota()
