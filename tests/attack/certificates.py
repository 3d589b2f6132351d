"""Certificates for tests: made by openssl, signed by themselves, for the names of loopback."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest


def made(folder: Path, name: str, *passphrase: str) -> tuple[Path, Path]:
    """Make a certificate and a key in `folder`; the key in the clear without a `passphrase`."""
    certificate, key = folder / f"{name}.pem", folder / f"{name}.key"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -days 2 -subj /CN=localhost"
    command += " -addext subjectAltName=DNS:localhost,IP:127.0.0.1"
    sealed = ["-passout", f"pass:{passphrase[0]}"] if passphrase else ["-nodes"]
    try:
        subprocess.run(
            [*command.split(), *sealed, "-out", certificate, "-keyout", key],
            capture_output=True,
            check=True,
        )
    except FileNotFoundError:
        pytest.skip("this machine has no openssl")
    return certificate, key


@contextlib.contextmanager
def tls_settings(files: tuple[Path, Path]) -> Iterator[dict[str, object]]:
    """Yield the settings of a service that answers by TLS with these files; clients here trust the certificate."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("SSL_CERT_FILE", str(files[0]))
        yield {"tls_cert_file": files[0], "tls_key_file": files[1]}
