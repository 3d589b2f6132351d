"""`/llms.txt`: the service in a page for language models, in the form of llmstxt.org."""

import functools
from collections.abc import Sequence
from importlib.resources import files
from typing import Final

from starlette.responses import PlainTextResponse, Response

from psoup.app.routes.endpoint import Call, Endpoint, Shown

PATH: Final = "/llms.txt"
_OF_THE_PAGES: Final = ("](/docs)", "](/openapi.json)")
"""Links that lead nowhere where the API pages are off."""
_HEADERS: Final = {"Cache-Control": "public, max-age=3600"}
_MARKDOWN: Final = {"text/plain": {"schema": {"type": "string"}}}


async def get_llms(call: Call) -> Response:
    """Return the page."""
    return PlainTextResponse(page(has_docs=call.service.settings.docs), headers=_HEADERS)


@functools.cache
def page(*, has_docs: bool) -> str:
    """Return the page as Markdown; without docs it has no links to the API pages. Read from its file once."""
    lines = (files("psoup.app.routes") / "llms.txt").read_text(encoding="utf-8").splitlines()
    shown = [line for line in lines if has_docs or not any(link in line for link in _OF_THE_PAGES)]
    return "\n".join(shown) + "\n"


ENDPOINTS: Final[Sequence[Endpoint]] = (
    Endpoint(
        "GET",
        PATH,
        "llms",
        "The service in a page for language models",
        get_llms,
        {200: Shown("The page, in Markdown.", content=_MARKDOWN)},
        scope=None,
        live=False,
    ),
)
