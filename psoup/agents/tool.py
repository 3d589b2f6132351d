"""What a tool is: its name and texts, what goes in and comes out, and what it asks the service. No I/O."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mcp.types import Tool as ToolShown, ToolAnnotations
from pydantic import BaseModel

from psoup.agents.answers import Fitted
from psoup.agents.arguments import Arguments
from psoup.agents.fitting import Part
from psoup.client.messages import JsonObject, Operation

A = TypeVar("A", bound=Arguments)


@dataclass(frozen=True, slots=True)
class Found:
    """What a tool has found.

    Attributes:
        answer: members of the tool's answer model, whole.
        parts: what of it may be left out, in this order.
    """

    answer: JsonObject
    parts: Sequence[Part] = field(default_factory=tuple)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool.

    Attributes:
        title: for people.
        text: teaches an agent when and how to use it.
        arguments, answer: models of what goes in and comes out.
        ask: what it asks the service, and finds.
        annotations: what a host is told of its effects.
    """

    name: str
    title: str
    text: str
    arguments: type[Arguments]
    answer: type[Fitted]
    ask: Callable[[Any], Operation[Found]]
    annotations: ToolAnnotations

    def shown(self) -> ToolShown:
        """Return the tool as hosts list it."""
        return ToolShown(
            name=self.name,
            title=self.title,
            description=self.text,
            input_schema=schema_of(self.arguments, "validation"),
            output_schema=schema_of(self.answer, "serialization"),
            annotations=self.annotations,
        )


def schema_of(model: type[BaseModel], mode: Any) -> dict[str, Any]:  # noqa: ANN401 (a literal of pydantic's)
    """Return the JSON schema of a model, without the titles that repeat the names: an agent pays for each list."""
    schema: dict[str, Any] = _untitled(model.model_json_schema(mode=mode))
    return schema


def _untitled(schema: Any) -> Any:  # noqa: ANN401 (of JSON)
    if isinstance(schema, Mapping):
        return {
            name: _properties(one) if name in ("properties", "$defs") else _untitled(one)
            for name, one in schema.items()
            if name != "title"
        }
    return [_untitled(one) for one in schema] if isinstance(schema, list) else schema


def _properties(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return members by name, one of which may be called `title`."""
    return {name: _untitled(one) for name, one in named.items()}
