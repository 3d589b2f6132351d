"""Renewals, as processes gather and append them: over results and a log that a test holds, by a clock that it moves."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

import pytest

from psoup.app.backend import renewals
from psoup.app.backend.renewals import Renewals
from psoup.engine.clock import ManualClock
from psoup.engine.errors import NotFoundError, OverloadedError
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import QueryId, Register, Replace
from psoup.engine.results.delta import QueryRecord
from psoup.engine.tuples.schema import StreamId
from psoup.storage.memory.store import MemoryStore
from tests.app.fold.folding import schema
from tests.patience import WAIT_S
from tests.stores import memory_store
from tests.world import World

QUERY = QueryId("q_dear")
MINUTE_US = 60 * SECOND_US
WEEK_US = 7 * 24 * 60 * MINUTE_US
START_US = 1_700_000_000 * SECOND_US


class Site:
    """A log and its results, and the renewals of one process; `refuse` lets an append fail."""

    def __init__(self, ttl_us: int | None) -> None:
        self.clock = ManualClock(START_US)
        self.store: MemoryStore = memory_store(self.clock)
        self.world = World(self.store, self.clock)
        self.world.declare(schema("s"))
        self.given = Register(QUERY, "SELECT a FROM s", {"s": StreamId(1)}, ttl_us=ttl_us)
        self.store.log.append(self.given)
        self.world.fold()
        self.refuse: Exception | None = None
        self.asked = 0
        self.renewals = self.process()

    def process(self) -> Renewals:
        return Renewals(self._append, self.store.results.snapshots, self.store.results.now_us)

    @property
    def query(self) -> QueryRecord:
        return self.store.results.query(QUERY)

    def lives_for(self, ttl_us: int | None) -> None:
        """Give the query another time to live."""
        changed = replace(self.given, ttl_us=ttl_us)
        self.store.log.append(Replace(changed, self.query.changed_seq))
        self.world.fold()

    def renewed(self, watched: Sequence[QueryId] = (), *, by: Renewals | None = None) -> bool:
        """Take a turn of renewals; return whether the query is over later by that."""
        before = self.query.expires_us
        (by or self.renewals).renew(frozenset(watched))
        (by or self.renewals).check()
        self.world.fold()
        return before != self.query.expires_us

    def _append(self, contents):
        self.asked += len(contents)
        if isinstance(self.refuse, OverloadedError):
            return [self.refuse for _ in contents]
        if self.refuse is not None:
            raise self.refuse
        return self.store.log.append_many(contents)


@pytest.mark.parametrize("before_us", [None, WEEK_US])
def test_query_that_is_waited_for_is_renewed_by_the_time_to_live_it_was_given_meanwhile(before_us):
    """Nobody is woken by that, so nobody has noted it: it is read."""
    site = Site(before_us)
    site.renewals.note(site.query)
    assert not site.renewed([QUERY])
    site.lives_for(MINUTE_US)
    site.clock.advance(MINUTE_US // 2)
    assert not site.renewed([QUERY])
    site.renewals.read([QUERY, QueryId("q_none")])
    assert site.renewed([QUERY])
    site.lives_for(None)
    site.clock.advance(MINUTE_US // 2)
    assert not site.renewed([QUERY])
    assert 1 == site.renewals.statistics().refused


def test_query_is_renewed_by_its_latest_time_to_live_whatever_was_noted_last():
    """An answer of before a change may be noted behind one of after it."""
    site = Site(WEEK_US)
    stale = site.query
    site.lives_for(MINUTE_US)
    site.renewals.note(site.query)
    site.renewals.note(stale)
    site.clock.advance(MINUTE_US // 2)
    assert site.renewed([QUERY])


@pytest.mark.parametrize("refusal", [OverloadedError("full"), NotFoundError("down")])
def test_renewal_that_is_not_appended_is_tried_again(refusal):
    """Its query may not be used again for long."""
    site = Site(MINUTE_US)
    site.clock.advance(MINUTE_US // 2)
    site.renewals.note(site.query)
    site.refuse = refusal
    for _ in range(2):
        if isinstance(refusal, OverloadedError):
            assert not site.renewed()
        else:
            with pytest.raises(NotFoundError):
                site.renewed()
        assert 1 == site.renewals.statistics().due
    site.refuse = None
    assert site.renewed()
    assert (0, 1, 2) == tuple(
        getattr(site.renewals.statistics(), name) for name in ("due", "renewed", "refused")
    )


def test_query_that_another_process_renews_is_not_sent_to_the_log_all_along():
    """Whoever waits for it in a second process learns until when it is renewed."""
    site = Site(MINUTE_US)
    other = site.process()
    for process in (site.renewals, other):
        process.note(site.query)
        assert not site.renewed([QUERY], by=process)
    site.clock.advance(MINUTE_US // 2)
    site.renewals.read([QUERY])
    other.read([QUERY])
    assert site.renewed([QUERY])
    assert not site.renewed([QUERY], by=other)
    asked = site.asked
    assert not site.renewed([QUERY], by=other)
    assert asked == site.asked


def test_query_that_has_gone_is_forgotten():
    """The log refuses its renewal once."""
    site = Site(MINUTE_US)
    site.clock.advance(MINUTE_US // 2)
    site.renewals.note(replace(site.query, query_id=QueryId("q_gone")))
    for _ in range(2):
        site.renewals.renew(frozenset([QueryId("q_gone")]))
        site.renewals.check()
    assert 1 == site.asked


@pytest.mark.anyio
async def test_queries_that_are_waited_for_are_read_now_and_then(monkeypatch):
    """One that nobody has noted, as it stood for ever when the wait began, is renewed all the same."""
    monkeypatch.setattr(renewals, "RENEW_EVERY_S", 0.001)
    monkeypatch.setattr(renewals, "READ_WATCHED_EVERY", 2)
    site = Site(None)
    site.lives_for(MINUTE_US)
    before = site.query.expires_us
    site.clock.advance(MINUTE_US // 2)
    site.renewals.watched = lambda: [QUERY]
    woken = asyncio.Event()
    renewing = asyncio.create_task(site.renewals.renew_often(woken.set))
    await asyncio.wait_for(woken.wait(), WAIT_S)
    renewing.cancel()
    site.world.fold()
    assert before is not None
    assert before + MINUTE_US // 2 == site.query.expires_us
