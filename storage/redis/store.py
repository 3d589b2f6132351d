"""A store in a Redis or its like: verified before it is used, and again after each of its restarts.

The server's `run_id` changes with every start. Functions write only in the run that META names, so nothing is
appended to a server that came back until `reopen` has compared what it holds with what was acknowledged.
Before all that the store has to be acquired: one engine writes to it, and a second one waits (`WriteToken`).
"""

import secrets
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from psoup.engine import limits
from psoup.engine.errors import EngineError, IntegrityError
from psoup.engine.limits import SECOND_US
from psoup.engine.results.contract import Gen, Position
from psoup.engine.store.condition import StoreCondition
from psoup.engine.store.contract import Durability, StoreHealth
from psoup.engine.store.errors import RecoveringError, StoreUnavailableError
from psoup.engine.tuples.batch import Seq
from psoup.storage import keys
from psoup.storage.redis.calls.client import RedisClient
from psoup.storage.redis.calls.tidy import tidy
from psoup.storage.redis.calls.write_token import StoreHolder, WriteToken
from psoup.storage.redis.cluster import AcknowledgedPosition, ClusterMemory
from psoup.storage.redis.condition import ConditionLook, read_loss
from psoup.storage.redis.contents import check_contents
from psoup.storage.redis.fsck.seals import check_seals
from psoup.storage.redis.health import memory_health
from psoup.storage.redis.histories import RedisHistories
from psoup.storage.redis.log import RedisLog
from psoup.storage.redis.results import RedisResults
from psoup.storage.redis.settings import check_server
from psoup.storage.redis.state import StoreState, read_state
from psoup.storage.redis.upgrade import EARLIER, upgrade
from psoup.storage.waiting import Patience, works

PAGE_KEY_BYTES: Final = 32


