"""Guessing keys: one address tries one after the other, also together with the right one."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest

from psoup.engine import limits
from tests.app.support import assert_problem
from tests.attack.target import Target, keys_file
from tests.patience import WAIT_S

pytestmark = pytest.mark.service
KEY = "psk_right"
GUESSES = limits.AUTHENTICATION_FAILURES_MAX


@pytest.fixture(scope="module")
def target_settings(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, object]:
    """One key is asked for."""
    return {"keys_file": keys_file(tmp_path_factory.mktemp("keyed"), KEY, "read")}


def ask(
    target: Target, key: str | None, *, address: str, path: str = "/v1/streams"
) -> httpx2.Response:
    """Return the answer to a request that comes from a loopback address."""
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    transport = httpx2.HTTPTransport(verify=False, local_address=address)
    with httpx2.Client(transport=transport, timeout=WAIT_S) as client:
        return client.get(f"{target.url}{path}", headers=headers)


def test_guesses_past_the_limit_are_not_looked_at(target):
    """Ten are answered 401, all others 429 with the time to wait, also the right one; other addresses go on."""
    guesser, other = "127.0.0.2", "127.0.0.3"
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda n: ask(target, f"psk_{n}", address=guesser), range(40)))
    statuses = [answer.status_code for answer in answers]
    assert (GUESSES, 40 - GUESSES) == (statuses.count(401), statuses.count(429))
    refused = ask(target, KEY, address=guesser)
    assert_problem(refused, "rate-limited")
    assert 1 <= int(refused.headers["retry-after"]) <= limits.AUTHENTICATION_FAILURES_S + 5
    assert 200 == ask(target, KEY, address=other).status_code
    meters = ask(target, KEY, address=other, path="/metrics").text
    assert f"psoup_authentications_failed_total {GUESSES:.1f}" in meters
    assert f"psoup_authentications_refused_total {41 - GUESSES:.1f}" in meters


def test_requests_without_a_key_guess_nothing(target):
    """They are 401 however many; so is what asks for no key answered, and a key of the same address looked at."""
    asking = "127.0.0.4"
    for _ in range(GUESSES + 2):
        assert 401 == ask(target, None, address=asking).status_code
    for path in ("/healthz", "/readyz"):
        assert 200 == ask(target, "psk_wrong", address=asking, path=path).status_code
    assert 200 == ask(target, KEY, address=asking).status_code


def test_forwarded_addresses_are_the_clients_own_word_without_a_proxy(target):
    """A guesser does not become somebody else by a header."""
    guesser = "127.0.0.5"
    transport = httpx2.HTTPTransport(verify=False, local_address=guesser)
    with httpx2.Client(transport=transport, timeout=WAIT_S) as client:
        answers = [
            client.get(
                f"{target.url}/v1/streams",
                headers={"Authorization": "Bearer psk_x", "X-Forwarded-For": f"10.0.0.{n}"},
            ).status_code
            for n in range(GUESSES + 1)
        ]
    assert [401] * GUESSES + [429] == answers
