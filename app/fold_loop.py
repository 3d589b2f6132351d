"""The engine's loop, in a thread of its own: read, apply, show, publish, trim. The one writer of results.

What is applied is shown at once to invocations in this process, from its memory. It is published to the store
later and together: whatever is not published can be folded again from the log. Invariants: what is shown is the
fold of the log's operations 1..applied, what is published that of 1..published; a delta that a lost connection
left in doubt is published again before anything else; only what is published is trimmed; after an IntegrityError
or a bug nothing more is published.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import structlog

from app.errors import StoreDownError
from app.store import Store
from engine import limits
from engine.engine import Engine, EngineStatistics, keep_memory, warm_up
from engine.errors import EngineError, IntegrityError, OverloadedError
from engine.log.operation import Operation, Rows, Tick
from engine.query.binder import Bind, bind
from engine.results.contract import Gen, ResultsReader
from engine.results.delta import ClauseRecord, Delta, merge
from engine.results.live import HeldBytes, LiveResults
from engine.results.page import Page
from engine.results.source import TupleSource
from engine.tuples.batch import Seq

IDLE_S: Final = 0.25
"""An idle loop looks at the log this often, if nobody wakes it; and at the store's clock no oftener."""
RETRY_S_FIRST: Final = 0.05
RETRY_S_MAX: Final = 2.0
TRIM_EVERY: Final = 1_000
"""Control entries are trimmed in steps of this many positions, not at every turn."""
TRANSIENT_CODES: Final = frozenset(
    {"store-unavailable", "recovering", "store-full", "commit-unknown"}
)
"""After these a step is taken again. Only ticks are appended here, and one too many changes nothing."""

_LOG = structlog.get_logger("psoup.fold_loop")

OnLook = Callable[[Callable[[], EngineStatistics]], None]


class Phase(StrEnum):
    """Where the loop stands."""

    RECOVERING = "recovering"
    LIVE = "live"
    STORE_DOWN = "store-down"
    FAILED = "integrity"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class FoldStatistics:
    """Counters of the fold loop since its start."""

    phase: Phase
    held: HeldBytes
    gen: Gen
    applied: Seq
    published: Seq
    turns: int
    operations: int
    tuples: int
    body_bytes: int
    """Of the batches of these tuples, as the log keeps them."""
    ticks: int
    retries: int
    voided: int
    """Committed operations that could not be applied and changed nothing: a sign of damage or a bug."""


