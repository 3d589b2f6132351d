"""Whether the answers that somebody waits for have changed: looked at once for each query, off the event loop.

A look reads the streams first, in one call. Queries over streams that nothing was appended to cost nothing further; of
the others one snapshot is read, and the engine is asked what has changed since the last look, which costs as much as
the rows that have come since then.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Protocol

from psoup.app.waiting.standing import Place, Standing, has_entered, standing_of, still_stands
from psoup.engine.errors import EngineError, PageExpiredError
from psoup.engine.invocation.position.answer import Since
from psoup.engine.invoke import Answer
from psoup.engine.log.operation import QueryId
from psoup.engine.results.contract import ResultsReader, Snapshot
from psoup.engine.results.delta import StreamRecord
from psoup.engine.tuples.schema import StreamId

SLICE: Final = 256
"""Queries whose snapshots are read in one call."""

_Moved = tuple[object, ...]
"""What of a stream's record changes where an answer may."""


@dataclass(frozen=True, slots=True)
class Errand:
    """What is new since the last look.

    Attributes:
        added: queries to be looked at from now on, and from where.
        dropped: those that nobody waits for any more.
        due: those whose instant has come.
        streams: rows may have come, or queries have gone.
        everything: it is another history: all queries have to be looked at.
    """

    added: Mapping[QueryId, Standing] = field(default_factory=dict)
    dropped: Collection[QueryId] = ()
    due: Collection[QueryId] = ()
    streams: bool = True
    everything: bool = False


class Sighting(NamedTuple):
    """What a look has found of one query.

    Attributes:
        place: up to where it was looked at; None where it could not be: all who wait have to see for themselves.
        changed: its answer has changed, or there is none any more.
        entered: not only have rows left.
        standing: where it stands now; None where it could not be looked at.
    """

    query_id: QueryId
    place: Place | None
    changed: bool
    entered: bool
    standing: Standing | None


@dataclass(frozen=True, slots=True)
class LookoutStatistics:
    """Queries that are watched, and since the start looks, and answers that were asked of the engine for them."""

    queries: int
    looks: int
    answers: int


class Ask(Protocol):
    """Asks the engine what has changed."""

    def __call__(self, snapshot: Snapshot, since: Since) -> Answer | EngineError:
        """Return what has entered the answer since then, one row of it at most, or why there is no answer.

        Raises:
            PageExpiredError: tuples left retention while it was looked at.
        """
        ...


