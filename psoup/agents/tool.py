"""What a tool is: its name and texts, what goes in and comes out, and what it asks the service. No I/O."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mcp.types import Tool as ToolShown, ToolAnnotations
from pydantic import BaseModel

from psoup.agents.answers import Fitted
from psoup.agents.arguments import Arguments
from psoup.agents.fitting import Part
from psoup.client.connections.messages import JsonObject, Operation

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
    """Return the JSON schema of a model, without what says nothing to an agent, who pays for each list of tools.

    Titles repeat names, and the model's text that of its tool. Null is left out: answers leave such a member out, and
    so may arguments.
    """
    schema: dict[str, Any] = _lean(model.model_json_schema(mode=mode))
    schema.pop("description", None)
    return schema


def _lean(schema: Any) -> Any:  # noqa: ANN401 (of JSON)
    if isinstance(schema, list):
        return [_lean(one) for one in schema]
    if not isinstance(schema, Mapping):
        return schema
    lean = {
        name: _members(one) if name in ("properties", "$defs") else _lean(one)
        for name, one in schema.items()
        if name != "title" and (name, one) != ("default", None)
    }
    match lean.pop("anyOf", None):
        case [Mapping() as only, {"type": "null"}]:
            return {**only, **lean}
        case None:
            return lean
        case several:
            return {"anyOf": several, **lean}


def _members(named: Mapping[str, Any]) -> dict[str, Any]:
    """Return members by name, one of which may be called `title`."""
    return {name: _lean(one) for name, one in named.items()}
