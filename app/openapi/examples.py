"""The examples of the OpenAPI: requests that were sent to a service, and its answers, as `make docs` writes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final

import orjson

from psoup.app.wire.rows.body import JSON

FILE: Final = "examples.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One request and its answer.

    Attributes:
        operation: the operation id.
        name: among the examples of the operation.
        path, query, headers: what was sent there, by name.
        body: of the request: a JSON value, or the text of another media type; None = none, or nothing to be read.
        answer: the same of the answer.
    """

    operation: str
    name: str
    summary: str
    status: int
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    media: str = JSON
    body: Any = None
    answer_media: str = JSON
    answer: Any = None

    def sent(self, where: str, name: str) -> str | None:
        """Return the value of a parameter in `where` (path, query or header); None where it was not sent."""
        values = {"path": self.path, "query": self.query, "header": self.headers}[where]
        return values.get(name)


def load_examples() -> list[Example]:
    """Return all examples, in the order in which they were sent."""
    text = (files("psoup.app.openapi") / FILE).read_bytes()
    return [Example(**one) for one in orjson.loads(text)]


def examples_of(examples: Sequence[Example], operation: str) -> list[Example]:
    """Return the examples of an operation that did not fail."""
    return [one for one in examples if one.operation == operation and one.status < 400]


def problem_examples(examples: Sequence[Example]) -> dict[str, Mapping[str, Any]]:
    """Return the bodies of those that failed, by code."""
    return {one.answer["code"]: one.answer for one in examples if one.status >= 400}
