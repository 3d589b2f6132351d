"""Where the console is served. Nothing of it is loaded before somebody opens it."""

from typing import Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from psoup.app.http.front import Front
from psoup.app.routes.pages import page_route

PATH: Final = "/console"


def add_console(app: FastAPI, front: Front) -> None:
    """Add the page and its files to `app`; `front` counts their requests and answers as all others."""

    def answer(request: Request) -> Response:
        from psoup.app.console.serving import serve  # noqa: PLC0415 (a service starts without)

        return serve(request)

    for path in (PATH, f"{PATH}/{{name}}"):
        app.add_route(path, page_route(front, answer), include_in_schema=False)
