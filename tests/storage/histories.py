"""Histories as the tests of stores need them: small, and told apart by their numbers."""

from psoup.engine.clock import ManualClock
from psoup.engine.errors import EngineError
from psoup.engine.limits import SECOND_US
from psoup.engine.store.archive_answers import AskedHistory, History, HistoryId, HistoryPart
from psoup.engine.store.contract import Store, WorkerStore
from psoup.engine.tuples.batch import Seq
from psoup.storage.memory.store import MemoryStore
from psoup.storage.redis.store import RedisStore
from tests.storage.checksums import sealed_again
from tests.storage.samples import declare, query_id, register

AnyStore = Store | WorkerStore
WORKER = "worker-one"
OTHER = "worker-two"


def history_id(number: int) -> HistoryId:
    """Return the handle of history `number`."""
    return HistoryId(f"h_{number:022d}")


def with_queries(store: Store, count: int = 3) -> Store:
    """Return the store with a stream and queries 1 to `count` over it."""
    store.log.append(declare("a"))
    for number in range(1, count + 1):
        store.log.append(register(number, 1))
    return store


def asked(store: AnyStore, number: int, query: int = 1, now_us: int | None = None) -> AskedHistory:
    """Return what history `number` is asked, of query `query` at an instant (None = NOW)."""
    return AskedHistory(
        history_id(number),
        query_id(query),
        "SELECT x0 FROM a",
        store.results.cut().gen,
        Seq(7),
        99 if now_us is None else now_us,
        (None, 50),
        now_us,
    )


def part(number: int, first: int = 0, *, rows: int = 2, body: bytes = b"body") -> HistoryPart:
    """Return part `number` of rows of two sources, from the instant `first` on."""
    if not rows:
        return HistoryPart(number, 0, (), (), body)
    return HistoryPart(number, rows, (first, 1, 5), (first + rows - 1, 2, 9), body)


def claimed(store: Store, number: int = 1, query: int = 1) -> HistoryId:
    """Begin a history and claim it for WORKER; return its handle."""
    begun = store.histories.begin(asked(store, number, query))
    store.histories.claim(begun.asked.history_id, WORKER, done=0, of=None)
    return begun.asked.history_id


def finished(store: Store, number: int = 1, query: int = 1) -> History:
    """Return a history of one part that is done."""
    history = claimed(store, number, query)
    store.histories.put(history, WORKER, part(0))
    return store.histories.finish(history, WORKER, parts=1, rows=2, complete_from_us=None)


def pass_time(store: Store, seconds: float) -> None:
    """Let the store's clock go on, as far as its histories are concerned: those of a server are made older."""
    if isinstance(store, MemoryStore):
        assert isinstance(store.log._clock, ManualClock)
        store.log._clock.advance(round(seconds * SECOND_US))
        return
    assert isinstance(store, RedisStore)
    client = store._client
    for key in client.fetch_one("KEYS", "{ps}:h:h_??????????????????????"):
        for field in ("a", "x", "c", "e"):
            value = client.fetch_one("HGET", key, field)
            if value:
                earlier = int(value) - round(seconds * SECOND_US)
                client.fetch_one("HSET", key, field, earlier)
                sealed_again(client, key.decode())


def refused(step: object) -> type[EngineError]:
    """Return the class of the error that a step raises."""
    assert callable(step)
    try:
        step()
    except EngineError as error:
        return type(error)
    raise AssertionError("it was not refused")
