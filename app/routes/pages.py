"""Pages and their files: asked for without a key, in a slot like any request, and counted like any answer."""

import asyncio
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response

from psoup.app.http.front import Front
from psoup.app.routes.endpoint import address_of, count_answer


def page_route(
    front: Front, answer: Callable[[Request], Response]
) -> Callable[[Request], Awaitable[Response]]:
    """Return a route that answers in a slot for requests, and counts the answer until its client has taken it."""

    async def serve(request: Request) -> Response:
        with front.slots.enter(request.url.path, address_of(request), reads=False):
            response = await asyncio.to_thread(answer, request)  # it reads files, or takes long
        count_answer(request, int(response.headers.get("content-length", 0)))
        return response

    return serve
