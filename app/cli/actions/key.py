"""What `psoup key` does: 256 random bits for the client, their hash for the service."""

import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson

from psoup.app.cli.common import write_bytes
from psoup.app.cli.terminal.output import QUIET, standard_error
from psoup.app.errors import SettingError
from psoup.app.http.access.keys import load_keys, new_key
from psoup.client.errors import DefinitionError

_OWNER_ALONE: Final = 0o600


def make_key(name: str, scopes: Sequence[str], keys_file: Path | None) -> None:
    """Print a new key to standard output, and its line below it or into `keys_file`.

    Raises:
        DefinitionError: a scope is none, the file holds something else than keys, has the name, or cannot be written.
    """
    try:
        key, line = new_key(name, scopes, secrets.token_bytes)
        if keys_file is not None:
            _add(keys_file, name, line)
    except SettingError as error:
        raise DefinitionError(error.detail) from error
    except OSError as error:
        raise DefinitionError(
            f"{keys_file} cannot be written: {error.strerror or error}."
        ) from error
    notes = standard_error()
    notes.print("the key, which is kept nowhere:", style=QUIET)
    write_bytes(f"{key}\n".encode())
    if keys_file is None:
        notes.print("its line for the file of --keys-file:", style=QUIET)
        write_bytes(line + b"\n")
    else:
        notes.print(f"added to {keys_file}; a service reads it when it starts", style=QUIET)


def _add(keys_file: Path, name: str, line: bytes) -> None:
    """Append a line to a keys file, which is made for its owner alone."""
    held = b""
    if keys_file.exists():
        load_keys(keys_file)
        held = keys_file.read_bytes()
    if name in {orjson.loads(one)["id"] for one in held.splitlines() if one.strip()}:
        raise DefinitionError(
            f"{keys_file} has a key of {name!r}: remove its line, or take another name."
        )
    begins = b"\n" if held and not held.endswith(b"\n") else b""
    with os.fdopen(
        os.open(keys_file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _OWNER_ALONE), "ab"
    ) as file:
        file.write(begins + line + b"\n")
