"""`check()` finds what the inspection finds, and the inspection what only `check()` found: one set of rules."""

import pytest

from psoup.engine.tuples.batch import Seq
from psoup.storage import keys
from psoup.storage.redis.fsck import scanning
from psoup.storage.redis.fsck.check import check_histories, check_log, check_results
from tests.storage.checksums import sealed_again
from tests.storage.driver import apply_all, do
from tests.storage.fold import Fold
from tests.storage.histories import finished, history_id
from tests.storage.samples import commit, declare, query_id, register, rows, stage_id, staged

pytestmark = pytest.mark.redis

STRAY_PART, STRAY_BODY = keys.part(stage_id(7)), keys.body(stage_id(7))
STRAY_HISTORY = keys.history(history_id(7))
NAME = keys.name_hash("one")


@pytest.fixture
def store(server, tmp_path):
    """A declaration, a query with a name, batches 3 to 5, the last of a commit; a part that waits, and a history."""
    store = server.empty_store(tmp_path)
    do(store, Fold(), [declare("a"), register(1, 1, "a", name="one"), rows(1), rows(1, count=0)])
    for number in (1, 2):
        store.log.stage(staged(number))
    store.log.commit(commit(1))
    finished(store)
    return store


def test_check_finds_nothing_in_a_sound_store(store, server, faults):
    """Neither does the inspection."""
    for check in (check_log, check_histories, check_results):
        check(server.client)
    assert [] == faults()


@pytest.mark.parametrize(
    ("damage", "text"),
    [
        (("HSET", keys.TRIMMED, 1, 3), "said to be trimmed from stream 1, and is not"),
        (("HSET", keys.TRIMMED, 1, 99), "said to be trimmed from stream 1, and is not"),
        (("HSET", keys.EMPTY, 3, ""), "it has 3 rows"),
        (("HDEL", keys.EMPTY, 4), "it has 0 rows"),
        (("HSET", keys.EMPTY, 1, ""), "listed as one without rows, and is no batch"),
        (("HSET", keys.BODIES, 1, stage_id(1)), "it has a body apart"),
        (("HSET", keys.SIZES, 2, 5), "it is listed as a batch"),
        (
            ("HDEL", keys.LOG_NAMES, NAME),
            f"the name {NAME} leads to nothing, and {query_id(1)} has it",
        ),
        (
            ("HSET", keys.LOG_NAMES, "other", query_id(1)),
            f"the name other leads to {query_id(1)}, and nothing has it",
        ),
        (("HSET", keys.LOG_READERS, 1, 7), "7 queries are said to read stream 1, and 1 do"),
        (("HDEL", keys.LOG_STREAMS, "a"), "stream 1 is read by a query, and is not declared"),
        (("COPY", keys.part(stage_id(2)), STRAY_PART), f"{STRAY_PART} is of no staged part"),
        (("COPY", keys.body(stage_id(2)), STRAY_BODY), f"{STRAY_BODY} is of no staged part"),
    ],
)
def test_what_is_wrong_with_the_log_is_found(store, server, faults, damage, text):
    """Sealed again, so that it is no seal that tells: by `check()` and by the inspection."""
    server.client.fetch_one(*damage)
    sealed_again(server.client)
    assert any(text in fault for fault in faults())
    with pytest.raises(AssertionError, match=text):
        store.log.check()


def test_body_that_is_left_of_a_commit_is_found(store, server, faults):
    """The mark of a part stays when its batch is trimmed; the body goes."""
    apply_all(store)
    store.log.trim(batches=[Seq(5)], below=Seq(1))
    assert [] == faults()
    server.client.fetch_one("HSET", keys.body(stage_id(1)), "b", "part")
    text = f"the body of the part {stage_id(1)} is left of its commit"
    assert text in faults()
    with pytest.raises(AssertionError, match=text):
        store.log.check()


def test_history_that_the_index_does_not_lead_to_is_found(store, server, faults):
    """A record alone, as a key that was lost from the index leaves it."""
    server.client.fetch_one("COPY", keys.history(history_id(1)), STRAY_HISTORY)
    assert any(f"{STRAY_HISTORY} is of no history" in fault for fault in faults())
    with pytest.raises(AssertionError, match="is of no history"):
        store.histories.check()


def test_query_that_is_registered_otherwise_is_found_by_the_check_of_results(store, server, faults):
    """What is published of a query is what the log says of it."""
    row = server.client.fetch_one("HGET", keys.LOG_QUERIES, query_id(1)).split()
    row[2] = b"0"
    server.client.fetch_one("HSET", keys.LOG_QUERIES, query_id(1), b" ".join(row))
    sealed_again(server.client)
    assert "it is registered otherwise in the log" in faults()
    with pytest.raises(AssertionError, match="registered otherwise"):
        store.results.check()


def test_part_that_goes_while_keys_are_listed_is_no_difference(store, faults, monkeypatch):
    """It is looked for once more, with the index of that instant."""
    scan = scanning.scan_keys

    def discarded(client, pattern):
        found = scan(client, pattern)
        if pattern.startswith(keys.PART_PREFIX):
            assert keys.part(stage_id(2)) in found
            store.log.discard(stage_id(2))
        return found

    monkeypatch.setattr(scanning, "scan_keys", discarded)
    assert [] == faults()
    assert 1 == len(store._client.fetch_one("HVALS", keys.PARTS)), "one was discarded"
