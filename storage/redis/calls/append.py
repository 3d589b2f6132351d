"""psoup_append: operations as calls, and the answers as what became of each operation."""

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, assert_never

from psoup.engine import limits
from psoup.engine.errors import EngineError, name_taken
from psoup.engine.log.contract import Appended
from psoup.engine.log.operation import (
    Alter,
    Content,
    Declare,
    Drop,
    Expire,
    OfQuery,
    QueryId,
    Register,
    Remove,
    Renew,
    Replace,
    Rows,
    Tick,
    key_of,
)
from psoup.engine.tuples.batch import Seq, TupleId
from psoup.engine.tuples.schema import StreamId, StreamSchema
from psoup.storage import keys, refusals
from psoup.storage.encoding.checksums import body_sum, head_sum
from psoup.storage.encoding.records import declaration_digest, encode_content, text_digest
from psoup.storage.redis.calls.client import Argument, Call
from psoup.storage.redis.calls.refused import refused_call, standing_refusal

CALLED_TOGETHER: Final = 64
"""Operations of one call: some 2 ms of the server."""
FREEING: Final = (Drop, Remove, Renew, Expire, Tick)
"""What is appended where nothing may be added: it frees memory, or, as a renewal, takes next to none."""
_KEYS_BEFORE: Final = (
    keys.HEAD,
    keys.LOG,
    keys.SIZES,
    keys.LOG_STREAMS,
    keys.LOG_QUERIES,
    keys.LOG_NAMES,
    keys.LOG_READERS,
    keys.LOG_APPS,
)
_KEYS_BEHIND: Final = (keys.OWNERS, keys.HOLDS, keys.EMPTY, keys.REQUESTS)
_KEYS_FREEING: Final = (*_KEYS_BEHIND, keys.TRIMMED, keys.HISTORIES)
"""The producers of the first operation's stream lie between; those of other streams follow."""
_PRODUCERS: Final = len(_KEYS_BEFORE) + 1
"""Which key that is: Functions count from 1."""

REFUSALS: Final[Mapping[bytes, Callable[[Sequence[bytes]], EngineError]]] = {
    b"BACKLOG": lambda _: refusals.backlog_full(),
    b"DIFFERS": lambda facts: refusals.stream_differs(int(facts[0])),
    b"HASQUERIES": lambda facts: refusals.has_queries(int(facts[0])),
    b"NAMETAKEN": lambda facts: name_taken(facts[0].decode()),
    b"NOQUERY": lambda _: refusals.query_not_found(),
    b"NOSTREAM": lambda _: refusals.stream_not_found(),
    b"REUSED": lambda facts: refusals.request_key_reused(int(facts[0])),
    b"STALE": lambda _: refusals.stale_declaration(),
    b"TXN": lambda facts: refusals.txn_content_differs(int(facts[0])),
}
"""What psoup_append answers when it refuses, and what is raised for it."""


@dataclass(frozen=True, slots=True)
class Append:
    """An operation on its way: what psoup_append takes of it."""

    content: Content
    is_freeing: bool
    """It is one of FREEING, so the Function that takes it runs where there is no memory left."""

    producers: str
    """The key of the producers of its stream."""

    arguments: list[Argument]
    nbytes: int
    """Of header and body: all that may be large."""

    count_max: int
    """How many of its kind (streams, queries, producers of a stream) there may be."""


def append_of(content: Content, *, streams_max: int) -> Append:
    """Return an operation as psoup_append takes it; a stream is refused beside `streams_max` others."""
    kind, header, body = encode_content(content)
    rows = content.rows if isinstance(content, Rows) else 0
    sums = f"{head_sum(kind.encode(), header)} {body_sum(body)}"
    count_max = _count_max(content, streams_max)
    return Append(
        content,
        isinstance(content, FREEING),
        _producers_key(content),
        [kind, header, body, rows, count_max, sums, *_request(content), *_checked(content)],
        len(header) + len(body),
        count_max,
    )


def calls_of(appends: Iterable[Append]) -> list[list[Append]]:
    """Return the operations in their order, as many together as one call may carry.

    A call is one step, which holds other clients up: it has CALLED_TOGETHER of them at most, all that free memory or
    none.
    """
    calls = []
    for _, group in itertools.groupby(appends, lambda one: one.is_freeing):
        while part := list(itertools.islice(group, CALLED_TOGETHER)):
            calls.append(part)
    return calls


def append_call(part: Sequence[Append]) -> Call:
    """Return the call that appends these: 1 or more, all that free memory or none."""
    freeing = part[0].is_freeing
    first, *others = dict.fromkeys(one.producers for one in part)
    touched = [*_KEYS_BEFORE, first, *(_KEYS_FREEING if freeing else _KEYS_BEHIND)]
    places = {first: _PRODUCERS}
    for producers in others:
        touched.append(producers)
        places[producers] = len(touched)
    arguments: list[Argument] = [
        keys.META,
        limits.BACKLOG_OPERATIONS_MAX,
        limits.BACKLOG_BYTES_MAX,
        limits.REQUEST_KEYS_MAX,
        limits.REQUEST_KEY_LIFE_S * limits.SECOND_US,
    ]
    for one in part:
        arguments += [len(one.arguments), places[one.producers], *one.arguments]
    return "psoup_append_freeing" if freeing else "psoup_append", touched, arguments