class Lookout:
    """Looks at all queries that somebody waits for. Used by one thread at a time.

    Invariant: what has changed behind the last standing of a query is found by the next look that reads its streams.
    """

    def __init__(self, results: ResultsReader, ask: Ask) -> None:
        """Watch nothing yet."""
        self._results = results
        self._ask = ask
        self._standing: dict[QueryId, Standing] = {}
        self._streams: dict[QueryId, tuple[StreamId, ...]] = {}
        """Of the queries that were looked at."""
        self._readers: dict[StreamId, dict[QueryId, None]] = {}
        self._unplaced: dict[QueryId, None] = {}
        """Queries of which it is not known yet what streams they read, or that could not be looked at."""
        self._records: dict[StreamId, _Moved] = {}
        self._found: list[Sighting] = []
        """Not told yet."""
        self._looks = self._answers = 0

    def look(self, errand: Errand) -> list[Sighting]:
        """Return what is to be told: changes, and alarms that are others than before. Blocks.

        What the store raises passes through; what was not looked at by then is looked at the next time, and what was
        found is told then.
        """
        self._looks += 1
        for query_id in errand.dropped:
            self._forget(query_id)
        for query_id, standing in errand.added.items():
            self._forget(query_id)
            self._standing[query_id] = standing
            self._unplaced[query_id] = None
        for query_id in errand.due if not errand.everything else list(self._standing):
            if query_id in self._standing:
                self._unplaced[query_id] = None
        if errand.streams or errand.everything:
            self._note_moved()
        for query_ids in _slices(self._unplaced):
            self._judge(query_ids)
        found, self._found = self._found, []
        return found

    def statistics(self) -> LookoutStatistics:
        """Return counters."""
        return LookoutStatistics(len(self._standing), self._looks, self._answers)

    def check(self) -> None:
        """Raise AssertionError unless each query is watched through its streams, or about to be. For tests."""
        read = {(stream, query) for stream, queries in self._readers.items() for query in queries}
        if read != {(stream, query) for query, ids in self._streams.items() for stream in ids}:
            raise AssertionError(f"{self._readers} and {self._streams}")
        lost = self._standing.keys() - self._streams.keys() - self._unplaced.keys()
        if lost or not self._streams.keys() | self._unplaced.keys() <= self._standing.keys():
            raise AssertionError(f"not looked at: {lost}; {self._unplaced}")

    def _note_moved(self) -> None:
        """Note the queries over streams that have moved since the last look. Reads the store once."""
        records = {one.stream_id: _moved(one) for one in self._results.streams()}
        before, self._records = self._records, records
        for stream_id, queries in self._readers.items():
            if records.get(stream_id) != before.get(stream_id):
                self._unplaced.update(queries)

    def _judge(self, query_ids: list[QueryId]) -> None:
        """Look at some queries, all at one position."""
        for query_id, snapshot in zip(query_ids, self._results.snapshots(query_ids), strict=True):
            before = self._standing[query_id]
            if snapshot is None:
                self._forget(query_id)
                self._found.append(_interrupted(query_id))
                continue
            sighting = self._seen(snapshot, before)
            del self._unplaced[query_id]
            self._place(query_id, snapshot)
            if sighting.changed or self._standing[query_id].alarm_us != before.alarm_us:
                self._found.append(sighting)

    def _seen(self, snapshot: Snapshot, before: Standing) -> Sighting:
        """Return what has become of one query, and stand there from now on."""
        query_id = snapshot.query.query_id
        if still_stands(snapshot, before):
            return Sighting(query_id, before.place, changed=False, entered=False, standing=before)
        self._answers += 1
        try:
            answer = self._ask(snapshot, before.since)
        except PageExpiredError:  # tuples left retention meanwhile
            return _interrupted(query_id)
        if isinstance(answer, EngineError):
            return _interrupted(query_id)
        after = standing_of(answer)
        self._standing[query_id] = after
        entered = not answer.unchanged and has_entered(answer)
        return Sighting(query_id, after.place, not answer.unchanged, entered, after)

    def _place(self, query_id: QueryId, snapshot: Snapshot) -> None:
        """Watch a query through the streams that it reads, at the position that it was looked at."""
        streams = snapshot.clause.streams
        if self._streams.get(query_id) == streams:
            return
        self._leave(query_id)  # of a query that was replaced they may be others
        self._streams[query_id] = streams
        for stream in snapshot.streams:
            self._readers.setdefault(stream.stream_id, {})[query_id] = None

    def _forget(self, query_id: QueryId) -> None:
        self._standing.pop(query_id, None)
        self._unplaced.pop(query_id, None)
        self._leave(query_id)

    def _leave(self, query_id: QueryId) -> None:
        """Watch a query through no stream any more."""
        for stream_id in set(self._streams.pop(query_id, ())):
            readers = self._readers[stream_id]
            del readers[query_id]
            if not readers:
                del self._readers[stream_id]


def _interrupted(query_id: QueryId) -> Sighting:
    """Return what wakes all who wait for a query: the requests of each of them tell what is the matter."""
    return Sighting(query_id, None, changed=True, entered=True, standing=None)


def _moved(record: StreamRecord) -> _Moved:
    return (
        record.rows,
        record.floor_row,
        record.floor_us,
        record.high_water_us,
        record.queries,
        record.replaced_seq,
    )


def _slices(query_ids: Mapping[QueryId, None]) -> list[list[QueryId]]:
    every = list(query_ids)
    return [every[first : first + SLICE] for first in range(0, len(every), SLICE)]
