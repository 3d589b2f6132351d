"""Bound queries, each bound once for as long as it is kept: by whoever registers, folds, describes or invokes it.

The front binds what a client wrote, the fold binds the canonical text that the log kept of it, an invocation asks for
the query behind a handle by the same text, and clients send the same texts again. Binding is a pure function of the
text and of the declarations it reads, so an answer that is kept is the answer; one that is forgotten is found again at
the cost of `binder.bind`.
"""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, NamedTuple

from psoup.engine import limits
from psoup.engine.query.bind.binder import Bind, bind
from psoup.engine.query.bind.predicates import Predicates, has_own_names, predicates_of
from psoup.engine.query.bind.scope import Streams
from psoup.engine.query.bind.skeletons import Skeletons, SkeletonsStatistics
from psoup.engine.query.clause import BoundQuery
from psoup.engine.query.parameters import NO_PARAMETERS, Parameters, ParameterValue
from psoup.engine.query.reading import Reading
from psoup.engine.recent import ENTRY_BYTES, Recent
from psoup.engine.tuples.schema import StreamId, StreamSchema

Declared = tuple[tuple[StreamId, StreamSchema], ...]
"""The streams of a query, in FROM order."""

_Given = tuple[tuple[str, type[object], ParameterValue], ...]
"""Parameters by name, each with the type of its value: 1, 1.0 and True are equal and are not the same constant."""

_AsWritten = tuple[str, int, _Given]
"""A text as it was written, the number of the names of all streams declared, and its parameters: they decide which
query it means."""

BOUND_BYTES_PER_TEXT_BYTE: Final = 40
"""What a bound query takes for each byte of its canonical text: 9 to 36 were measured, most with much arithmetic."""


class _Written(NamedTuple):
    """What a text as it was written came to over some declarations: `*` over more columns is more.

    `own_names`: it calls streams of FROM otherwise than the canonical text does.
    """

    canonical: str
    declared: Declared
    own_names: bool


class _Kept(NamedTuple):
    """A bound query, the declarations it holds for, what answering it takes from it; its predicates once asked for."""

    query: BoundQuery
    declared: Declared
    reading: Reading
    predicates: Predicates | None = None


@dataclass(frozen=True, slots=True)
class BoundQueriesStatistics:
    """What is kept, and how often it was not enough.

    Attributes:
        texts: texts that lead to a bound query: canonical ones, and others as they were written.
        nbytes: what these and their queries take, as an estimate.
        bound: calls that had to bind, those that were refused among them.
        skeletons: how many of them a template could answer.
    """

    texts: int
    nbytes: int
    bound: int
    skeletons: SkeletonsStatistics


