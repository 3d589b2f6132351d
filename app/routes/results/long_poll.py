"""A request that waits: it is answered when there is something new, or when its time is over."""

import asyncio
import copy
import functools
import re
import time
from collections.abc import Awaitable, Hashable, Mapping
from typing import Final, NamedTuple, Protocol

from starlette.responses import Response

from psoup.app.http.sending import leaving_of, sending_of
from psoup.app.routes.endpoint import Call
from psoup.app.waiting.standing import Standing, has_entered, standing_of
from psoup.app.waiting.watch import On, Wake
from psoup.app.wire.parameters import HISTORY, LINGER, NOW, ON, PAGE, SEQ, WAIT
from psoup.engine import limits
from psoup.engine.errors import InvalidFieldError, PageExpiredError
from psoup.engine.invoke import Answer, Request, invoke
from psoup.engine.log.operation import QueryId

_PREFERRED: Final = re.compile(
    r"(?:^|,)\s*wait\s*=\s*\"?([0-9]{1,9})\"?\s*(?:;|,|$)", re.IGNORECASE
)
"""`Prefer: wait=25` (RFC 7240, 4.3)."""
HEADERS: Final = (
    {
        "name": "Prefer",
        "in": "header",
        "required": False,
        "description": "`wait=25`, in whole seconds: as the parameter `wait`, which goes before it (RFC 7240).",
        "schema": {"type": "string"},
    },
    {
        "name": "If-None-Match",
        "in": "header",
        "required": False,
        "description": "The `ETag` of the answer that the client has: 304 where it is still that one.",
        "schema": {"type": "string"},
    },
)
"""That a request for an answer may have."""
_TELLING: Final = ("accept", "accept-encoding", "if-none-match")
"""Headers that an answer depends on beside its URL."""


class Invoked(NamedTuple):
    """A response, and what is known of it for who waits.

    Attributes:
        answer: the page that the response was made of; None = it is none of memory.
        entered: there is more to tell than that rows have left.
    """

    response: Response
    answer: Answer | None = None
    entered: bool = True


class Answering(Protocol):
    """Computes the answer to a request anew. Blocks: runs in a pool."""

    def __call__(self, *, poll_ms: int | None = None) -> Invoked:
        """Return it; `poll_ms`: in how many milliseconds a client that could not wait is to come back."""
        ...


class Wait:
    """The waiting of one request, which may take several turns: not everything that wakes it is news to its client.

    Attributes:
        shed: it was ended for want of room: the client is to come back later.
        left: the client has disconnected: nobody reads what would be answered.
    """

    def __init__(self, call: Call, *, on: On, linger_s: float | None, left_s: float) -> None:
        """Wait `left_s` seconds at most, in all turns; of these `linger_s` after a change, for what comes with it.

        `linger_s` None: LINGER_S_DEFAULT from the begin on, which gathers what follows the answer before. A wait that
        has lasted longer ends with its first change at once.
        """
        begun_s = time.monotonic()
        self._call = call
        self._on = on
        self._linger_s = linger_s
        self._gathers_until_s = begun_s + limits.LINGER_S_DEFAULT
        self._latest_s = begun_s + left_s
        self.shed = self.left = False

    async def ends_with_change(self, seen: Mapping[QueryId, Standing]) -> bool:
        """Return whether there may be something new since `seen`; False = the wait is over."""
        left_s = self._latest_s - time.monotonic()
        if left_s <= 0:
            return False
        begun_s = time.monotonic()
        scope = self._call.request.scope
        leaving = leaving_of(scope)
        if (sending := sending_of(scope)) is not None:
            sending.rest()
        try:
            wake = await self._call.room.wait(seen, on=self._on, timeout_s=left_s, leaving=leaving)
            if wake is Wake.CHANGED and (gathers_s := self._gathers_s()) > 0:
                await asyncio.wait({leaving}, timeout=gathers_s)
        finally:
            self._call.waited(time.monotonic() - begun_s)
        self.shed, self.left = wake is Wake.SHED, wake is Wake.LEFT
        return wake is Wake.CHANGED

    def _gathers_s(self) -> float:
        """Return for how many seconds from now, after a change, further ones join it."""
        now_s = time.monotonic()
        until_s = self._gathers_until_s if self._linger_s is None else now_s + self._linger_s
        return min(until_s, self._latest_s) - now_s


