"""`/docs`: Swagger UI over this service's OpenAPI. Every file of it comes from here, and the page may ask nobody else.

The files of Swagger UI are those that the package fastapi-offline carries; its page is not used, as it runs a script
inside the HTML, which the content policy here forbids.
"""

import threading
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Final

import orjson
from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

from psoup.app.http.front import Front
from psoup.app.routes.pages import page_route
from psoup.app.wire.rows.body import JSON

PATH: Final = "/docs"
OPENAPI: Final = "/openapi.json"
_SCRIPT: Final = "swagger-ui-bundle.js"
_STYLE: Final = "swagger-ui.css"
_START: Final = "start.js"
_POLICY: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
}
_PAGE: Final = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>psoup: HTTP API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{PATH}/{_STYLE}">
</head>
<body>
<div id="api"></div>
<script src="{PATH}/{_SCRIPT}"></script>
<script src="{PATH}/{_START}"></script>
</body>
</html>
"""
_START_TEXT: Final = f"""SwaggerUIBundle({{
  url: "{OPENAPI}",
  dom_id: "#api",
  deepLinking: true,
  validatorUrl: null,
}});
"""


def add_docs_page(app: FastAPI, front: Front) -> None:
    """Add the page, its files and the OpenAPI to `app`; `front` counts their requests and answers as all others."""
    folder = Path(str(files("fastapi_offline"))) / "static"

    def page(_: Request) -> Response:
        return HTMLResponse(_PAGE, headers=_POLICY)

    def start(_: Request) -> Response:
        return Response(_START_TEXT, media_type="text/javascript", headers=_POLICY)

    def file(name: str, media_type: str) -> Response:
        path = folder / name
        return FileResponse(path, media_type=media_type, headers=_POLICY, stat_result=path.stat())

    making = threading.Lock()  # the first description takes half a second

    def description(_: Request) -> Response:
        with making:
            body = orjson.dumps(app.openapi())
        return Response(body, media_type=JSON)

    answers: dict[str, Callable[[Request], Response]] = {
        OPENAPI: description,
        PATH: page,
        f"{PATH}/{_START}": start,
        f"{PATH}/{_SCRIPT}": lambda _: file(_SCRIPT, "text/javascript"),
        f"{PATH}/{_STYLE}": lambda _: file(_STYLE, "text/css"),
    }
    for path, answer in answers.items():
        app.add_route(path, page_route(front, answer), include_in_schema=False)
