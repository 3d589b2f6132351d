"""The parts of a connection, each by itself: what is held for it, counted, and given up."""

import asyncio

import httptools
import pytest

from psoup.app.admission.connections import ConnectionAdmission
from psoup.app.admission.shares import Shares
from psoup.app.admission.traffic import Traffic
from psoup.app.connection.chunks import CHUNKS_AT_ONCE, Chunks
from psoup.app.connection.trailers import Trailers
from psoup.app.connection.unparsed import Unparsed
from psoup.app.errors import FramingError, RateLimitedError
from psoup.app.http.framing import Frame, frame_of, has_body
from psoup.app.http.sending import COUNTED_FROM_BYTES, Sending
from psoup.app.settings import Settings
from psoup.engine import limits
from psoup.engine.errors import OverloadedError
from tests.patience import WAIT_S

HOST = (b"host", b"a")
HERE = "10.0.0.1"


def test_no_client_has_more_than_its_share():
    """Three quarters of all, and together no more than there are; what is given back may be taken again."""
    shares = Shares(8)
    assert shares.take("a", 6)
    assert not shares.take("a")
    assert shares.take("b", 2)
    assert not shares.take("c")
    shares.release("a", 6)
    assert shares.take("c", 6)
    shares.check()
    assert (8, 8, 2) == (shares.taken, shares.statistics().highest, shares.statistics().refused)


@pytest.mark.parametrize("step", [1, 5, 1_000])
def test_pieces_end_where_requests_do(step: int):
    """Behind an empty line, or where a body of known length ends, however the bytes arrive."""
    data = b"GET /\r\nA: b\r\n\r\nPOST /\r\n\r\n" + b"x" * 10 + b"GET /2\r\n\r\nGET"
    traffic = Traffic()
    unparsed = Unparsed(traffic, HERE)
    pieces: list[bytes] = []
    left = {b"POST /\r\n\r\n": 10}
    body_left, message = 0, b""
    for at in range(0, len(data), step):
        unparsed.add(data[at : at + step])
        while unparsed:
            piece = unparsed.piece(body_left)
            pieces.append(piece)
            message += piece
            if body_left:
                body_left -= len(piece)
                message = b""
            elif message.endswith(b"\r\n\r\n"):
                body_left, message = left.get(message, 0), b""
        unparsed.settle()
    assert data == b"".join(pieces)
    if step == 1_000:
        expected = [
            b"GET /\r\nA: b\r\n\r\n",
            b"POST /\r\n\r\n",
            b"x" * 10,
            b"GET /2\r\n\r\n",
            b"GET",
        ]
        assert expected == pieces
    traffic.check()
    assert 0 == traffic.statistics().unparsed_bytes


FRAMES = (
    (b"5\r\nabcde\r\n0\r\n\r\n", b"abcde"),
    (b"4;a=b;c\r\n\r\n\r\n\r\n1\r\nx\r\n00\r\n\r\n", b"\r\n\r\nx"),
    (b"00009\r\n0\r\n\r\n0\r\n\r\r\n0\r\nT: v\r\nU: w\r\n\r\n", b"0\r\n\r\n0\r\n\r"),
    (b"1\r\na\r\n" * 600 + b"0\r\n\r\n", b"a" * 600),
)


@pytest.mark.parametrize(("frame", "body"), FRAMES)
@pytest.mark.parametrize("step", [1, 2, 3, 7, 10_000])
def test_pieces_of_a_chunked_body_end_with_it(frame: bytes, body: bytes, step: int):
    """The parser reads all of it and nothing of the next request, in few pieces, however the bytes arrive."""
    begun = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
    data = begun + frame + b"GET / HTTP/1.1\r\n"
    parsed, unparsed, chunks, pieces = Message(), Unparsed(Traffic(), HERE), None, 0
    parser = httptools.HttpRequestParser(parsed)
    for at in range(0, len(data), step):
        unparsed.add(data[at : at + step])
        while unparsed and not parsed.has_ended:
            piece = unparsed.piece(0, chunks)
            parser.feed_data(piece)
            pieces += 1
            if chunks is None and piece.endswith(b"\r\n\r\n"):
                chunks = Chunks()
    assert (body, 1) == (parsed.body, parsed.begun)
    assert len(b"GET / HTTP/1.1\r\n") == len(unparsed)
    assert pieces <= 4 + len(begun + frame) // step + len(body) // CHUNKS_AT_ONCE


