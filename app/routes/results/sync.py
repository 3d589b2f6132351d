"""What has changed in many queries at once: one answer, or a stream of events, at one position and instant."""

import contextlib
import dataclasses
import functools
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from starlette.responses import Response

from psoup.app.admission.rates import RATES
from psoup.app.http.access.keys import READ
from psoup.app.routes.endpoint import QUERY, Call, Endpoint, Shown, json_body
from psoup.app.routes.results.caching import VARY
from psoup.app.routes.results.envelopes import since_of
from psoup.app.routes.results.event_stream import EventStream, News, Writer, end_event
from psoup.app.routes.results.long_poll import Wait
from psoup.app.routes.results.sync_evaluation import Stand, Synced, evaluate, seen_of
from psoup.app.waiting.watch import On, Wake
from psoup.app.wire.answers.event_stream import MEDIA_TYPE, described_events, event
from psoup.app.wire.answers.negotiation import accepts, encode_content
from psoup.app.wire.control import read_model
from psoup.app.wire.handles import read_handle
from psoup.app.wire.models.results.invocations import Presentation
from psoup.app.wire.models.results.sync import SyncAnswer, SyncBody
from psoup.app.wire.rows.body import JSON, media_type_of
from psoup.engine import limits
from psoup.engine.errors import NO_QUERY, EngineError, NotFoundError, QueryFillingError
from psoup.engine.log.operation import QueryId

QUERIES_PER_UNIT: Final = int(limits.SYNC_QUERIES_MAX / RATES["invoke"].burst)
"""So many queries count as one invocation: the longest list is a key's whole burst."""


@dataclass(slots=True)
class SyncRequest:
    """A list that was read, kept for who sends it again.

    Attributes:
        body: as it was sent.
        refused: handles that are none, or of queries whose old data are not applied yet.
        stands: where the client stands in the others. Replaced as a whole: any thread may read it.
    """

    body: SyncBody
    refused: Mapping[str, EngineError]
    stands: Mapping[QueryId, Stand]

    @property
    def shown(self) -> Presentation:
        """Return how rows are to be shown."""
        return Presentation(shape=self.body.shape, meta=self.body.meta)

    @property
    def bytes_max(self) -> int:
        """Bytes of the answers together."""
        return min(self.body.max_bytes, limits.SYNC_BYTES_MAX)


@dataclass(slots=True)
class SyncEvents:
    """The source of one client's events: where it stands in each of its queries."""

    call: Call
    shown: Presentation
    bytes_max: int
    refused: Mapping[str, EngineError]
    stands: Mapping[QueryId, Stand]

    async def wait(self, writer: Writer, *, on: On, linger_s: float) -> Wake:
        """Wait until one of the answers may have changed, or for a ping."""
        timeout_s = min(limits.EVENTS_PING_S, writer.left_s)
        if timeout_s <= 0:
            return Wake.TIMED_OUT
        seen, leaving = seen_of(self.stands), writer.leaving
        wake = await self.call.room.wait(seen, on=on, timeout_s=timeout_s, leaving=leaving)
        if wake is Wake.CHANGED:
            await writer.linger(linger_s)
        return wake

    async def tell(self) -> News:
        """Return one event with what has changed; the stream ends when no query is left. Raises as `evaluate`."""
        call = self.call
        work = functools.partial(
            _written,
            call,
            self.stands,
            self.refused,
            self.shown,
            bytes_max=self.bytes_max,
            poll_ms=None,
        )
        deadline_s = call.service.settings.invoke_deadline_s
        synced, body = await call.room.pool.run(work, deadline_s=deadline_s)
        self.stands, self.refused = synced.stands, {}
        written = event("result", body) if synced.has_news(On.ANY) else b""
        if synced.stands:
            return News(written, more=synced.more)
        return News(written + end_event(call, NotFoundError(NO_QUERY)), is_last=True)


async def post_sync(call: Call) -> Response:
    """Tell what has changed in the queries listed, or wait until something has."""
    media_type_of(call.header("content-type"), (JSON,))
    raw = await call.raw_body(
        bytes_max=limits.BODY_SYNC_BYTES_MAX, decoded_bytes_max=limits.BODY_SYNC_BYTES_MAX
    )
    latest = time.monotonic() + call.service.settings.invoke_deadline_s
    asked = await _read(call, raw, latest)
    units = math.ceil(len(asked.body.queries) / QUERIES_PER_UNIT)
    if units > 1:  # the first one was taken before the body was read
        call.context.rates.take(call.caller.key_id, "invoke", units - 1)
    on, linger_s = On(asked.body.on), asked.body.linger
    linger_s = None if linger_s is None else min(linger_s, limits.LINGER_S_MAX)
    stands = await _registered(call, asked.stands, latest)
    if accepts_events(call):
        source = SyncEvents(call, asked.shown, asked.bytes_max, asked.refused, stands)
        return EventStream(call, source, await source.tell(), on=on, linger_s=linger_s)

    async def told(latest: float, poll_ms: int | None = None) -> tuple[Synced, bytes]:
        work = functools.partial(
            _written,
            call,
            stands,
            asked.refused,
            asked.shown,
            bytes_max=asked.bytes_max,
            poll_ms=poll_ms,
        )
        return await call.answered(work, latest=latest)

    synced, body = await told(latest)
    _remember(asked, synced)
    wait = Wait(call, on=on, linger_s=linger_s, left_s=min(asked.body.wait, limits.WAIT_S_MAX))
    waits = asked.body.wait > 0
    while waits and not synced.has_news(on):
        if call.slot.watch():
            waits = await wait.ends_with_change(seen_of(synced.stands))
        else:
            waits, wait.shed = False, True
        if wait.left:
            break
        stands = synced.untold(stands)
        synced, body = await told(call.latest(), call.room.pace.later_ms() if wait.shed else None)
    return _response(call, synced, body)


