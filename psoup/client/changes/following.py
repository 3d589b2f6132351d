"""Follows a query for ever: by a stream of events, or by polls where streams do not come through. No I/O."""

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, Final

import orjson

from psoup.client.changes.events import Event, EventReader
from psoup.client.changes.rule import Change, Gathered, HasDescription, Held, is_outdated
from psoup.client.connections.messages import (
    EVENT_STREAM,
    Answer,
    Following,
    Open,
    Outcome,
    Pause,
    Read,
    Request,
    Tell,
    Unreached,
    following_page,
    get,
    json_object,
)
from psoup.client.connections.operations import query_path
from psoup.client.connections.retrying import refusal, unreachable
from psoup.client.errors import ServiceProblem, ServiceUnreachableError, problem_of
from psoup.engine.clock import Clock, SystemClock

QUICK_MAX: Final = 3
"""After so many streams in a row that ended quickly there are polls."""
PAGE_EXPIRED: Final = "page-expired"
PAGE_ROWS: Final = 10_000
"""Rows that are asked for at once."""
_COMPLETE: Final = "query-complete"

Save = Callable[[Held, Change], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Times in seconds, and where time and chance come from.

    Attributes:
        first_pause_s, last_pause_s: a failure is followed by at most the first one, by up to twice as much after each
            further one, and by no longer one than the last, but for what the service asks for.
        silence_s: a stream that says nothing for so long is given up; the service pings every 15 s.
        quick_s: a stream that ends sooner ends quickly. Three in a row, and it is polled for `polling_s`.
        wait_s: how long a poll waits.
    """

    first_pause_s: float = 0.5
    last_pause_s: float = 30.0
    silence_s: float = 25.0
    quick_s: float = 5.0
    polling_s: float = 600.0
    wait_s: float = 25.0
    clock: Callable[[], float] = time.monotonic
    wall: Clock = field(default_factory=SystemClock)
    random: Callable[[], float] = random.random


class Follower:
    """Keeps what is held of one query up to date. Each answer is saved before the next one is asked for."""

    def __init__(
        self,
        url: str,
        query_id: str,
        held: Held,
        *,
        on: str = "enter",
        pace: Pace | None = None,
        of: HasDescription | None = None,
        save: Save | None = None,
    ) -> None:
        """Ask nothing yet.

        Args:
            url: of the service, for messages.
            query_id: of the query.
            held: is brought up to date.
            on: what news are told for: `enter`, or `any`, which tells rows that leave by time at that time.
            pace: times, and where time comes from.
            of: is given the description of a query that was replaced since; None: nobody wants to know.
            save: is given what is held after each answer, with what the answer has changed.
        """
        self._url = url
        self._path = query_path(query_id)
        self._held = held
        self._on = on
        self._pace = pace or Pace()
        self._of = of
        self._save = save
        self._news = Gathered()
        self._failures = 0
        self._quick = 0
        self._polls_until_s = float("-inf")

    def steps(self) -> Following[Change]:
        """Yield what has to be done, and changes.

        It ends when the query's window is over. What is worth another attempt is tried again for ever.

        Raises:
            ServiceProblem: there will be no further answer: the query was removed, say, or the token is refused.
        """
        while not self._held.complete:
            try:
                if self._pace.clock() < self._polls_until_s:
                    yield from self._poll()
                else:
                    yield from self._stream()
            except ServiceProblem as problem:
                if problem.problem == _COMPLETE:
                    return
                if not may_go_on(problem):
                    raise
                yield Pause(self._pause_s(problem.retry_after_s))
            except ServiceUnreachableError:
                yield Pause(self._pause_s(0.0))

    def _pause_s(self, asked_s: float) -> float:
        """Return the pause after a failure, drawn: never all clients at once."""
        drawn = self._pace.random()
        longest = min(self._pace.last_pause_s, self._pace.first_pause_s * 2.0**self._failures)
        self._failures += 1
        return max(drawn * longest, asked_s * (1 + drawn / 4))

    def _stream(self) -> Following[Change]:
        pace = self._pace
        asked = self._held.cursor
        request = Request(
            method="GET",
            path=f"{self._path}/events",
            params={"on": self._on} | ({} if asked is None else {"cursor": asked}),
            headers={"Accept": EVENT_STREAM},
            silence_s=pace.silence_s,
        )
        opened_s, retry_s = float("inf"), pace.first_pause_s
        reader, is_silent = EventReader(), False
        try:
            outcome = yield Open(request)
            is_silent = isinstance(outcome, Unreached) and outcome.silent
            answer = self._given(request, outcome)
            if answer.status == HTTPStatus.NO_CONTENT:
                self._held.complete = True
                return
            opened_s = pace.clock()
            while True:
                piece = yield Read()
                if isinstance(piece, Unreached):
                    is_silent = piece.silent
                    raise unreachable(self._url, piece)
                if not isinstance(piece, bytes) or not piece:
                    break
                for event in reader.read(piece):
                    if event.name == "retry":
                        retry_s = int(event.data) / 1_000
                    else:
                        yield from self._hear(event, asked)
        finally:
            self._count_quick(opened_s, is_silent=is_silent)
        yield Pause(retry_s * (1 + pace.random()) / 2)

    def _count_quick(self, opened_s: float, *, is_silent: bool) -> None:
        """Note how a stream has ended. One that was never there is the network's fault, and counts for nothing."""
        pace = self._pace
        if opened_s == float("inf") and not is_silent:
            return
        is_quick = is_silent or pace.clock() - opened_s < pace.quick_s
        self._quick = self._quick + 1 if is_quick else 0
        if self._quick == QUICK_MAX:
            self._polls_until_s = pace.clock() + pace.polling_s
            self._quick = 0

    def _hear(self, event: Event, asked: str | None) -> Following[Change]:
        if event.name == "end":
            problem = orjson.loads(event.data)
            raise problem_of(int(problem.get("status", 0)), problem)
        if event.name == "result":
            yield from self._take(orjson.loads(event.data), asked)

    def _poll(self) -> Following[Change]:
        pace = self._pace
        asked, begun_s = self._held.cursor, pace.clock()
        params: dict[str, str | int] = {"cursor": asked or "", "limit": PAGE_ROWS}
        if asked is not None:
            params |= {"wait": f"{pace.wait_s:g}", "on": self._on}
        request = Request(
            method="GET",
            path=f"{self._path}/results",
            params=params,
            silence_s=pace.wait_s + pace.silence_s,
        )
        envelope: Mapping[str, Any] = {}
        following: str | None = ""
        while following is not None:
            answer = self._given(request, (yield request))
            envelope = json_object(answer)
            yield from self._take(envelope, asked)
            following = following_page(answer)
            if following is not None:
                request = get(following)
        is_news = self._held.cursor != asked
        poll_after_ms = envelope.get("poll_after_ms") or 0
        if not is_news and pace.clock() - begun_s < pace.wait_s:
            yield Pause(poll_after_ms / 1_000)

    def _given(self, request: Request, outcome: Outcome | bytes) -> Answer:
        """Return the answer of success; raise what it is otherwise."""
        if isinstance(outcome, Answer):
            if outcome.is_success:
                return outcome
            raise refusal(request, outcome)
        reached = (
            outcome if isinstance(outcome, Unreached) else Unreached("no answer", connected=True)
        )
        raise unreachable(self._url, reached)

    def _take(self, envelope: Mapping[str, Any], asked: str | None) -> Following[Change]:
        """Apply an answer, or a page of one, save it, and tell the news once all pages are there."""
        held = self._held
        if self._of is not None and is_outdated(self._of.description, envelope, held.cursor):
            request = get(self._path)
            self._of.description = json_object(self._given(request, (yield request)))
        change = held.apply(envelope, asked, local_us=self._pace.wall.now_us())
        if change is None:
            return
        if self._save is not None:
            self._save(held, change)
        self._news.add(change)
        if envelope["next"] is not None:
            return
        if held.cursor is None:
            raise ServiceUnreachableError(
                f"The rows of an answer of {self._url} do not add up to its count: it is asked anew."
            )
        self._failures = 0
        news, self._news = self._news.whole(), Gathered()
        if news:
            yield Tell(news)


def may_go_on(problem: ServiceProblem) -> bool:
    """Return whether there may be a further answer: it is refused for now, by something between, or a page is gone."""
    return problem.retryable or "code" not in problem.body or problem.problem == PAGE_EXPIRED
