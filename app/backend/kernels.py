"""Kernels loaded, or compiled, before anybody waits for one; where they have to be compiled, that is said."""

import functools

import structlog

from psoup.engine.checkpoint import checkpoint
from psoup.engine.engine import warm_up

_LOG = structlog.get_logger("psoup.kernels")


def load_kernels() -> int:
    """Load all kernels, compiling those that no earlier start has left; return how many they are.

    Threads that do so together share the work: each waits for the one that has begun it. Ends at checkpoints.
    """
    return warm_up(between=checkpoint, on_compiling=_tell_of_compiling)


@functools.cache
def _tell_of_compiling() -> None:
    """Say once in a process why this start takes so long."""
    _LOG.info("compiling-kernels")
