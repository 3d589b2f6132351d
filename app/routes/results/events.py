"""What a query answers, as a stream of events: each says what has changed since the one before it."""

import functools
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from starlette.responses import Response

from psoup.app.errors import NotAcceptableError, QueryCompleteError
from psoup.app.http.access.keys import READ
from psoup.app.http.sending import chunked
from psoup.app.routes.endpoint import Call, Endpoint, Shown
from psoup.app.routes.results.envelopes import (
    Evaluated,
    Following,
    enveloped,
    evaluated,
    named,
    since_of,
)
from psoup.app.routes.results.event_stream import EventStream, News, Writer, end_event
from psoup.app.routes.results.pages import await_registered
from psoup.app.waiting.audience import Audience, Heard, Manner
from psoup.app.waiting.standing import Standing, standing_of
from psoup.app.waiting.watch import On, Wake
from psoup.app.wire.answers.event_stream import MEDIA_TYPE, PING, described_events, event
from psoup.app.wire.answers.negotiation import accepts
from psoup.app.wire.models.results.invocations import Presentation
from psoup.app.wire.parameters import COUNT, CURSOR, LINGER, META, ON, SHAPE
from psoup.engine import limits
from psoup.engine.errors import EngineError, PageExpiredError
from psoup.engine.invocation.position.answer import PagePosition, Since
from psoup.engine.invoke import Request, invoke_many
from psoup.engine.log.operation import QueryId

LAST_EVENT_ID: Final = "last-event-id"


class Event(NamedTuple):
    """One page of what has changed, as an event.

    Attributes:
        written: the event; b"" where nothing has changed.
        standing: where the answer was looked at; None for a page behind the first.
        since: where the client stands behind it; None where there are further pages.
        next: the position of the next page.
        complete: nothing will follow.
    """

    written: bytes
    standing: Standing | None
    since: Since | None
    next: PagePosition | None
    complete: bool


@dataclass(slots=True)
class QueryEvents:
    """The source of one client's events: where it stands, and nothing else.

    Attributes:
        since: where the client stands; None = it has nothing.
        standing: where the answer was last looked at.
    """

    call: Call
    query_id: QueryId
    shown: Presentation
    since: Since | None
    standing: Standing | None = None
    _page: PagePosition | None = None

    async def wait(self, writer: Writer, *, on: On, linger_s: float) -> Wake:
        """Wait with all who follow the query in this manner, until the client has to be told by `tell`."""
        since, standing, key = self.since, self.standing, (self.query_id, self.shown, on, linger_s)
        if since is None or standing is None:
            raise ValueError("who waits has been told everything")
        listener = QueryListener(since, standing, self, writer)
        wake = await self._audience(key, on, linger_s).listen(
            listener, left_s=writer.left_s, leaving=writer.leaving, told_s=writer.told_s
        )
        self.since, self.standing = listener.since, listener.standing
        return wake

    async def tell(self) -> News:
        """Return one event; the pages of an answer are events that follow each other at once.

        Those who stand at the same place, and ask at the same time, are told the same bytes. Raises as `invoke`.
        """
        key = self.query_id, self.since, self._page, self.shown
        work = functools.partial(
            _event, self.call, self.query_id, self.since, self._page, self.shown
        )
        deadline_s = self.call.service.settings.invoke_deadline_s
        try:
            return self._take(await self.call.room.shared(key, work, deadline_s=deadline_s))
        except PageExpiredError:
            if self._page is None:
                raise
            self._page = None  # its tuples have gone: the client goes on from where it stands
            return News(b"", more=True)

    def _audience(self, key: Hashable, on: On, linger_s: float) -> Audience:
        """Return those who are told the same, begun where there are none."""
        audiences = self.call.context.audiences
        audience = audiences.get(key)
        if audience is None:
            manner = Manner(on, linger_s, chunked(PING), limits.EVENTS_PING_S)
            audience = audiences[key] = Audience(
                self.call.room, self.query_id, manner, end=lambda: audiences.pop(key)
            )
        return audience

    def _take(self, found: Event) -> News:
        """Move to where the client stands behind an event."""
        if found.standing is not None:
            self.standing = found.standing
        self.since, self._page = found.since or self.since, found.next
        if not found.complete:
            return News(found.written, more=found.next is not None)
        over = QueryCompleteError("The query's window is over: its answer never changes again.")
        return News(found.written + end_event(self.call, over), is_last=True)


@dataclass(slots=True, eq=False)
class QueryListener:
    """One client among those who follow a query, as `Listener`."""

    since: Since
    standing: Standing
    _source: QueryEvents
    _writer: Writer

    def hear(self, piece: bytes) -> bool:
        """Write `piece`; return False where the connection has not taken all of it yet."""
        return self._writer.hear(piece)

    async def ask(self, places: Sequence[Since]) -> Sequence[Heard | None]:
        """Return for each place what is new since then; None = it is more than an event, or the last one."""
        call = self._source.call
        work = functools.partial(_heard, call, self._source.query_id, places, self._source.shown)
        return await call.room.pool.run(work, deadline_s=call.service.settings.invoke_deadline_s)


