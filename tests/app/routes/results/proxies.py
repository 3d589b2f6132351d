"""What stands between a client and the service: a cache as browsers have one, and proxies that do what none should."""

import re
from collections.abc import Mapping

import httpx2

Stored = tuple[httpx2.Headers, bytes]


class Between(httpx2.AsyncBaseTransport):
    """Passes requests on."""

    def __init__(self, behind: httpx2.AsyncBaseTransport) -> None:
        self._behind = behind

    async def forward(
        self, request: httpx2.Request, headers: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        """Return what is answered behind it, read to its end; `headers` are sent beside the request's own."""
        copy = httpx2.Request(
            request.method,
            request.url,
            headers={**request.headers, **(headers or {})},
            content=await request.aread(),
        )
        answer = await self._behind.handle_async_request(copy)
        await answer.aread()
        return answer


class BrowserCache(Between):
    """A private cache (RFC 9111): it asks whether what it has is still right, unless it was told how long it is.

    `kept` counts answers that were the stored ones, `unasked` those of them that were taken without a question; the
    time `now_s` moves by hand.
    """

    def __init__(self, behind: httpx2.AsyncBaseTransport) -> None:
        super().__init__(behind)
        self.now_s = 0.0
        self.kept = self.unasked = 0
        self._stored: dict[tuple[str, str], tuple[float, Stored]] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        key = (str(request.url), request.headers.get("accept", ""))
        if request.method != "GET":
            return await self.forward(request)
        since_s, (headers, body) = self._stored.get(key, (0.0, (httpx2.Headers(), b"")))
        if "etag" not in headers:
            return await self._fetched(key, request)
        if self.now_s - since_s < fresh_s(headers):
            self.kept, self.unasked = self.kept + 1, self.unasked + 1
            return httpx2.Response(200, headers=headers, content=body)
        answer = await self._fetched(key, request, {"If-None-Match": headers["etag"]})
        if answer.status_code != 304:
            return answer
        assert answer.headers["etag"] == headers["etag"], "the tag of what it stands for"
        self.kept += 1
        headers.update({name: answer.headers[name] for name in ("cache-control", "vary")})
        self._stored[key] = self.now_s, (headers, body)
        return httpx2.Response(200, headers=headers, content=body)

    async def _fetched(
        self, key: tuple[str, str], request: httpx2.Request, more: Mapping[str, str] | None = None
    ) -> httpx2.Response:
        answer = await self.forward(request, more)
        if answer.status_code == 200 and "no-store" not in answer.headers["cache-control"]:
            headers = answer.headers.copy()
            for name in ("content-encoding", "content-length"):
                headers.pop(name, None)
            self._stored[key] = self.now_s, (headers, answer.content)
        return answer


def fresh_s(headers: Mapping[str, str]) -> float:
    """Return how many seconds an answer may be used without a question."""
    control = headers["cache-control"]
    age = re.search(r"max-age=([0-9]+)", control)
    return 0.0 if age is None or "no-cache" in control else float(age[1])


class Stripping(Between):
    """Throws the query string away."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        request.url = request.url.copy_with(query=None)
        return await self.forward(request)


class Doubling(Between):
    """Sends each request twice, and answers with what came first."""

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        first = await self.forward(request)
        await self.forward(request)
        return first


class Hoarding(Between):
    """Answers with what it has of a URL, whatever it was told, until it is emptied."""

    def __init__(self, behind: httpx2.AsyncBaseTransport) -> None:
        super().__init__(behind)
        self.stored: dict[str, httpx2.Response] = {}
        self.hits = 0

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url = str(request.url)
        self.hits += url in self.stored
        if url not in self.stored:
            self.stored[url] = await self.forward(request)
        kept = self.stored[url]
        headers = {name: one for name, one in kept.headers.items() if name != "content-encoding"}
        return httpx2.Response(kept.status_code, headers=headers, content=kept.content)