class RedisStore:
    """Both contracts over one server. Thread-safe, but `reopen` and `close` are for one thread."""

    def __init__(
        self,
        client: RedisClient,
        known: ClusterMemory,
        *,
        owner: str,
        durability: Durability,
        revive: Callable[[], None],
        stop: Callable[[], None],
        stops_server: bool = False,
        lease_s: float = limits.LEASE_S,
        disk_full_percent: float | None = None,
        streams_max: int = limits.STREAMS_COUNT_MAX,
    ) -> None:
        """Verify the server. `take_over` is still to come: nothing is written to it before, nothing read.

        Args:
            client: connections to it.
            known: what the data folder remembers of it.
            owner: id of the data folder (`engine_id`), which this process has locked.
            durability: the least level to accept.
            revive: brings an embedded server back if it is dead; does nothing for any other.
            stop: ends an embedded server.
            stops_server: it does, so that nobody appends to it any more; and its settings are fixed (`server.ACCESS`).
            lease_s: how long the store stays with an engine that says nothing.
            disk_full_percent: from where on its disk is full; None = the server is elsewhere, and its disk not seen.
            streams_max: as for `open_store`.

        Raises:
            StoreUnsuitableError: wrong version, settings or contents.
            StoreUnavailableError: no answer.
        """
        self._client = client
        self._known = known
        self._asked = durability
        self._revive = revive
        self._stop = stop
        self._stops_server = stops_server
        self._lease_s = lease_s
        self._token = WriteToken(client, owner, lease_s)
        self._renewed_s = 0.0
        self._page_key = b""
        self._durability = self._verify()
        check_contents(self._client, self._known)
        seconds, microseconds = map(int, client.fetch_one("TIME"))
        now_us = seconds * SECOND_US + microseconds
        self._results = RedisResults(client, known, self._token, now_us=now_us)
        self._log = RedisLog(client, known, self._token, streams_max=streams_max)
        self._look = ConditionLook(
            client,
            self._token,
            clock_behind_us=self._results.clock_behind_us,
            disk_full_percent=disk_full_percent,
            settings_fixed=stops_server,
        )
        self.histories = RedisHistories(client)
        self.holder: StoreHolder | None = None
        """Who had the store when it was last to be taken over, None = nobody else."""

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

    @property
    def page_key(self) -> bytes:
        """The secret that page tokens are signed with: one for all processes of the store."""
        return self._page_key

    @property
    def is_private(self) -> bool:
        """Whether no other engine can have it: it is this process's own server."""
        return self._stops_server

    def health(self) -> StoreHealth:
        """Return how the server is (`StoreHealth`)."""
        try:
            is_open = not self._token.held or read_state(self._client).verified
            memory = self._client.info("memory")
        except RecoveringError:
            return StoreHealth(("recovering",))
        except StoreUnavailableError:
            return StoreHealth(("store-down",))
        return memory_health(memory, *(() if is_open else ("recovering",)))

    def look(self) -> StoreCondition:
        """Return the store's condition (`ConditionLook.look`), once it is taken over. Any thread."""
        return self._look.look(self._durability)

    def take_over(self) -> float:
        """Become the one writer, before anything but `health` and `close`. Twice is harmless.

        Returns:
            0.0; or the seconds after which to try again, because another engine has the store (`holder`).

        Raises:
            StoreUnsuitableError: wrong contents.
            IntegrityError: the store is damaged.
            StoreUnavailableError, RecoveringError: the store went away meanwhile; try again.
        """
        if self._token.held:
            return 0.0
        self.holder = self._token.holder()
        if self.holder is None:
            self.holder = self._acquire()
        if self.holder is not None:
            self._remember()
            return self.holder.seconds
        try:
            self._client.load_library()  # another version may have loaded its own in between
            self._enter(starting=True)
            self._page_key = bytes.fromhex(
                self._client.fetch_one("HGET", keys.META, "page_key").decode()
            )
        except BaseException:
            self._token.release()
            raise
        return 0.0

    def renew(self) -> None:
        """Say that this engine is alive. Raises FencedError where another one has taken over."""
        self._token.renew()

    def position(self) -> Position:
        """Return where the store stands, all of one instant."""
        return read_state(self._client).position

    def wait_appended(self, after: Seq, timeout_s: float) -> bool:
        """Return once the log goes beyond a position, or after `timeout_s` seconds; False at once where it cannot tell.

        Cost: one call, which brings the entry it ends with.
        """
        milliseconds = max(1, round(timeout_s * 1_000))  # 0 would be for ever
        beyond = f"{after}-1"  # entries have the ids seq-0
        try:
            self._client.fetch_one(
                "XREAD", "COUNT", 1, "BLOCK", milliseconds, "STREAMS", keys.LOG, beyond
            )
        except EngineError:
            return False
        return True

    def tell(self, figures: bytes) -> None:
        """Let API workers know the engine's figures, in place of what was told before."""
        self._token.call("psoup_tell", [keys.META, keys.FIGURES], [figures])

    def reopen(self) -> None:
        """Make the store usable again after its server has died or restarted; else does nothing.

        Call it again until it returns: all this process was told is committed or applied is then there.

        Raises:
            StoreUnavailableError: still no answer.
            FencedError: another engine has taken over meanwhile.
            StoreUnsuitableError: it came back empty, or as another one.
            IntegrityError: something acknowledged is missing. Stop; the next start begins a new gen.
        """
        self._revive()
        self._durability = self._verify()
        check_contents(self._client, self._known)
        self._token.confirm()
        self._client.load_library()
        self._token.change()
        self._enter(starting=False)

    def close(self) -> None:
        """Let go of the store; an embedded server is stopped. Twice is harmless.

        Raises:
            StoreUnavailableError: the embedded server does not end.
        """
        if self._token.held:
            ended = self._token.release()
            # Others may append to a server that goes on: at everysec what they append last may be lost unnoticed.
            unnoticed = self._durability is Durability.EVERYSEC and not self._stops_server
            self._known.close(clean=ended and not unnoticed)
        try:
            self._stop()
        finally:
            self._client.close()

    def _acquire(self) -> StoreHolder | None:
        """Take the token, of a history that is begun where there is none; or return who has it."""
        empty = check_contents(self._client, self._known)
        self._client.load_library()
        if empty:
            self._begin()
        self._renewed_s = time.monotonic()
        return self._token.acquire(self._durability)

    def _remember(self) -> None:
        """Let the folder of a standby know the store too: one that is emptied is then not begun anew by it."""
        if self._known.file is None and not check_contents(self._client, self._known):
            # Without Functions: they may be another version's.
            (cluster, gen), head = self._client.fetch_together(
                [("HMGET", keys.META, "cluster", "gen"), ("HGET", keys.HEAD, "seq")]
            )
            try:
                found = cluster.decode(), Gen(int(gen or b"")), Seq(int(head))
            except ValueError as error:
                raise IntegrityError(f"{keys.META} or {keys.HEAD} is damaged: {error}.") from error
            self._known.belong_to(*found)

    def _verify(self) -> Durability:
        """Wait until the server has loaded its files, and check its settings.

        The Functions stay as they are: they are those of the engine that has the store, or had it last.
        """
        self._wait(lambda state: state["loading"] == "0")
        return check_server(self._client, self._asked)

    def _enter(self, *, starting: bool) -> None:
        """Open the server's present run, unless it is open."""
        told = self._known.told()
        state = read_state(self._client)
        if state.fmt == EARLIER:
            upgrade(self._client, self._token, meanwhile=self._keep)
            state = read_state(self._client)
        assert state.head is not None
        assert state.cluster is not None
        if starting or not state.verified:
            check_seals(self._client, meanwhile=self._keep)
        if starting:
            told = self._without_counted(told, state)
        gen = self._generation(state, told, starting=starting)
        lost = (state.head + 1, told.head) if state.head < told.head else ()
        if not state.verified:
            if gen != state.gen:
                self._token.call("psoup_reserve", [keys.META], [gen])
            self._rewrite_file()
        if not state.verified or gen != state.gen:
            self._open_run(state, gen, lost)
        tidy(self._client, self._token)
        self._look.begin(self._durability)
        self._known.saw_applied(state.applied)
        self._known.belong_to(state.cluster, gen, state.head)

    def _without_counted(
        self, told: AcknowledgedPosition, state: StoreState
    ) -> AcknowledgedPosition:
        """Return `told` without operations whose loss was counted already.

        An engine that ends between counting them in the store and writing its folder leaves a folder that knows of
        them still; so does one with a folder of its own that went on meanwhile. Either has begun a later generation
        with that loss. A later generation alone tells nothing: one that is reserved may never have been begun.
        """
        file = self._known.file
        if file is None or state.head is None or state.head >= told.head:
            return told
        counted = read_loss(self._client)
        if counted is None or counted.gen <= file.gen or counted.loss.last < told.head:
            return told
        return replace(told, head=state.head)

    def _begin(self) -> None:
        """Begin a history in an empty store. Nothing if another engine was first: then it is that one's."""
        state = read_state(self._client)
        self._client.call(
            "psoup_init",
            [keys.META, keys.HEAD],
            [
                keys.LAYOUT_VERSION,
                uuid.uuid4().hex,
                state.now_us // 1_000,
                self._client.library_sha,
                self._durability,
                secrets.token_hex(PAGE_KEY_BYTES),
            ],
        )

    def _generation(self, state: StoreState, told: AcknowledgedPosition, *, starting: bool) -> Gen:
        """Return the generation to go on in: a later one iff operations may have been lost.

        `told` is from before `state` was read.

        Raises:
            IntegrityError: they were lost under a process that has told others of them.
        """
        file = self._known.file
        earlier = max(state.gen, Gen(0) if file is None else file.gen)
        assert state.head is not None
        behind = state.head < told.head or state.applied < told.applied
        # Whatever a server at everysec lost in its last second nobody may have written down: others append as well.
        unclean = (file is None or not file.clean) if starting else not self._stops_server
        unsure = self._durability is Durability.EVERYSEC and not state.verified and unclean
        if not starting and (behind or unsure or state.gen < earlier):
            self._known.close(clean=False)
            raise IntegrityError(
                f"The store came back at operation {state.head}, after {told.head} or more had been"
                " acknowledged. Start psoup again: it then begins a new generation."
            )
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

    def _open_run(self, state: StoreState, gen: Gen, lost: Sequence[int]) -> None:
        """Open the run for generation `gen`. In one that is open appends go on meanwhile, and the head moves.

        `lost` are first and last operation that are missing, if any are.
        """
        head = state.head
        while True:
            answer = self._token.call(
                "psoup_open",
                [keys.META, keys.HEAD, keys.LOG],
                [str(head), gen, self._client.library_sha, self._durability, *lost],
            )
            if answer[0] == b"OK":
                return
            if answer[0] == b"TORN" or not state.verified:
                raise IntegrityError(
                    f"The log's entries and its head at operation {head} disagree: the store is"
                    " damaged. Keep a copy of its files and restore a backup."
                )
            head = Seq(int(answer[1]))

    def _wait(self, finished: Callable[[Mapping[str, str]], bool]) -> None:
        """Return once INFO's section `persistence` is `finished`.

        Raises:
            StoreUnavailableError: it works no more, or has for too long (`Patience`).
        """
        patience = Patience()
        while not finished(state := self._client.info("persistence")):
            if not patience.pause(working=works(state)):
                raise StoreUnavailableError("The store is not ready in time; it may still load.")
            self._keep()

    def _keep(self) -> None:
        """Prolong the lease of an engine that is held up while it enters."""
        if self._token.held and time.monotonic() - self._renewed_s > self._lease_s / 5:
            self._token.renew()
            self._renewed_s = time.monotonic()
