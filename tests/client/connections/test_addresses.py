"""Where a service is and how it is spoken to: what cannot be is refused before anything is sent."""

import ssl

import httpx2
import pytest

from psoup.client.calls import PsoupClient
from psoup.client.connections.address import is_same_origin
from psoup.client.connections.retrying import unreachable
from psoup.client.connections.transport import settings, unreached
from psoup.client.database import is_url
from psoup.client.errors import AddressError, ServiceUnreachableError


@pytest.mark.parametrize(
    "url", ["", "localhost:8000", "//h", "ftp://h", "http://", "http://h:70000", "http://h:x"]
)
def test_url_that_is_none_is_refused(url):
    """No scheme, another one, no host, no port that can be: refused with the form that is expected."""
    with pytest.raises(AddressError, match="as in http://127") as refused:
        PsoupClient(url)
    assert repr(url) in str(refused.value)


@pytest.mark.parametrize("url", ["http://h", "https://h:1/", "HTTP://[::1]:80", "http://h/below/"])
def test_url_of_a_service_is_taken(url):
    """Both schemes, addresses, ports and a path before the service's own are fine."""
    with PsoupClient(url) as service:
        assert url.rstrip("/") == service.url


@pytest.mark.parametrize("url", ["http://h/v1", "http://h/v1/", "http://h/below/v1"])
def test_url_without_the_version_of_its_paths(url):
    """Every path begins with it: given with the URL it is the same."""
    with PsoupClient(url) as service:
        assert url.rstrip("/").removesuffix("/v1") == service.url


@pytest.mark.parametrize("token", ["é", "a b", "a\r\nX: y", "\x7f"])
def test_token_that_no_header_carries_is_refused_and_not_shown(token):
    """Other characters than ASCII signs are refused; the message does not hold the secret."""
    with pytest.raises(AddressError) as refused:
        PsoupClient("http://h", token=f"secret{token}")
    assert "secret" not in str(refused.value)


def test_unreachable_service_is_said_in_sentences_with_one_stop():
    """A reason that ends with its own full stop brings no second one."""

    def refuse(_: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectError("It is refused.")

    with (
        PsoupClient("http://h", transport=httpx2.MockTransport(refuse)) as service,
        pytest.raises(ServiceUnreachableError) as caught,
    ):
        service.status()
    assert "does not answer: It is refused. Is `psoup serve` running there?" in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("[Errno 111] Connection refused", "Connection refused. Is `psoup serve` running there?"),
        (
            "[Errno -2] Name or service not known",
            "no host of this name is known. Is the address right?",
        ),
        (
            "[SSL: WRONG_VERSION_NUMBER] wrong version number (_ssl.c:1006)",
            "what listens there does not speak TLS. Write http:// in place of https://.",
        ),
        (
            "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed certificate (_ssl.c:1006)",
            "its certificate is not trusted: self-signed certificate. SSL_CERT_FILE names a file of certificates to trust.",
        ),
    ],
)
def test_unreachable_service_is_said_without_the_words_of_the_system(given, said):
    """No number of an error, no line of a library; the hint fits the reason."""
    outcome = unreached(httpx2.ConnectError(given))
    assert str(unreachable("http://h", outcome)).endswith(f"does not answer: {said}")


def test_url_with_a_password_is_refused_and_not_shown():
    """What stands before an @ is no key of a service, and every message would show it."""
    with pytest.raises(AddressError, match="--token") as refused:
        PsoupClient("http://somebody:secret@h")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("http://h/a", "http://H:80/b", True),
        ("https://h", "https://h:443/", True),
        ("http://h", "https://h", False),
        ("https://h", "http://h:443", False),
        ("http://h", "http://h:81", False),
        ("http://h", "http://h.example", False),
    ],
)
def test_origin_is_scheme_host_and_port(one, other, same):
    """All three have to be equal; a port that is not named is the scheme's own."""
    assert same == is_same_origin(httpx2.URL(one), httpx2.URL(other))


def test_client_of_plain_http_reads_no_certificates():
    """Those of the system take 20 ms, and none is shown; a context without authorities trusts nobody."""
    context = settings("http://h", None)["verify"]
    assert [] == context.get_ca_certs()
    assert (ssl.CERT_REQUIRED, True) == (context.verify_mode, context.check_hostname)


@pytest.mark.parametrize("given", ["localhost:8000", "127.0.0.1:8000/v1", "http:/localhost:8000"])
def test_host_and_port_without_a_scheme_are_no_folder(given):
    """A program that means a service is not given an empty one of its own."""
    with pytest.raises(AddressError, match="http://localhost:8000"):
        is_url(given)
    assert [True, False, False] == [is_url(one) for one in ("http://h:1", "./h:1", ":memory:")]
