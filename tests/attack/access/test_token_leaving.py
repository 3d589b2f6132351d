"""A service that names addresses elsewhere, to be sent the token that is for itself."""

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from psoup.client.calls import PsoupClient, RetryPolicy
from psoup.client.errors import ForeignAddressError, ServiceProblem

TOKEN = "psk_secret"


@dataclass
class Listening:
    """A server on loopback that answers alike to everything, and keeps the headers it was sent."""

    answer: tuple[int, dict[str, str], bytes] = (200, {}, b"{}")
    heard: list[str | None] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def pair() -> Iterator[tuple[Listening, Listening]]:
    """Yield the service that was meant, and another one."""
    both = Listening(), Listening()
    servers = [HTTPServer(("127.0.0.1", 0), _handler(one)) for one in both]
    threads = [threading.Thread(target=one.serve_forever) for one in servers]
    for one, server, thread in zip(both, servers, threads, strict=True):
        one.url = f"http://127.0.0.1:{server.server_port}"
        thread.start()
    yield both
    for server, thread in zip(servers, threads, strict=True):
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(listening: Listening) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            listening.heard.append(self.headers["Authorization"])
            status, headers, body = listening.answer
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    return Handler


@pytest.mark.parametrize("place", ["envelope", "link", "two slashes"])
def test_token_is_not_sent_where_a_next_page_is_said_to_be_elsewhere(pair, place):
    """A `next` in the body or in Link that leads to another port or host is refused by name; nothing goes there."""
    meant, other = pair
    following = f"{other.url}/v1/streams?page=2"
    following = following.removeprefix("http:") if place == "two slashes" else following
    in_link = place == "link"
    headers = {"Content-Type": "application/json"}
    headers |= {"Link": f'<{following}>; rel="next"'} if in_link else {}
    body: dict[str, object] = {"streams": [], "next": None if in_link else following}
    meant.answer = 200, headers, json.dumps(body).encode()
    with (
        PsoupClient(meant.url, token=TOKEN) as service,
        pytest.raises(ForeignAddressError) as refused,
    ):
        list(service.streams())
    assert [f"Bearer {TOKEN}"] == meant.heard
    assert [] == other.heard
    assert other.url in str(refused.value)
    assert TOKEN not in str(refused.value)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_token_is_not_sent_where_a_redirect_leads(pair, status):
    """No redirect is followed, to wherever it leads."""
    meant, other = pair
    meant.answer = status, {"Location": f"{other.url}/v1/status"}, b""
    once = RetryPolicy(budget_s=0.0)
    with PsoupClient(meant.url, token=TOKEN, retry=once) as service, pytest.raises(ServiceProblem):
        service.status()
    assert [] == other.heard
