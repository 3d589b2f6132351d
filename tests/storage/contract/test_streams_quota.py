"""How many streams a log admits: `streams_max` of whoever appends, over every kind of store."""

import pytest

from psoup.engine.errors import QuotaExceededError
from psoup.engine.log.operation import Drop
from psoup.engine.tuples.schema import StreamId
from psoup.storage.memory.store import MemoryStore
from tests.storage.samples import declare, rows


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda ask, _: MemoryStore(ask("clock"), streams_max=2), id="memory"),
        pytest.param(
            lambda ask, folder: ask("server").empty_store(folder, streams_max=2),
            id="embedded",
            marks=pytest.mark.redis,
        ),
    ],
)
def test_declare_over_the_quota_is_refused(make, request, tmp_path):
    """Beside as many streams as may be there is none; what is known is a duplicate; a dropped one makes room."""
    store = make(request.getfixturevalue, tmp_path)
    store.log.append(declare("a"))
    store.log.append(declare("b"))
    with pytest.raises(QuotaExceededError) as refused:
        store.log.append(declare("c"))
    assert {"limit": 2} == refused.value.extras
    (outcome,) = store.log.append_many([declare("c")])
    assert isinstance(outcome, QuotaExceededError)
    assert {"limit": 2} == outcome.extras
    assert store.log.append(declare("b")).duplicate
    store.log.append(Drop(StreamId(1), "a"))
    assert 4 == store.log.append(declare("c")).seq


@pytest.mark.redis
def test_store_with_more_streams_than_may_be_takes_their_rows(server, tmp_path):
    """Who appends with a lower bound than there are streams finds them all, and declares none."""
    many = server.empty_store(tmp_path, streams_max=3)
    for name in "abc":
        many.log.append(declare(name))
    few = server.store(tmp_path, streams_max=1)
    assert 4 == few.log.append(rows(3, "c")).seq
    few.log.append(Drop(StreamId(1), "a"))
    with pytest.raises(QuotaExceededError):
        few.log.append(declare("d"))
