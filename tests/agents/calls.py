"""Calls of tools as a host makes them: what they answer, and what they say when they refuse."""

import json
from typing import Any

from mcp import Client
from mcp.types import CallToolResult, TextContent

from psoup.agents.arguments import TOKENS_DEFAULT
from psoup.agents.tokens import count_tokens


async def done(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Return what a tool answers: its text and its structure say the same, and both keep to the budget."""
    result = await client.call_tool(tool, arguments)
    text = _text(result)
    assert not result.is_error, text
    answer: dict[str, Any] = result.structured_content
    assert json.loads(text) == answer
    assert count_tokens(text) <= arguments.get("max_tokens", TOKENS_DEFAULT)
    return answer


async def refused(client: Client, tool: str, **arguments: Any) -> str:
    """Return what a tool says of a call that it refuses, which keeps to the budget as well."""
    result = await client.call_tool(tool, arguments)
    text = _text(result)
    assert result.is_error, text
    assert count_tokens(text) <= arguments.get("max_tokens", TOKENS_DEFAULT)
    return text


def _text(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text
