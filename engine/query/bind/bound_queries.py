"""Query texts bound a moment ago, with what they were bound to: a text is bound once on its way in.

The front binds what a client wrote, the fold binds the canonical text that the log kept of it, and clients
send the same texts again. Binding is a pure function of the text and of the declarations it reads, so an
answer that is kept is the answer; one that is forgotten is found again at the cost of `binder.bind`.
"""

from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from psoup.engine.query.bind.binder import Bind, bind
from psoup.engine.query.bind.scope import Streams
from psoup.engine.query.clause import BoundQuery
from psoup.engine.tuples.schema import StreamSchema

_Alias = tuple[str, int]
"""A text as it was written, and the number of the names of all streams declared: they decide which one it means."""


@dataclass(frozen=True, slots=True)
class BoundCacheStatistics:
    """What a cache holds, and how often it could answer.

    Attributes:
        queries: bound queries kept.
        text_bytes: UTF-8 bytes of the texts they are kept under.
        hits: calls of `bind` answered from what is kept.
        misses: calls that had to bind, those that were refused among them.
    """

    queries: int
    text_bytes: int
    hits: int
    misses: int


@dataclass(frozen=True, slots=True)
class _Kept:
    query: BoundQuery
    schemas: tuple[StreamSchema, ...]
    alias: _Alias | None
    text_bytes: int


class BoundCache:
    """At most `queries_max` bound queries, the least recently used forgotten first. Deterministic.

    A query is kept under its canonical text, which names its streams exactly, and under the last other text
    that came to it. It holds for one declaration of each, id and schema: bound over others, a text replaces
    what it was. Refusals are not kept.
    """

    def __init__(
        self,
        *,
        queries_max: int,
        text_bytes_max: int,
        bind: Bind = bind,
        make_lock: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Begin empty; texts take `text_bytes_max` at most, all together.

        `bind` binds what is not kept, and returns what `binder.bind` returns. Where threads share it,
        `make_lock` makes its lock. It is not held while a text is bound.
        """
        self._queries_max = queries_max
        self._text_bytes_max = text_bytes_max
        self._bind = bind
        self._guard = make_lock()
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        self._canonical: dict[_Alias, str] = {}
        self._names: tuple[str, ...] = ()
        self._names_number = 0
        self._text_bytes = 0
        self._hits = 0
        self._misses = 0

    def bind(self, text: str, streams: Streams) -> BoundQuery:
        """Return what `binder.bind` returns, and the same object as long as it is kept.

        Args:
            text: the query as it was written, or its canonical text.
            streams: the declared streams; not changed by anyone until this returns.

        Raises:
            SqlError: as `binder.bind` does.

        Cost: O(1) and the text's hash where it is kept, else that of `binder.bind`.
        """
        with self._guard:
            found = self._find(text, streams)
            if found is None:
                self._misses += 1
            else:
                self._hits += 1
                return found
        query = self._bind(text, streams)
        with self._guard:
            return self._keep(text, streams, query)

    def statistics(self) -> BoundCacheStatistics:
        """Return what is held, and the calls so far."""
        with self._guard:
            return BoundCacheStatistics(len(self._kept), self._text_bytes, self._hits, self._misses)

    def check(self) -> None:
        """Assert that both bounds are kept, bytes are counted, and no name leads nowhere."""
        with self._guard:
            assert len(self._kept) <= self._queries_max, "the cache keeps its bound on queries"
            assert self._text_bytes <= self._text_bytes_max, "and the one on bytes"
            counted = sum(kept.text_bytes for kept in self._kept.values())
            assert self._text_bytes == counted, "bytes are counted"
            aliases = {
                kept.alias: key for key, kept in self._kept.items() if kept.alias is not None
            }
            assert aliases == self._canonical, "every other text leads to its query"
            for key, kept in self._kept.items():
                assert key == kept.query.canonical, "a query is kept under its canonical text"

    def _find(self, text: str, streams: Streams) -> BoundQuery | None:
        """Return the query kept for the text, as the most recent, if it holds over these streams."""
        key = text if text in self._kept else self._canonical.get(self._alias(text, streams))
        if key is None:
            return None
        kept = self._kept[key]
        if not _holds(kept, streams):
            return None
        self._kept.move_to_end(key)
        return kept.query

    def _keep(self, text: str, streams: Streams, query: BoundQuery) -> BoundQuery:
        """Keep the query under both its texts as the most recent; return it, or its equal kept before."""
        key = query.canonical
        kept = self._kept.get(key)
        if kept is not None and _holds(kept, streams):
            query = kept.query
        alias = None if text == key else self._alias(text, streams)
        self._forget(key)
        if alias is not None:
            self._forget(self._canonical.get(alias, key))  # it meant something else before
        size = len(key.encode()) + (0 if alias is None else len(text.encode()))
        if size > self._text_bytes_max or self._queries_max == 0:
            return query
        schemas = tuple([streams[source.stream][1] for source in query.clause.sources])
        self._kept[key] = _Kept(query, schemas, alias, size)
        self._text_bytes += size
        if alias is not None:
            self._canonical[alias] = key
        while len(self._kept) > self._queries_max or self._text_bytes > self._text_bytes_max:
            self._forget(next(iter(self._kept)))
        return query

    def _alias(self, text: str, streams: Streams) -> _Alias:
        """Return what the text is kept under while the names of `streams` are those of the call before.

        Each other set of names gets a number of its own: thousands of names are kept once, not for each text.
        """
        names = tuple(streams)
        if names != self._names:
            self._names = names
            self._names_number += 1
        return text, self._names_number

    def _forget(self, key: str) -> None:
        """Forget the query of this canonical text; if there is none, do nothing."""
        kept = self._kept.pop(key, None)
        if kept is None:
            return
        self._text_bytes -= kept.text_bytes
        if kept.alias is not None:
            del self._canonical[kept.alias]


def _holds(kept: _Kept, streams: Streams) -> bool:
    """Return whether all streams that the query reads are declared as they were when it was bound."""
    for source, schema in zip(kept.query.clause.sources, kept.schemas, strict=True):
        declared = streams.get(source.stream)
        if declared is None or declared != (source.stream_id, schema):
            return False
    return True
