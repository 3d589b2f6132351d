"""Many threads that append at once, over every store."""

import threading
from concurrent.futures import ThreadPoolExecutor

from tests.storage.samples import declare, rows, txn


def test_append_from_many_threads_gives_each_its_own_seq(store):
    """Threads that append at once, with and without versions, get contiguous seqs, each version once."""
    store.log.append(declare("a"))
    threads, each = 8, 25
    begin = threading.Barrier(threads)

    def append(thread: int) -> list[tuple[int, bool]]:
        begin.wait()
        appended = []
        for i in range(each):
            # Threads share producers two by two and send the same versions.
            version = txn(f"app{thread // 2}", i, str(i)) if thread % 4 < 2 else None
            done = store.log.append(rows(1, count=2, txn=version))
            appended.append((done.seq, done.duplicate))
        return appended

    with ThreadPoolExecutor(threads) as pool:
        answers = [answer for answers in pool.map(append, range(threads)) for answer in answers]
    stored = sorted(seq for seq, duplicate in answers if not duplicate)
    assert list(range(2, store.log.head() + 1)) == stored
    read = store.log.read(1, operations_max=1_000, bytes_max=1_000_000)
    assert [1 + 2 * i for i in range(len(read))] == [o.first_tuple_id for o in read]
    versions = [(t.app, t.version) for t in (o.content.txn for o in read) if t is not None]
    assert len(versions) == len(set(versions))
    assert {seq for seq, duplicate in answers if duplicate} <= set(stored)
    store.log.check()


def test_append_at_once_stores_as_append_does_or_nothing(store):
    """A log that would wait says so, and nothing is stored; a refusal is returned."""
    store.log.append(declare("a"))
    outcome = store.log.append_at_once(rows(1))
    assert outcome is None or (2, False) == (outcome.seq, outcome.duplicate)
    assert (1 if outcome is None else 2) == store.log.head()
    refused = store.log.append_at_once(rows(9))
    assert refused is None or "stale-declaration" == refused.code


def test_append_at_once_does_not_wait_for_another_thread(memory_store):
    """While a step of the log is under way, nothing is appended."""
    log = memory_store.log
    log.append(declare("a"))
    with ThreadPoolExecutor(1) as pool:
        with log.lock:
            assert pool.submit(log.append_at_once, rows(1)).result() is None
        assert 2 == pool.submit(log.append_at_once, rows(1)).result().seq
