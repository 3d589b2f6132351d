"""Queries with a time to live in the engine: renewed, expired, remembered, forgotten. Time comes with operations."""

from dataclasses import replace

import pytest

from psoup.engine import expire
from psoup.engine.engine import Engine
from psoup.engine.limits import QUERY_EXPIRED_KEPT_US
from psoup.engine.log.operation import Declare, Expire, QueryId, Renew, Replace, Tick
from tests.engine.batches import SCHEMA, Operations
from tests.engine.one_fold import STREAM, folded, register

FIRST, SECOND = QueryId("q1"), QueryId("q2")
OTHER = "SELECT t FROM s WHERE a < 2"


@pytest.fixture
def op():
    return Operations()


@pytest.fixture
def engine(op):
    """An engine with a query that lives 100 µs, and one that stands for ever."""
    begun = Engine()
    folded(begun, [op(Declare(SCHEMA)), op(replace(register(1), ttl_us=100)), op(register(2))])
    return begun


def test_apply_of_a_renewal_puts_the_end_of_a_query_off(engine, op):
    """It lives its time from the renewal on; one that stands for ever is not renewed."""
    born_us = op.arrival_us - 1
    renewed, void = folded(engine, [op(Renew(FIRST), after_us=50), op(Renew(SECOND))])
    assert born_us + 51 + 100 == renewed.queries[FIRST].expires_us
    assert {} == void.queries
    assert [] == engine.overdue(born_us + 150, limit=9)
    assert [FIRST] == engine.overdue(born_us + 151, limit=9)
    assert [] == engine.overdue(born_us + 151, limit=0)


def test_apply_of_an_expiry_removes_a_query_no_earlier_than_its_end(engine, op):
    """Before, and of a query without an end, it is void. Handle, clause and reader go; that it was there stays."""
    early, never, due, twice = folded(
        engine,
        [
            op(Expire(FIRST), after_us=98),
            op(Expire(SECOND)),
            op(Expire(FIRST)),
            op(Expire(FIRST)),
        ],
    )
    assert 3 == engine.voided
    assert frozenset() == early.dropped_queries | never.dropped_queries | twice.dropped_queries
    assert (frozenset({FIRST}), 1) == (due.dropped_queries, due.streams[STREAM].queries)
    assert {FIRST: due.arrival_us} == due.expired
    assert [] == engine.overdue(due.arrival_us, limit=9)


def test_apply_forgets_an_expired_query_in_the_end(engine, op):
    """Whatever operation comes then; a Tick is due for it."""
    (due,) = folded(engine, [op(Expire(FIRST), after_us=100)])
    kept_us = QUERY_EXPIRED_KEPT_US
    assert not engine.due(due.arrival_us + kept_us - 1)
    assert engine.due(due.arrival_us + kept_us)
    before, then = folded(engine, [op(Tick(), after_us=kept_us - 1), op(Tick())])
    assert (frozenset(), frozenset({FIRST})) == (before.forgotten, then.forgotten)


def test_apply_forgets_the_earliest_of_too_many(engine, op, monkeypatch):
    """More are not remembered, whatever their age."""
    monkeypatch.setattr(expire, "QUERIES_EXPIRED_MAX", 1)
    folded(engine, [op(replace(register(3), ttl_us=100)), op(Expire(FIRST), after_us=100)])
    (delta,) = folded(engine, [op(Expire(QueryId("q3")))])
    assert ({QueryId("q3")}, {FIRST}) == (set(delta.expired), delta.forgotten)


def test_apply_of_a_replacement_with_the_same_definition_is_no_new_version(engine, op):
    """Labels and time to live change, nobody who waits is woken, and the answers go on."""
    changed = replace(register(1), labels={"team": "b"}, ttl_us=7)
    lasting, redefined = (
        replace(changed, ttl_us=None),
        replace(register(1, OTHER), labels={"team": "c"}),
    )
    amended, kept, other = folded(
        engine, [op(Replace(changed)), op(Replace(lasting)), op(Replace(redefined))]
    )
    first, second, third = (one.queries[FIRST] for one in (amended, kept, other))
    assert [1, 1, 2] == [one.version for one in (first, second, third)]
    assert [(0, 4), (0, 5), (6, 5)] == [
        (q.defined_seq, q.amended_seq) for q in (first, second, third)
    ]
    assert [4, 5, 6] == [one.changed_seq for one in (first, second, third)]
    assert (amended.arrival_us + 7, None) == (first.expires_us, second.expires_us)
    assert ({}, {}) == (amended.streams, amended.clauses)
    assert 6 == other.streams[STREAM].replaced_seq
    assert [] == engine.overdue(1 << 60, limit=9)
