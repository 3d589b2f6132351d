"""What clients want of the service, send through any worker again and again, and are owed for it.

An intent is one operation that its client sends until the answer is definite. `Clients.check` compares what was
answered with what the log holds in the end.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random

from psoup.engine.log.contract import Appended
from psoup.engine.log.operation import (
    Alter,
    Content,
    Declare,
    Drop,
    QueryId,
    Register,
    Remove,
    Replace,
    Rows,
    Txn,
)
from psoup.engine.query.bind.binder import bind
from psoup.engine.results.contract import Gen, ResultsReader
from psoup.engine.results.delta import StreamRecord
from psoup.engine.tuples.arrow import encode_batch
from tests.simulation import workload
from tests.simulation.commits import Driver, Drivers
from tests.simulation.history import History
from tests.simulation.simulated_time import SimulatedTime
from tests.world import digest, record_batch

STREAMS = ("s", "t", "u")
APPS = ("app-0", "app-1", "app-2")
QUERIES_MAX = 10
COMMITS = 0.15
"""How many of their wishes are commits."""
Streams = Sequence[StreamRecord]


@dataclass(eq=False, slots=True)
class Intent:
    """One operation that a client wants.

    Attributes:
        unknown: attempts whose end nobody knows: each may have stored it.
        acknowledged: what was answered, and in which generation. More than one where the client never saw an answer.
        over: nothing is to be sent any more.
    in_flight: it is on its way.
    """

    content: Content
    unknown: int = 0
    acknowledged: list[tuple[Gen, Appended]] = field(default_factory=list)
    over: bool = False
    in_flight: bool = False


class Clients:
    """All clients together: they see the service through its answers alone."""

    def __init__(self, rng: Random, clock: SimulatedTime, history: History) -> None:
        self._rng = rng
        self._clock = clock
        self._history = history
        self.intents: list[Intent] = []
        self.counts: Counter[str] = Counter()
        self.drivers = Drivers(rng, clock, history, self.counts)
        self._versions: Counter[str] = Counter()
        self._handles = 0
        self._names = 0
        self.wishing = True
        """Whether they want anything new."""
        self.floor: tuple[int, int] = (0, 0)
        """Generation and seq that every answer to come has reached."""

    def pending(self) -> list[Intent | Driver]:
        """Return what has no definite answer yet."""
        return [*(intent for intent in self.intents if not intent.over), *self.drivers.pending()]

    def free(self) -> list[Intent | Driver]:
        """Return what is to be sent again."""
        return [intent for intent in self.pending() if not intent.in_flight]

    def latest_handles(self) -> list[QueryId]:
        """Return the handles sent last, whether they stand or not."""
        sent = (one.content for one in reversed(self.intents) if isinstance(one.content, Register))
        return [content.query_id for content, _ in zip(sent, range(3), strict=False)]

    def wish(self, results: ResultsReader) -> Intent | Driver | None:
        """Return a new intent or driver, given what a worker shows; None = nothing comes to mind."""
        streams = results.streams()
        if streams and self._rng.random() < COMMITS:
            return self.drivers.wish(streams)
        verb = self._rng.choice(
            [self._rows] * 7
            + [self._register] * 3
            + [self._replace, self._alter, self._remove, self._drop, self._declare]
        )
        content = verb(results, streams) if streams else self._declare(results, streams)
        if content is None:
            return None
        self.counts[type(content).__name__.lower()] += 1
        intent = Intent(content)
        self.intents.append(intent)
        return intent

    def _declare(self, _: ResultsReader, streams: Streams) -> Content | None:
        taken = {stream.schema.name for stream in streams}
        free = [name for name in STREAMS if name not in taken]
        # One that was lost is likely to be declared again, and otherwise.
        return (
            Declare(workload.schema(self._rng, self._rng.choice(free + free[:1] * 4)))
            if free
            else None
        )

    def _alter(self, _: ResultsReader, streams: Streams) -> Content | None:
        stream = self._rng.choice(streams)
        if self._rng.random() < 0.5:
            schema = replace(stream.schema, retention=workload.retention(self._rng))
        else:
            schema = workload.with_column(self._rng, stream.schema)
        return Alter(stream.stream_id, schema, declared=stream.schema)

    def _drop(self, results: ResultsReader, streams: Streams) -> Content | None:
        if self._rng.random() < 0.7:
            return None
        stream = self._rng.choice(streams)
        reading = [query.query_id for query in results.readers(stream.stream_id)]
        schema, queries = stream.schema, tuple(sorted(reading))
        return Drop(stream.stream_id, schema.name, queries, declared=schema)

    def _rows(self, _: ResultsReader, streams: Streams) -> Content:
        stream = self._rng.choice(streams)
        rows = workload.rows(self._rng, stream.schema, self._clock.server_us())
        txn = None
        busy = {
            one.content.txn.app
            for one in self.intents
            if not one.over and isinstance(one.content, Rows) and one.content.txn
        }
        free = [app for app in APPS if app not in busy]
        if free and self._rng.random() < 0.7:
            app = self._rng.choice(free)
            self._versions[app] += 1
            txn = Txn(app, self._versions[app], digest(rows))
        body = encode_batch(record_batch(stream.schema, rows))
        schema = stream.schema
        return Rows(stream.stream_id, schema.name, len(rows), body, txn, declared=schema)

    def _register(self, results: ResultsReader, streams: Streams) -> Content | None:
        if results.counts().queries >= QUERIES_MAX:
            return None
        self._handles += 1
        name = None
        if self._rng.random() < 0.3:
            self._names += 1
            name = f"name-{self._names}"
        return self._definition(streams, QueryId(f"q_{self._handles:022d}"), name)

    def _replace(self, results: ResultsReader, streams: Streams) -> Content | None:
        named = [query for query in results.queries() if query.name is not None]
        if not named:
            return None
        query = self._rng.choice(named)
        return Replace(self._definition(streams, query.query_id, query.name))

    def _definition(self, streams: Streams, handle: QueryId, name: str | None) -> Register:
        stream = self._rng.choice(streams)
        known = {s.schema.name: (s.stream_id, s.schema) for s in streams}
        bound = bind(workload.query(self._rng, stream.schema), known)
        sources = {source.stream: source.stream_id for source in bound.clause.sources}
        declared = {source: known[source][1] for source in sources}
        return Register(handle, bound.canonical, sources, name, declared=declared)

    def _remove(self, results: ResultsReader, _: Streams) -> Content | None:
        queries = results.queries()
        return Remove(self._rng.choice(queries).query_id) if queries else None

    # --- What became of it ------------------------------------------------------------------------

    def acknowledged(self, intent: Intent, appended: Appended) -> Gen:
        """Take note of an answer; return the generation it belongs to."""
        gen = self._history.acknowledged(intent.content, appended)
        intent.acknowledged.append((gen, appended))
        intent.over = True
        return gen

    def refused(self, intent: Intent, *, definite: bool, final: bool) -> None:
        """Take note of a refusal: `definite` = this attempt stored nothing, `final` = no other one would."""
        intent.unknown -= definite
        intent.over = final

    def shown(self, gen: int, seq: int) -> None:
        """Take note that somebody was shown `seq` of `gen`: nobody is shown less from now on."""
        self.floor = max(self.floor, (gen, seq))

    def check(self) -> None:
        """Assert that each intent is in the log as often as its answers say. Call it when nothing is on its way."""
        contents = [one.content for one in self._history.now.operations]
        self._check_handles(contents)
        held = Counter(map(_mark, contents))
        for intent in self.intents:
            self._check_one(intent, held[_mark(intent.content)])
        self.drivers.check()

    def _check_handles(self, contents: Sequence[Content]) -> None:
        """Assert that no handle is registered while it stands.

        After its removal it may be: by an attempt whose end nobody knew, and that came through so late.
        """
        standing: set[QueryId] = set()
        for content in contents:
            match content:
                case Register():
                    assert content.query_id not in standing, f"nothing is stored twice: {content}"
                    standing.add(content.query_id)
                case Remove():
                    standing.discard(content.query_id)
                case Drop():
                    standing.difference_update(content.queries)
                case _:
                    pass

    def _check_one(self, intent: Intent, times: int) -> None:
        lasting = [
            appended
            for gen, appended in intent.acknowledged
            if not appended.duplicate and self._history.lasts(gen, appended.seq)
        ]
        content = intent.content
        same = sum(_mark(other.content) == _mark(content) for other in self.intents)
        if same > 1 or isinstance(content, Alter | Declare | Drop):
            return  # of several equal ones nobody can tell which is which
        once = isinstance(content, Rows) and content.txn
        most = len(intent.acknowledged) + intent.unknown
        assert len(lasting) <= times, f"what was acknowledged is in the log: {intent}"
        assert times <= (min(most, 1) if once else most), f"nothing is stored twice: {intent}"


def _mark(content: Content) -> object:
    """Return what tells one operation from another."""
    match content:
        case Rows(txn=Txn() as txn):
            return ("rows", content.stream_id, txn.app, txn.version)
        case Rows():
            return ("rows", content.stream_id, content.body)
        case Register():
            return ("register", content.query_id)
        case Replace():
            return ("replace", content.query.query_id, content.query.definition)
        case Remove():
            return ("remove", content.query_id)
        case _:
            return content
