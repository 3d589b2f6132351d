"""When the OpenAPI is made: nothing of it is loaded before somebody asks for it."""

from collections.abc import Sequence
from typing import Any

from fastapi import FastAPI

from psoup.app.routes.endpoint import Endpoint


def describe(app: FastAPI, endpoints: Sequence[Endpoint]) -> None:
    """Make `app.openapi()` return the description of `endpoints`, made once when it is first asked for."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            from psoup.app.openapi.document import document  # noqa: PLC0415 (a service starts without)

            app.openapi_schema = document(endpoints, title=app.title, version=app.version)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]
