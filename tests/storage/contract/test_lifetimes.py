"""What a log says to renewals and expiries, and what is shown of queries that have expired, over every store.

Servers have clocks of their own: so a query lives for no time at all, or for a day.
"""

import pytest

from psoup.engine.errors import NotFoundError, QueryExpiredError, StaleDeclarationError
from psoup.engine.limits import DAY_US
from psoup.engine.log.operation import Expire, Remove, Renew, Replace
from tests.storage.driver import assert_shows, delta, do
from tests.storage.fold import Fold
from tests.storage.samples import declare, query_id, register


def test_append_of_an_expiry_is_refused_before_the_time_is_over(log):
    """And for a query that stands for ever, or does not stand. The name of one that went is free."""
    for content in (
        register(1, 1, ttl_us=DAY_US),
        register(2, 1),
        register(3, 1, name="free", ttl_us=0),
    ):
        log.append(content)
    for number in (1, 2, 4):
        with pytest.raises(NotFoundError):
            log.append(Expire(query_id(number)))
    assert not log.append(Expire(query_id(3))).duplicate
    with pytest.raises(NotFoundError):
        log.append(Expire(query_id(3)))
    assert not log.append(register(5, 1, name="free", sql="other")).duplicate


def test_append_of_a_renewal_is_a_duplicate_until_a_part_of_the_time_has_passed(log):
    """So uses write little, however many processes serve them. Without a time to live there is nothing to renew."""
    seq = log.append(register(1, 1, ttl_us=DAY_US)).seq
    log.append(register(2, 1, ttl_us=0))
    log.append(register(3, 1))
    fresh, old = log.append(Renew(query_id(1))), log.append(Renew(query_id(2)))
    assert (True, seq, query_id(1)) == (fresh.duplicate, fresh.seq, fresh.query_id)
    assert not old.duplicate
    for number in (3, 4):
        with pytest.raises(NotFoundError):
            log.append(Renew(query_id(number)))


def test_append_of_a_replacement_is_refused_where_the_query_was_changed_meanwhile(log):
    """Of two that read the same query one comes first. A renewal in between changes nothing of it."""
    seq = log.append(register(1, 1, ttl_us=0)).seq
    log.append(Renew(query_id(1)))
    first = log.append(Replace(register(1, 1, ttl_us=DAY_US), changed_seq=seq))
    assert not first.duplicate
    with pytest.raises(StaleDeclarationError):
        log.append(Replace(register(1, 1), changed_seq=seq))
    again = log.append(Replace(register(1, 1), changed_seq=first.seq))
    assert first.seq < again.seq
    with pytest.raises(NotFoundError):
        log.append(Expire(query_id(1)))


def test_published_expiries_are_told_from_what_never_was(store):
    """Until they are forgotten; standing queries show when they will expire."""
    fold = Fold()
    do(store, fold, [declare("a"), register(1, 1, ttl_us=0), register(2, 1, ttl_us=DAY_US)])
    do(store, fold, [register(3, 1), Expire(query_id(1)), Remove(query_id(3))])
    assert_shows(store, fold)
    with pytest.raises(QueryExpiredError):
        store.results.snapshot(query_id(1))
    expired, removed, other = store.results.gone([query_id(n) for n in (1, 3, 9)])
    assert isinstance(expired, QueryExpiredError)
    assert [NotFoundError] * 2 == [type(removed), type(other)]
    assert fold.expired[query_id(1)] == expired.extras["expired_at"]
    standing = store.results.query(query_id(2))
    assert standing.expires_us == fold.queries[query_id(2)].expires_us
    cut = store.results.cut()
    store.log.append(register(4, 1))
    forgotten = delta(cut.seq, cut.seq + 1, cut.arrival_us, forgotten=frozenset({query_id(1)}))
    store.results.publish(forgotten)
    assert NotFoundError is type(store.results.gone([query_id(1)])[0])
    assert {} == store.results.checkpoint().expired
