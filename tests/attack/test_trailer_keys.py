"""A key in a trailer is no key."""

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.attack.crowd import asked, chunked
from tests.attack.target import KINDS, Kind, Target, launched
from tests.stores import SharedServer

KEY: Final = "a-key-of-256-bits-in-earnest"


@contextlib.contextmanager
def guarded(kind: Kind, server: SharedServer, folder: Path) -> Iterator[Target]:
    """Yield a service that asks for keys."""
    keys = folder / "keys"
    digest = hashlib.sha256(KEY.encode()).hexdigest()
    keys.write_text(json.dumps({"id": "k", "sha256": digest, "scopes": ["read", "admin"]}))
    keys.chmod(0o600)
    with launched(kind, server, folder, keys_file=keys) as one:
        yield one


@pytest.mark.parametrize("kind", KINDS)
def test_trailers_do_not_authenticate(tmp_path: Path, attacked_server: SharedServer, kind: Kind):
    """A key in a trailer is no key, also where the body is awaited before anything is looked at."""
    with guarded(kind, attacked_server, tmp_path) as target:
        key = f"Authorization: Bearer {KEY}"
        body = b'{"columns":[{"name":"a","type":"string"}]}'
        request = chunked("/v1/streams/s", body, key).replace(b"POST", b"PUT", 1)
        assert 401 == asked(target.address, request)[0]
        with_key = chunked("/v1/streams/s", body, lines=(key,)).replace(b"POST", b"PUT", 1)
        assert 201 == asked(target.address, with_key)[0]
