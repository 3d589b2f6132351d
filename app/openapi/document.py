"""The OpenAPI document: operations from the declarations of endpoints, and the components that they share."""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from psoup.app.http.access.keys import INGEST
from psoup.app.http.problems import PROBLEM_TYPES
from psoup.app.openapi.event_examples import event_examples
from psoup.app.openapi.examples import Example, examples_of, load_examples, problem_examples
from psoup.app.openapi.operations import OPERATIONS, PATH_PARAMETERS, TAGS
from psoup.app.openapi.problem_bodies import CODES
from psoup.app.openapi.responses import (
    SCHEMAS,
    header,
    header_components,
    header_ref,
    problem_components,
    problem_ref,
)
from psoup.app.routes.batches import HoldBody
from psoup.app.routes.endpoint import QUERY, Endpoint, Shown
from psoup.app.routes.rows.staging import CommitBody
from psoup.app.wire.models.batch_queries import QueryLine
from psoup.app.wire.models.explanations import ExplainBody
from psoup.app.wire.models.matches import MatchBody
from psoup.app.wire.models.problem import Problem
from psoup.app.wire.models.queries import QueryBody, QueryDefinition, QueryPatch
from psoup.app.wire.models.results.archive_answers import HistoryBody
from psoup.app.wire.models.results.invoke_many import InvokeBody
from psoup.app.wire.models.results.sync import SyncBody
from psoup.app.wire.models.streams import StreamBody, StreamPatchBody
from psoup.app.wire.rows.body import JSON

_BODIES: Final = (
    StreamBody,
    StreamPatchBody,
    CommitBody,
    HoldBody,
    HistoryBody,
    QueryBody,
    QueryDefinition,
    QueryPatch,
    QueryLine,
    ExplainBody,
    MatchBody,
    InvokeBody,
    SyncBody,
)
_TEXT: Final = """A query-data join service: declare streams, send rows, register windowed SQL queries before,
between or after them, and invoke the queries whenever you come back.

Every failure is an `application/problem+json` body with a stable `code`. 2xx means committed."""
_KEY: Final = {
    "type": "http",
    "scheme": "bearer",
    "description": "A key, where the service asks for keys; the operation names the scope that it needs.",
}


