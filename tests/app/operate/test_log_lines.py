"""What is logged, line by line."""

import io
import sys

import pytest
import structlog

from psoup.app.operate.log_lines import configure_logging


class Unbuffered(io.StringIO):
    """A standard error that passes each write on, as Python's does by PYTHONUNBUFFERED."""

    def __init__(self) -> None:
        super().__init__()
        self.writes: list[str] = []

    def write(self, text: str) -> int:
        self.writes.append(text)
        return super().write(text)


@pytest.mark.parametrize("style", ["console", "json"])
def test_line_is_one_write(monkeypatch: pytest.MonkeyPatch, style: str):
    """Workers share a file: what one writes lies in it whole, with the end of its line."""
    error = Unbuffered()
    monkeypatch.setattr(sys, "stderr", error)
    configure_logging(level="info", style=style)
    structlog.get_logger().info("started", worker=7)
    structlog.get_logger().info("ended", worker=7)
    assert 2 == len(error.writes)
    assert all(one.endswith("\n") and one.count("\n") == 1 for one in error.writes)