def accepts_events(call: Call) -> bool:
    """Return whether the client asks for a stream of events: it has to say so."""
    accept = call.header("accept")
    return accept is not None and MEDIA_TYPE in accept and accepts(accept, MEDIA_TYPE)


async def _read(call: Call, raw: bytes, latest: float) -> SyncRequest:
    """Return what a body asks for; of one that was read before, with what is known since then."""
    known: SyncRequest | None = call.context.syncs.get(raw)
    if known is not None:
        return known
    asked = await call.answered(functools.partial(_parsed, call, raw), latest=latest)
    if not asked.refused:
        call.context.syncs.put(raw, asked, size=2 * len(raw))
    return asked


def _parsed(call: Call, raw: bytes) -> SyncRequest:
    body = read_model(raw, SyncBody, members_max=limits.SYNC_QUERIES_MAX)
    refused: dict[str, EngineError] = {}
    stands: dict[QueryId, Stand] = {}
    for text, one in body.queries.items():
        try:
            query_id = read_handle(text)
        except NotFoundError as error:
            refused[text] = error
            continue
        stands[query_id] = Stand(since_of(call, query_id, one.cursor, count_only=False))
    return SyncRequest(body, refused, stands)


async def _registered(
    call: Call, stands: Mapping[QueryId, Stand], latest: float
) -> Mapping[QueryId, Stand]:
    """Wait for those of the queries that are registered and not applied, while there is time; return all of them."""
    waited_by = (time.monotonic() + latest) / 2
    pending = call.service.pending
    for query_id in pending.held_among(stands):
        with contextlib.suppress(QueryFillingError):
            await pending.wait(query_id, timeout_s=waited_by - time.monotonic())
    return stands


def _written(
    call: Call,
    stands: Mapping[QueryId, Stand],
    refused: Mapping[str, EngineError],
    shown: Presentation,
    *,
    bytes_max: int,
    poll_ms: int | None,
) -> tuple[Synced, bytes]:
    """Return what there is to tell, and as JSON; `poll_ms` as for `Synced.body`. CPU work: runs in a pool."""
    synced = evaluate(call, stands, shown, bytes_max=bytes_max)
    for query_id in [one for one, error in synced.gone.items() if isinstance(error, NotFoundError)]:
        if call.service.pending.find(QueryId(query_id)) is not None:
            synced.gone[query_id] = QueryFillingError(
                "The query is registered, and its old data are not applied yet."
            )
            synced.stands[QueryId(query_id)] = stands[QueryId(query_id)]
    synced.gone.update(refused)
    return synced, synced.body(call, poll_ms=poll_ms)


def _remember(asked: SyncRequest, synced: Synced) -> None:
    """Note up to where nothing has changed, for who asks the same again."""
    if synced.looked_at:
        looked_at = {query_id: synced.stands[query_id] for query_id in synced.looked_at}
        asked.stands = {**asked.stands, **looked_at}


def _response(call: Call, synced: Synced, body: bytes) -> Response:
    encoded, encoding = encode_content(body, call.header("accept-encoding"))
    headers = {
        "Psoup-Gen": str(synced.cut.gen),
        "Psoup-Seq": str(synced.cut.seq),
        "Cache-Control": "no-store",
        "Vary": VARY,
    }
    if encoding is not None:
        headers["Content-Encoding"] = encoding
    return Response(encoded, headers=headers, media_type=JSON)


_EVENTS: Final = {
    MEDIA_TYPE: described_events(
        "`result`: what has changed in all queries, the `data` a `SyncAnswer` on one line; there is no `id`: who connects again"
        " sends the cursors that he holds."
    )
}
_SYNC: Final = Endpoint(
    "POST",
    "/v1/sync",
    "sync_queries",
    "What has changed in many standing queries",
    post_sync,
    {
        200: Shown(
            "What has changed, all at one position.",
            SyncAnswer,
            content=_EVENTS,
            headers={
                "Psoup-Gen": "Generation of the history.",
                "Psoup-Seq": "Position all answers belong to.",
            },
        )
    },
    READ,
    body=json_body(SyncBody),
    rate="invoke",
    from_memory=True,
)
ENDPOINTS: Final[Sequence[Endpoint]] = (_SYNC, dataclasses.replace(_SYNC, method=QUERY))
