"""What a restart asks of the Log: batches by their seqs, and which there are; over every store."""

from psoup.engine import limits
from psoup.engine.log.operation import Tick
from psoup.engine.tuples.batch import Seq
from tests.storage.driver import apply_all
from tests.storage.samples import declare, rows


def test_read_at_in_slices_of_bytes_returns_the_same(store, monkeypatch):
    """Wherever FOLD_BYTES_MAX and FOLD_OPERATIONS_MAX cut, each is there once and in order."""
    store.log.append(declare("a"))
    sizes = [3, 3, 5, 0, 9, 1, 1, 1, 1, 1, 5]
    seqs = [store.log.append(rows(1, body=b"x" * size)).seq for size in sizes]
    monkeypatch.setattr(limits, "FOLD_BYTES_MAX", 5)
    monkeypatch.setattr(limits, "FOLD_OPERATIONS_MAX", 4)
    assert seqs == [operation.seq for operation in store.log.read_at(seqs)]
    assert seqs[::-1] == [operation.seq for operation in store.log.read_at(seqs[::-1])]


def test_held_batches_are_those_not_trimmed(store):
    """Batches up to a position, ascending; control entries and trimmed ones are none."""
    store.log.append(declare("a"))
    for content in (rows(1), Tick(), rows(1, body=b""), rows(1)):
        store.log.append(content)
    assert [2, 4] == list(store.log.held_batches(Seq(4)))
    apply_all(store)
    store.log.trim(batches=[4], below=3)
    assert [2, 5] == list(store.log.held_batches(Seq(9)))
    assert [] == list(store.log.held_batches(Seq(1)))
