"""The OpenAPI: FastAPI's, with the problem body every failure has and the models bodies are read as."""

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from app.problems import PROBLEM_TYPES
from app.wire.batch_queries import QueryLine
from app.wire.batches import HoldBody
from app.wire.histories import HistoryBody
from app.wire.invoke_many import InvokeBody
from app.wire.problem import Problem
from app.wire.queries import QueryBody
from app.wire.staging import CommitBody
from app.wire.streams import StreamBody

_MODELS = (Problem, StreamBody, CommitBody, HoldBody, HistoryBody, QueryBody, QueryLine, InvokeBody)
_TEXT = """A query-data join service: declare streams, send rows, register windowed SQL queries before,
between or after them, and invoke the queries whenever you come back.

Every failure is an `application/problem+json` body with a stable `code`. 2xx means committed."""


def describe(app: FastAPI) -> None:
    """Make `app.openapi()` return the description, made once when it is first asked for."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _schema(app)
        return app.openapi_schema

    app.openapi = openapi  # type: ignore[method-assign]


def _schema(app: FastAPI) -> dict[str, Any]:
    schema = get_openapi(title=app.title, version=app.version, description=_TEXT, routes=app.routes)
    _, definitions = models_json_schema(
        [(model, "validation") for model in _MODELS], ref_template="#/components/schemas/{model}"
    )
    components = schema.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    schemas.update(definitions["$defs"])
    schemas["Problem"]["properties"]["code"]["enum"] = sorted(PROBLEM_TYPES)
    schemas["Problem"]["additionalProperties"] = True
    components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    return schema
