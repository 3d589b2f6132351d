"""Whose Functions the server has, where engines of two versions meet: those of the one that has the store."""

import pytest

from psoup.engine.results.contract import Gen
from psoup.engine.store.contract import Durability
from psoup.engine.store.errors import CommitUnknownError, FencedError, StoreUnsuitableError
from psoup.engine.tuples.batch import Seq
from psoup.storage.redis.calls.append import append_of, read_answer
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.commit import read_commit
from psoup.storage.redis.cluster import ClusterMemory
from psoup.storage.redis.store import RedisStore
from tests.storage.samples import rows
from tests.stores import SharedServer

pytestmark = pytest.mark.redis
SHORT_LEASE_S = 0.3


def of_another_version(server: SharedServer) -> RedisClient:
    """Return connections of an engine whose Functions are others."""
    client = RedisClient(server.url)
    client._library_text += b"-- another version"
    return client


def loaded(server: SharedServer) -> object:
    """Return the text of the Functions that the server has."""
    (found,) = server.client.fetch_one("FUNCTION", "LIST", "LIBRARYNAME", "psoup", "WITHCODE")
    return found[-1]


def test_engine_that_may_not_have_the_store_leaves_its_functions_alone(server, tmp_path):
    """Another layout or another folder's store: it is refused, and the engine held up meanwhile goes on as it was."""
    server.empty_store(tmp_path / "first").close()
    first = server.store(tmp_path / "first", lease_s=SHORT_LEASE_S)
    before = loaded(server)
    server.client.fetch_one("HSET", "{ps}:m", "lease_until", "0")
    known = ClusterMemory(tmp_path / "cluster.json")
    known.belong_to("another", Gen(1), Seq(0))
    with pytest.raises(StoreUnsuitableError, match="another data folder"):
        RedisStore(
            of_another_version(server),
            known,
            owner="another",
            durability=Durability.FSYNC,
            revive=lambda: None,
            stop=lambda: None,
        )
    assert before == loaded(server)
    first.renew()


def test_engine_that_was_overtaken_does_not_bring_its_functions_back(server, tmp_path):
    """The present one may be held up as well, its lease over: it has to find its own when it goes on."""
    former = server.empty_store(tmp_path / "first")
    former.close()
    former = server.store(tmp_path / "first", lease_s=SHORT_LEASE_S)
    former._client = of_another_version(server)
    server.client.fetch_one("HSET", "{ps}:m", "lease_until", "0")
    present = server.standby(tmp_path / "second", lease_s=SHORT_LEASE_S)
    assert 0.0 == present.take_over()
    before = loaded(server)
    server.client.fetch_one("HSET", "{ps}:m", "lease_until", "0")
    with pytest.raises(FencedError):
        former.reopen()
    assert before == loaded(server)
    present.renew()


def test_functions_are_those_of_the_engine_that_acquired(server, tmp_path, monkeypatch):
    """One of another version that began at the same moment has loaded its own in between."""
    server.empty_store(tmp_path).close()
    before = loaded(server)
    load, loads = RedisClient.load_library, list[bool]()

    def overtaken(client):
        load(client)
        if not loads:
            loads.append(True)
            load(of_another_version(server))

    monkeypatch.setattr(RedisClient, "load_library", overtaken)
    store = server.store(tmp_path)
    assert before == loaded(server)
    store.renew()


def test_standby_leaves_the_functions_of_the_engine_alone(server, tmp_path):
    """Those of another version would be called by an engine that does not know them."""
    server.empty_store(tmp_path / "first")
    other = b"#!lua name=psoup\nredis.register_function('psoup_append', function() return 1 end)"
    server.client.fetch_one("FUNCTION", "LOAD", "REPLACE", other)
    second = server.standby(tmp_path / "second")
    assert second.take_over() > 0.0
    listed = server.client.fetch_one("FUNCTION", "LIST", "LIBRARYNAME", "psoup", "WITHCODE")
    assert other in listed[0]


@pytest.mark.parametrize(
    "answers",
    [
        [[b"OK", b"5", b"7"]],
        [[b"DUP", b"5"]],
        [[b"OK", b"5", b"7", b"early"]],
        [[b"LATER", b"5"]],
        [],
    ],
)
def test_answer_to_an_append_that_this_version_cannot_read_is_told_as_unknown(answers):
    """The Functions are those of another version for a moment; its operation may well be stored."""
    (outcome,) = read_answer([b"DONE", *answers], [append_of(rows(1), streams_max=1)])
    assert isinstance(outcome, CommitUnknownError)
    assert "of one version" in outcome.detail


@pytest.mark.parametrize("answer", [[b"OK", b"5", b"7"], [b"DUP", b"5"], [b"LATER"]])
def test_answer_to_a_commit_that_this_version_cannot_read_is_told_as_unknown(answer):
    """As that to an append."""
    with pytest.raises(CommitUnknownError, match="of one version"):
        read_commit(answer)
