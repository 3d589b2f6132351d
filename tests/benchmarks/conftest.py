"""Benchmarks look for garbage before each round: what the process of the tests holds stays out of these looks.

There is so much of it that each look takes a second, of which there are hundreds.
"""

import gc
import subprocess
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import IO

import pytest

from benchmarks import service
from tests import forked


@pytest.fixture(scope="module", autouse=True)
def held_by_others() -> None:
    """Freeze what tests before have left."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def frozen_for_good(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep a benchmark that undoes its own freezing from undoing that of the tests."""
    monkeypatch.setattr(gc, "unfreeze", lambda: None)


@pytest.fixture
def forked_services(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the services of a benchmark that measures no start: a start takes two seconds of a core."""

    def started(
        command: Sequence[str],
        *,
        stdout: IO[bytes],
        stderr: IO[bytes],
        env: Mapping[str, str],
        start_new_session: bool,
    ) -> forked.Started:
        _, option, module, *arguments = command
        assert ("-m", stdout) == (option, stderr)
        return forked.started(
            module, arguments, output=stdout, env=env, start_new_session=start_new_session
        )

    known = SimpleNamespace(Popen=started, TimeoutExpired=subprocess.TimeoutExpired)
    monkeypatch.setattr(service, "subprocess", known)
