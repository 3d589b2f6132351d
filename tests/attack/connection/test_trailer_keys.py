"""A key in a trailer is no key."""

from collections.abc import Mapping
from typing import Final

import pytest

from tests.attack.crowd import asked, chunked
from tests.attack.target import Target, keys_file

KEY: Final = "a-key-of-256-bits-in-earnest"


@pytest.fixture(scope="module")
def target_settings(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, object]:
    """Keys are asked for."""
    return {"keys_file": keys_file(tmp_path_factory.mktemp("keyed"), KEY, "read", "admin")}


def test_trailers_do_not_authenticate(target: Target):
    """A key in a trailer is no key, also where the body is awaited before anything is looked at."""
    key = f"Authorization: Bearer {KEY}"
    body = b'{"columns":[{"name":"a","type":"string"}]}'
    request = chunked("/v1/streams/s", body, key).replace(b"POST", b"PUT", 1)
    assert 401 == asked(target.address, request)[0]
    with_key = chunked("/v1/streams/s", body, lines=(key,)).replace(b"POST", b"PUT", 1)
    assert 201 == asked(target.address, with_key)[0]