def entered(call: Call, query_id: QueryId, request: Request, answer: Answer) -> bool:
    """Return whether there is more to tell of an answer than that rows have left. CPU work: runs in a pool.

    A count does not tell that: the engine is asked for one row of the same answer, where somebody waits for such rows.
    """
    waits_for_rows = call.arguments.get(ON) != On.ANY and wait_s(call) > 0
    if not request.count_only or answer.unchanged or answer.at is None or not waits_for_rows:
        return has_entered(answer)
    service = call.service
    try:
        shown = invoke(
            service.results,
            service.backend.source,
            query_id=query_id,
            request=Request(limit=1, position=answer.at),
            cache=service.invocations,
        )
    except PageExpiredError:  # retention has dropped rows meanwhile: that is more
        return True
    return has_entered(shown)


def wait_s(call: Call) -> float:
    """Return how long a request is to wait where there is nothing new, in seconds; `wait=` goes before `Prefer`."""
    given: float | None = call.arguments.get(WAIT)
    if given is None:
        preferred = _PREFERRED.search(call.header("prefer") or "")
        given = 0.0 if preferred is None else float(preferred[1])
    return min(given, limits.WAIT_S_MAX)


def check_wait(call: Call) -> None:
    """Raise InvalidFieldError where a request waits for the change of what does not change."""
    arguments = call.arguments
    if arguments.get(WAIT) is None:
        return
    fixed = [one.name for one in (NOW, SEQ, PAGE) if arguments.get(one) is not None]
    if arguments.get(HISTORY) == "true":
        fixed.append(HISTORY.name)
    if fixed:
        wrong = [
            ("?wait", f"does not go with {name}, whose answer does not change") for name in fixed
        ]
        raise InvalidFieldError("Only the answer at NOW can be waited for.", errors=wrong)


async def when_changed(
    call: Call,
    query_id: QueryId,
    first: Awaitable[Invoked],
    *,
    answer: Answering,
) -> Response:
    """Return the answer to a request that waits: what there is, where that is news, else what comes.

    While it waits it holds no answer, but where its client stands: thousands do.

    Args:
        call: the request.
        query_id: the query.
        first: its answer now.
        answer: computes it anew. Those who have asked the same and are woken together are given the same.
    """
    on, linger_s = On(call.arguments.get(ON) or On.ENTER), call.arguments.get(LINGER)
    wait = Wait(call, on=on, linger_s=linger_s, left_s=wait_s(call))
    deadline_s = call.service.settings.invoke_deadline_s
    found, changed = await first, True
    del first
    while changed and (standing := _waits_from(found, on)) is not None:
        del found
        if call.slot.watch():
            changed = await wait.ends_with_change({query_id: standing})
        else:
            wait.shed = True
        if wait.left:
            return Response()  # to nobody
        if wait.shed:
            answer_later = functools.partial(answer, poll_ms=call.room.pace.later_ms())
            found = await call.answered(answer_later, latest=call.latest())
            break
        found = await call.room.shared(_key(call), answer, deadline_s=deadline_s)
    response = copy.copy(found.response)  # others may be given the same
    response.raw_headers = list(response.raw_headers)
    response.headers["Cache-Control"] = "no-store"
    return response


def _key(call: Call) -> Hashable:
    """Return what requests for the same answer have in common."""
    scope = call.request.scope
    return scope["path"], scope["query_string"], *map(call.header, _TELLING)


def _waits_from(found: Invoked, on: On) -> Standing | None:
    """Return where an answer stands that is no news to its client; None = it is, and ends the wait."""
    answer = found.answer
    if answer is None:
        return None
    is_known = answer.unchanged or found.response.status_code == 304
    if not is_known and (on is On.ANY or found.entered):
        return None
    return standing_of(answer)
