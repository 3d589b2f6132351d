"""One HTTP/1.1 connection: uvicorn's protocol, with bounds on everything that happens before the application.

uvicorn reads heads of any size at any pace, and as many requests as a client sends ahead; it treats what follows a body
as headers, answers broken requests in plain text, keeps unlimited answers for clients that do not read them, and closes
while the client still sends, which can destroy the answer on its way. Here heads are bounded in bytes and time, a
request is parsed when the client has read the answers before it, every refusal is a problem body, and a close reads on
for a while. The parts are beside this module.
"""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import asyncio
import sys
from typing import Any

from uvicorn.protocols.utils import get_remote_addr

from psoup.app.admission.connections import ConnectionAdmission, Entry
from psoup.app.admission.slots import no_slot
from psoup.app.connection.body import ArrivingBody
from psoup.app.connection.flow import TurnFlow
from psoup.app.connection.heads import head_refusal
from psoup.app.connection.lingering import LINGER_S, LingeringTransport
from psoup.app.connection.parsing import ParsingProtocol
from psoup.app.connection.refusals import heard_of, refusal, unparsable
from psoup.app.connection.unparsed import PIECES_MAX, Unparsed
from psoup.app.errors import FramingError, RequestTimeoutError
from psoup.app.http.access.origins import shown_to
from psoup.app.http.bodies import ARRIVING
from psoup.app.http.edge import DRAINED_BYTES_MAX, headers_too_large
from psoup.app.http.framing import frame_of
from psoup.app.http.front import FRONT, Front
from psoup.app.http.sending import SENDING, Sending
from psoup.app.settings import Settings
from psoup.engine import limits
from psoup.engine.errors import EngineError, OverloadedError