def test_empty_lines_in_front_of_a_request_are_skipped():
    """All that come first, and nothing behind them."""
    unparsed = Unparsed(Traffic(), HERE)
    unparsed.add(b"\r\n\n\r\r\n")
    assert (6, 0) == (unparsed.skip_blank(), len(unparsed))
    unparsed.add(b"\r\nGET\r\n")
    assert (2, 5, 0) == (unparsed.skip_blank(), len(unparsed), unparsed.skip_blank())


class Message:
    """What a parser finds."""

    def __init__(self) -> None:
        self.begun, self.has_ended, self.body = 0, False, b""

    def on_message_begin(self) -> None:
        self.begun += 1

    def on_body(self, data: bytes) -> None:
        self.body += data

    def on_message_complete(self) -> None:
        self.has_ended = True


def test_bytes_sent_ahead_are_counted_until_they_are_parsed():
    """Past the bound for all there is no room, and nothing is counted; what is dropped is given back."""
    traffic = Traffic(unparsed_bytes_max=100)
    one, other = Unparsed(traffic, HERE), Unparsed(traffic, "10.0.0.2")
    one.add(b"x" * 70)
    one.settle()
    other.add(b"x" * 40)
    with pytest.raises(OverloadedError):
        other.settle()
    assert 70 == traffic.statistics().unparsed_bytes
    one.drop()
    one.settle()
    other.settle()
    traffic.check()
    assert (40, 1) == (traffic.statistics().unparsed_bytes, traffic.statistics().refused)


