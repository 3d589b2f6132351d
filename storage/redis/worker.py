"""What an API worker does with a Redis: append, read, look how far the engine is. It changes nothing else.

It needs no folder and no lock, asks for no settings and loads no Functions: an engine has, or the store is not usable
yet. Its server may die and come back at any time; until an engine has verified it, reads and appends are refused.
"""

import threading
from collections.abc import Callable
from pathlib import Path

from psoup.engine import limits
from psoup.engine.errors import EngineError
from psoup.engine.log.operation import Operation, QueryId, Register
from psoup.engine.results.contract import Position
from psoup.engine.store.contract import Durability, StoreHealth
from psoup.engine.store.errors import RecoveringError, StoreUnsuitableError
from psoup.engine.tuples.batch import Seq
from psoup.storage import keys
from psoup.storage.redis.calls.client import WORKER_RULES, RedisClient
from psoup.storage.redis.health import memory_health
from psoup.storage.redis.histories import RedisHistories
from psoup.storage.redis.log import RedisLog
from psoup.storage.redis.reader import RedisReader
from psoup.storage.redis.served import ServedPosition, ServedStatistics
from psoup.storage.redis.state import StoreState, decode_state
from psoup.storage.redis.upgrade import EARLIER


class RedisWorkerStore:
    """A `WorkerStore` over one server. Thread-safe; of several that `wait` one waits after the other."""

    def __init__(
        self,
        url: str,
        *,
        forget: Callable[[], None],
        password_file: Path | None = None,
        streams_max: int = limits.STREAMS_COUNT_MAX,
    ) -> None:
        """Prepare connections; the server need not be there.

        Args:
            url: its address.
            forget: called as `ServedPosition` says, when another history is first seen.
            password_file: as for `RedisClient`.
            streams_max: as for `open_store`.

        Raises:
            StoreUrlError: the address cannot be read.
        """
        self._client = RedisClient(url, password_file=password_file, rules=WORKER_RULES)
        self._listener = self._client.listener(keys.NOTICES_CHANNEL)
        self._listening = threading.Lock()
        self._closing = threading.Event()
        self._of_caller = forget
        self._served = ServedPosition(self._forget)
        self.confirm = self._served.confirm
        """Raises RecoveringError if another history than the one given has been seen to begin."""
        self._cluster: str | None = None
        self._durability: Durability | None = None
        self._log = RedisLog(self._client, admit=self._served.floor, streams_max=streams_max)
        self.histories = RedisHistories(self._client, admit=self._served.floor)
        self._results = RedisReader(
            self._client,
            now_us=0,
            served=self._served,
            kept_bytes=limits.COMPOSITES_CACHE_BYTES_MAX,
        )

    @property
    def log(self) -> RedisLog:
        """The log."""
        return self._log

    @property
    def results(self) -> RedisReader:
        """What the engine has published."""
        return self._results

    @property
    def durability(self) -> Durability:
        """The level the engine has found; the lower one while that is not known."""
        return self._durability or Durability.EVERYSEC

    @property
    def page_key(self) -> bytes:
        """The secret that page tokens are signed with.

        Raises:
            RecoveringError: no engine has begun in the store.
            EngineError: what `RedisClient.fetch_one` raises.
        """
        text = self._client.fetch_one("HGET", keys.META, "page_key")
        if text is None:
            raise _not_begun()
        return bytes.fromhex(text.decode())

    def position(self) -> Position:
        """Return where the store stands.

        Raises:
            RecoveringError: no engine has begun in it, or verified it since its server started; or it is behind what
                this process has seen of it.
            StoreUnavailableError: no answer.
            StoreUnsuitableError: it is another version's, or another store; then reads and appends raise it as well.
        """
        floor = self._served.latest
        state = self._state()
        self._durability = state.durability
        if not state.verified:
            raise RecoveringError(
                "No engine has verified the store since it restarted. Try again later."
            )
        position = state.position
        self._served.saw(position.gen, position.applied, floor)
        return position

    def wait(self, timeout_s: float) -> None:
        """Return once something was published, or after `timeout_s` seconds, or where it cannot be told.

        Where the server cannot be listened to it waits for all of them.
        """
        with self._listening:
            if self._closing.is_set():
                return
            heard = self._listener.hear(timeout_s)
        if heard is None:
            self._closing.wait(timeout_s)

    def told(self) -> bytes | None:
        """Return the engine's figures, None = it has told none."""
        figures: bytes | None = self._client.fetch_one("GET", keys.FIGURES)
        return figures

    def registration(self, query_id: QueryId) -> Operation | None:
        """Return the registration of a query that is committed and not yet applied; None for every other."""
        row = self._client.fetch_one("HGET", keys.LOG_QUERIES, query_id)
        applied = self.position().applied
        if row is None:
            return None
        seq = Seq(int(row.split(b" ", 1)[0]))
        if seq <= applied:
            return None
        (found,) = self._log.controls(Seq(seq - 1), seq) or (None,)
        return found

    def registrations(self) -> list[Operation]:
        """Return all registrations that are committed, not yet applied and not removed since, ascending by seq.

        Cost: O(operations not yet applied), two round trips; one where there are none.
        """
        position = self.position()
        found = {
            operation.content.query_id: operation
            for operation in self._log.controls(position.applied, position.head)
            if isinstance(operation.content, Register)
        }
        if not found:
            return []
        rows = self._client.fetch_one("HMGET", keys.LOG_QUERIES, *found)
        return [operation for operation, row in zip(found.values(), rows, strict=True) if row]

    def health(self) -> StoreHealth:
        """Return how the store is (`StoreHealth`); what this user may not ask is left out."""
        try:
            reasons = () if self.position().engine_alive else ("no-engine",)
        except RecoveringError:
            return StoreHealth(("recovering",))
        except EngineError:
            return StoreHealth(("store-down",))
        try:
            memory = self._client.info("memory")
        except StoreUnsuitableError:  # its ACL does not allow INFO
            return StoreHealth(reasons)
        except EngineError:
            return StoreHealth(("store-down",))
        return memory_health(memory, *reasons)

    def close(self) -> None:
        """Close all connections, once no thread waits any more. Twice is harmless."""
        self._closing.set()
        with self._listening:
            self._listener.close()
        self._client.close()

    def statistics(self) -> ServedStatistics:
        """Return what was answered from."""
        return self._served.statistics()

    def check(self) -> None:
        """Assert the invariants of what it keeps. For tests."""
        self._served.check()

    def _forget(self) -> None:
        self._results.forget()
        self._of_caller()

    def _state(self) -> StoreState:
        """Return the store's state. Where it is another version's or another store, reads raise what this does."""
        try:
            state = self._suitable_state()
        except StoreUnsuitableError as error:
            self._served.refuse(error)
            raise
        self._served.refuse(None)
        return state

    def _suitable_state(self) -> StoreState:
        known, answer = self._client.fetch(
            [
                ("HMGET", keys.META, "fmt", "library", "cluster"),
                ("FCALL_RO", "psoup_state", 2, keys.META, keys.HEAD),
            ]
        )
        fmt, library, cluster = known
        if fmt is None or cluster is None:
            raise _not_begun()
        is_same = library == self._client.library_sha.encode()
        if fmt == b"%d" % EARLIER and is_same:
            raise RecoveringError("The engine is giving the store its checksums. Try again later.")
        if fmt != b"%d" % keys.LAYOUT_VERSION or not is_same:
            raise StoreUnsuitableError(
                f"The store is written in layout {fmt.decode(errors='replace')} by an engine of another version than this worker, which"
                f" reads layout {keys.LAYOUT_VERSION}. Start workers and engine of one version."
            )
        if self._cluster is not None and self._cluster != cluster.decode(errors="replace"):
            raise StoreUnsuitableError(
                "Another store is at the address than the one this worker has read. Start the workers again if"
                " that is meant."
            )
        self._cluster = cluster.decode(errors="replace")
        return decode_state(answer)


def _not_begun() -> RecoveringError:
    return RecoveringError("No engine has begun in this store yet. Start one, or try again later.")
