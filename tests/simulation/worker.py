"""A worker of a simulated run: the real Follower and worker store, and threads that serve clients' requests.

A request takes the way of the routes: append and wait until it is applied, or take a snapshot and show tuples.
"""

import contextlib
from collections.abc import Callable
from typing import Any, Final
from unittest import mock

from psoup.app.backend.applied import AppliedPosition
from psoup.app.backend.contract import Phase
from psoup.app.backend.follower import Follower
from psoup.engine.errors import EngineError
from psoup.engine.invocation.cache import InvocationCache
from psoup.engine.invocation.position.answer import Answer as Page, Request
from psoup.engine.invoke import invoke
from psoup.engine.limits import SECOND_US, TUPLES_CACHE_BYTES_MAX
from psoup.engine.log.contract import Appended
from psoup.engine.log.operation import QueryId
from psoup.engine.query.bind.bound_queries import BoundQueries
from psoup.engine.sources.cached_tuples import CachedTuples
from psoup.storage.redis import worker as redis_worker
from tests.reference import Answer
from tests.simulation.clients import Clients, Intent
from tests.simulation.commits import Driver
from tests.simulation.faults import Fault
from tests.simulation.history import History
from tests.simulation.processes import Process, Surroundings
from tests.world import rows_of

REQUESTS_TOGETHER: Final = 2
DEADLINE_S: Final = 2.0
YOUNG: Final = 3
"""A store with no more operations has hardly more than declarations."""
APPENDS: Final = ("psoup_append", "psoup_part_add")
AGAIN: Final = frozenset({"store-unavailable", "recovering", "store-full", "overloaded"})
"""Nothing was stored, and the same may be sent again."""
UNKNOWN: Final = frozenset({"commit-unknown"})
STAGE_AGAIN: Final = frozenset({"stage-missing"})
"""Nothing was stored, and it may be after what is missing was staged again."""
STALE: Final = frozenset({"stale-declaration"})
FINAL: Final = STALE | {"not-found", "stream-differs", "has-queries", "name-taken"}
"""Nothing was stored, and the same would be refused again."""
UNANSWERED: Final = frozenset(
    {"not-found", "page-expired", "now-out-of-range", "not-yet-visible", "store-down"}
)
"""Why an invocation may have no answer, beside AGAIN."""


class Loop:
    """What AppliedPosition uses of an event loop."""

    def call_soon_threadsafe(self, callback: Callable[[], object]) -> None:
        callback()


