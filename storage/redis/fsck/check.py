"""`check()` of the Redis store: the inspection finds nothing. O(everything), for tests."""

from collections.abc import Iterable

from psoup.engine.verify.difference import Difference
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.fsck.catalogue import catalogue_faults, index_faults
from psoup.storage.redis.fsck.histories import history_faults
from psoup.storage.redis.fsck.log import log_faults
from psoup.storage.redis.fsck.parts import part_faults
from psoup.storage.redis.fsck.records import read_records
from psoup.storage.redis.fsck.results import result_fault
from psoup.storage.redis.fsck.seals import seal_faults


def check_log(client: RedisClient) -> None:
    """Assert that nothing is wrong with the log, its catalogue and its parts, nor with the seal of any key."""
    _assert_none(seal_faults(client), log_faults(client), part_faults(client), index_faults(client))


def check_histories(client: RedisClient) -> None:
    """Assert that nothing is wrong with histories."""
    _assert_none(history_faults(client))


def check_results(client: RedisClient) -> None:
    """Assert that nothing is wrong with records and hits, while nothing is published."""
    records = read_records(client)
    fault = result_fault(client, records.checkpoint)
    _assert_none(
        records.faults,
        catalogue_faults(client, records.checkpoint),
        () if fault is None else (fault,),
    )


def _assert_none(*parts: Iterable[Difference]) -> None:
    faults = [fault for part in parts for fault in part]
    assert not faults, "; ".join(map(str, faults))
