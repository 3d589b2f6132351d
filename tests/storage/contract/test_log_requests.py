"""Keys that clients give their requests, by the Log's contract. The same cases over every store."""

import pytest

from psoup.engine import limits
from psoup.engine.errors import RequestKeyReusedError
from psoup.engine.log.operation import Remove
from tests.storage.driver import apply_all
from tests.storage.samples import declare, query_id, register, request_key, rows


def keyed(number: int, content: str = "one"):
    return rows(1, key=request_key(f"{number}", content))


def test_key_that_was_sent_before_repeats_its_operation(store):
    """Whatever came and went since; rows and queries alike, and a refused request uses no key up."""
    store.log.append(declare("a"))
    first = store.log.append(keyed(1))
    registered = store.log.append(register(1, 1, key=request_key("2")))
    apply_all(store)
    store.log.trim(batches=[first.seq], below=first.seq)
    store.log.append(Remove(query_id(1)))
    again = store.log.append(keyed(1))
    assert (first.seq, True, True) == (again.seq, again.duplicate, again.replayed)
    again = store.log.append(register(2, 1, key=request_key("2")))
    assert (registered.seq, query_id(1)) == (again.seq, again.query_id)
    with pytest.raises(RequestKeyReusedError) as refused:
        store.log.append(keyed(1, "another"))
    assert {"seq": first.seq} == refused.value.extras
    outcomes = store.log.append_many([keyed(3), keyed(3), keyed(3, "another")])
    assert [False, True] == [one.replayed for one in outcomes[:2]]
    assert isinstance(outcomes[2], RequestKeyReusedError)
    store.log.check()


def test_key_is_forgotten_for_later_ones_and_after_a_day(store, monkeypatch):
    """As many are known as there may be, those that were stored last; one that counts no more begins anew."""
    monkeypatch.setattr(limits, "REQUEST_KEYS_MAX", 3)
    store.log.append(declare("a"))
    for number in (1, 2, 3, 4):
        assert not store.log.append(keyed(number)).duplicate
    assert [True] * 3 == [store.log.append(keyed(number)).duplicate for number in (2, 3, 4)]
    assert not store.log.append(keyed(1)).duplicate  # in the place of 2
    with monkeypatch.context() as patch:
        patch.setattr(limits, "REQUEST_KEY_LIFE_S", 0)
        assert not store.log.append(keyed(3, "another")).duplicate  # in its own
    assert store.log.append(keyed(3, "another")).duplicate
    assert [True, True] == [store.log.append(keyed(number)).duplicate for number in (4, 1)]
    assert not store.log.append(keyed(2)).duplicate
    store.log.check()
