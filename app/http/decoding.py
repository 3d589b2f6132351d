"""Decoding of a compressed body: in threads of its own, within a deadline, while its client stays connected.

A body that takes seconds delays other compressed bodies alone: plain bodies, answers and health have other threads. It
counts in the memory of bodies while it grows, not only once it is decoded.
"""

import functools

from psoup.app.admission.work_pool import Gone, WorkPool
from psoup.app.http.bodies import HeldBody
from psoup.app.wire.content import decode_body
from psoup.engine.checkpoint import checkpoint


async def decoded_body(
    body: bytes,
    encoding: str,
    *,
    bytes_max: int,
    pool: WorkPool,
    deadline_s: float,
    gone: Gone,
    held: HeldBody,
) -> bytes:
    """Return the body without its content encoding.

    Args:
        body: as it was sent, all of it received.
        encoding: the header Content-Encoding.
        bytes_max: the most bytes it may decode to.
        pool: decodes in pieces of some milliseconds; it begins no piece that no caller waits for.
        deadline_s: seconds for waiting in the pool and decoding together.
        gone: returns when the client has disconnected.
        held: grows by the decoded bytes, beside those that were sent; the caller releases it.

    Raises:
        EngineError: what `decode_body` raises.
        OverloadedError: past its deadline, or other requests hold the memory.
        FramingError: the client has gone.
    """

    def check(size: int) -> None:
        checkpoint()
        held.resize(len(body) + size)

    work = functools.partial(decode_body, body, encoding, bytes_max=bytes_max, checkpoint=check)
    decoded = await pool.run(work, deadline_s=deadline_s, gone=gone)
    held.resize(len(decoded))
    return decoded
