"""The pages for people: the console and the API pages. Settings say which of them a service shows."""

from fastapi import FastAPI

from psoup.app.console import mounting as console
from psoup.app.http.front import Front
from psoup.app.openapi import docs_page
from psoup.app.settings import Settings


def add_pages(app: FastAPI, settings: Settings, front: Front) -> None:
    """Add the pages to `app`; `front` counts their requests and answers as all others."""
    if settings.console:
        console.add_console(app, front)
    if settings.docs:
        docs_page.add_docs_page(app, front)


def paths_of(settings: Settings) -> dict[str, str | None]:
    """Return the path of each page, None where it is switched off."""
    return {
        "console": console.PATH if settings.console else None,
        "docs": docs_page.PATH if settings.docs else None,
    }
