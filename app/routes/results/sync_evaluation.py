"""What has changed in many queries, all at one position: the engine is asked only where something can have."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from psoup.app.http.edge import REQUEST_ID
from psoup.app.http.problems import problem_body
from psoup.app.routes.endpoint import Call
from psoup.app.routes.results.envelopes import Envelope, Evaluated, Following, enveloped
from psoup.app.waiting.standing import Standing, has_entered, standing_of, still_stands
from psoup.app.waiting.watch import On
from psoup.app.wire.models.results.invocations import Presentation
from psoup.app.wire.models.results.sync import encode_sync
from psoup.app.wire.parameters import META, SHAPE
from psoup.engine import limits
from psoup.engine.checkpoint import checkpoint
from psoup.engine.errors import EngineError, PageExpiredError
from psoup.engine.invocation.position.answer import Since
from psoup.engine.invoke import (
    ATTEMPTS_MAX,
    Answer,
    Request,
    answered_or_refused,
    retention_overtakes,
)
from psoup.engine.log.operation import QueryId
from psoup.engine.results.contract import Cut, Snapshot

ROOM_MIN_BYTES = 1_024
"""Where less room is left no further answer is begun."""


class Stand(NamedTuple):
    """Where a client stands in one query, and where its answer was last looked at, if it was; None = nowhere."""

    since: Since | None = None
    standing: Standing | None = None


@dataclass(slots=True)
class Synced:
    """What there is to tell of many queries.

    Attributes:
        cut: the position that all belong to.
        stands: of the queries that have an answer, behind this.
        results: envelopes as JSON, by handle.
        unchanged: handles of those that have not changed.
        looked_at: those of `unchanged` that the engine was asked about.
        entered: of one that has, more is to be told than that rows have left.
        gone: why the others have no answer.
        more: there was no room for all.
    """

    cut: Cut
    stands: dict[QueryId, Stand] = field(default_factory=dict)
    results: dict[QueryId, bytes] = field(default_factory=dict)
    unchanged: list[QueryId] = field(default_factory=list)
    looked_at: list[QueryId] = field(default_factory=list)
    gone: dict[str, EngineError] = field(default_factory=dict)
    entered: bool = False
    more: bool = False

    def has_news(self, on: On) -> bool:
        """Return whether there is anything that ends a wait."""
        told = self.results if on is On.ANY else self.entered
        return bool(told or self.gone or self.more)

    def untold(self, stands: Mapping[QueryId, Stand]) -> dict[QueryId, Stand]:
        """Return where a client stands who is not told this: where it stood, in `stands`.

        What has not changed since then need not be asked of the engine again.
        """
        unchanged = set(self.unchanged)
        return {one: self.stands[one] if one in unchanged else stands[one] for one in stands}

    def body(self, call: Call, *, poll_ms: int | None) -> bytes:
        """Return it as JSON; `poll_ms`: when a client that could not wait is to come back, None = it is none."""
        instance = call.request.scope.get(REQUEST_ID, "")
        return encode_sync(
            self.cut,
            {str(query_id): body for query_id, body in self.results.items()},
            unchanged=self.unchanged,
            gone={name: problem_body(one, instance=instance) for name, one in self.gone.items()},
            more=self.more,
            poll_after_ms=call.room.pace.poll_after_ms() if poll_ms is None else poll_ms,
        )


def seen_of(stands: Mapping[QueryId, Stand]) -> dict[QueryId, Standing]:
    """Return where the answers were last looked at."""
    return {
        query_id: stand.standing for query_id, stand in stands.items() if stand.standing is not None
    }


def evaluate(
    call: Call, stands: Mapping[QueryId, Stand], shown: Presentation, *, bytes_max: int
) -> Synced:
    """Return what there is to tell of these queries, in `bytes_max` bytes or one answer. CPU work: runs in a pool.

    Those that were told last come last, so that a few that change all the time do not take the room of the others.

    Raises:
        OverloadedError: tuples leave retention faster than these queries can be answered.

    Cost: some microseconds for a query of whose streams nothing has moved; else that of an invocation.
    """
    results = call.service.results
    for _ in range(ATTEMPTS_MAX):
        snapshots = dict(zip(stands, results.snapshots(list(stands)), strict=True))
        evaluation = _Evaluation(call, stands, shown, bytes_max)
        try:
            synced = evaluation.of(snapshots)
        except PageExpiredError:
            continue
        call.service.backend.confirm(synced.cut.gen)
        return synced
    raise retention_overtakes()


class _Evaluation:
    """One evaluation, at one position. Used once."""

    def __init__(
        self, call: Call, stands: Mapping[QueryId, Stand], shown: Presentation, bytes_max: int
    ) -> None:
        self._call = call
        self._stands = stands
        self._shown = shown
        self._left = bytes_max

    def of(self, snapshots: Mapping[QueryId, Snapshot | None]) -> Synced:
        """Return what there is to tell at the position of the snapshots. Raises PageExpiredError."""
        first = next(filter(None, snapshots.values()), None)
        synced = Synced(self._call.service.results.cut() if first is None else first.cut)
        moved: list[tuple[QueryId, Snapshot]] = []
        gone: list[QueryId] = []
        for query_id, snapshot in snapshots.items():
            stand = self._stands[query_id]
            if snapshot is None:
                gone.append(query_id)
            elif stand.standing is not None and still_stands(snapshot, stand.standing):
                synced.stands[query_id] = stand
                synced.unchanged.append(query_id)
                self._call.service.renewals.note(snapshot.query)
            else:
                moved.append((query_id, snapshot))
        why = self._call.service.results.gone(gone)
        synced.gone.update(zip(map(str, gone), why, strict=True))
        moved.sort(key=lambda one: _last_told(self._stands[one[0]]))
        for query_id, snapshot in moved:
            self._tell(synced, query_id, snapshot)
        return synced

    def _tell(self, synced: Synced, query_id: QueryId, snapshot: Snapshot) -> None:
        """Ask the engine about one query, and fill in what has changed, if there is room."""
        service, stand = self._call.service, self._stands[query_id]
        if synced.results and self._left < ROOM_MIN_BYTES:
            self._leave_out(synced, query_id)
            return
        request = Request(limit=limits.PAGE_ROWS_DEFAULT, since=stand.since)
        checkpoint()
        answer = answered_or_refused(
            service.results, service.backend.source, snapshot, request, service.invocations
        )
        if isinstance(answer, EngineError):
            synced.gone[query_id] = answer
            return
        service.note_use(snapshot.query)
        standing = standing_of(answer)
        if answer.unchanged:
            synced.stands[query_id] = Stand(stand.since, standing)
            synced.unchanged.append(query_id)
            synced.looked_at.append(query_id)
            return
        page = self._page(answer)
        is_cut = page.answer.next is not answer.next
        if synced.results and (is_cut or len(page.body) > self._left):
            self._left = 0
            self._leave_out(synced, query_id)
            return
        # Who is given a link to further pages reads them: they end with the cursor that stands here already.
        synced.stands[query_id] = Stand(page.answer.stands or standing.since, standing)
        synced.results[query_id] = page.body
        synced.entered |= has_entered(answer)
        self._left -= len(page.body)

    def _leave_out(self, synced: Synced, query_id: QueryId) -> None:
        """Leave a query for the next time, where its client stands."""
        synced.more = True
        synced.stands[query_id] = self._stands[query_id]

    def _page(self, answer: Answer) -> Envelope:
        """Return the first page of an answer, with links that go on in its shape."""
        kept = {SHAPE.name: self._shown.shape}
        if not self._shown.meta:
            kept[META.name] = "0"
        bytes_max = min(max(self._left, ROOM_MIN_BYTES), limits.PAGE_BYTES_MAX)
        found, following = Evaluated(answer, None), Following(kept)
        return enveloped(self._call, found, self._shown, following, bytes_max=bytes_max, rows_min=1)


def _last_told(stand: Stand) -> int:
    return 0 if stand.since is None else stand.since.seq
