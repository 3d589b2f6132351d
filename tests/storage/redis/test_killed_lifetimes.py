"""Queries with a time to live outlive a killed server: what was told of them, what has expired, what was renewed."""

import contextlib

from psoup.engine.errors import NotFoundError, QueryExpiredError
from psoup.engine.limits import DAY_US
from psoup.engine.log.operation import Expire, Renew
from psoup.storage.inspection import inspect_store
from tests.storage.driver import assert_shows, do
from tests.storage.fold import Fold
from tests.storage.samples import declare, query_id, register


def test_killed_server_comes_back_with_every_time_to_live(own_server, tmp_path):
    """An expiry and a renewal that were committed and not applied are applied once, behind the same log."""
    store, fold = own_server.empty_store(tmp_path), Fold()
    lasting = register(1, 1, ttl_us=DAY_US)
    do(store, fold, [declare("a"), lasting, register(2, 1, ttl_us=0), register(3, 1, ttl_us=0)])
    do(store, fold, [register(4, 1, ttl_us=0), Expire(query_id(4))])
    expires_us = store.results.query(query_id(1)).expires_us
    appended = [store.log.append(one) for one in (Renew(query_id(2)), Expire(query_id(3)))]
    own_server.kill()
    own_server.start()
    again = own_server.store(tmp_path)
    assert appended[-1].seq == again.log.head()
    assert_shows(again, fold)
    assert expires_us == again.results.query(query_id(1)).expires_us
    do(again, fold, [])
    assert_shows(again, fold)
    assert appended[0].arrival_us == again.results.query(query_id(2)).expires_us
    assert [QueryExpiredError, QueryExpiredError, NotFoundError] == [
        type(one) for one in again.results.gone([query_id(number) for number in (3, 4, 9)])
    ]
    with contextlib.closing(inspect_store(own_server.url, data=tmp_path)) as inspection:
        assert [] == list(inspection.structure())
