"""What comes through nginx and Varnish, as they are installed: answers, waits, and streams of events.

nginx buffers and compresses. As a cache it keeps nothing private, and takes conditions off what it passes. Varnish lets
those who ask the same wait for the first of them. What was not checked for want of a program is said by a skip.
"""

import asyncio
import re
import shutil
import socket
import subprocess
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from psoup.engine import limits
from tests.app.routes.results.following import Events, Site
from tests.app.routes.results.worlds import EVENT_QUERIES, World
from tests.app.serving import served_application, wait_until_live
from tests.app.support import SETTINGS
from tests.patience import WAIT_S, wait_until
from tests.ports import free_port

STEPS = 60
LONG_S = 50
"""Longer than any of these tests takes where it does what it should."""
PING_S = 0.1
CACHING = "proxy_cache answers; add_header X-Cache $upstream_cache_status always;"
NGINX = """
user root; daemon off; pid {folder}/pid; error_log stderr;
events {{}}
http {{
  access_log off; gzip on; gzip_types *; gzip_proxied any; gzip_min_length 1;
  client_body_temp_path {folder}; proxy_temp_path {folder};
  fastcgi_temp_path {folder}; uwsgi_temp_path {folder}; scgi_temp_path {folder};
  proxy_cache_path {folder}/cache keys_zone=answers:1m;
  proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
  server {{
    listen 127.0.0.1:{port};
    location / {{ proxy_pass http://127.0.0.1:{behind}; {caching} }}
    location /doubled/ {{ proxy_pass http://127.0.0.1:{behind}/; mirror /again; }}
    location = /again {{ internal; proxy_pass http://127.0.0.1:{behind}/v1/sync; }}
  }}
}}
"""


@dataclass(frozen=True)
class Proxied:
    """A service as it is seen through a proxy, and from beside it.

    Attributes:
        condition_status: of the answer to a condition that holds.
        zips: it compresses for clients that take gzip.
    """

    through: Site
    beside: Site
    condition_status: int
    zips: bool


@pytest.fixture(scope="module", params=["nginx", "nginx that caches", "varnish"])
def proxied(request: pytest.FixtureRequest, tmp_path_factory) -> Iterator[Proxied]:
    """Yield a service with one stream behind a proxy, which may notice that a client has gone when it writes to it."""
    folder: Path = tmp_path_factory.mktemp("proxy")
    with pytest.MonkeyPatch.context() as patch, served_application(SETTINGS) as (address, app):
        patch.setattr(limits, "EVENTS_PING_S", PING_S)
        wait_until_live(app)
        port, behind = free_port(), address[1]
        if request.param == "varnish":
            command = [program("varnishd"), "-F", "-j", "none", "-n", str(folder / "varnish")]
            command += ["-a", f"127.0.0.1:{port}", "-b", f"127.0.0.1:{behind}"]
        else:
            command = [program("nginx"), "-p", str(folder), "-c", str(folder / "nginx.conf")]
            caching = CACHING if "caches" in request.param else ""
            (folder / "nginx.conf").write_text(
                NGINX.format(folder=folder, port=port, behind=behind, caching=caching)
            )
        with started(command, port):
            beside = Site(address, app.state.context.room)
            beside.declare()
            through = Site(("127.0.0.1", port), beside.room)
            status = 200 if "caches" in request.param else 304
            yield Proxied(through, beside, status, zips=request.param != "varnish")


def test_clients_behind_a_proxy_have_what_is_true(proxied: Proxied):
    """Whatever happens to them; private answers are not kept, and conditions are judged, or taken off."""
    statuses = asyncio.run(judged_by_a_client(proxied))
    assert len(EVENT_QUERIES) * [proxied.condition_status] == statuses


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
@pytest.mark.parametrize("many", [False, True])
def test_events_come_through_a_proxy_while_their_stream_is_open(
    proxied: Proxied, *, many: bool, encoding: str
):
    """Each before the next row is sent, of one query and of many at once, compressed by the proxy or not."""
    query = proxied.beside.register()
    headers = {"Accept-Encoding": encoding}
    events = (
        Events(proxied.through.address, "/v1/sync", headers=headers, body={"queries": {query: {}}})
        if many
        else proxied.through.events(query, headers=headers)
    )
    with events:
        stream = Unzipped(events)
        assert (proxied.zips and encoding == "gzip") == stream.is_zipped
        told = [stream.read_until("event: result")]
        for number in range(3):
            proxied.beside.wait_for(1)
            proxied.beside.trade(number, sym=f"{many} {encoding} {number}")
            told.append(stream.read_until(f"{many} {encoding} {number}"))
    symbols = re.compile(
        rf"{many} {encoding} (\d)"
    )  # the rows of the other cases are there as well
    assert [[], ["0"], ["1"], ["2"]] == [symbols.findall(one) for one in told]
    proxied.beside.wait_for(0)


