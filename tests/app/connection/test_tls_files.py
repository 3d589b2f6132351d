"""The certificate of new connections: read anew when its files have changed, and kept where they cannot be read."""

import shutil
import ssl
from pathlib import Path
from typing import Any

import pytest

from psoup.app.connection.server import Connections
from psoup.app.connection.tls import Certificate
from psoup.app.settings import Settings
from psoup.engine import limits
from tests.attack.certificates import made

Files = tuple[Path, Path]


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A certificate and its key."""
    return made(tmp_path, "now")


@pytest.fixture
def logged(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of what is logged of certificates."""
    events: list[str] = []

    class Log:
        def info(self, event: str, **_: Any) -> None:
            events.append(event)

        error = info

    monkeypatch.setattr("psoup.app.connection.tls._LOG", Log())
    return events


class Looked:
    """A certificate of some files, looked at whenever it is asked for."""

    def __init__(self, files: Files) -> None:
        self.now_s = 0.0
        settings = Settings(tls_cert_file=files[0], tls_key_file=files[1])
        self.certificate = Certificate(settings, elapsed_s=lambda: self.now_s)

    def later(self) -> ssl.SSLContext | None:
        """Return the context that the next look leads to."""
        self.now_s += limits.TLS_FILES_LOOK_S
        return self.certificate.context()


def replaced(files: Files, others: Files) -> None:
    for old, new in zip(files, others, strict=True):
        shutil.copy(new, old)


def test_a_renewed_certificate_is_read(files: Files, tmp_path: Path, logged: list[str]):
    """At the next look, whether files are written or replaced; without a change the context stays."""
    looked = Looked(files)
    first = looked.later()
    assert first is not None
    assert looked.later() is first
    replaced(files, made(tmp_path, "next"))
    assert looked.certificate.context() is first, "it is not yet time to look"
    second = looked.later()
    assert second not in {None, first}
    for old, new in zip(files, made(tmp_path, "third"), strict=True):
        new.rename(old)
    assert looked.later() not in {None, first, second}
    assert ["certificate-read"] * 2 == logged


@pytest.mark.parametrize("wrong", ["absent", "no PEM", "another's key"])
def test_what_cannot_be_read_leaves_the_one_before_it(
    files: Files, tmp_path: Path, logged: list[str], wrong: str
):
    """It is logged once, and the files are read when they are right again."""
    looked, others = Looked(files), made(tmp_path, "next")
    first = looked.later()
    if wrong == "absent":
        files[1].unlink()
    elif wrong == "no PEM":
        files[0].write_text("nothing")
    else:
        shutil.copy(others[1], files[1])
    for _ in range(3):
        assert looked.later() is first
    assert ["certificate-kept"] == logged
    replaced(files, others)
    assert looked.later() not in {None, first}
    assert ["certificate-kept", "certificate-read"] == logged


def test_files_that_were_never_right_encrypt_nothing(files: Files, logged: list[str]):
    """There is no context until they are; without TLS no connection is made of settings that ask for it."""
    text = files[0].read_text()
    files[0].write_text("nothing")
    looked = Looked(files)
    assert looked.later() is None
    files[0].write_text(text)
    assert looked.later() is not None
    assert ["certificate-unreadable", "certificate-read"] == logged
    with pytest.raises(RuntimeError):
        Connections(Settings(tls_cert_file=files[0], tls_key_file=files[1]))()