class BoundedProtocol(ParsingProtocol):
    """uvicorn's protocol with psoup's bounds. A subclass has the settings (`connection_class` of `server`).

    Attributes:
        head_s: seconds after its first byte by which a head has to be there.
        admission: which connections are let in.
    """

    # With these beside the base's, its instances would no longer share the keys of their dictionaries: 2 KiB each.
    __slots__ = ("_arriving", "_blank_bytes", "_body", "_client", "_dropping", "_entry", "_flow", "_front", "_going_on",
                 "_head_bytes", "_head_timer", "_in_head", "_leaving", "_message_ended", "_refused", "_sending",
                 "_unparsed")  # fmt: skip
    settings: Settings
    head_s: float
    admission: ConnectionAdmission

    def __init__(self, *, entry: Entry | None = None, **given: Any) -> None:  # noqa: ANN401 (uvicorn's own)
        """Take what uvicorn gives, and the `entry` of a connection that was counted before it is made."""
        super().__init__(**given)
        self._entry = entry
        self._front: Front = self.app_state[FRONT]
        self._client = ""
        """The address that connections, slots and bytes are counted by."""
        self.url = b""
        self.pipeline = ()  # type: ignore[assignment] # a request is parsed when the one before it is answered
        self._in_head = False
        self._refused = False
        self._head_bytes = 0
        self._arriving = 0
        self._body = ArrivingBody()
        self._message_ended = False
        self._blank_bytes = 0
        """Line ends before the next request."""
        self._going_on: asyncio.Handle | None = None
        self._head_timer: asyncio.TimerHandle | None = None
        self._dropping: asyncio.TimerHandle | None = None
        """Ends the connection unless the body of a request that was turned away is there by then."""
        self._leaving: asyncio.TimerHandle | None = None
        """Ends the connection of a client that has ended its side."""

    # --- the connection -------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin; a client with too many connections is turned away."""
        traffic = self._front.traffic
        remote = get_remote_addr(transport)
        self._client = address = remote[0] if remote else ""
        stall_s = self.settings.answer_stall_s
        self._sending = Sending(transport, traffic, address, stall_s=stall_s, on_rest=self._rest)
        self._unparsed = Unparsed(traffic, address)
        lingering = LingeringTransport(transport, self._unread, self._sending)
        super().connection_made(lingering)  # type: ignore[arg-type]
        self.flow = self._flow = TurnFlow(self.transport)
        # uvicorn waits for ever for the first byte; an idle connection has no such right.
        self.timeout_keep_alive_task = self.loop.call_later(
            self.timeout_keep_alive, self.timeout_keep_alive_handler
        )
        self._entry = entry = self._entry or self.admission.enter(address)
        if entry is None or entry.is_extra:
            self.connections.discard(self)  # uvicorn would wait for it when it ends
        if entry is None:
            self.transport.abort()
        elif entry.refusal is not None:
            self.refuse(entry.refusal)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        if self._entry is not None:
            self.admission.leave(self._entry)
        self._sending.end()
        self._unparsed.drop()
        self._unparsed.settle()
        self._stop_head_timer()
        self._stop_dropping()
        if self._leaving is not None:
            self._leaving.cancel()
        self._unset_keepalive_if_required()  # after a reset uvicorn keeps it, and with it all of the connection
        super().connection_lost(exc)
        self.transport.end()  # type: ignore[attr-defined] # the one that `connection_made` has made

    def eof_received(self) -> bool:  # type: ignore[override]
        """Refuse a request that ends before it is whole; let a whole one be answered, where only one side has ended.

        TLS has no half of a connection: whoever ends it gets no more.
        """
        return self._goes_on() and self.scheme != "https"

    def _goes_on(self) -> bool:
        """Return whether something is left to be written to a client that has ended its side."""
        transport = self._lingering()
        if transport is None or transport.lingering:
            return False
        if self._in_head or (self._running() and self._in_body()):
            self.refuse(FramingError("The request ended before it was whole."))
            return True
        if self._running():
            self.cycle.keep_alive = False
            if self.scope["method"] in ("GET", "HEAD"):
                self._leaving = self.loop.call_later(limits.HALF_CLOSED_S, self.transport.close)
            return True
        self._sending.watch()
        return False

    def pause_writing(self) -> None:
        """Begin no other request, and watch whether the client reads its answers."""
        super().pause_writing()
        self._sending.watch()

    def resume_writing(self) -> None:
        """Go on when the client has taken what there was."""
        super().resume_writing()
        if not self.transport.is_closing():
            self._sending.unwatch()
        if not self._running():
            self._sending.settle()
            self._parse_soon()

    # --- what arrives ---------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Keep the bytes that arrive, and parse the request whose turn it is."""
        if self.transport.is_closing():
            if (transport := self._lingering()) is not None:
                transport.discard(len(data))
            return
        self._unparsed.add(data)
        self._parse()

    def _parse(self) -> None:
        """Give the parser at most the rest of one request, in PIECES_MAX pieces, and hold the other bytes."""
        self._going_on = None
        self._message_ended = False
        for _ in range(PIECES_MAX):
            if not self._unparsed or self._message_ended or not self._has_turn():
                break
            if not self._in_head and self._body.has_ended:
                self._skip_blank()
            if self._unparsed:
                self._feed(self._unparsed.piece(self._body.left, self._body.chunks))
        self._hold()

    def _skip_blank(self) -> None:
        """Drop line ends before a request, and refuse more than a few: the parser would read any number, slowly."""
        self._blank_bytes += self._unparsed.skip_blank()
        if self._blank_bytes > limits.BLANK_BYTES_MAX:
            self._unparsed.drop()
            self.refuse(FramingError("Too many empty lines came in front of a request."))

    def _has_turn(self) -> bool:
        """Return whether the next bytes may be parsed: they are of the request under way, or there is none."""
        if self.transport.is_closing():
            return False
        if self._running():
            return self._in_body()
        return not self.flow.write_paused

    def _feed(self, piece: bytes) -> None:
        """Feed the parser, as long as head and trailers stay inside their bounds."""
        in_body = self._in_body()
        if self._in_head:
            self._head_bytes += len(piece)
        # What comes while no request is under way begins a head; behind a body it may, too, and is
        # counted from its next bytes on.
        self._arriving = 0 if self._in_head or in_body else len(piece)
        super().data_received(piece)
        if self._in_head and self._head_timer is None and not self._refused:  # seldom: more follows
            self._head_timer = self.loop.call_later(self.head_s, self._head_timed_out)
        if self._in_head and self._head_bytes > limits.HEADERS_BYTES_MAX:
            self.refuse(head_refusal(self.url))
        elif in_body:
            self._body.fed(len(piece))
            self._bound_trailers()

    def _hold(self) -> None:
        """Keep the bytes whose turn has not come, and pause reading meanwhile."""
        if self.transport.is_closing():
            self._unparsed.drop()
        try:
            self._unparsed.settle()
        except OverloadedError as error:
            self._unparsed.drop()
            if self._running() and not self._in_body():
                # Its answer says what was done; the connection closes after it.
                self._refused, self.cycle.keep_alive = True, False
            else:
                self.refuse(error)
        ends = self._refused and not self.transport.is_closing()
        holding = ends or bool(self._unparsed)
        self._flow.hold(holding=holding)
        if holding:
            self._unset_keepalive_if_required()
            if self._has_turn():
                self._parse_soon()

    def _parse_soon(self) -> None:
        """Parse on in the next turn of the event loop, so that other connections get theirs."""
        if self._unparsed and self._going_on is None:
            self._going_on = self.loop.call_soon(self._parse)

    def on_response_complete(self) -> None:
        """End an answer: the next request is parsed as soon as the client has read it."""
        super().on_response_complete()
        if not self.flow.write_paused:
            self._sending.settle()
        if self._unparsed:
            self._unset_keepalive_if_required()
            self._parse_soon()

    def on_message_begin(self) -> None:
        """Begin a head: its time runs from its first byte on, if not all of it is there."""
        if self._refused:
            return
        super().on_message_begin()
        self._in_head, self._blank_bytes = True, 0
        self._head_bytes, self._arriving = self._arriving, 0
        self._stop_head_timer()

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header; a field behind the body is a trailer, and dropped."""
        if self._in_head:
            super().on_header(name, value)
            return
        self._body.trailer(name, value)
        self._bound_trailers()

    def on_headers_complete(self) -> None:
        """End a head; the application takes over, if it has a slot for the request."""
        self._in_head = False
        self._stop_head_timer()
        if self._refused:
            return
        with_body = self.parser.get_method() != b"HEAD"
        try:
            self._body = ArrivingBody(frame_of(self.headers, self.parser))
        except FramingError as error:
            self.refuse(error, with_body=with_body)
            return
        if self._has_slot():
            self.begin_request({SENDING: self._sending, ARRIVING: self._body})
            return
        if self._stays_small():
            self._write_problem(no_slot(), closes=False, with_body=with_body)
            self.on_response_complete()
            self._dropping = self.loop.call_later(LINGER_S, self.transport.close)
        else:
            self.refuse(no_slot(), with_body=with_body)
        self.cycle = self.scope = None  # type: ignore[assignment] # as before the first request

    def on_body(self, body: bytes) -> None:
        """Take a part of a body; the body of a refused request is dropped."""
        self._body.data(len(body))
        if self.cycle is not None:
            super().on_body(body)

    def on_chunk_header(self) -> None:
        """Begin a chunk, or the trailers."""
        self._body.chunk()

    def _bound_trailers(self) -> None:
        if self._body.has_large_trailers:
            self.refuse(
                headers_too_large("bytes, or number, of trailers", limits.HEADERS_BYTES_MAX)
            )

    def on_message_complete(self) -> None:
        """End a request; after a refused one the connection is idle from now on."""
        self._message_ended = True
        self._body.end()
        if self._dropping is not None:
            self._stop_dropping()
            self._unset_keepalive_if_required()
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        if self.cycle is not None:
            super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that the parser does not take, while its error is handled; `msg` is uvicorn's and not shown."""
        refusal = unparsable(sys.exc_info()[1], self.fed)
        if self._in_head and self._head_bytes > limits.HEADERS_BYTES_MAX:
            refusal = head_refusal(self.url)
        self.refuse(refusal)

    def refuse(self, error: EngineError, *, with_body: bool = True) -> None:
        """Answer with a problem body and close, once; an answer that has begun is only cut off."""
        self._stop_head_timer()
        if self._refused:
            return
        self._refused = True
        if self._running():
            begun = self.cycle.response_started
            self.cycle.disconnected = True
            self.cycle.message_event.set()
            if begun:
                self.transport.close()
                return
        self._write_problem(error, closes=True, with_body=with_body)
        self.transport.close()

    def _has_slot(self) -> bool:
        """Return whether the request goes to the application."""
        if self.parser.get_method() == b"OPTIONS":
            return True
        slots = self._front.slots
        self.loop.call_soon(slots.end_turn)
        path = self.url.partition(b"?")[0].decode("latin-1")
        return slots.expect(path, self._client, reads=self._body.frame.has_body)

    def _write_problem(self, error: EngineError, *, closes: bool, with_body: bool) -> None:
        shown = shown_to(self.headers or (), self.settings.cors_origins)
        request_id = self._front.ids.next()
        self.transport.write(
            refusal(error, request_id, shown=shown, closes=closes, with_body=with_body)
        )
        heard = heard_of(self.scope, self.parser, self.url, is_running=self._running())
        self._front.requests.refused(error, request_id, heard, address=self._client)

    def _stays_small(self) -> bool:
        """Return whether the connection may go on: its body, if any, is small, and comes without being asked for."""
        if self.parser.get_http_version() != "1.1" or not self.parser.should_keep_alive():
            return False
        if self._body.frame.chunked or self.expect_100_continue:
            return False
        return self._body.frame.length <= DRAINED_BYTES_MAX

    def _stop_dropping(self) -> None:
        if self._dropping is not None:
            self._dropping.cancel()
            self._dropping = None

    def _head_timed_out(self) -> None:
        if self._in_head and not self.transport.is_closing():
            self.refuse(RequestTimeoutError("The request's head did not arrive in time."))

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _running(self) -> bool:
        cycle: Any = self.cycle  # None before the first request, whatever uvicorn declares
        return cycle is not None and not cycle.response_complete

    def _unread(self) -> bool:
        """Return whether there is, or may come, more of a request that was answered."""
        return self._refused or self._in_head or self._in_body() or bool(self._unparsed)

    def _rest(self) -> None:
        """Keep no parser while a request waits, unless bytes of another one are there."""
        if not self._unread():
            self.release_parser()

    def _in_body(self) -> bool:
        cycle: Any = self.cycle
        return cycle is not None and cycle.more_body

    def _lingering(self) -> LingeringTransport | None:
        transport: Any = self.transport
        return transport if isinstance(transport, LingeringTransport) else None
