"""Processes apart: one engine, API workers beside it, one store between them, all seen from outside.

What an invocation costs beside the same query on PostgreSQL behind the same API layer; how long a batch takes until
it is applied; how long a start, a takeover and a worker's first answer take. All of it shares the machine's
cores with whoever asks, so ratios within one run say more than rates.
"""

from collections.abc import Iterator

from benchmarks import (
    process,
    processes_invocations as invocations,
    processes_lag as lag,
    processes_recovery as recovery,
    processes_stage as stages,
)
from benchmarks.bench import Measurement, Size


def contests(size: Size) -> Iterator[Measurement]:
    """Yield invocations, then ingest, then starts, where /proc tells what a process takes."""
    if not process.is_known():
        return
    with stages.Stage(size) as stage:
        yield from invocations.contests(stage)
        yield from invocations.surveys(stage)
    yield from lag.surveys(size)
    yield from recovery.surveys(size)
