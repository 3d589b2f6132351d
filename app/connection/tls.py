"""The certificate that connections are encrypted with: read from two files, and again where those have changed."""

import ssl
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from psoup.app.errors import SettingError
from psoup.app.settings import Settings
from psoup.engine import limits

_LOG = structlog.get_logger("psoup.tls")


def tls_context(settings: Settings) -> ssl.SSLContext:
    """Return how connections are encrypted: TLS 1.2 or newer, with the certificate of the settings.

    Raises:
        SettingError: one of the two files is missing or cannot be read, or they do not belong together.
    """
    certificate, key = settings.tls_cert_file, settings.tls_key_file
    if certificate is None or key is None:
        raise SettingError("TLS takes both tls_cert_file and tls_key_file: one of them is missing.")
    for name, path in (("tls_cert_file", certificate), ("tls_key_file", key)):
        try:
            path.read_bytes()
        except OSError as error:
            raise SettingError(f"{name} {path} cannot be read: {error.strerror}.") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        # Without a password OpenSSL would ask the terminal for one.
        context.load_cert_chain(certificate, key, password="")
    except ssl.SSLError as error:
        raise SettingError(
            f"tls_cert_file {certificate} and tls_key_file {key} are not a certificate and its private key:"
            " both are PEM, the key has no passphrase and is the certificate's."
        ) from error
    return context


class Certificate:
    """The context of new connections. Used in the event loop alone.

    Connections that are open keep the context that they began with.
    """

    def __init__(
        self, settings: Settings, *, elapsed_s: Callable[[], float] = time.monotonic
    ) -> None:
        """Read nothing yet; `settings` name the files, and `elapsed_s` paces the looks at them."""
        self._settings = settings
        self._elapsed_s = elapsed_s
        self._context: ssl.SSLContext | None = None
        self._seen: tuple[object, ...] = ()
        """What the files looked like when they were last read."""
        self._looked_s: float | None = None

    def context(self) -> ssl.SSLContext | None:
        """Return the context of the files as they are, or as they were when they could last be read; None = never.

        Cost: at most once in TLS_FILES_LOOK_S two calls of the system, and some milliseconds where they have changed.
        """
        now_s = self._elapsed_s()
        if self._looked_s is None or now_s - self._looked_s >= limits.TLS_FILES_LOOK_S:
            self._looked_s = now_s
            self._look()
        return self._context

    def _look(self) -> None:
        """Read the files if they have changed. Files that cannot be read change nothing, and are logged once."""
        seen = tuple(map(_look_of, (self._settings.tls_cert_file, self._settings.tls_key_file)))
        if seen == self._seen:
            return
        is_first = not self._seen
        self._seen = seen
        try:
            self._context = tls_context(self._settings)
        except SettingError as error:
            event = "certificate-unreadable" if self._context is None else "certificate-kept"
            _LOG.error(event, code=error.code, detail=error.detail)
        else:
            if not is_first:
                _LOG.info("certificate-read", file=str(self._settings.tls_cert_file))


def _look_of(path: Path | None) -> tuple[int, ...] | None:
    """Return what changes where a file is replaced or written; None where there is none."""
    try:
        found = path.stat() if path is not None else None
    except OSError:
        return None
    return None if found is None else (found.st_ino, found.st_size, found.st_mtime_ns)
