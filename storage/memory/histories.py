"""The histories of `memory://`. The same rules as in `functions/history_jobs.lua`."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from psoup.engine import limits
from psoup.engine.clock import Clock
from psoup.engine.limits import SECOND_US
from psoup.engine.log.operation import QueryId
from psoup.engine.store.archive_answers import (
    AskedHistory,
    HistoriesStatistics,
    History,
    HistoryId,
    HistoryPart,
    HistoryState,
)
from psoup.storage import refusals
from psoup.storage.history_parts import check_parts


@dataclass(slots=True)
class _Kept:
    """A history, and its parts by number."""

    history: History
    parts: dict[int, HistoryPart] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return sum(len(part.body) for part in self.parts.values())


class MemoryHistories:
    """The histories in the process."""

    def __init__(
        self,
        clock: Clock,
        lock: AbstractContextManager[object],
        is_standing: Callable[[QueryId], bool],
    ) -> None:
        """Begin with none; `lock` is the log's, under which `is_standing` says whether a query is registered."""
        self._clock = clock
        self._lock = lock
        self._is_standing = is_standing
        self._kept: dict[HistoryId, _Kept] = {}
        """In the order in which they were asked for."""

    def find(self, query_id: QueryId, asked_now_us: int | None) -> History | None:
        """Return the history of a query and an instant (`Histories.find`)."""
        with self._lock:
            for kept in self._kept.values():
                asked = kept.history.asked
                if (asked.query_id, asked.asked_now_us) == (query_id, asked_now_us):
                    return self._shown(kept)
        return None

    def get(self, history_id: HistoryId) -> History | None:
        """Return a history by its handle (`Histories.get`)."""
        with self._lock:
            kept = self._kept.get(history_id)
            return None if kept is None else self._shown(kept)

    def body(self, history_id: HistoryId, number: int) -> bytes | None:
        """Return the body of a part (`Histories.body`)."""
        with self._lock:
            kept = self._kept.get(history_id)
            part = None if kept is None else kept.parts.get(number)
            return None if part is None else part.body

    def begin(self, asked: AskedHistory, *, replaces: HistoryId | None = None) -> History:
        """Begin a history, or return the one that there is (`Histories.begin`)."""
        with self._lock:
            self.sweep()
            known = self.find(asked.query_id, asked.asked_now_us)
            if known is not None and known.asked.history_id != replaces:
                return known
            if not self._is_standing(asked.query_id):
                raise refusals.query_not_found()
            if known is not None:
                del self._kept[known.asked.history_id]
            elif len(self._kept) >= limits.HISTORIES_MAX:
                raise refusals.histories_full()
            now_us = self._clock.now_us()
            history = History(asked, now_us, now_us, now_us + limits.HISTORY_LIFE_S * SECOND_US)
            self._kept[asked.history_id] = _Kept(history)
            return history

    def all(self) -> Sequence[History]:
        """Return all histories (`Histories.all`)."""
        with self._lock:
            self.sweep()
            return [self._read(kept) for kept in self._kept.values()]

    def claim(self, history_id: HistoryId, worker: str, *, done: int, of: int | None) -> History:
        """Claim a history, or renew the claim (`Histories.claim`)."""
        with self._lock:
            kept = self._found(history_id)
            history = self._read(kept)
            own = history.state is HistoryState.RUNNING and kept.history.worker == worker
            if not own and not history.is_free:
                raise refusals.history_taken()
            if not own:
                kept.parts.clear()
            self._renew(kept)
            kept.history = replace(
                kept.history,
                state=HistoryState.RUNNING,
                worker=worker,
                done=done,
                of=of,
                nbytes=kept.nbytes,
            )
            return self._read(kept)

    def put(self, history_id: HistoryId, worker: str, part: HistoryPart) -> None:
        """Keep a part (`Histories.put`)."""
        with self._lock:
            kept = self._claimed(history_id, worker)
            others = [one for number, one in kept.parts.items() if number != part.number]
            before = kept.nbytes
            nbytes = len(part.body) + sum(len(one.body) for one in others)
            if part.rows + sum(one.rows for one in others) > limits.HISTORY_ROWS_MAX:
                raise refusals.history_too_long()
            if nbytes > limits.HISTORY_BYTES_MAX:
                raise refusals.history_too_large()
            if self.statistics().nbytes - before + nbytes > limits.HISTORIES_BYTES_MAX:
                raise refusals.histories_large()
            kept.parts[part.number] = part
            self._renew(kept)
            kept.history = replace(kept.history, nbytes=nbytes)

    def finish(
        self,
        history_id: HistoryId,
        worker: str,
        *,
        parts: int,
        rows: int,
        complete_from_us: int | None,
        overflowed: Sequence[str] = (),
    ) -> History:
        """Say that the parts are all there (`Histories.finish`)."""
        with self._lock:
            kept = self._found(history_id)
            if kept.history.state is HistoryState.DONE and kept.history.worker == worker:
                return self._read(kept)
            kept = self._claimed(history_id, worker)
            check_parts({n: (p.rows, p.first, p.last) for n, p in kept.parts.items()}, parts, rows)
            kept.parts = {number: kept.parts[number] for number in range(parts)}
            self._end(
                kept,
                HistoryState.DONE,
                parts=tuple(part.rows for part in kept.parts.values()),
                complete_from_us=complete_from_us,
                overflowed=tuple(overflowed),
            )
            return self._read(kept)

    def fail(self, history_id: HistoryId, worker: str, detail: str) -> History:
        """Give a history up (`Histories.fail`)."""
        with self._lock:
            kept = self._found(history_id)
            if kept.history.state is HistoryState.FAILED and kept.history.worker == worker:
                return self._read(kept)
            kept = self._claimed(history_id, worker)
            kept.parts.clear()
            self._end(kept, HistoryState.FAILED, detail=detail)
            return self._read(kept)

    def drop(self, history_id: HistoryId) -> None:
        """Forget a history (`Histories.drop`)."""
        with self._lock:
            self.sweep()
            self._kept.pop(history_id, None)

    def sweep(self) -> None:
        """Forget those that have expired, or whose query is gone. Cost: O(histories), 64 at most."""
        with self._lock:
            now_us = self._clock.now_us()
            gone = [
                history_id
                for history_id, kept in self._kept.items()
                if kept.history.expires_us <= now_us
                or not self._is_standing(kept.history.asked.query_id)
            ]
            for history_id in gone:
                del self._kept[history_id]

    def statistics(self) -> HistoriesStatistics:
        """Return what there is."""
        with self._lock:
            kept = self._kept.values()
            return HistoriesStatistics(len(kept), sum(one.history.nbytes for one in kept))

    def check(self) -> None:
        """Assert that all is counted, and one of each query and instant."""
        with self._lock:
            histories = [kept.history for kept in self._kept.values()]
            identities = [(one.asked.query_id, one.asked.asked_now_us) for one in histories]
            assert len(set(identities)) == len(identities) <= limits.HISTORIES_MAX
            for history_id, kept in self._kept.items():
                history = kept.history
                assert history_id == history.asked.history_id
                assert history.nbytes == kept.nbytes <= limits.HISTORY_BYTES_MAX
                assert bool(kept.history.worker) == (history.state is not HistoryState.QUEUED)
                if history.state is HistoryState.DONE:
                    assert history.parts == tuple(
                        kept.parts[n].rows for n in range(len(kept.parts))
                    )

    def _shown(self, kept: _Kept) -> History | None:
        """Return a history as it stands, None where it has expired or its query is gone."""
        history = self._read(kept)
        stands = self._is_standing(history.asked.query_id)
        return history if stands and history.read_us < history.expires_us else None

    def _read(self, kept: _Kept) -> History:
        return replace(kept.history, read_us=self._clock.now_us())

    def _found(self, history_id: HistoryId) -> _Kept:
        self.sweep()
        kept = self._kept.get(history_id)
        if kept is None:
            raise refusals.history_not_found()
        return kept

    def _claimed(self, history_id: HistoryId, worker: str) -> _Kept:
        kept = self._found(history_id)
        if kept.history.state is not HistoryState.RUNNING or kept.history.worker != worker:
            raise refusals.history_taken()
        return kept

    def _renew(self, kept: _Kept) -> None:
        now_us = self._clock.now_us()
        kept.history = replace(
            kept.history,
            claimed_us=now_us + limits.HISTORY_CLAIM_S * SECOND_US,
            expires_us=now_us + limits.HISTORY_LIFE_S * SECOND_US,
        )

    def _end(
        self,
        kept: _Kept,
        state: HistoryState,
        *,
        parts: tuple[int, ...] = (),
        complete_from_us: int | None = None,
        detail: str = "",
        overflowed: tuple[str, ...] = (),
    ) -> None:
        now_us = self._clock.now_us()
        kept.history = replace(
            kept.history,
            state=state,
            claimed_us=None,
            parts=parts,
            nbytes=kept.nbytes,
            complete_from_us=complete_from_us,
            detail=detail,
            overflowed=overflowed,
            ended_us=now_us,
            expires_us=now_us + limits.HISTORY_LIFE_S * SECOND_US,
        )