class BoundQueries:
    """Bound queries of `bytes_max` in all, the least recently used forgotten first. Deterministic.

    A query is kept under its canonical text, which names its streams exactly, and under each other text that came to
    it. It holds for one declaration of each stream, id and schema: bound over others, a text replaces what it was.
    Refusals are not kept.
    """

    def __init__(
        self,
        *,
        bytes_max: int = limits.BOUND_BYTES_MAX,
        bind: Bind | None = None,
        make_lock: Callable[[], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Begin empty.

        Args:
            bytes_max: bound of texts and queries together.
            bind: binds what is not kept, and returns what `binder.bind` returns; None = by templates where texts
                differ in numbers alone (`skeletons.py`).
            make_lock: where threads share it, makes its locks. None is held while a text is bound.
        """
        self._skeletons = Skeletons(make_lock=make_lock)
        self._bind = self._skeletons.bind if bind is None else bind
        self._kept: Recent[str | _AsWritten, _Written | _Kept] = Recent(bytes_max, make_lock())
        """By canonical text what is bound; by a text as it was written, the canonical one."""
        self._guard = make_lock()
        self._names: tuple[str, ...] = ()
        self._names_number = 0
        self._bound = 0

    def bind(
        self, text: str, streams: Streams, parameters: Parameters = NO_PARAMETERS
    ) -> BoundQuery:
        """Return what `binder.bind` returns, and the same object as long as it is kept.

        Args:
            text: the query as it was written, or its canonical text.
            streams: the declared streams; not changed by anyone until this returns.
            parameters: the values given for the parameters of the text.

        Raises:
            SqlError: as `binder.bind` does.

        Cost: O(1) and the text's hash where it is kept, else that of `binder.bind`.
        """
        kept = None if parameters else self._of_canonical(text)
        if kept is None:
            written = self._kept.get(self._as_written(text, streams, parameters))
            if isinstance(written, _Written) and _are_in_force(written.declared, streams):
                kept = self._of_canonical(written.canonical)
        if kept is None or not _are_in_force(kept.declared, streams):
            kept = self._bind_and_keep(text, streams, parameters)
        return kept.query

    def has_own_names(
        self, text: str, streams: Streams, parameters: Parameters, query: BoundQuery
    ) -> bool:
        """Return whether a text calls streams of FROM otherwise than the canonical text of its query does.

        Args:
            text: the query as it was written.
            streams: the declared streams, as `bind` was given them.
            parameters: the values given for the parameters of the text.
            query: what `bind` returned.

        Cost: O(1) while the text is kept, else that of parsing where there are several streams.
        """
        if len(query.clause.sources) == 1 or text == query.canonical:
            return False
        written = self._kept.get(self._as_written(text, streams, parameters))
        if isinstance(written, _Written) and written.canonical == query.canonical:
            return written.own_names
        return has_own_names(text, streams, parameters, query.clause)

    def reading(self, canonical: str, declared: Declared) -> Reading:
        """Return what answering a standing query takes from its clause.

        Args:
            canonical: its canonical text.
            declared: its streams as they are declared where it stands.

        Cost: O(1) where it is kept, else that of `binder.bind`.
        """
        kept = self._of_canonical(canonical)
        if kept is None or kept.declared != declared:
            streams = {schema.name: (stream_id, schema) for stream_id, schema in declared}
            kept = self._bind_and_keep(canonical, streams)
        return kept.reading

    def predicates(self, canonical: str, declared: Declared) -> Predicates:
        """Return the predicates of a query, as `predicates_of` does: for whoever describes its condition.

        Args:
            canonical: its canonical text.
            declared: its streams as they are declared where it stands.

        Cost: O(1) where they were asked for before, else about that of `binder.bind`.
        """
        kept = self._of_canonical(canonical)
        if kept is not None and kept.declared == declared and kept.predicates is not None:
            return kept.predicates
        streams = {schema.name: (stream_id, schema) for stream_id, schema in declared}
        if kept is None or kept.declared != declared:
            kept = self._bind_and_keep(canonical, streams)
        predicates = predicates_of(canonical, streams)
        # Predicates take as much as the query at most, most of them a quarter.
        size = 2 * _size(canonical)
        self._kept.put(canonical, kept._replace(predicates=predicates), size=size)
        return predicates

    def statistics(self) -> BoundQueriesStatistics:
        """Return what is held, and the calls so far that had to bind."""
        kept = self._kept.statistics()
        return BoundQueriesStatistics(
            kept.entries, kept.size, self._bound, self._skeletons.statistics()
        )

    def check(self) -> None:
        """Assert that all bounds are kept, and that texts lead to queries over the streams they are kept for."""
        self._kept.check()
        self._skeletons.check()
        for text, kept in self._kept.pairs():
            if isinstance(kept, _Written):
                assert isinstance(text, tuple), "what was written leads to a canonical text"
                continue
            assert text == kept.query.canonical, "kept under its text"
            ids = [source.stream_id for source in kept.query.clause.sources]
            assert ids == [stream_id for stream_id, _ in kept.declared], "and for its streams"

    def _bind_and_keep(
        self, text: str, streams: Streams, parameters: Parameters = NO_PARAMETERS
    ) -> _Kept:
        """Bind a text, keep the query under both its texts, and return it, or its equal kept before."""
        with self._guard:
            self._bound += 1
        # No template knows a text with parameters: its holes are numbers of the text.
        query = bind(text, streams, parameters) if parameters else self._bind(text, streams)
        canonical = query.canonical
        declared = tuple([streams[source.stream] for source in query.clause.sources])
        kept = self._of_canonical(canonical)
        if kept is None or kept.declared != declared:
            kept = _Kept(query, declared, Reading(query.clause, query.shape))
        if text != canonical:
            written = self._as_written(text, streams, parameters)
            size = ENTRY_BYTES + len(text.encode()) + len(canonical.encode())
            size += sum(
                [sys.getsizeof(name) + sys.getsizeof(value) for name, _, value in written[2]]
            )
            own_names = has_own_names(text, streams, parameters, query.clause)
            self._kept.put(written, _Written(canonical, declared, own_names), size=size)
        # Behind the text as it was written: it is what the fold and invocations will ask for.
        self._kept.put(canonical, kept, size=_size(canonical))
        return kept

    def _of_canonical(self, text: str) -> _Kept | None:
        """Return what is kept under a canonical text, and make it the most recent."""
        kept = self._kept.get(text)
        return kept if isinstance(kept, _Kept) else None

    def _as_written(self, text: str, streams: Streams, parameters: Parameters) -> _AsWritten:
        """Return what the text is kept under while the names of `streams` are those of the call before.

        Each other set of names gets a number of its own: thousands of names are kept once, not for each text.
        """
        names = tuple(streams)
        with self._guard:
            if names != self._names:
                self._names = names
                self._names_number += 1
            number = self._names_number
        if not parameters:
            return text, number, ()
        given = [(name, type(parameters[name]), parameters[name]) for name in sorted(parameters)]
        return text, number, tuple(given)


def _are_in_force(declared: Declared, streams: Streams) -> bool:
    """Return whether all streams that a query reads are declared as they were when it was bound."""
    return all(streams.get(one[1].name) == one for one in declared)


def _size(canonical: str) -> int:
    """Return what a bound query takes, as an estimate."""
    return max(ENTRY_BYTES, BOUND_BYTES_PER_TEXT_BYTE * len(canonical.encode()))