def test_trailers_are_bounded_as_headers_are():
    """In number, in bytes, and in what does not end; data and the ends of chunks are no trailers."""
    many, large, endless, data = Trailers(), Trailers(), Trailers(), Trailers()
    for _ in range(limits.HEADERS_COUNT_MAX):
        many.field(b"a", b"b")
    assert not many.are_too_large()
    many.field(b"a", b"b")
    large.field(b"a", b"b" * limits.HEADERS_BYTES_MAX)
    for _ in range(3):
        endless.fed(limits.HEADERS_BYTES_MAX // 2)
        data.progress()
        data.fed(limits.MIB)
    assert many.are_too_large()
    assert large.are_too_large()
    assert endless.are_too_large()
    assert not data.are_too_large()


def test_a_head_names_one_host():
    """HTTP/1.0 alone may name none."""
    assert Frame() == frame_of([HOST], Told("1.1", upgrades=False))
    assert Frame() == frame_of([], Told("1.0", upgrades=True))
    for hosts, version in ((0, "1.1"), (2, "1.1"), (2, "1.0")):
        with pytest.raises(FramingError):
            frame_of([HOST] * hosts, Told(version, upgrades=False))


@pytest.mark.parametrize(
    ("header", "frame"),
    [
        ((b"content-length", b"0"), Frame()),
        ((b"content-length", b"012"), Frame(12)),
        ((b"transfer-encoding", b"chunked"), Frame(0, chunked=True)),
    ],
)
def test_a_head_tells_how_its_body_ends(header: tuple[bytes, bytes], frame: Frame):
    """A body behind an offer to upgrade would be read as another request: it is refused."""
    assert frame == frame_of([HOST, header], Told("1.1", upgrades=False))
    assert frame.has_body == has_body([HOST, header])
    if frame.has_body:
        with pytest.raises(FramingError):
            frame_of([HOST, header], Told("1.1", upgrades=True))


def test_connections_are_counted_by_address_and_a_few_more_are_told():
    """Loopback is not counted; one that leaves makes room."""
    settings = Settings(connections_per_address=1, connections=5)
    admission = ConnectionAdmission(settings, count_loopback=False)
    local = [admission.enter("127.0.0.1") for _ in range(2)]
    one, crowded = admission.enter(HERE), admission.enter(HERE)
    assert [None, None] == [entry and entry.refusal for entry in local]
    assert one is not None
    assert one.refusal is None
    assert crowded is not None
    assert isinstance(crowded.refusal, RateLimitedError)
    admission.leave(one)
    admission.leave(crowded)
    again = admission.enter(HERE)
    assert again is not None
    assert again.refusal is None
    for _ in range(2):
        admission.enter("127.0.0.1")
    told = [admission.enter("127.0.0.1") for _ in range(100)]
    assert told[0] is not None
    assert isinstance(told[0].refusal, OverloadedError)
    assert told[-1] is None
    admission.leave(told[0])
    assert admission.enter(HERE) is not None
    assert admission.enter(HERE) is None
    admission.check()


class Told:
    """What a parser tells of a head."""

    def __init__(self, version: str = "1.1", *, upgrades: bool = False) -> None:
        self.get_http_version = lambda: version
        self.should_upgrade = lambda: upgrades


class Pipe(asyncio.Transport):
    """A transport whose client takes what it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.kept = 0
        self.aborted = asyncio.Event()

    def write(self, data: bytes) -> None:  # type: ignore[override]
        self.kept += len(data)

    def get_write_buffer_size(self) -> int:
        return self.kept

    def abort(self) -> None:
        self.aborted.set()


@pytest.mark.anyio
async def test_large_answers_count_until_they_are_gone():
    """Without room the answer is refused; small ones are not counted; an ended connection holds nothing."""
    traffic = Traffic(unsent_bytes_max=4 * COUNTED_FROM_BYTES)
    one, other = (Sending(Pipe(), traffic, name, stall_s=1) for name in (HERE, "10.0.0.2"))
    one.reserve(3 * COUNTED_FROM_BYTES)
    with pytest.raises(OverloadedError):
        other.reserve(2 * COUNTED_FROM_BYTES)
    other.reserve(COUNTED_FROM_BYTES - 1)
    assert 3 * COUNTED_FROM_BYTES == traffic.statistics().unsent_bytes
    one.settle()
    other.reserve(2 * COUNTED_FROM_BYTES)
    other.end()
    other.reserve(2 * COUNTED_FROM_BYTES)
    traffic.check()
    assert 0 == traffic.statistics().unsent_bytes


@pytest.mark.anyio
async def test_a_connection_rests_behind_a_stream_until_it_is_lost():
    """Where a stream begins, its request has arrived."""
    rested: list[bool] = []

    class Limited(Pipe):
        def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
            pass

    sending = Sending(Limited(), Traffic(), HERE, stall_s=1, on_rest=lambda: rested.append(True))
    sending.begin_stream()
    assert [True] == rested
    sending.end()
    sending.rest()
    assert [True] == rested


@pytest.mark.anyio
async def test_a_client_that_takes_too_little_is_cut_off():
    """One that takes enough between two looks is not, nor one that has taken all."""
    traffic, pipe, idle = Traffic(), Pipe(), Pipe()
    stall_s = 0.25
    sending, resting = (Sending(one, traffic, HERE, stall_s=stall_s) for one in (pipe, idle))
    sending.write(b"x" * limits.MIB)
    sending.watch()
    resting.watch()
    pipe.kept -= int(stall_s * limits.ANSWER_BYTES_PER_SECOND_MIN)
    begun = asyncio.get_running_loop().time()
    await asyncio.wait_for(pipe.aborted.wait(), WAIT_S)
    assert asyncio.get_running_loop().time() - begun >= 1.5 * stall_s, "the first look found enough"
    assert 1 == traffic.statistics().stalled
    assert not idle.aborted.is_set()
