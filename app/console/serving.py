"""Files of the console: where they lie, and what browsers are told about them."""

import re
from pathlib import Path
from typing import Final

import xxhash
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from psoup.app.http.entity_tags import is_listed
from psoup.app.wire.answers.negotiation import takes_coding
from psoup.engine.errors import NotFoundError

BUILT: Final = Path(__file__).parent / "built"
"""Where `make console` puts the files; a wheel that was built afterwards has them here."""
_PAGE: Final = "page.html"
_NAME: Final = re.compile(r"[a-z]+(?P<digest>-[A-Z0-9]{8})?\.(?P<kind>js|css|svg|txt)")
"""Of a file that may be asked for. One with a digest in its name never changes."""
_MEDIA_TYPES: Final = {
    "js": "text/javascript",
    "css": "text/css",
    "svg": "image/svg+xml",
    "txt": "text/plain",
}
_POLICY: Final = {
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
}
_ASK_EACH_TIME: Final = "no-cache"
_FOR_EVER: Final = "public, max-age=31536000, immutable"
_NOT_BUILT: Final = """<!DOCTYPE html>
<html lang="en"><title>psoup console</title>
<p>The console is not built: run <code>make console</code> in psoup's source tree, and load this page again.</p>
</html>
"""


def serve(request: Request) -> Response:
    """Return the page, or the file that the path names: compressed where the client takes gzip, 304 where it has it.

    Without built files the page says how to build them.

    Raises:
        NotFoundError: there is no such file.
    """
    name = request.path_params.get("name")
    if name is None:
        return _file(_PAGE, "text/html", _ASK_EACH_TIME, request) or HTMLResponse(
            _NOT_BUILT, status_code=404, headers={**_POLICY, "Cache-Control": "no-store"}
        )
    found = _NAME.fullmatch(name)
    if found is not None:
        caching = _FOR_EVER if found["digest"] else _ASK_EACH_TIME
        answer = _file(name, _MEDIA_TYPES[found["kind"]], caching, request)
        if answer is not None:
            return answer
    raise NotFoundError("The console has no such file. /console is its page.")


def _file(name: str, media_type: str, caching: str, request: Request) -> Response | None:
    """Return a built file as an answer, None where there is none. It is small, and read anew each time."""
    takes_gzip = takes_coding("gzip", request.headers.get("accept-encoding"))
    try:
        body = (BUILT / (f"{name}.gz" if takes_gzip else name)).read_bytes()
    except FileNotFoundError:
        return None
    tag = f'"{xxhash.xxh3_128_hexdigest(body)}"'
    headers = {**_POLICY, "Cache-Control": caching, "ETag": tag, "Vary": "Accept-Encoding"}
    known = request.headers.get("if-none-match")
    if known is not None and is_listed(tag, known):
        return Response(status_code=304, headers=headers)
    if takes_gzip:
        headers["Content-Encoding"] = "gzip"
    return Response(body, media_type=media_type, headers=headers)