class FoldLoop:
    """One thread that turns the log into results. Started once, stopped once."""

    def __init__(
        self,
        *,
        store: Store,
        on_applied: Callable[[Seq], None],
        on_look: OnLook = lambda _: None,
        bind: Bind = bind,
        elapsed_s: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the store, whose clock dates ticks. Callbacks are called from the loop's thread.

        `on_look` is called before each look at the log, every IDLE_S if nothing happens, with what tells the
        engine's counters. `bind` may remember what the front has bound. `elapsed_s` only paces the loop: no
        operation and no answer depends on it.
        """
        self._store = store
        self._bind = bind
        self._engine = Engine(bind=bind, make_lock=threading.Lock)
        self._live = LiveResults(store.results.now_us, threading.RLock())
        self._on_applied = on_applied
        self._on_look = on_look
        self._elapsed_s = elapsed_s
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._recovered = threading.Event()
        self._thread = threading.Thread(target=self._run, name="psoup-fold", daemon=True)
        self._phase = Phase.RECOVERING
        self._restored = False
        self._gen = Gen(0)
        self._applied = self._published = Seq(0)
        self._trimmed_below = Seq(0)
        self._shown: list[Delta] = []
        """Applied and not published yet."""
        self._shown_bytes = 0
        self._publish_next_s = 0.0
        self._pending: Delta | None = None
        """On its way to the store: all of `_shown` at the time."""
        self._gone: set[Seq] = set()
        """Batches of which no tuple is held any more and which the log still has."""
        self._idle = False
        self._looks_next_s = 0.0
        self._tuples = self._body_bytes = 0
        self._turns = self._operations = self._ticks = self._retries = self._voided = 0

    @property
    def phase(self) -> Phase:
        """Return where the loop stands."""
        return self._phase

    @property
    def source(self) -> TupleSource:
        """Return the engine's tuples, for invocations."""
        return self._engine.source

    @property
    def results(self) -> ResultsReader:
        """Return the results at the applied position, in this process's memory."""
        return self._live

    def start(self) -> None:
        """Start the thread: it recovers first. Memory is taken before, so that it serves all threads."""
        keep_memory(limits.MEMORY_TOUCHED_BYTES, limits.MEMORY_FREE_BYTES_MAX)
        self._thread.start()

    def wait_recovered(self, timeout_s: float) -> bool:
        """Return whether recovery has ended, well or not, within `timeout_s`. Blocks."""
        return self._recovered.wait(timeout_s)

    def wake(self) -> None:
        """Tell the loop that there is something to read. Any thread."""
        self._wake.set()

    def stop(self) -> None:
        """End the thread after its present turn and wait for it. Blocks; twice does nothing."""
        self._stopping.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def statistics(self) -> FoldStatistics:
        """Return counters."""
        return FoldStatistics(
            phase=self._phase,
            held=self._live.held,
            gen=self._gen,
            applied=self._applied,
            published=self._published,
            turns=self._turns,
            operations=self._operations,
            tuples=self._tuples,
            body_bytes=self._body_bytes,
            ticks=self._ticks,
            retries=self._retries,
            voided=self._voided,
        )

    def check(self) -> None:
        """Raise AssertionError unless loop, store and engine agree. For tests, between turns."""
        if self._pending is None and self._store.results.cut().seq != self._published:
            raise AssertionError("the published seq is the store's applied one")
        if self._live.cut().seq != self._applied:
            raise AssertionError("what is applied is shown")
        self._live.check()
        self._engine.check()

    # --- the thread -----------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._warm_up()
            steps = (self._restore, self._catch_up)
            if all(self._until_it_works(step) for step in steps):
                self._recovered.set()
                while self._until_it_works(self._turn):
                    if self._idle:
                        self._wake.wait(IDLE_S)
                self._publish_last()
        except Exception:  # noqa: BLE001 (whatever it is, publishing on would make it worse)
            self._phase = Phase.FAILED
            _LOG.exception("fold-stopped", applied=self._applied)
        finally:
            if self._phase is not Phase.FAILED:
                self._phase = Phase.STOPPED
            self._recovered.set()

    def _warm_up(self) -> None:
        """Compile or load the kernels now, so that no request waits for them."""
        begun_s = self._elapsed_s()
        kernels = warm_up()
        seconds = round(self._elapsed_s() - begun_s, 3)
        _LOG.info("kernels-ready", kernels=kernels, seconds=seconds)

    def _publish_last(self) -> None:
        """Publish what is left when the loop ends, if the store lets it; else it is folded again at the next start."""
        try:
            self._publish_shown()
        except EngineError as error:
            _LOG.warning("left-unpublished", code=error.code, applied=self._applied)

    def _until_it_works(self, step: Callable[[], None]) -> bool:
        """Run `step` until the store lets it pass; False = the loop is to end."""
        wait_s = RETRY_S_FIRST
        phase = self._phase
        while not self._stopping.is_set():
            try:
                if self._phase is Phase.STORE_DOWN:
                    self._reopen()
                step()
            except EngineError as error:
                if error.code not in TRANSIENT_CODES:
                    raise
                if self._phase is not Phase.STORE_DOWN:
                    _LOG.warning("store-down", code=error.code, detail=error.detail)
                self._phase = Phase.STORE_DOWN
                self._retries += 1
                self._stopping.wait(wait_s)
                wait_s = min(2 * wait_s, RETRY_S_MAX)
            else:
                if self._phase is Phase.STORE_DOWN:
                    self._phase = phase
                    _LOG.info("store-back", applied=self._applied)
                return True
        return False

    def _reopen(self) -> None:
        """Have the store back. With another history in it there is nothing to go on from."""
        self._store.reopen()
        if not self._restored:
            return
        cut = self._store.results.cut()
        if cut.gen != self._gen:
            raise IntegrityError(
                f"The store came back with another history than generation {self._gen}. Start psoup"
                " again: it then goes on from what the store holds."
            )
        if self._store.log.head() < self._applied:
            raise IntegrityError(
                f"The store came back with a log that ends before operation {self._applied}, which has"
                " been applied. Start psoup again: it then goes on from what the store holds."
            )
        if self._pending is not None and cut.seq == self._pending.seq:
            self._note_published(self._pending)

    def _restore(self) -> None:
        """Bring a fresh engine to the published position, and find what was published and not trimmed."""
        checkpoint = self._store.results.checkpoint()
        applied = checkpoint.cut.seq
        seqs = sorted(batch.seq for batch in checkpoint.batches)
        self._engine = Engine.restore(
            checkpoint, self._store.log.read_at(seqs), bind=self._bind, make_lock=threading.Lock
        )
        self._gone = set(self._store.log.held_batches(applied)).difference(seqs)
        self._live.begin(checkpoint, self._older_pages)
        self._gen, self._restored = checkpoint.cut.gen, True
        self._applied = self._published = applied

    def _older_pages(self, clause: ClauseRecord, chunks: Sequence[int]) -> Mapping[int, Page]:
        """Return hits in chunks from before this process began, from the store. Any thread.

        A store that has lost them knows nothing of the clause, which looks like no hits: so it is asked
        afterwards whether it still is what it was.

        Raises:
            StoreDownError: it is not; the loop will find out by itself.
        """
        pages = self._store.results.pages(clause, chunks)
        cut = self._store.results.cut()
        if cut.gen != self._gen or cut.seq < clause.clause_id:
            raise StoreDownError("The store has changed under psoup. Send the same again soon.")
        return pages

    def _catch_up(self) -> None:
        """Fold what lies behind the published position; then the service is live."""
        while not self._stopping.is_set() and self._fold():
            pass
        self._phase = Phase.LIVE
        self._on_applied(self._applied)
        _LOG.info("recovered", gen=self._gen, applied=self._applied)

    def _turn(self) -> None:
        """Fold what there is, or let time pass where nothing arrives; then be idle."""
        self._wake.clear()
        self._idle = not self._fold()
        if self._idle and self._is_due():
            try:
                self._store.log.append(Tick())
            except OverloadedError:  # then it is not idle, and its operations bring the time along
                return
            self._ticks += 1
            self._idle = False

    def _is_due(self) -> bool:
        """Return whether a tick would forget something. Looks at most every IDLE_S.

        The store's clock is asked, because it dates the tick: with another one that runs ahead of it,
        ticks would follow each other and bring nothing.
        """
        now_s = self._elapsed_s()
        if now_s < self._looks_next_s:
            return False
        due = self._engine.due(self._store.results.cut().server_now_us)
        self._looks_next_s = now_s + IDLE_S
        return due

    def _fold(self) -> bool:
        """Fold what the log holds, one turn of it. False = there was nothing."""
        self._on_look(self._engine.statistics)
        if self._pending is not None or self._is_publish_due():
            self._publish_shown()
        self._trim()
        operations = self._store.log.read(
            self._applied,
            operations_max=limits.FOLD_OPERATIONS_MAX,
            bytes_max=limits.FOLD_BYTES_MAX,
        )
        if not operations:
            return False
        if not self._shown:
            self._publish_next_s = self._elapsed_s() + limits.PUBLISH_AFTER_S
        for operation in operations:
            delta = self._engine.apply(operation)
            self._live.apply(delta)
            self._shown.append(delta)
            if delta.blocks or delta.pages or delta.composites:
                self._shown_bytes += sum(block.nbytes for block in delta.blocks.values())
                self._shown_bytes += sum(page.nbytes for page in delta.pages.values())
                self._shown_bytes += sum(page.nbytes for page in delta.composites.values())
            self._count_body(operation)
            self._applied = delta.seq
        self._turns += 1
        self._operations += len(operations)
        self._note_void()
        self._on_applied(self._applied)
        return True

    def _count_body(self, operation: Operation) -> None:
        if isinstance(operation.content, Rows):
            self._shown_bytes += len(operation.content.body)
            self._body_bytes += len(operation.content.body)
            self._tuples += operation.content.rows

    def _note_void(self) -> None:
        """Raise an alarm for committed operations that could not be applied: none is expected ever."""
        if self._engine.voided > self._voided:
            self._voided = self._engine.voided
            _LOG.error("operations-void", voided=self._voided, applied=self._applied)

    def _is_publish_due(self) -> bool:
        """Return whether what is shown has waited long enough, or has become enough, to be published."""
        return bool(self._shown) and (
            len(self._shown) >= limits.PUBLISH_OPERATIONS_MAX
            or self._shown_bytes >= limits.PUBLISH_TOGETHER_BYTES_MAX
            or self._elapsed_s() >= self._publish_next_s
        )

    def _publish_shown(self) -> None:
        """Publish all that is shown and not published; first what an earlier attempt has left in doubt."""
        if self._pending is None and self._shown:
            self._pending = merge(self._shown)
        if self._pending is not None:
            self._store.results.publish(self._pending)
            self._note_published(self._pending)

    def _note_published(self, delta: Delta) -> None:
        """Take note that the store shows `delta`, which is all that was applied."""
        self._engine.published()
        self._pending, self._shown, self._shown_bytes = None, [], 0
        self._published = delta.seq
        self._gone.update(seq for _, seq in delta.dropped_batches)

    def _trim(self) -> None:
        """Let the log forget what no tuple held needs, if there is enough of it."""
        below = Seq(max(0, self._published - limits.LOG_ENTRIES_KEPT))
        if self._gone or below >= self._trimmed_below + TRIM_EVERY:
            self._store.log.trim(batches=sorted(self._gone), below=below)
            self._gone.clear()
            self._trimmed_below = below
