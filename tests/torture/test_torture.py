"""Processes that are killed, paused and starved under load: short forms of the scenarios, and long ones."""

import asyncio
import shutil
from pathlib import Path

import pytest

from tests.torture.scenarios import SCENARIOS

SHORT_S = {
    "embedded": 2.0,
    "each": 0.0,  # until each fault has come once
    "staging": 3.0,
    "lost-store": 0.0,
    "lost-tail": 0.0,
    "overload": 2.5,
}
"""Every fault and every oracle once: R-01, R-05, R-07, R-09, W-01, W-02, L-01; `each` stops an engine as F-01 does."""
LONG_S = 45.0


def tortured(name: str, folder: Path, *, seed: int, seconds: float) -> tuple[list[str], bool]:
    """Run a scenario; return the violations it found, and whether anything happened in it."""
    if SCENARIOS[name].needs_redis and shutil.which("redis-server") is None:
        pytest.skip("there is no redis-server on PATH")
    run = SCENARIOS[name].run(folder, seed=seed, seconds=seconds, show=lambda *_: None)
    report = asyncio.run(_awaited(run))
    return list(report.violations), report.counts.total() > 0


async def _awaited(run):
    return await run


@pytest.mark.service
@pytest.mark.parametrize("name", SHORT_S)
def test_torture_short_run_has_no_violation(tmp_path, name):
    """Nothing acknowledged is lost or doubled, and every answer is exact, in some seconds of each."""
    assert ([], True) == tortured(name, tmp_path, seed=1, seconds=SHORT_S[name]), tmp_path


@pytest.mark.slow
@pytest.mark.service
@pytest.mark.parametrize("name", SCENARIOS)
def test_torture_long_run_has_no_violation(tmp_path, name):
    """The same for longer, and all of them; `python -m tests.torture` does it for half an hour."""
    assert ([], True) == tortured(name, tmp_path, seed=2, seconds=LONG_S), tmp_path
