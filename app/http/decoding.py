"""Decoding of one request's compressed body: in a pool of its own, within a deadline, for a client that is still there.

A body that costs seconds holds up other compressed bodies alone: rows that come plain, answers and the state of the
service have other threads. It counts in the memory of bodies while it grows, not only once it is decoded.
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
        pool: decodes, and begins no other piece, of some milliseconds, that nobody waits for.
        deadline_s: how long the body waits for its turn and decodes, both together.
        gone: returns when the client has gone.
        held: grows with what is decoded, beside what was sent; the caller releases it.

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
