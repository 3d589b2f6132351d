"""The key of page tokens: whole or not there, its owner's alone, and never one that can be guessed."""

import os
import secrets

import pytest

from psoup.app.errors import SettingError
from psoup.app.http.page_tokens import KEY_BYTES, page_key


def test_page_key_is_made_once_and_kept(tmp_path):
    """The first start makes the file, for its owner alone; every later one reads the same key."""
    path = tmp_path / "page.key"
    key = page_key(path)
    assert KEY_BYTES == len(key)
    assert key == page_key(path) == path.read_bytes()
    assert 0o600 == path.stat().st_mode & 0o777
    assert [path] == list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [0, 1, KEY_BYTES - 1, KEY_BYTES + 1])
def test_page_key_of_another_length_is_refused(tmp_path, size):
    """An empty, short or long file is no key: the message names it and says what to do."""
    path = tmp_path / "page.key"
    path.write_bytes(b"x" * size)
    with pytest.raises(SettingError, match="remove the file") as refused:
        page_key(path)
    assert str(path) in refused.value.detail


def test_page_key_interrupted_while_it_is_made_leaves_no_file(tmp_path, monkeypatch):
    """A start that ends before the key is synced leaves nothing behind: the next one begins anew."""
    path = tmp_path / "page.key"

    def interrupted(_file: int) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", interrupted)
        with pytest.raises(KeyboardInterrupt):
            page_key(path)
    assert [] == list(tmp_path.iterdir())
    assert KEY_BYTES == len(page_key(path))


def test_page_key_made_by_another_meanwhile_is_taken(tmp_path, monkeypatch):
    """Of two starts at once the first to finish wins, and both sign with its key."""
    path = tmp_path / "page.key"
    theirs = b"k" * KEY_BYTES
    drawn = secrets.token_bytes

    def slow(size: int) -> bytes:
        path.write_bytes(theirs)
        return drawn(size)

    monkeypatch.setattr(secrets, "token_bytes", slow)
    assert theirs == page_key(path)
    assert [path] == list(tmp_path.iterdir())
