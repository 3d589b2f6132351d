"""TLS by files: what is answered over it, what a listener on the way gets to see, and files that cannot be."""

import json
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import httpx2
import pytest

from psoup.app.operate.lifecycle import EXIT_SETTINGS
from psoup.app.processes.serve import serve
from psoup.app.settings import Settings
from psoup.client.calls import PsoupClient
from psoup.client.connections.messages import json_object
from psoup.engine import limits
from tests.app.raw_http import connected, head, read_answer
from tests.app.serving import Address
from tests.app.support import STREAM, assert_problem, row
from tests.attack.certificates import made, tls_settings
from tests.attack.crowd import DECLARATION, metric, rows, unreading
from tests.attack.target import keys_file
from tests.patience import WAIT_S, wait_until

pytestmark = pytest.mark.service
KEY = "psk_right"
STALL_S = 3.0
WIDE_ROWS = 900
"""Of 8 KiB each: an answer of which the system takes a part, for a client that does not read."""


@pytest.fixture(scope="module")
def target_settings(tmp_path_factory, certificate) -> Iterator[Mapping[str, object]]:
    """A key is asked for, and answers come by TLS."""
    keys = keys_file(tmp_path_factory.mktemp("tls"), KEY, "admin", "register", "read", "ingest:*")
    with tls_settings(certificate) as settings:
        yield {**settings, "keys_file": keys, "answer_stall_s": STALL_S}


def test_tls_carries_large_bodies_both_ways(target):
    """Rows of megabytes come in, and their answer goes out; the address that was logged is https."""
    assert target.url.startswith("https://")
    with PsoupClient(target.url, token=KEY) as service:
        service.declare("trades", STREAM)
        rows = [{**row(n % 50), "sym": f"{n:0>40}"} for n in range(20_000)]
        body = json.dumps(rows).encode()
        receipt = service.append("trades", body, content_type="application/json")
        assert 20_000 == receipt["accepted"]
        query = service.register("SELECT * FROM trades BEGIN (NOW - INTERVAL '1' HOUR) END (NOW)")
        pages = list(service.pages(query["id"], limit=20_000))
        assert 20_000 == sum(len(json_object(page)["rows"]) for page in pages)


def test_tls_answers_nobody_reads_are_given_up(target):
    """They count, and their client is cut off, as without TLS."""
    with PsoupClient(target.url, token=KEY) as service:
        service.declare("wide", DECLARATION)
        for first in range(0, WIDE_ROWS, WIDE_ROWS // 3):
            texts = (f"{number:08}" * 1_000 for number in range(first, first + WIDE_ROWS // 3))
            service.append("wide", rows(*texts), content_type="application/json")
        query = service.register("SELECT a FROM wide BEGIN (NOW - INTERVAL '1' DAY) END (NOW)")
    key = f"Authorization: Bearer {KEY}"
    path = f"/v1/queries/{query['id']}/results?limit={WIDE_ROWS}"
    given_up = "psoup_connections_stalled_total"
    assert 0 == metric(target, given_up, key=KEY)
    with secured(target.address, connect=unreading) as client:
        client.sendall(head("GET", path, key))
        wait_until(lambda: metric(target, given_up, key=KEY) == 1, "it is given up")
        status, headers, body = read_answer(client)
        assert 200 == status
        assert len(body) < int(headers["content-length"])


@pytest.mark.parametrize("whole", [True, False])
def test_tls_refusals_reach_a_client_that_still_sends(target, whole):
    """A body over its limit is refused at its head; the answer is whole although the client goes on writing."""
    with PsoupClient(target.url, token=KEY) as service:
        service.declare("trades", STREAM)
    length = limits.BODY_INGEST_BYTES_MAX + 1
    lines = [f"Content-Length: {length}", f"Authorization: Bearer {KEY}"]
    with secured(target.address) as client:
        client.sendall(head("POST", "/v1/streams/trades/rows", *lines))
        sent = 1 << 20 if whole else 1
        client.sendall(b"x" * sent)
        status, headers, body = read_answer(client)
    assert (413, "body-too-large") == (status, json.loads(body)["code"])
    assert "close" == headers["connection"]


def test_tls_refuses_what_is_no_http_in_a_problem_body(target):
    """The protocol's own refusals come over TLS as they do without it, and many requests on one connection."""
    with secured(target.address) as client:
        for _ in range(3):
            client.sendall(head("GET", "/healthz"))
            assert 200 == read_answer(client)[0]
        client.sendall(b"\x00\x01 nonsense\r\n\r\n")
        status, _, body = read_answer(client)
    assert (400, "framing") == (status, json.loads(body)["code"])


def test_tls_is_the_only_way_in(target):
    """Without TLS nothing is answered, and nothing older than 1.2 is spoken."""
    with pytest.raises(httpx2.TransportError):
        httpx2.get(target.url.replace("https:", "http:") + "/healthz", timeout=WAIT_S)
    old = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    old.check_hostname, old.verify_mode = False, ssl.CERT_NONE
    old.set_ciphers("ALL:@SECLEVEL=0")
    with pytest.warns(DeprecationWarning, match="TLSv1_1"):
        old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
    with (
        socket.create_connection(target.address, timeout=WAIT_S) as plain,
        pytest.raises((ssl.SSLError, ConnectionError)),
    ):
        old.wrap_socket(plain)
    with secured(target.address, ssl.TLSVersion.TLSv1_2) as client:
        assert "TLSv1.2" == client.version()
    assert_problem(target.ask("GET", "/v1/streams"), "unauthenticated")


@pytest.mark.parametrize(
    "wrong", ["absent", "folder", "no PEM", "another's key", "passphrase", "one"]
)
def test_tls_files_that_cannot_be_end_the_start(certificate, tmp_path, capsys, wrong):
    """Every mistake is one sentence that names the files, and exit code 2; nobody is asked for a passphrase."""
    given: dict[str, Any] = {
        "tls_cert_file": certificate[0],
        "tls_key_file": certificate[1],
    }
    if wrong == "absent":
        given["tls_key_file"] = tmp_path / "nowhere"
    elif wrong == "folder":
        given["tls_cert_file"] = tmp_path
    elif wrong == "no PEM":
        (tmp_path / "text").write_text("nothing")
        given["tls_cert_file"] = tmp_path / "text"
    elif wrong == "another's key":
        given["tls_key_file"] = made(tmp_path, "other")[1]
    elif wrong == "passphrase":
        given["tls_cert_file"], given["tls_key_file"] = made(tmp_path, "sealed", "secret")
    else:
        given["tls_key_file"] = None
    assert EXIT_SETTINGS == serve(Settings(store="memory://", port=0, log_format="json", **given))
    line = json.loads(capsys.readouterr().err)
    assert ("not-started", "setting") == (line["event"], line["code"])
    assert "tls_" in line["detail"]


def secured(
    address: Address,
    version: ssl.TLSVersion | None = None,
    *,
    connect: Callable[[Address], socket.socket] = connected,
) -> ssl.SSLSocket:
    """Return a connection by TLS, of `version` where it is named, over what `connect` makes."""
    context = ssl.create_default_context()  # SSL_CERT_FILE names the certificate
    if version is not None:
        context.maximum_version = version
    return context.wrap_socket(connect(address), server_hostname="localhost")
