"""The fold over a store, a turn at a time: read, apply, show, publish, trim. No thread, and no wait.

A fold that answers shows at once, from its memory, what it has applied, and publishes it to the store later and
together: whatever is not published can be folded again from the log. One that does not publishes at the end of every
turn. A turn never ends inside a commit, and all of a commit is shown at once. Invariants: what is shown is the fold of
the log's operations 1..applied, what is published that of 1..published; a delta that a lost connection left in doubt is
published again before anything else; only what is published is trimmed.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import structlog

from psoup.app.backend.at_hand import AtHand
from psoup.app.figures.engine import Figures
from psoup.app.fold.due import Due
from psoup.app.fold.figures import NOTHING_WRITTEN, FoldFigures
from psoup.app.fold.publishing import Publishing
from psoup.app.fold.trimming import Trimming
from psoup.engine import limits
from psoup.engine.data.source import TupleSource
from psoup.engine.engine import Engine, EngineStatistics, MatchThreads, PrecomputedHits
from psoup.engine.errors import IntegrityError
from psoup.engine.log.groups import read_groups
from psoup.engine.log.operation import Operation
from psoup.engine.query.bind.binder import Bind
from psoup.engine.results.contract import Gen, ResultsReader
from psoup.engine.results.delta import ClauseRecord, Delta, merge
from psoup.engine.results.live import LiveResults
from psoup.engine.results.page import Page
from psoup.engine.results.text_bytes import HeldBytes
from psoup.engine.store.contract import Store
from psoup.engine.store.errors import StoreUnavailableError
from psoup.engine.tuples.batch import Seq

_LOG = structlog.get_logger("psoup.fold")


class Fold:
    """State(applied), and its way to the next. One thread folds at a time; any reads results, tuples and figures.

    Attributes:
        source: the engine's tuples, for invocations; others once `restore` has made another engine.
        counted: what was done since the start.
        turning: held by who changes anything: the loop at a step, or a thread that has appended and folds that.
        is_open: such threads may fold.
        turns_here: turns of theirs that had something to fold.

    Every method that reaches the store raises what the store does, and may then be called again.
    """

    def __init__(
        self,
        store: Store,
        *,
        answers: bool,
        at_hand: AtHand | None,
        on_applied: Callable[[Seq], None],
        bind: Bind,
        elapsed_s: Callable[[], float],
        precomputed: PrecomputedHits | None = None,
        match_threads: MatchThreads | None = None,
    ) -> None:
        """Begin before the first operation; `restore` comes next. The arguments are those of `FoldLoop`."""
        self._store = store
        self._at_hand = at_hand
        self.turning = threading.Lock()
        self.is_open = False
        self._failure: BaseException | None = None
        """What has ended a turn in another thread than the loop's: nothing may be done after it."""
        self.turns_here = 0
        self._bind = bind
        self._elapsed_s = elapsed_s
        self._on_applied = on_applied
        self._precomputed = precomputed
        self._match_threads = match_threads
        self._engine = Engine(
            bind=bind,
            make_lock=threading.Lock,
            precomputed=precomputed,
            match_threads=match_threads,
        )
        self.source: TupleSource = self._engine.source
        self._live = LiveResults(store.results.now_us, threading.RLock()) if answers else None
        self._publishing = Publishing(store, each_turn=not answers, elapsed_s=elapsed_s)
        self._trimming = Trimming(store, elapsed_s=elapsed_s)
        self._restored = False
        self._gen = Gen(0)
        self._applied = Seq(0)
        self._waiting_since_us: int | None = None
        self._due = Due(store, at_hand=at_hand, elapsed_s=elapsed_s)
        self.counted = FoldFigures()

    @property
    def gen(self) -> Gen:
        """Return the history that is folded."""
        return self._gen

    @property
    def applied(self) -> Seq:
        """Return the last operation applied."""
        return self._applied

    @property
    def published(self) -> Seq:
        """Return the last operation that the store shows."""
        return self._publishing.published

    @property
    def has_all(self) -> bool:
        """Return whether all is applied that this process knows to be appended."""
        return self._at_hand is not None and self._at_hand.has_all(self._applied)

    @property
    def results(self) -> ResultsReader:
        """Return the results at the applied position. Only where it answers."""
        if self._live is None:
            raise AssertionError("a fold that does not answer keeps no results")
        return self._live

    @property
    def held(self) -> HeldBytes:
        """Return the bytes that the results in this process take."""
        return HeldBytes(0, 0) if self._live is None else self._live.held

    def restore(self) -> None:
        """Bring a fresh engine to the published position, and find what was published and not trimmed."""
        checkpoint = self._store.results.checkpoint()
        applied = checkpoint.cut.seq
        seqs = sorted(batch.seq for batch in checkpoint.batches)
        _LOG.info(
            "reading-back",
            rows=sum(batch.rows for batch in checkpoint.batches),
            queries=len(checkpoint.queries),
            operations=max(0, self._store.log.head() - applied),
        )
        self._engine = Engine.restore(
            checkpoint,
            self._held(seqs),
            bind=self._bind,
            make_lock=threading.Lock,
            precomputed=self._precomputed,
            match_threads=self._match_threads,
        )
        self.source = self._engine.source
        self._trimming.begin(applied, seqs)
        if self._live is not None:
            self._live.begin(checkpoint, self._older_pages)
        self._publishing.begin(applied)
        self._gen, self._restored = checkpoint.cut.gen, True
        self._applied = applied

    def compare(self) -> None:
        """Make sure that a store which was away holds what was folded, and settle what was in doubt.

        Raises:
            IntegrityError: it has another history, or a part of this one: there is nothing to go on from.
        """
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
        delta = self._publishing.settle(cut.seq)
        if delta is not None:
            self._note_published(delta)

    def check_failure(self) -> None:
        """Raise AssertionError if a turn in another thread has failed: what it had changed is not known."""
        if self._failure is not None:
            raise AssertionError("a turn beside the loop failed") from self._failure

    def turn(self) -> bool:
        """Publish and trim what is due, then apply what the log holds, up to FOLD_OPERATIONS_MAX. False = nothing.

        A commit that begins among them is applied whole, however large.
        """
        if self._publishing.is_due():
            self.publish()
        self._trimming.trim(self.published)
        groups = self._next_groups()
        if not groups:
            self._waiting_since_us = None
            return False
        self._waiting_since_us = groups[0][0].arrival_us
        self._engine.expect([operation for group in groups for operation in group])
        for group in groups:
            self._apply(group)
        self._show()
        return True

    def turn_here(self) -> bool:
        """Fold what is at hand, unless the loop is at a step; return whether nothing is left for that. Any thread."""
        if not self.turning.acquire(blocking=False):
            return False
        try:
            if not self.is_open or self._failure is not None:
                return False
            return self._turn_at_hand()
        except BaseException as error:  # (the loop ends by it)
            self._failure = error
            if not isinstance(error, Exception):
                raise
            return False
        finally:
            self.turning.release()

    def tick(self) -> bool:
        """Append a tick if time alone would forget something. Return whether there is something to fold now."""
        ticked = self._due.tick(self._engine)
        self.counted.ticks += ticked
        return ticked

    def expire(self) -> None:
        """Append the expiry of queries that are over for OVERDUE_FOR_S."""
        self._due.expire(self._engine)

    def publish(self) -> None:
        """Publish all that is applied."""
        self.check_failure()
        delta = self._publishing.publish()
        if delta is not None:
            self._note_published(delta)

    def look(self) -> None:
        """Note what the engine holds, for `figures`. Under `turning`."""
        self.counted.note(self._engine.statistics(), self.held, at_s=self._elapsed_s())

    def figures(self) -> Figures:
        """Return counters as they are, and what is held as it was last noted; hits as they are. Any thread."""
        noted = self.counted.figures(
            applied=self._applied,
            published=self.published,
            publishing=self._publishing.statistics(),
            written=self._store.results.statistics() if self._restored else NOTHING_WRITTEN,
        )
        return replace(noted, footprint=replace(noted.footprint, hits=self.held.hits))

    def lag_us(self) -> int:
        """Return how long ago the oldest operation arrived that is read and not applied, or 0. Any thread."""
        since_us = self._waiting_since_us
        return 0 if since_us is None else max(0, self._store.results.now_us() - since_us)

    def statistics(self) -> EngineStatistics:
        """Return the engine's counters. Under `turning`."""
        return self._engine.statistics()

    def check(self) -> None:
        """Raise AssertionError unless fold, store and engine agree. For tests, between turns."""
        self._publishing.check(self._applied)
        self._trimming.check(self.published)
        self.counted.check()
        if self._live is not None:
            if self._live.cut().seq != self._applied:
                raise AssertionError("what is applied is shown")
            self._live.check()
        self._engine.check()

    def _held(self, seqs: Sequence[Seq]) -> Iterator[Operation]:
        """Yield batches whose tuples are held: nobody trims them meanwhile."""
        try:
            yield from self._store.log.read_at(seqs)
        except KeyError as error:
            raise IntegrityError(
                f"The log lacks operation {error}, whose tuples are held."
            ) from error

    def _next_groups(self) -> Sequence[Sequence[Operation]]:
        """Return what follows the applied position, in groups that become visible together: at hand, or in the log."""
        most, hand = limits.FOLD_OPERATIONS_MAX, self._at_hand
        if hand is not None:
            found = hand.take(self._applied, operations_max=most)
            if found:
                return [[one] for one in found]
            hand.is_incomplete = False
        groups = read_groups(
            self._store.log,
            self._applied,
            operations_max=most,
            bytes_max=limits.FOLD_BYTES_MAX,
        )
        if hand is not None and groups:
            hand.is_incomplete = True  # there may be more
        return groups

    def _turn_at_hand(self) -> bool:
        """Apply what is at hand as long as that takes little. Return whether nothing is left, to be published either.

        Asks nobody.
        """
        hand = self._at_hand
        # What is in doubt is published again before anything else.
        if hand is None or self._publishing.is_due() or self.counted.is_due(self._elapsed_s()):
            return False
        applied = False
        for _ in range(limits.FOLD_AT_ONCE_OPERATIONS_MAX):
            operation = hand.next(self._applied)
            if operation is None or not self._engine.takes_little(operation):
                break
            self._apply(hand.take(self._applied, operations_max=1))
            applied = True
        if applied:
            self.turns_here += 1
            self._show()
        return self.has_all and not self._publishing.is_due()

    def _apply(self, group: Sequence[Operation]) -> None:
        """Apply operations that become visible together."""
        deltas = [self._engine.apply(operation) for operation in group]
        if self._live is not None:
            self._live.apply(deltas[0] if len(deltas) == 1 else merge(deltas))
        for operation, delta in zip(group, deltas, strict=True):
            self._publishing.add(delta, self.counted.count(operation, delta))
        self._applied = deltas[-1].seq

    def _show(self) -> None:
        """Let everybody see what is applied."""
        self._note_void()
        if self._live is None:
            self.publish()
        else:
            self._on_applied(self._applied)
        if self.has_all:
            self._waiting_since_us = None

    def _older_pages(self, clause: ClauseRecord, chunks: Sequence[int]) -> Mapping[int, Page]:
        """Return hits in chunks from before this process began, from the store. Any thread.

        A store that has lost them knows nothing of the clause, which looks like no hits: so it is asked
        afterwards whether it still is what it was.

        Raises:
            StoreUnavailableError: it is not; the fold will find out by itself.
        """
        pages = self._store.results.pages(clause, chunks)
        cut = self._store.results.cut()
        if cut.gen != self._gen or cut.seq < clause.clause_id:
            raise StoreUnavailableError(
                "The store has changed under psoup. Send the same again soon."
            )
        return pages

    def _note_void(self) -> None:
        """Raise an alarm for committed operations that could not be applied: none is expected ever."""
        if self._engine.voided > self.counted.voided:
            self.counted.voided = self._engine.voided
            _LOG.error("operations-void", voided=self.counted.voided, applied=self._applied)

    def _note_published(self, delta: Delta) -> None:
        """Take note that the store shows `delta`, which is all that was applied."""
        self._engine.published()
        self._trimming.add(seq for _, seq in delta.dropped_batches)
        if self._live is None:
            self._on_applied(delta.seq)
