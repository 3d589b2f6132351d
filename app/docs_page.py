"""`/docs`: Swagger UI over this service's OpenAPI. Every file of it comes from here, and the page may ask nobody else.

The files of Swagger UI are those that the package fastapi-offline carries; its page is not used, as it runs a script
inside the HTML, which the content policy here forbids.
"""

from importlib.resources import files
from pathlib import Path
from typing import Final

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, Response

PATH: Final = "/docs"
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
_START_TEXT: Final = """SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#api",
  deepLinking: true,
  validatorUrl: null,
});
"""


def add_docs_page(app: FastAPI) -> None:
    """Add the page and its files to `app`."""
    folder = Path(str(files("fastapi_offline"))) / "static"

    async def page(_: Request) -> Response:
        return HTMLResponse(_PAGE, headers=_POLICY)

    async def start(_: Request) -> Response:
        return Response(_START_TEXT, media_type="text/javascript", headers=_POLICY)

    async def script(_: Request) -> Response:
        return FileResponse(folder / _SCRIPT, media_type="text/javascript", headers=_POLICY)

    async def style(_: Request) -> Response:
        return FileResponse(folder / _STYLE, media_type="text/css", headers=_POLICY)

    app.add_route(PATH, page, include_in_schema=False)
    for name, answer in ((_START, start), (_SCRIPT, script), (_STYLE, style)):
        app.add_route(f"{PATH}/{name}", answer, include_in_schema=False)
