"""The endpoints by path and method: a request finds its own by one look for each segment of its path.

FastAPI compares a path with the pattern of one route after the other, and builds what its dependencies need for each
request: more work than most answers. Its router is left with what is no endpoint: the page of the documentation.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from psoup.app.errors import MethodError
from psoup.app.http.edge import WHOLE, Application, Receive, Scope, Send, problem_answer
from psoup.app.http.sending import COUNTED_FROM_BYTES
from psoup.app.routes.endpoint import Context, Endpoint, Serve, served
from psoup.app.routes.results.event_stream import EventStream
from psoup.engine.errors import EngineError

_PARAMETER: Final = "{"


class _Node:
    """What is behind one beginning of paths: further segments by name, or one parameter; and what is served here."""

    __slots__ = ("named", "parameter", "served")

    def __init__(self) -> None:
        self.named: dict[str, _Node] = {}
        self.parameter: tuple[str, _Node] | None = None
        self.served: dict[str, Serve] = {}


class RouteTable:
    """ASGI application: answers the requests for endpoints, and passes all others on. Does not change."""

    def __init__(
        self, endpoints: Sequence[Endpoint], context: Context, otherwise: Application
    ) -> None:
        """Serve `endpoints`, which share `context`; `otherwise` answers what is for none of their paths.

        Raises:
            ValueError: a path could be that of two endpoints.
        """
        self._root = _Node()
        self._otherwise = otherwise
        for endpoint in endpoints:
            self._node(endpoint.path).served[endpoint.method] = served(context, endpoint)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; other kinds of scope are passed on."""
        found = self.find(scope["path"]) if scope["type"] == "http" else None
        if found is None:
            await self._otherwise(scope, receive, send)
            return
        by_method, scope["path_params"] = found
        serve = by_method.get(scope["method"])
        try:
            if serve is None:
                raise MethodError(_allowed(by_method))
            response = await serve(Request(scope, receive))
        except EngineError as error:
            response = problem_answer(scope, error)
        if isinstance(response, EventStream):
            await response(scope, receive, send)
        else:
            await _send_whole(response, send)

    def find(self, path: str) -> tuple[Mapping[str, Serve], dict[str, str]] | None:
        """Return what serves `path`, by method, and the values of its parameters; None = it is of no endpoint.

        Cost: O(segments), whatever the number of endpoints.
        """
        node, values = self._root, dict[str, str]()
        for segment in path.split("/"):
            following = node.named.get(segment)
            if following is None:
                if node.parameter is None or not segment:
                    return None
                name, following = node.parameter
                values[name] = segment
            node = following
        return (node.served, values) if node.served else None

    def _node(self, path: str) -> _Node:
        """Return the node of an endpoint's path, made where it is new."""
        node = self._root
        for segment in path.split("/"):
            before = node
            if not segment.startswith(_PARAMETER):
                node = node.named.setdefault(segment, _Node())
            else:
                name = segment[1:-1]
                known, node = before.parameter = before.parameter or (name, _Node())
                if known != name:
                    raise ValueError(f"{path}: the parameter {name} is called {known} elsewhere")
            if before.named and before.parameter is not None:
                raise ValueError(f"{path}: {segment} may be a name or a parameter")
        return node


def _allowed(by_method: Mapping[str, Serve]) -> list[str]:
    """Return the methods that a path takes; a HEAD is answered as its GET."""
    return sorted({*by_method, *(["HEAD"] if "GET" in by_method else [])})


async def _send_whole(response: Response, send: Send) -> None:
    """Send an answer whose body is in memory; a small one as one piece."""
    start: dict[str, object] = {
        "type": "http.response.start",
        "status": response.status_code,
        "headers": response.raw_headers,
    }
    if len(response.body) < COUNTED_FROM_BYTES:
        start[WHOLE] = response.body
        await send(start)
        return
    await send(start)
    await send({"type": "http.response.body", "body": response.body})
