"""The answers of `/healthz`, `/readyz` and `/metrics`: of a service, and of an engine without an API, alike."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from starlette.responses import JSONResponse, Response

from psoup.app.operate.meters.meter import MEDIA_TYPE

HEALTH: Final = "/healthz"
READY: Final = "/readyz"
METRICS: Final = "/metrics"
PROBES: Final = (HEALTH, READY, METRICS)
"""What watches over a process asks for them: they are answered when there is no slot for any other request."""
_NO_STORE: Final = {"Cache-Control": "no-store"}


def answer_health() -> Response:
    """Return the answer that the process runs: it depends on nothing."""
    return JSONResponse({"status": "ok"})


async def answer_readiness(
    reasons: Callable[[], Iterable[str]], warnings: Callable[[], Iterable[str]]
) -> Response:
    """Return whether the process is ready.

    Args:
        reasons: returns why it is not; none = it is. May block: it is called in a thread.
        warnings: returns what an operator has to know although it is ready. Must not block.
    """
    found = list(await asyncio.to_thread(reasons))
    body = {"ready": not found, "reasons": found, "warnings": list(warnings())}
    return JSONResponse(body, status_code=503 if found else 200, headers=_NO_STORE)


async def answer_metrics(text: Callable[[], bytes]) -> Response:
    """Return the meters. `text` returns them as Prometheus reads them; it may block: it is called in a thread."""
    body = await asyncio.to_thread(text)
    return Response(body, headers={"Content-Type": MEDIA_TYPE, **_NO_STORE})
