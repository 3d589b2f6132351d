"""Decoding of one request's compressed body: in a pool of its own, within a deadline, for a client that is still there.

A body that costs seconds holds up other compressed bodies alone: rows that come plain, answers and the state of the
service have other threads. It counts in the memory of bodies while it grows, not only once it is decoded.
"""

import asyncio
import functools
import time

from app.bodies import HeldBody
from app.errors import FramingError
from app.middleware.edge import Receive
from app.wire.content import decode_body
from app.work_pool import WorkPool
from engine.errors import OverloadedError


async def decoded_body(
    body: bytes,
    encoding: str,
    *,
    bytes_max: int,
    pool: WorkPool,
    deadline_s: float,
    receive: Receive,
    held: HeldBody,
) -> bytes:
    """Return the body without its content encoding.

    Args:
        body: as it was sent, all of it received.
        encoding: the header Content-Encoding.
        bytes_max: the most bytes it may decode to.
        pool: decodes, and begins no other piece, of some milliseconds, for a client that has gone.
        deadline_s: how long the body waits for its turn and decodes, both together.
        receive: the request's ASGI channel, which tells that the client has gone.
        held: grows with what is decoded, beside what was sent.

    Raises:
        EngineError: what `decode_body` raises.
        OverloadedError: past its deadline, or other requests hold the memory.
        FramingError: the client has gone.
    """
    latest = time.monotonic() + deadline_s

    def check(size: int) -> None:
        held.resize(len(body) + size)
        if time.monotonic() > latest:
            raise OverloadedError(
                "The body was not decoded before its deadline: send it again soon, or plain.",
                reason="deadline",
            )

    work = functools.partial(decode_body, body, encoding, bytes_max=bytes_max, checkpoint=check)
    decoding = asyncio.ensure_future(pool.run(work, deadline_s=deadline_s))
    leaving = asyncio.ensure_future(_disconnected(receive))
    try:
        await asyncio.wait({decoding, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not decoding.done():
            held.release()  # the thread learns of it at its next piece
            raise FramingError("The client has gone before its body was decoded.")
        decoded = decoding.result()
    finally:
        decoding.cancel()
        leaving.cancel()
    held.resize(len(decoded))
    return decoded


async def _disconnected(receive: Receive) -> None:
    """Return when the client has gone; its body has arrived before."""
    while (await receive())["type"] != "http.disconnect":
        pass
