"""A store in a Redis or its like: verified before it is used, and again after each of its restarts.

The server's `run_id` changes with every start. Functions write only in the run that META names, so nothing is
appended to a server that came back until `reopen` has compared what it holds with what was acknowledged.
"""

import threading
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from engine import limits
from engine.errors import IntegrityError
from engine.results.contract import Gen
from engine.tuples.batch import Seq
from storage import keys
from storage.cluster import ClusterMemory
from storage.errors import RecoveringError, StoreUnavailableError, StoreUnsuitableError
from storage.redis_client import RedisClient
from storage.redis_log import RedisLog
from storage.redis_results import RedisResults
from storage.redis_settings import check_server, check_settings
from storage.redis_tidy import tidy
from storage.store import Durability, StoreHealth
from storage.waiting import Patience, works


@dataclass(frozen=True, slots=True)
class _State:
    """What psoup_state answers: the server's run, and what META and the head say (None = nothing)."""

    run: str
    now_us: int
    head: Seq | None
    fmt: int | None
    cluster: str | None
    gen: Gen
    applied: Seq
    opened_run: str | None


class RedisStore:
    """Both contracts over one server. Thread-safe, but `reopen` and `close` are for one thread."""

    def __init__(
        self,
        client: RedisClient,
        known: ClusterMemory,
        *,
        durability: Durability,
        revive: Callable[[], None],
        stop: Callable[[], None],
    ) -> None:
        """Verify the server and open its present run.

        Args:
            client: connections to it.
            known: what the data folder remembers of it.
            durability: the least level to accept.
            revive: brings an embedded server back if it is dead; does nothing for any other.
            stop: ends an embedded server.

        Raises:
            StoreUnsuitableError: wrong version, settings or contents.
            StoreUnavailableError: no answer.
        """
        self._client = client
        self._known = known
        self._asked = durability
        self._revive = revive
        self._stop = stop
        self._look = threading.Lock()
        self._drifted = False
        self._durability = self._verify()
        state = self._state()
        self._results = RedisResults(client, known, now_us=state.now_us)
        self._enter(state, starting=True)
        self._log = RedisLog(client, known)

    @property
    def log(self) -> RedisLog:
        """The log."""
        return self._log

    @property
    def results(self) -> RedisResults:
        """The Results Structure."""
        return self._results

    @property
    def durability(self) -> Durability:
        """The level the server's settings give."""
        return self._durability

    def health(self) -> StoreHealth:
        """Return how the server is (`StoreHealth`). Settings are looked at now and then."""
        try:
            state, memory = self._state(), self._client.info("memory")
            drifted = self._has_drifted()
        except RecoveringError:
            return StoreHealth(("recovering",))
        except StoreUnavailableError:
            return StoreHealth(("store-down",))
        reasons: list[str] = []
        if state.run != state.opened_run:
            reasons.append("recovering")
        used, most = int(memory["used_memory"]), int(memory["maxmemory"])
        if most and used * 100 > most * limits.STORE_MEMORY_HIGH_PERCENT:
            reasons.append("memory-high")
        if drifted:
            reasons.append("config-drift")
        return StoreHealth(tuple(reasons), used, most or None)

    def reopen(self) -> None:
        """Make the store usable again after its server has died or restarted (`Store.reopen`)."""
        self._revive()
        self._durability = self._verify()
        self._enter(self._state(), starting=False)

    def close(self) -> None:
        """Let go of the store; an embedded server is stopped. Twice is harmless.

        Raises:
            StoreUnavailableError: the embedded server does not end.
        """
        self._known.close(clean=True)
        try:
            self._stop()
        finally:
            self._client.close()

    def _verify(self) -> Durability:
        """Wait until the server has loaded its files, check its settings, load the Functions."""
        self._wait(lambda state: state["loading"] == "0")
        durability = check_server(self._client, self._asked)
        with self._look:
            self._drifted, self._looked_s = False, time.monotonic()
        self._client.load_library()
        return durability

    def _has_drifted(self) -> bool:
        """Return whether the server, when last looked at, was set to keep less than is promised.

        Looks at most every STORE_SETTINGS_CHECK_S: settings can be changed while the server runs.
        """
        with self._look:
            if time.monotonic() - self._looked_s < limits.STORE_SETTINGS_CHECK_S:
                return self._drifted
            self._looked_s = time.monotonic()  # whoever asks meanwhile need not look too
        try:
            check_settings(self._client, self._durability)
            drifted = False
        except StoreUnsuitableError:
            drifted = True
        with self._look:
            self._drifted = drifted
        return drifted

    def _state(self) -> _State:
        run, now_us, head, fmt, cluster, gen, applied, opened, _ = self._client.view(
            "psoup_state", [keys.META, keys.HEAD]
        )
        return _State(
            run=run.decode(),
            now_us=int(now_us),
            head=None if head is None else Seq(int(head)),
            fmt=None if fmt is None else int(fmt),
            cluster=None if cluster is None else cluster.decode(),
            gen=Gen(int(gen or 0)),
            applied=Seq(int(applied or 0)),
            opened_run=None if opened is None else opened.decode(),
        )

    def _enter(self, state: _State, *, starting: bool) -> None:
        """Open the server's present run, unless it is open; begin a history if there is none."""
        if state.cluster is None and state.head is None:
            self._begin(state)
            return
        self._check_contents(state)
        assert state.head is not None
        assert state.cluster is not None
        gen = self._generation(state, starting=starting)
        if state.run != state.opened_run:
            self._rewrite_file()
        if state.run != state.opened_run or gen != state.gen:
            self._open_run(state.head, gen)
        tidy(self._client)
        self._known.saw_applied(state.applied)
        self._known.belong_to(state.cluster, gen, state.head)

    def _begin(self, state: _State) -> None:
        """Begin a history in an empty store, unless this folder knows one that has gone."""
        file = self._known.file
        if file is not None:
            raise StoreUnsuitableError(
                "The store is empty, but this data folder belongs to one with at least"
                f" {file.seq} operations. Bring that store back; or, if its"
                " contents are given up, remove cluster.json from the data folder and start again."
            )
        gen = Gen(state.now_us // 1_000)
        cluster = uuid.uuid4().hex
        answer = self._client.call(
            "psoup_init",
            [keys.META, keys.HEAD],
            [keys.LAYOUT_VERSION, cluster, gen, self._client.library_sha],
        )
        if answer[0] != b"OK":
            raise StoreUnsuitableError(
                "Another psoup has just begun in this store. Start only one."
            )
        assert state.applied == 0
        self._known.belong_to(cluster, gen, Seq(0))

    def _check_contents(self, state: _State) -> None:
        file = self._known.file
        if state.cluster is None or state.head is None:
            raise IntegrityError("The store holds parts of a psoup, not a whole one. Restore it.")
        if state.fmt != keys.LAYOUT_VERSION:
            raise StoreUnsuitableError(
                f"The store was written in layout {state.fmt}; this psoup reads"
                f" {keys.LAYOUT_VERSION}. Start the version that wrote it."
            )
        if file is not None and file.cluster != state.cluster:
            raise StoreUnsuitableError(
                "The store belongs to another data folder than this one. Start psoup with the"
                " folder it was begun with; or remove cluster.json to take this store over."
            )

    def _generation(self, state: _State, *, starting: bool) -> Gen:
        """Return the generation to go on in: a later one iff operations may have been lost.

        Raises:
            IntegrityError: they were lost under a process that has told others of them.
        """
        file = self._known.file
        head = max(self._known.head, Seq(0) if file is None else file.seq)
        earlier = max(state.gen, Gen(0) if file is None else file.gen)
        assert state.head is not None
        behind = state.head < head or state.applied < self._known.applied
        if not starting and (behind or state.gen < earlier):
            self._known.close(clean=False)
            raise IntegrityError(
                f"The store came back at operation {state.head}, after {head} had been"
                " acknowledged. Start psoup again: it then begins a new generation."
            )
        # Whatever a server at everysec lost in its last second nobody may have written down.
        restarted = state.run != state.opened_run
        unclean = file is not None and not file.clean
        unsure = self._durability is Durability.EVERYSEC and restarted and starting and unclean
        if behind or state.gen < earlier or unsure:
            return Gen(max(state.now_us // 1_000, earlier + 1))
        return state.gen

    def _rewrite_file(self) -> None:
        """Have the append-only file written anew: after a torn end, 7.0 loses what follows it."""
        self._wait(lambda state: not works(state))  # one that runs may have begun before the loss
        self._client.fetch_one("BGREWRITEAOF")
        self._wait(lambda state: not works(state))
        if self._client.info("persistence")["aof_last_bgrewrite_status"] != "ok":
            raise StoreUnavailableError(
                "The store could not rewrite its append-only file. Free space on its disk."
            )

    def _open_run(self, head: Seq, gen: Gen) -> None:
        answer = self._client.call(
            "psoup_open",
            [keys.META, keys.HEAD, keys.LOG],
            [head, gen, self._client.library_sha],
        )
        if answer[0] != b"OK":
            raise IntegrityError(
                f"The log's entries and its head at operation {head} disagree: the store is"
                " damaged. Keep a copy of its files and restore a backup."
            )

    def _wait(self, finished: Callable[[Mapping[str, str]], bool]) -> None:
        """Return once INFO's section `persistence` is `finished`.

        Raises:
            StoreUnavailableError: it works no more, or has for too long (`Patience`).
        """
        patience = Patience()
        while not finished(state := self._client.info("persistence")):
            if not patience.pause(working=works(state)):
                raise StoreUnavailableError("The store is not ready in time; it may still load.")
