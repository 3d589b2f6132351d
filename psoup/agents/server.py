"""The server of the protocol: tools and resources, asked of the service with the key of whoever calls."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from importlib.metadata import version
from typing import Any, TypeVar

from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    TextContent,
)
from pydantic import ValidationError

from psoup.agents import resources
from psoup.agents.arguments import TOKENS_DEFAULT, TOKENS_MAX, TOKENS_MIN
from psoup.agents.catalogue import BY_NAME, INSTRUCTIONS, TOOLS
from psoup.agents.fitting import BudgetError, as_text, fit
from psoup.agents.refusals import refusal, wrong_arguments
from psoup.agents.tool import Tool
from psoup.client.connections.async_connection import AsyncConnection
from psoup.client.connections.messages import Operation
from psoup.client.errors import DefinitionError, PsoupError, ServiceProblem

T = TypeVar("T")
Context = ServerRequestContext[AsyncConnection, Any]
Connect = Callable[[str | None], AsyncConnection]
"""Makes a connection to the service with a key, or with none."""
KeyOf = Callable[[Context], str | None]
"""Returns the key that a request brings; None: it brings none, and is asked with the server's own."""


def make_server(
    connect: Connect, *, token: str | None, key_of: KeyOf = lambda _: None
) -> Server[AsyncConnection]:
    """Return a server.

    Args:
        connect: to the service.
        token: the server's own key; None: it has none.
        key_of: finds the key of a request.
    """

    @asynccontextmanager
    async def lifespan(_: Server[AsyncConnection]) -> AsyncIterator[AsyncConnection]:
        async with _open(connect(token)) as own:
            yield own

    handlers = _Handlers(connect, key_of)
    return Server(
        "psoup",
        title="psoup: standing SQL queries",
        version=version("psoup"),
        instructions=INSTRUCTIONS,
        lifespan=lifespan,
        get_tool_input_schema=_input_schema,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
    )


@asynccontextmanager
async def _open(connection: AsyncConnection) -> AsyncIterator[AsyncConnection]:
    try:
        yield connection
    finally:
        await connection.close()


def _input_schema(name: str) -> dict[str, Any] | None:
    tool = _SHOWN_BY_NAME.get(name)
    return None if tool is None else tool.input_schema


_SHOWN = [tool.shown() for tool in TOOLS]
_SHOWN_BY_NAME = {tool.name: tool for tool in _SHOWN}


class _Handlers:
    """Answers the requests of the protocol. Keeps nothing between them."""

    def __init__(self, connect: Connect, key_of: KeyOf) -> None:
        self._connect = connect
        self._key_of = key_of

    async def list_tools(
        self, _context: Context, _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=_SHOWN)

    async def call_tool(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        tool = BY_NAME.get(params.name)
        if tool is None:
            known = ", ".join(BY_NAME)
            raise MCPError(INVALID_PARAMS, f"There is no tool {params.name!r}: expected {known}.")
        given = params.arguments or {}
        budget = _budget(given)
        try:
            arguments = tool.arguments.model_validate(given)
        except ValidationError as error:
            return _failed(wrong_arguments(tool.name, error, budget))
        try:
            answer = await self._ask(context, _fitted(tool, arguments))
        except PsoupError as error:
            return _failed(refusal(error, budget))
        except BudgetError as error:
            return _failed(f"budget-too-small: {error}")
        return CallToolResult(
            content=[TextContent(text=as_text(answer))], structured_content=answer
        )

    async def list_resources(
        self, context: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        cursor = None if params is None else params.cursor
        return await self._resource(context, resources.listed(cursor))

    async def list_templates(
        self, _context: Context, _params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return resources.templates()

    async def read_resource(
        self, context: Context, params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        return await self._resource(context, resources.read(str(params.uri)))

    async def _resource(self, context: Context, operation: Operation[T]) -> T:
        try:
            return await self._ask(context, operation)
        except (PsoupError, BudgetError) as error:
            told = refusal(error, TOKENS_DEFAULT) if isinstance(error, PsoupError) else str(error)
            wrong = isinstance(error, DefinitionError | BudgetError) or (
                isinstance(error, ServiceProblem) and error.status < 500
            )
            raise MCPError(INVALID_PARAMS if wrong else INTERNAL_ERROR, told) from error

    async def _ask(self, context: Context, operation: Operation[T]) -> T:
        """Return what an operation finds, asked with the key of the request, else with the server's own."""
        key = self._key_of(context)
        asking: AbstractAsyncContextManager[AsyncConnection] = (
            nullcontext(context.lifespan_context) if key is None else _open(self._connect(key))
        )
        async with asking as connection:
            return await connection.run(operation)


def _fitted(tool: Tool, arguments: Any) -> Operation[dict[str, Any]]:  # noqa: ANN401 (of the tool's model)
    """Return the answer of a tool within its budget."""
    found = yield from tool.ask(arguments)
    return fit(found.answer, found.parts, arguments.max_tokens)


def _budget(given: dict[str, Any]) -> int:
    """Return the budget that arguments name, if they do, whatever else is wrong with them."""
    named = given.get("max_tokens")
    if isinstance(named, int) and TOKENS_MIN <= named <= TOKENS_MAX:
        return named
    return TOKENS_DEFAULT


def _failed(text: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
