"""A bare ASGI function under uvicorn, as psoup is run: the least that an answer over HTTP costs in Python.

`python -m benchmarks.bare PORT` answers on 127.0.0.1, until SIGTERM.
"""

import contextlib
import http.client
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

from benchmarks.service import START_S_MAX, Client

BODY = b'{"status":"ok"}'
IDLE_S = 600
"""A connection is kept while the service beside it is asked."""
HEADERS = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]


async def answer(
    _scope: Any,  # noqa: ANN401 (whatever the server gives)
    _receive: Any,  # noqa: ANN401
    send: Callable[[dict[str, object]], Awaitable[None]],
) -> None:
    """Answer every request alike."""
    await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
    await send({"type": "http.response.body", "body": BODY})


def await_answer(port: int) -> None:
    """Wait until the function answers at `port`; RuntimeError where it does not."""
    latest = time.monotonic() + START_S_MAX
    while time.monotonic() < latest:
        with contextlib.suppress(OSError, http.client.HTTPException), Client(port) as one:
            one.ask("GET", "/")
            return
        time.sleep(0.05)
    message = "the bare function does not answer"
    raise RuntimeError(message)


if __name__ == "__main__":
    uvicorn.run(
        answer,
        port=int(sys.argv[1]),
        lifespan="off",
        loop="uvloop",
        http="httptools",
        timeout_keep_alive=IDLE_S,
        log_level="warning",
        access_log=False,
    )