def document(endpoints: Sequence[Endpoint], *, title: str, version: str) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of `endpoints`."""
    examples = load_examples()
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        if endpoint.method == QUERY:  # OpenAPI knows it from 3.2 on; what is described is the POST
            continue
        shown = examples_of(examples, endpoint.name) + event_examples(examples, endpoint.name)
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint, shown)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version, "description": _TEXT},
        "tags": [{"name": name, "description": text} for name, text in TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": _schemas(endpoints),
            "responses": problem_components(problem_examples(examples)),
            "headers": header_components(),
            "securitySchemes": {"key": _KEY},
        },
    }


def _schemas(endpoints: Sequence[Endpoint]) -> dict[str, Any]:
    """Return the schemas of all models by name; a problem in an answer is of one of those that codes have."""
    answers = (shown.model for endpoint in endpoints for shown in endpoint.shown.values())
    models: set[type[BaseModel]] = {
        *_BODIES,
        Problem,
        *CODES,
        *filter(None, answers),
    }
    ordered = sorted(models, key=lambda model: model.__name__)
    _, definitions = models_json_schema(
        [(model, "validation") for model in ordered], ref_template=f"{SCHEMAS}{{model}}"
    )
    schemas: dict[str, Any] = definitions["$defs"]
    for model, codes in CODES.items():
        schemas[model.__name__]["properties"]["code"]["enum"] = sorted(codes)
    bodies = [{"$ref": f"{SCHEMAS}{model.__name__}"} for model in CODES]
    schemas["Problem"] = {"description": schemas["Problem"]["description"], "oneOf": bodies}
    return dict(sorted(schemas.items()))


def _operation(endpoint: Endpoint, examples: Sequence[Example]) -> dict[str, Any]:
    described = OPERATIONS[endpoint.name]
    paragraphs = [described.text]
    if endpoint.scope is not None:
        scope = f"{INGEST}:<stream>" if endpoint.scope == INGEST else endpoint.scope
        paragraphs.append(f"Where keys are asked for, one with the scope `{scope}` is needed.")
    paragraphs.append(f"Problems: {_problems(endpoint.codes())}.")
    operation: dict[str, Any] = {
        "tags": [described.tag],
        "summary": endpoint.text,
        "description": "\n\n".join(paragraphs),
        "operationId": endpoint.name,
        "parameters": _parameters(endpoint, examples),
        "responses": _responses(endpoint, examples),
    }
    if endpoint.body is not None:
        operation["requestBody"] = _request_body(endpoint.body, described.body, examples)
    if endpoint.scope is not None:
        operation["security"] = [{"key": []}, {}]
    return operation


def _problems(codes: Iterable[str]) -> str:
    """Return the codes of problems by status, as a sentence names them."""
    by_status: dict[int, list[str]] = {}
    for code in codes:
        by_status.setdefault(PROBLEM_TYPES[code].status, []).append(f"`{code}`")
    return "; ".join(f"{status} {', '.join(each)}" for status, each in sorted(by_status.items()))


def _parameters(endpoint: Endpoint, examples: Sequence[Example]) -> list[dict[str, Any]]:
    """Return the parameters of path, query and head, each with the value of the first example that has one."""
    found = [*_path_parameters(endpoint.path)]
    found += [parameter.openapi() for parameter in endpoint.parameters]
    found += [dict(header) for header in endpoint.headers]
    for parameter in found:
        values = (example.sent(parameter["in"], parameter["name"]) for example in examples)
        value = next((one for one in values if one is not None), None)
        if value is not None:
            parameter["example"] = value
    return found


def _path_parameters(path: str) -> Iterator[dict[str, Any]]:
    segments = path.split("/")
    for before, segment in pairwise(segments):
        if segment.startswith("{"):
            yield {
                "name": segment[1:-1],
                "in": "path",
                "required": True,
                "description": PATH_PARAMETERS[f"{before}/{segment}"],
                "schema": {"type": "string"},
            }


def _request_body(
    body: Mapping[str, Any], text: str, examples: Sequence[Example]
) -> dict[str, Any]:
    content = {media: dict(one) for media, one in body["content"].items()}
    for example in examples:
        if example.body is not None and example.status < 300:
            shown = {"summary": example.summary, "value": example.body}
            content[example.media].setdefault("examples", {})[example.name] = shown
    return {"description": text or _of_model(content[JSON]["schema"]), **body, "content": content}


def _of_model(schema: Mapping[str, Any]) -> str:
    """Return what the model says that a body refers to."""
    name = schema["$ref"].removeprefix(SCHEMAS)
    (model,) = (one for one in _BODIES if one.__name__ == name)
    return inspect.cleandoc(model.__doc__ or "")


def _responses(endpoint: Endpoint, examples: Sequence[Example]) -> dict[str, dict[str, Any]]:
    """Return what the endpoint answers: its successes, and for each status of its problems the one response."""
    found: dict[str, dict[str, Any]] = {}
    for status, shown in endpoint.shown.items():
        named = {name: header(name, text) for name, text in shown.headers.items()}
        named["Request-Id"] = header_ref("Request-Id")
        if endpoint.changes:
            named["Psoup-Durability"] = header_ref("Psoup-Durability")
        found[str(status)] = {"description": shown.text, "headers": named}
        answered = [example for example in examples if example.status == status]
        if content := _content(shown, answered):
            found[str(status)]["content"] = content
    for code in endpoint.codes():
        status = PROBLEM_TYPES[code].status
        found.setdefault(str(status), problem_ref(status))
    return dict(sorted(found.items()))


def _content(shown: Shown, examples: Sequence[Example]) -> dict[str, Any]:
    content: dict[str, Any] = {}
    if shown.model is not None:
        content[JSON] = {"schema": {"$ref": f"{SCHEMAS}{shown.model.__name__}"}}
    content |= {media: dict(one) for media, one in shown.content.items()}
    for example in examples:
        if example.answer is not None:
            value = {"summary": example.summary, "value": example.answer}
            content[example.answer_media].setdefault("examples", {})[example.name] = value
    return content