def read_answer(
    answer: Sequence[Any] | EngineError, part: Sequence[Append]
) -> list[Appended | EngineError]:
    """Return what became of each operation of one call, by its answer or by what has refused all of it."""
    if isinstance(answer, EngineError):
        return [answer] * len(part)
    if len(answer) != 1 + len(part):
        return [refusals.unknown_answer()] * len(part)
    return [_outcome(told, one) for told, one in zip(answer[1:], part, strict=True)]


def _outcome(answer: Sequence[bytes], one: Append) -> Appended | EngineError:
    """Return what became of an operation by its own answer; of one of another version that is not known."""
    try:
        return _told(answer, one)
    except (IndexError, KeyError, ValueError):
        return refusals.unknown_answer()


def _told(answer: Sequence[bytes], one: Append) -> Appended | EngineError:
    """Return what an answer says. Raises IndexError, KeyError or ValueError where it is of another version."""
    what, *facts = answer
    if what == b"OK":
        seq, arrival_us, first_tuple_id = map(int, facts)
        return Appended(Seq(seq), arrival_us, first_tuple_id=TupleId(first_tuple_id))
    if what in (b"DUP", b"REPLAY"):
        seq, query_id, arrival_us = int(facts[0]), facts[1].decode(), int(facts[2])
        original = QueryId(query_id) if query_id else None
        replayed = what == b"REPLAY"
        return Appended(Seq(seq), arrival_us, duplicate=True, query_id=original, replayed=replayed)
    return standing_refusal(answer) or _refusal(what, facts, one)


def declared(schema: StreamSchema | None) -> str:
    """Return what stands in a call for the declaration that something was checked against; '' = it does not matter."""
    return "" if schema is None else declaration_digest(schema)


def _producers_key(content: Content) -> str:
    """Return the key of the producers this operation may touch; of no stream where it touches none."""
    return keys.producers(content.stream_id if isinstance(content, Rows | Drop) else StreamId(0))


def _count_max(content: Content, streams_max: int) -> int:
    match content:
        case Declare():
            return streams_max
        case Register():
            return limits.QUERIES_COUNT_MAX
        case _:
            return limits.APPS_COUNT_MAX


def _request(content: Content) -> list[Argument]:
    """Return what stands in a call for the key that a client has given the operation."""
    key = key_of(content)
    return ["", ""] if key is None else [keys.name_hash(key.name), key.digest.hex()]


def _checked(content: Content) -> list[Argument]:
    """Return what the catalogue is asked about this operation: see psoup_append."""
    match content:
        case Declare():
            return [content.schema.name, declaration_digest(content.schema)]
        case Alter():
            schema = content.schema
            before = declared(content.declared)
            return [schema.name, content.stream_id, before, declaration_digest(schema)]
        case Drop():
            return [content.name, content.stream_id, declared(content.declared), *content.queries]
        case Rows():
            front: list[Argument] = [content.name, content.stream_id, declared(content.declared)]
            front.append(limits.APP_DIGESTS_KEPT)
            if content.txn is None:
                return [*front, ""]
            txn = content.txn
            return [*front, keys.name_hash(txn.app), txn.version, txn.digest.hex()]
        case Tick():
            return []
        case _:
            return _checked_of_query(content)


def _checked_of_query(content: OfQuery) -> list[Argument]:
    match content:
        case Register():
            return _checked_definition(content, None)
        case Replace():
            return _checked_definition(content.query, content.changed_seq)
        case Renew():
            return [content.query_id, limits.QUERY_RENEWALS_PER_TTL]
        case Remove() | Expire():
            return [content.query_id]
    assert_never(content)


def _checked_definition(content: Register, changed_seq: Seq | None) -> list[Argument]:
    name = "" if content.name is None else keys.name_hash(content.name)
    arguments: list[Argument] = [content.query_id, name, text_digest(content.definition)]
    arguments += ["" if one is None else one for one in (content.ttl_us, changed_seq)]
    for stream, stream_id in content.streams.items():
        arguments += [stream, stream_id, declared(content.declared.get(stream))]
    return arguments


def _refusal(what: bytes, facts: Sequence[bytes], one: Append) -> EngineError:
    """Return the error for an answer of psoup_append."""
    if what == b"QUOTA":
        return _quota(one)
    if what == b"FAILED":
        return refused_call(facts[0].decode())
    return REFUSALS[what](facts)


def _quota(one: Append) -> EngineError:
    match one.content:
        case Declare():
            return refusals.streams_quota(one.count_max)
        case Register():
            return refusals.queries_quota()
        case _:
            return refusals.apps_quota()