async def get_events(call: Call) -> Response:
    """Tell what a query answers, and then what changes: 200 and a stream; 204 where nothing will ever follow."""
    if not accepts(call.header("accept"), MEDIA_TYPE):
        raise NotAcceptableError(
            "The changes of an answer are a stream of events.", supported=[MEDIA_TYPE]
        )
    query_id, arguments = call.query_id(), call.arguments
    shown = Presentation(
        shape=arguments.get(SHAPE) or "rows",
        meta=arguments.get(META) != "0",
        count_only=arguments.get(COUNT) == "only",
    )
    await await_registered(call, query_id, latest=call.answered_by)
    cursor = call.header(LAST_EVENT_ID) or arguments.get(CURSOR)
    since = since_of(call, query_id, cursor, count_only=shown.count_only)
    source = QueryEvents(call, query_id, shown, since)
    first = await source.tell()
    if first.is_last and since is not None and source.since == since:
        return Response(status_code=204, headers={"Cache-Control": "no-store"})
    on = On(arguments.get(ON) or On.ENTER)
    return EventStream(call, source, first, on=on, linger_s=arguments.get(LINGER))


def _event(
    call: Call,
    query_id: QueryId,
    since: Since | None,
    page: PagePosition | None,
    shown: Presentation,
) -> Event:
    """Return one event. CPU work: runs in a pool."""
    request = Request(
        limit=limits.PAGE_ROWS_DEFAULT, count_only=shown.count_only, since=since, position=page
    )
    found = evaluated(call, query_id, request, shown)
    return _written(call, found, shown, since, is_first=page is None)


def _written(
    call: Call, found: Evaluated, shown: Presentation, since: Since | None, *, is_first: bool
) -> Event:
    """Return a page as an event; `is_first`: of its answer."""
    answer = found.answer
    call.service.note_use(answer.query)
    standing = standing_of(answer) if is_first else None
    if answer.unchanged:
        return Event(b"", standing, since, None, answer.complete)
    sent = enveloped(call, found, shown, Following(), bytes_max=limits.EVENT_BYTES_MAX, rows_min=1)
    written = event("result", sent.body, cursor=sent.cursor)
    following = sent.answer.next
    complete = answer.complete and following is None
    return Event(written, standing, sent.answer.stands, following, complete)


def _heard(
    call: Call, query_id: QueryId, places: Sequence[Since], shown: Presentation
) -> list[Heard | None]:
    """Return what is new since each place, all at one position. CPU work: runs in a pool. Raises as `invoke`."""
    service = call.service
    answers = invoke_many(
        service.results,
        service.backend.source,
        query_ids=[query_id] * len(places),
        request=Request(limit=limits.PAGE_ROWS_DEFAULT, count_only=shown.count_only),
        cache=service.invocations,
        since=places,
    )
    heard: list[Heard | None] = []
    for answer, place in zip(answers, places, strict=True):
        if isinstance(answer, EngineError):
            raise answer
        one = _written(call, named(call, answer, shown), shown, place, is_first=True)
        heard.append(_heard_of(one))
    return heard


def _heard_of(one: Event) -> Heard | None:
    """Return a first page as what is heard by many; None = there is more to tell, or nothing will follow."""
    standing = one.standing
    if standing is None or one.since is None or one.next is not None or one.complete:
        return None
    if not one.written:
        # Nothing has changed since `one.since`: from where it was looked at there is less to see.
        return Heard(b"", standing.since, standing)
    return Heard(chunked(one.written), one.since, standing)


_LAST_EVENT_ID: Final = {
    "name": "Last-Event-ID",
    "in": "header",
    "required": False,
    "description": "The `id` of the last event, as browsers send it: a cursor, which goes before the parameter.",
    "schema": {"type": "string"},
}
_CONTENT: Final = {
    MEDIA_TYPE: described_events(
        "`result`: one page of what has changed, the `data` a `ResultsAnswer` on one line, and the `id` its cursor, which only"
        " the last page of an answer has."
    )
}
ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "GET",
        "/v1/queries/{id}/events",
        "follow_query",
        "Follow a standing query",
        get_events,
        {
            200: Shown("What the query answers, and then what changes.", content=_CONTENT),
            204: Shown("Nothing will follow: the client has all of it, and need not come again."),
        },
        READ,
        parameters=(CURSOR, ON, LINGER, COUNT, SHAPE, META),
        headers=(_LAST_EVENT_ID,),
        problems=(
            "not-found",
            "query-expired",
            "not-acceptable",
            "query-filling",
            "query-suspended",
            "query-complete",
            "answer-too-large",
        ),
        rate="invoke",
        from_memory=True,
    ),
)
