"""One log line for each request that fails or is slow; with the access log, for each request.

A line names the method, the path, the status, the time, the bytes of the answer, the key's id, the client's address and
the request's id. It holds no query string, header or body: what is secret travels there. How many
lines clients can cause is bounded (`app/admission/line_budget.py`), but for the access log.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

import structlog

from psoup.app.admission.line_budget import LineBudget
from psoup.app.http.access.guesses import client_address, counted_address
from psoup.app.http.edge import PROBLEM_CODE, REQUEST_ID, Scope
from psoup.app.http.problems import PROBLEM_TYPES
from psoup.app.http.sending import sending_of
from psoup.app.settings import Settings
from psoup.engine import limits
from psoup.engine.errors import EngineError

KEY_ID: Final = "psoup.key"
"""Where an endpoint leaves the id of its caller's key in the scope's state."""
_ANSWERED: Final = "psoup.answered"
"""In the state of a request that its connection has answered itself: it has its line."""
_LOG = structlog.get_logger("psoup.requests")
_LEFT_OUT_AFTER_S: Final = 1.0
_UNREADY: Final = (503, "/readyz")
"""Supervisors ask for it again and again; the reason has a line of its own when it begins."""
_PRINTABLE: Final = "".join(map(chr, range(0x21, 0x7F)))
_TRACEPARENT: Final = re.compile(rb"[0-9a-f]{2}-([0-9a-f]{32})-[0-9a-f]{16}-[0-9a-f]{2}")
"""Of W3C Trace Context, version 00."""


@dataclass(frozen=True, slots=True)
class RequestLogStatistics:
    """Lines left out since the start, because there were too many."""

    left_out: int


@dataclass(frozen=True, slots=True)
class RequestHead:
    """The part of a request that a connection has read; `method` is valid once the target has begun."""

    scope: Scope
    method: bytes
    target: bytes


class RequestLog:
    """Writes the lines of one process's requests. Used in the event loop alone."""

    def __init__(
        self, settings: Settings, *, monotonic_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Write the lines that `settings` ask for. `monotonic_s` is the clock of the line budgets."""
        self._every = settings.access_log
        self._slow_s = settings.slow_request_s
        self._address_of = client_address(settings)
        self._own_failures = LineBudget(monotonic_s=monotonic_s)
        self._client_failures = LineBudget(monotonic_s=monotonic_s)
        self._left_out_timer: asyncio.TimerHandle | None = None

    def ended(self, scope: Scope, status: int, nbytes: int, seconds: float) -> None:
        """Write the line of a request that the application has answered, if it failed, was slow, or all are logged.

        Args:
            scope: of the request.
            status: of the answer; 0 = there was none.
            nbytes: of the answer's body, as far as it was handed over.
            seconds: from the request's head to the end of its answer.
        """
        sending = sending_of(scope)
        gone = sending is not None and sending.ended
        is_slow = seconds >= self._slow_s
        if not self._every:
            if 0 < status < 400 and not is_slow and not gone:
                return
            if (status, scope["path"]) == _UNREADY:
                return
        state = scope["state"]
        if _ANSWERED in state:
            return
        is_aborted = gone or not status
        facts: dict[str, object] = {
            "request_id": scope[REQUEST_ID],
            "method": scope["method"],
            "path": shown_path(scope.get("raw_path") or quote(scope["path"]).encode()),
            "status": None if is_aborted else status,
            "aborted": is_aborted or None,
            "ms": round(seconds * 1_000, 1),
            "bytes": 0 if scope["method"] == "HEAD" else nbytes,
            "code": state.get(PROBLEM_CODE),
            "key": state.get(KEY_ID),
            "trace_id": _trace_id(scope),
        }
        is_own = is_slow or (status >= 500 and not is_aborted)
        self._write(facts, self._address_of(scope), is_own=is_own)

    def refused(
        self,
        error: EngineError,
        request_id: str,
        heard: RequestHead | None,
        *,
        address: str,
    ) -> None:
        """Write the line of a request that its connection has refused before the application: the only one it gets.

        Args:
            error: why.
            request_id: of the answer.
            heard: the part of the request that has arrived, None where nothing has.
            address: of the connection.
        """
        status = PROBLEM_TYPES[error.code].status
        facts: dict[str, object] = {"request_id": request_id, "status": status, "code": error.code}
        if heard is not None:
            heard.scope["state"][_ANSWERED] = True
            address = self._address_of(heard.scope) or address
            if heard.target:
                facts |= {"method": heard.method.decode(), "path": shown_path(heard.target)}
        self._write(facts, address, is_own=status >= 500)

    def close(self) -> None:
        """Write how many lines were left out last."""
        if self._left_out_timer is not None:
            self._left_out_timer.cancel()
            self._write_left_out()

    def statistics(self) -> RequestLogStatistics:
        """Return counters."""
        budgets = (self._own_failures, self._client_failures)
        return RequestLogStatistics(sum(one.statistics().left_out for one in budgets))

    def check(self) -> None:
        """Raise AssertionError if a budget is overdrawn. For tests."""
        self._own_failures.check()
        self._client_failures.check()

    def _write(self, facts: Mapping[str, object], address: str, *, is_own: bool) -> None:
        budget = self._own_failures if is_own else self._client_failures
        if not self._every and not budget.take(counted_address(address)):
            if self._left_out_timer is None:
                loop = asyncio.get_running_loop()
                self._left_out_timer = loop.call_later(_LEFT_OUT_AFTER_S, self._write_left_out)
            return
        line = {name: value for name, value in facts.items() if value is not None}
        client = _printable(address.encode()[: limits.LOGGED_ADDRESS_BYTES_MAX])
        (_LOG.warning if is_own else _LOG.info)("request", client=client, **line)

    def _write_left_out(self) -> None:
        self._left_out_timer = None
        levels = ((_LOG.warning, self._own_failures), (_LOG.info, self._client_failures))
        for log, budget in levels:
            if (left_out := budget.take_left_out()) is not None:
                log(
                    "requests-left-out",
                    lines=left_out.lines,
                    most_from=_printable(left_out.most_from.encode()),
                )


def shown_path(target: bytes) -> str:
    """Return the path of a request target as lines show it: cut, printable, without authority and query string."""
    path = target.partition(b"?")[0].partition(b"#")[0]
    if not path.startswith(b"/"):  # http://user:password@host/path
        path = path.partition(b"://")[2]
        path = path[path.find(b"/") :] if b"/" in path else b""
    cut = path[: limits.LOGGED_PATH_BYTES_MAX]
    return _printable(cut) + ("..." if len(path) > len(cut) else "")


def _printable(text: bytes) -> str:
    """Return `text` with all but printable ASCII as %XX: what a client sends begins no line and sets no colour."""
    return quote(text, safe=_PRINTABLE)


def _trace_id(scope: Mapping[str, Any]) -> str | None:
    """Return the trace that a request says it belongs to, None where it says none."""
    for name, value in scope["headers"]:
        if name == b"traceparent" and (found := _TRACEPARENT.fullmatch(value)):
            return str(found[1], "ascii")
    return None