class WorkerProcess(Process):
    """`psoup api`, one of its processes."""

    def __init__(self, name: str, around: Surroundings, clients: Clients, history: History) -> None:
        super().__init__(name, around)
        self.clients = clients
        self.history = history
        around.scheduler.spawn(name, self.owner, self._begin)

    def _begin(self) -> None:
        around = self.around
        with mock.patch.object(redis_worker, "RedisClient", return_value=self.client()):
            self.store = redis_worker.RedisWorkerStore("redis://model", forget=self._forget)
        self.tuples = CachedTuples(
            self.store.results,
            self.store.log,
            make_lock=around.scheduler.threading.Lock,
            bytes_max=around.rng.choice([0, 20_000, TUPLES_CACHE_BYTES_MAX]),
        )
        self.cache = InvocationCache(
            BoundQueries(make_lock=around.scheduler.threading.Lock),
            make_lock=around.scheduler.threading.Lock,
        )
        self.applied = AppliedPosition(Loop())  # type: ignore[arg-type]
        self.follower = Follower(
            store=self.store,
            tuples=self.tuples,
            applied=self.applied,
            elapsed_s=around.clock.monotonic,
        )
        self.follower.start()
        for number in range(REQUESTS_TOGETHER):
            around.scheduler.spawn(f"{self.name} request {number}", self.owner, self._serve)

    def reaches(self, call: str) -> Fault | None:
        """Let the server forget the first declarations, now and then, when something that was made for them comes."""
        young = 0 < self.history.applied <= YOUNG
        if young and call.endswith(APPENDS) and self.around.faults.is_beginning_lost():
            self.around.crash_server(answered=True, forgets=True)
        return super().reaches(call)

    def _forget(self) -> None:
        self.tuples.forget()

    def _serve(self) -> None:
        while True:
            pause_s = 0.1 if self.clients.wishing else 1.0
            self.around.scheduler.give_way(for_s=self.around.rng.uniform(0.001, pause_s))
            if self.follower.phase is Phase.LIVE:
                self._serve_one()
            elif (free := self.clients.free()) and self.around.rng.random() < 0.2:
                self._attempt(self.around.rng.choice(free))  # a request that was let in just before

    def _serve_one(self) -> None:
        rng = self.around.rng
        pending = self.clients.free()
        if pending and rng.random() < 0.5:
            self._attempt(rng.choice(pending))
            return
        try:
            if rng.random() < 0.5 and self.clients.wishing:
                wanted = self.clients.wish(self.store.results)
                if wanted is not None:
                    self._attempt(wanted)
            else:
                self._invoke_one()
        except EngineError as error:
            if error.code not in AGAIN | UNANSWERED:
                raise

    # --- Appends ----------------------------------------------------------------------------------

    def _attempt(self, wanted: Intent | Driver) -> None:
        if isinstance(wanted, Intent):
            self._append(wanted)
        else:
            self._drive(wanted)

    def _drive(self, driver: Driver) -> None:
        """Carry a driver's next request to the log: a part, a commit, or one that removes a part."""
        since = self.applied.mark()
        driver.in_flight = True
        what = f"{driver.batch.app} {driver.batch.version}"
        try:
            appended = self.clients.drivers.step(driver, self.store.log)
        except EngineError as error:
            self._drive_refused(driver, error)
            self.around.tell(f"{self.name} {what}: {error.code}")
            return
        finally:
            driver.in_flight = False
        if appended is None:
            return
        gen = self.clients.drivers.committed(driver, appended)
        self.around.tell(f"{self.name} {what}: {appended.seq}{' again' * appended.duplicate}")
        self._wait_applied(gen, appended, since)

    def _append(self, intent: Intent) -> None:
        since = self.applied.mark()
        intent.in_flight = True
        intent.unknown += 1  # until it is known
        what = type(intent.content).__name__
        try:
            appended = self.store.log.append(intent.content)
        except EngineError as error:
            self._refused(intent, error.code)
            self.around.tell(f"{self.name} {what}: {error.code}")
            return
        finally:
            intent.in_flight = False
        intent.unknown -= 1
        gen = self.clients.acknowledged(intent, appended)
        self.around.tell(f"{self.name} {what}: {appended.seq}{' again' * appended.duplicate}")
        self._wait_applied(gen, appended, since)

    def _drive_refused(self, driver: Driver, error: EngineError) -> None:
        assert error.code in AGAIN | UNKNOWN | STAGE_AGAIN | STALE, f"{error.code}: {driver}"
        driver.refused(error, final=error.code in STALE)

    def _refused(self, intent: Intent, code: str) -> None:
        assert code in AGAIN | UNKNOWN | FINAL, f"{code}: {intent}"
        self.clients.refused(intent, definite=code not in UNKNOWN, final=code in FINAL)

    def _wait_applied(self, gen: int, appended: Appended, since: Any) -> None:
        """Wait as Submission does; an operation answered 200 is shown by every later answer."""
        mark = since.of_any_age() if appended.duplicate else since
        seq = appended.seq
        if not seq:
            return

        def shown() -> bool:
            return self.applied.shows(seq, since=mark)

        self.around.scheduler.give_way(for_s=DEADLINE_S, until=shown)
        if shown():
            self.clients.shown(gen, seq)

    # --- Invocations ------------------------------------------------------------------------------

    def _invoke_one(self) -> None:
        rng = self.around.rng
        handles = [query.query_id for query in self.store.results.queries()]
        if rng.random() < 0.2:
            handles = self.clients.latest_handles()  # one that is not applied yet is not found
        if not handles:
            return
        query_id = rng.choice(handles)
        answer = self._invoke(query_id, Request(rng.choice([7, 60, 1_000, 1_000])))
        if answer.now_us is None or rng.random() < 0.7:
            return
        at_us = answer.now_us - rng.choice([0, 1, 3, 20]) * SECOND_US
        with contextlib.suppress(EngineError):
            self._invoke(query_id, Request(1_000, now_us=at_us), at_us=at_us)

    def _invoke(self, query_id: QueryId, request: Request, at_us: int | None = None) -> Answer:
        """Return a whole answer, compared with the twin's."""
        floor, times_from = self.clients.floor, len(self.around.network.server.times)
        pages = [self._page(query_id, request)]
        while (position := pages[-1].next) is not None:
            pages.append(self._page(query_id, Request(request.limit, position=position)))
        first = pages[0]
        rows = tuple(row for page in pages for row in rows_of(page))
        assert first.count == len(rows), "the count is that of all pages"
        answer = Answer(
            first.cut.seq,
            first.now_us,
            first.begin_us,
            first.end_us,
            first.complete_from_us,
            rows,
        )
        gen = first.cut.gen
        assert (gen, answer.seq) >= floor, f"answers never go back: {floor}"
        times = self.around.network.server.times[times_from:]
        self.history.check_answer(gen, answer, query_id, times, at_us)
        self.history.told(gen, answer.seq)
        self.clients.shown(gen, answer.seq)
        self.clients.counts["answer"] += 1
        self.around.tell(f"{self.name} answers {query_id[-3:]} at {answer.seq}: {len(rows)} rows")
        return answer

    def _page(self, query_id: QueryId, request: Request) -> Page:
        return invoke(
            self.store.results,
            self.tuples,
            query_id=query_id,
            request=request,
            cache=self.cache,
        )