def test_waits_end_through_a_proxy_when_something_changes(proxied: Proxied):
    """Those who wait with the same cursor, and a sync; the same address has the change afterwards."""
    query = proxied.beside.register()
    cursor = proxied.through.results(query)["cursor"]
    asked = {"cursor": cursor, "wait": LONG_S}
    body = {"queries": {query: {"cursor": cursor}}, "wait": LONG_S}
    with ThreadPoolExecutor(3) as pool:
        waits = [pool.submit(proxied.through.results, query, **asked) for _ in range(2)]
        synced = pool.submit(proxied.through.send, "POST", "/v1/sync", body)
        least = 3 if proxied.zips else 2  # Varnish may let one of two wait that ask the same
        wait_until(lambda: proxied.beside.room.statistics().waiting >= least, "they wait")
        proxied.beside.trade(0, sym="waited for")
        answers = [one.result() for one in waits] + [synced.result()[1]["results"][query]]
    answers.append(proxied.through.results(query, **asked))
    assert 4 * ["waited for"] == [answer["rows"][-1]["sym"] for answer in answers]
    proxied.beside.wait_for(0)


@pytest.mark.parametrize("proxied", ["nginx"], indirect=True)
def test_a_sync_that_a_proxy_doubles_is_answered_as_one(proxied: Proxied):
    """It changes nothing: the second waits beside the first, and both are forgotten."""
    query = proxied.beside.register()
    cursor = proxied.beside.results(query)["cursor"]
    body = {"queries": {query: {"cursor": cursor}}, "wait": LONG_S}
    with ThreadPoolExecutor(1) as pool:
        synced = pool.submit(proxied.through.send, "POST", "/doubled/v1/sync", body)
        proxied.beside.wait_for(2)
        proxied.beside.trade(0, sym="told once")
        status, answer = synced.result()
    assert (200, ["told once"]) == (
        status,
        [row["sym"] for row in answer["results"][query]["rows"]],
    )
    proxied.beside.wait_for(0)


async def judged_by_a_client(proxied: Proxied) -> list[int]:
    """Play a world through a proxy; return how it then answers conditions that hold, by query."""
    statuses = []
    world = World(7, EVENT_QUERIES)
    http, direct = (
        httpx2.AsyncClient(base_url=f"http://127.0.0.1:{site.address[1]}", timeout=WAIT_S)
        for site in (proxied.through, proxied.beside)
    )
    async with http, direct:
        await world.begin(http, direct)
        await world.play(STEPS)
        for query_id in world.query_ids:
            path = f"/v1/queries/{query_id}/results"
            first = await http.get(path)
            assert first.headers.get("x-cache", "MISS") == "MISS", "a private answer was not kept"
            tag = first.headers["etag"]
            assert tag == (await direct.get(path)).headers["etag"]
            again = await http.get(path, headers={"If-None-Match": tag})
            assert tag == again.headers["etag"]
            statuses.append(again.status_code)
    return statuses


class Unzipped:
    """A stream of events as text, which a proxy may have compressed."""

    def __init__(self, events: Events) -> None:
        self._answer = events.answer
        self.is_zipped = self._answer.headers["content-encoding"] == "gzip"
        self._unzip: Any = zlib.decompressobj(31).decompress if self.is_zipped else bytes

    def read_until(self, mark: str) -> str:
        """Return what has come since the last call, once `mark` is in it."""
        text = b""
        while mark.encode() not in text:
            piece = self._answer.read1()
            assert piece, f"the stream goes on: {text!r}"
            text += self._unzip(piece)
        return text.decode()


@contextmanager
def started(command: list[str], port: int) -> Iterator[None]:
    """Run a proxy meanwhile; it listens on `port`."""
    process = subprocess.Popen(command)
    try:
        wait_until(lambda: process.poll() is not None or listens(port), "the proxy listens")
        assert None is process.poll(), "the proxy runs"
        yield
    finally:
        process.terminate()
        process.wait(WAIT_S)


def listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def program(name: str) -> str:
    """Return the path of a program; skip the test where there is none."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"{name} is not installed here: what passes through it was not checked")
    return path
