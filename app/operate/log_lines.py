"""Log lines through structlog: for people on a console, or one JSON object per line. No bodies, no secrets."""

import logging
import os
import sys
from typing import Any, Final

import structlog
from structlog.typing import Processor

from psoup.app.operate.start_sentences import off_terminal, on_terminal

_REQUEST_LINES: Final = (
    "Invalid HTTP request received.",
    "Unsupported upgrade request.",
    "No supported WebSocket library detected.",
)
LEVELS = {"debug": 10, "info": 20, "warning": 30, "error": 40}


def configure_logging(*, level: str, style: str) -> None:
    """Write log lines of `level` and worse to standard error, as `style` (console or json).

    A line is one write, with its end: processes that share standard error do not write into each other's lines. In the
    style console a start that fails ends in a sentence; on a terminal all of a start is told in sentences.
    """
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.StackInfoRenderer(),
        *([structlog.processors.format_exc_info] if style == "json" else []),
    ]
    renderer: Any = structlog.processors.JSONRenderer()
    if style == "console":
        colors = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        renderer = structlog.dev.ConsoleRenderer(
            colors=colors,
            # The default shows the variables of every frame, and with them what clients sent.
            exception_formatter=structlog.dev.plain_traceback,
        )
        is_terminal = sys.stderr.isatty()
        renderer = on_terminal(renderer, colors=colors) if is_terminal else off_terminal(renderer)
    structlog.configure(
        processors=[*shared, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
    # Lines of libraries, from warnings on, go to the same place and look the same.
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, *shared],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("uvicorn.error").addFilter(_is_kept)


def _is_kept(record: logging.LogRecord) -> bool:
    """Return whether a line of uvicorn is written. Not one of a request: those have bounded lines of their own."""
    return not str(record.msg).startswith(_REQUEST_LINES)
