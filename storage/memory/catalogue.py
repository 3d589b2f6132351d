"""What an append is checked against: the streams, queries and producers at the head of the log.

The same rules as `check_*` and `enter_*` in `functions/catalogue.lua`; `tests/storage/contract/test_stores_agree.py`
compares the two step by step.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import assert_never

from psoup.engine import limits
from psoup.engine.errors import name_taken
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
    Txn,
    key_of,
)
from psoup.engine.tuples.batch import Seq
from psoup.engine.tuples.schema import StreamId, StreamSchema
from psoup.storage import refusals
from psoup.storage.memory.requests import Requests


@dataclass(frozen=True, slots=True)
class Original:
    """What a duplicate repeats. `seq` 0 = no longer known."""

    seq: Seq
    query_id: QueryId | None = None
    replayed: bool = False


@dataclass(frozen=True, slots=True)
class _Standing:
    """A query; `seq` is that of its registration, or of the last operation that replaced it."""

    seq: Seq
    definition: str
    name: str | None
    streams: frozenset[StreamId]
    ttl_us: int | None
    expires_us: int | None
    """Both None: it stands for ever."""


@dataclass(slots=True)
class _Producer:
    """The last version committed, and digest and seq of the last APP_DIGESTS_KEPT ones; whether it has sent a row."""

    last: int = -1
    known: dict[int, tuple[bytes, Seq]] = field(default_factory=dict)
    has_rows: bool = False

    @property
    def last_seq(self) -> Seq:
        return self.known[self.last][1]


class MemoryCatalogue:
    """Streams in force, standing queries and producers. Not thread-safe: the log's lock guards it."""

    def __init__(self, *, streams_max: int = limits.STREAMS_COUNT_MAX) -> None:
        """Begin with nothing declared; no stream is admitted beside `streams_max` others."""
        self._streams_max = streams_max
        self._streams: dict[str, tuple[StreamId, StreamSchema]] = {}
        self._altered: dict[StreamId, Seq] = {}
        """The last operation that declared a stream otherwise."""
        self._queries: dict[QueryId, _Standing] = {}
        self._names: dict[str, QueryId] = {}
        self._producers: dict[StreamId, dict[str, _Producer]] = {}
        self._requests = Requests()

    def admit(self, content: Content, now_us: int) -> Original | None:
        """Return what `content` repeats, None if it is to be stored at `now_us`; raise if it is refused.

        Changes nothing. Raises what `Log.append` names, all but the backlog.
        """
        key = key_of(content)
        known = None if key is None else self._requests.known(key, now_us)
        if known is not None:
            return Original(known.seq, known.query_id, replayed=True)
        match content:
            case Declare():
                return self._admit_declare(content)
            case Alter():
                return self._admit_alter(content)
            case Drop():
                self._admit_drop(content)
                return None
            case Rows():
                return self._admit_rows(content)
            case Tick():
                return None
            case _:
                return self._admit_of_query(content, now_us)

    def in_force(
        self, name: str, stream_id: StreamId, declared: StreamSchema | None = None
    ) -> bool:
        """Return whether `stream_id` is the stream of this name, and declared so (None = however it is)."""
        found = self._streams.get(name)
        if found is None or found[0] != stream_id:
            return False
        return declared is None or declared == found[1]

    def is_declared(self, stream_id: StreamId) -> bool:
        """Return whether a stream is in force under this id."""
        return any(stream_id == found for found, _ in self._streams.values())

    def is_standing(self, query_id: QueryId) -> bool:
        """Return whether a query is registered."""
        return query_id in self._queries

    def admit_commit(
        self,
        txns: Mapping[StreamId, Txn],
        rows: Mapping[StreamId, int],
        marked: Mapping[StreamId, Seq],
    ) -> Original | None:
        """Return the commit that had this version, None = it is new for all streams; raise if it is refused.

        A stream that gets no row, of an app that is no producer of it, is neither new nor known, unless it is marked.

        Args:
            txns: by stream the version, the same for all, and the digest of the rows.
            rows: by stream, of all its parts.
            marked: streams with parts that are marks of this commit, and its last entry.

        Raises:
            TxnContentDiffersError, QuotaExceededError: as `Log.commit` says.
        """
        known: list[Seq] = []
        fresh: list[StreamId] = []
        for stream_id, txn in txns.items():
            original = self._repeated(stream_id, txn) if self.is_declared(stream_id) else None
            if original is None and stream_id in marked:
                original = Original(marked[stream_id])
            if original is not None:
                known.append(original.seq)
            elif rows[stream_id] > 0 or txn.app in self._producers.get(stream_id, {}):
                fresh.append(stream_id)
        if known and fresh:
            raise refusals.txn_content_differs(max(known))
        if known:
            return Original(max(known))
        for stream_id, txn in txns.items():
            self._find_place(stream_id, txn.app)
        return None

    def enter_commit(
        self, seq: Seq, txns: Mapping[StreamId, Txn], rows: Mapping[StreamId, int]
    ) -> None:
        """Take note of a commit, admitted just before with these arguments, whose last entry is operation `seq`."""
        for stream_id, txn in txns.items():
            self._enter_version(seq, stream_id, txn, rows[stream_id])

    def enter(self, seq: Seq, content: Content, now_us: int) -> None:
        """Take note of `content`, admitted just before and now operation `seq`, which arrives at `now_us`."""
        self._enter_key(seq, content, now_us)
        match content:
            case Declare():
                self._streams[content.schema.name] = (StreamId(seq), content.schema)
            case Alter():
                self._streams[content.schema.name] = (content.stream_id, content.schema)
                self._altered[content.stream_id] = seq
            case Drop():
                self._remove(content.queries)
                del self._streams[content.name]
                self._producers.pop(content.stream_id, None)
                self._altered.pop(content.stream_id, None)
            case Rows():
                self._enter_version(seq, content.stream_id, content.txn, content.rows)
            case Register():
                self._hold(seq, content, now_us)
            case Replace():
                self._hold(seq, content.query, now_us)
            case Renew():
                standing = self._queries[content.query_id]
                renewed = _expiry(standing.ttl_us, now_us)
                self._queries[content.query_id] = replace(standing, expires_us=renewed)
            case Remove() | Expire():
                self._remove([content.query_id])
            case Tick():
                pass
            case _:
                assert_never(content)

    def _enter_key(self, seq: Seq, content: Content, now_us: int) -> None:
        key = key_of(content)
        if key is not None:
            self._requests.enter(key, seq, content, now_us)

    def check(self) -> None:
        """Assert that names, queries, streams and producers fit together. O(everything)."""
        in_force = {stream_id for stream_id, _ in self._streams.values()}
        for name, (_, schema) in self._streams.items():
            assert name == schema.name
        for query_id, standing in self._queries.items():
            assert standing.streams <= in_force, "a standing query reads streams in force"
            assert standing.name is None or self._names[standing.name] == query_id
        for name, query_id in self._names.items():
            assert self._queries[query_id].name == name
        self._requests.check()
        assert self._producers.keys() <= in_force, "producers go with their stream"
        for producers in self._producers.values():
            assert len(producers) <= limits.APPS_COUNT_MAX
            for producer in producers.values():
                assert len(producer.known) <= limits.APP_DIGESTS_KEPT
                assert max(producer.known) == producer.last

    def _admit_declare(self, content: Declare) -> Original | None:
        found = self._streams.get(content.schema.name)
        if found is not None:
            stream_id, schema = found
            if schema != content.schema:
                raise refusals.stream_differs(stream_id)
            return Original(self._altered.get(stream_id, Seq(stream_id)))
        if len(self._streams) >= self._streams_max:
            raise refusals.streams_quota(self._streams_max)
        return None

    def _admit_alter(self, content: Alter) -> Original | None:
        name, stream_id = content.schema.name, content.stream_id
        if not self.in_force(name, stream_id):
            raise refusals.stream_not_found()
        if self.in_force(name, stream_id, content.schema):
            return Original(self._altered.get(stream_id, Seq(stream_id)))
        if not self.in_force(name, stream_id, content.declared):
            raise refusals.stale_declaration()
        return None

    def _admit_drop(self, content: Drop) -> None:
        if not self.in_force(content.name, content.stream_id, content.declared):
            raise refusals.stream_not_found()
        readers = {q for q, held in self._queries.items() if content.stream_id in held.streams}
        if readers and not content.queries:
            raise refusals.has_queries(len(readers))
        if readers != set(content.queries):
            raise refusals.stale_declaration()

    def _admit_rows(self, content: Rows) -> Original | None:
        if not self.in_force(content.name, content.stream_id, content.declared):
            raise refusals.stale_declaration()
        if content.txn is None:
            return None
        original = self._repeated(content.stream_id, content.txn)
        if original is None:
            self._find_place(content.stream_id, content.txn.app)
        return original

    def _find_place(self, stream_id: StreamId, app: str) -> None:
        """Raise QuotaExceededError where `app` cannot become a producer of this stream."""
        producers = self._producers.get(stream_id, {})
        is_full = app not in producers and len(producers) >= limits.APPS_COUNT_MAX
        if is_full and all(producer.has_rows for producer in producers.values()):
            raise refusals.apps_quota()

    def _repeated(self, stream_id: StreamId, txn: Txn) -> Original | None:
        """Return the batch that had this version, None = it is new. Raise if that had other rows."""
        producer = self._producers.get(stream_id, {}).get(txn.app)
        if producer is None or txn.version > producer.last:
            return None
        digest, seq = producer.known.get(txn.version, (txn.digest, Seq(0)))
        if digest != txn.digest:
            raise refusals.txn_content_differs(seq)
        return Original(seq)

    def _check_declared(self, content: Register) -> None:
        for name, stream_id in content.streams.items():
            if not self.in_force(name, stream_id, content.declared.get(name)):
                raise refusals.stale_declaration()

    def _admit_of_query(self, content: OfQuery, now_us: int) -> Original | None:
        match content:
            case Register():
                return self._admit_register(content)
            case Replace():
                return self._admit_replace(content)
            case Renew():
                return self._admit_renew(content, now_us)
            case Remove():
                if content.query_id not in self._queries:
                    raise refusals.query_not_found()
                return None
            case Expire():
                return self._admit_expire(content, now_us)
        assert_never(content)

    def _admit_replace(self, content: Replace) -> Original | None:
        query = content.query
        self._check_declared(query)
        standing = self._queries.get(query.query_id)
        if standing is None or standing.name != query.name:
            raise refusals.stale_declaration()
        if content.changed_seq is not None:
            if standing.seq != content.changed_seq:
                raise refusals.stale_declaration()
            return None
        if standing.definition == query.definition:
            return Original(standing.seq, query.query_id)
        return None

    def _admit_renew(self, content: Renew, now_us: int) -> Original | None:
        standing = self._queries.get(content.query_id)
        if standing is None or standing.ttl_us is None or standing.expires_us is None:
            raise refusals.query_not_found()
        passed_us = now_us + standing.ttl_us - standing.expires_us
        if passed_us * limits.QUERY_RENEWALS_PER_TTL < standing.ttl_us:
            return Original(standing.seq, content.query_id)
        return None

    def _admit_expire(self, content: Expire, now_us: int) -> Original | None:
        standing = self._queries.get(content.query_id)
        if standing is None or standing.expires_us is None or now_us < standing.expires_us:
            raise refusals.query_not_found()
        return None

    def _hold(self, seq: Seq, content: Register, now_us: int) -> None:
        standing = _Standing(
            seq,
            content.definition,
            content.name,
            frozenset(content.streams.values()),
            content.ttl_us,
            _expiry(content.ttl_us, now_us),
        )
        self._queries[content.query_id] = standing
        if content.name is not None:
            self._names[content.name] = content.query_id

    def _admit_register(self, content: Register) -> Original | None:
        self._check_declared(content)
        taken = None if content.name is None else self._names.get(content.name)
        known = taken if taken is not None else content.query_id
        standing = self._queries.get(known)
        if standing is None:
            if len(self._queries) >= limits.QUERIES_COUNT_MAX:
                raise refusals.queries_quota()
            return None
        if standing.definition != content.definition:
            raise name_taken(known)
        return Original(standing.seq, known)

    def _enter_version(self, seq: Seq, stream_id: StreamId, txn: Txn | None, rows: int) -> None:
        if txn is None:
            return
        producers = self._producers.setdefault(stream_id, {})
        if txn.app not in producers and len(producers) >= limits.APPS_COUNT_MAX:
            idle = (app for app, producer in producers.items() if not producer.has_rows)
            del producers[min(idle, key=lambda app: producers[app].last_seq)]
        producer = producers.setdefault(txn.app, _Producer())
        producer.has_rows = producer.has_rows or rows > 0
        producer.last = txn.version
        producer.known[txn.version] = (txn.digest, seq)
        if len(producer.known) > limits.APP_DIGESTS_KEPT:
            del producer.known[min(producer.known)]

    def _remove(self, query_ids: Iterable[QueryId]) -> None:
        for query_id in query_ids:
            standing = self._queries.pop(query_id)
            if standing.name is not None:
                del self._names[standing.name]


def _expiry(ttl_us: int | None, now_us: int) -> int | None:
    """Return when a query expires that is used at `now_us` and not again."""
    return None if ttl_us is None else now_us + ttl_us
