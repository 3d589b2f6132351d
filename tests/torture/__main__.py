"""`python -m tests.torture [--minutes 30] [--seed N] [--scenario name]`: break psoup, and check what it said.

Exit code 0 = no violation. A run that found one keeps its folder: history, logs and files of the store.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Final

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from psoup.app.cli.terminal.output import ACCENT, QUIET, plain_table
from tests.torture.history import History
from tests.torture.run import Report
from tests.torture.scenarios import SCENARIOS, durations

LINE_EVERY_S: Final = 15.0
"""Where there is no terminal, a line this often."""
SHOWN_MAX: Final = 5
"""Violations of one scenario that are printed; all of them are in its history."""


class Screen:
    """What is going on: one line that is drawn again and again, or a line now and then in a pipe."""

    def __init__(self, console: Console, live: Live) -> None:
        """Draw into `live` where the console is a terminal."""
        self._console = console
        self._live = live
        self._printed_s = 0.0

    def show(self, name: str, seconds: float, history: History) -> None:
        """Show what a run has done so far."""
        counts = history.counts
        faults = sum(number for what, number in counts.items() if what.startswith("fault "))
        line = Text.assemble(
            (f"{name} ", f"bold {ACCENT}"),
            (f"{seconds:.0f} s  ", QUIET),
            f"{counts['rows']:,} batches, {counts['register']:,} registrations,"
            f" {counts['answer']:,} answers, {faults} faults, {counts['broken']:,} broken, ",
            (f"{len(history.violations)} violations", "bold red" if history.violations else ""),
        )
        if self._console.is_terminal:
            self._live.update(line)
        elif time.monotonic() > self._printed_s + LINE_EVERY_S:
            self._printed_s = time.monotonic()
            self._console.print(line)


def main() -> int:
    """Run what the command line asks for; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0, help="for all scenarios together")
    parser.add_argument("--seed", type=int, default=None, help="chooses faults and workload")
    parser.add_argument("--scenario", action="append", choices=sorted(SCENARIOS), default=None)
    parser.add_argument("--keep", type=Path, default=None, help="folder for runs with violations")
    given = parser.parse_args()
    console = Console(highlight=False)
    seed = Random().getrandbits(32) if given.seed is None else given.seed
    names = given.scenario or list(SCENARIOS)
    if given.keep is not None:
        given.keep.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="psoup-torture-", dir=given.keep))
    console.print(f"seed {seed}, {given.minutes:g} minutes, {len(names)} scenarios, in {folder}")
    reports = []
    with Live(console=console, transient=True, auto_refresh=False) as live:
        screen = Screen(console, live)
        for name, seconds in durations(names, given.minutes).items():
            console.print(Text.assemble((f"{name}  ", "bold"), (SCENARIOS[name].says, QUIET)))
            own = folder / name
            own.mkdir()
            scenario = SCENARIOS[name].run
            run = scenario(own, seed=seed, seconds=seconds, show=screen.show)
            reports.append(asyncio.run(_run(run)))
            if not reports[-1].violations:
                shutil.rmtree(own, ignore_errors=True)
    console.print(summary(reports))
    failed = [one for one in reports if one.violations]
    if failed:
        console.print(f"seed {seed}: histories, logs and files are kept in {folder}", style="red")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    return 0


async def _run(run: object) -> Report:
    return await run  # type: ignore[misc, no-any-return]


def summary(reports: list[Report]) -> Group:
    """Return what was done, what was broken, what was found."""
    headings = ("scenario", "seconds", "operations", "answers", "rows", "takeovers", "violations")
    rows = [
        (
            one.name,
            round(one.seconds),
            one.verdict.operations,
            one.verdict.answers,
            one.verdict.rows,
            one.takeovers,
            len(one.violations),
        )
        for one in reports
    ]
    faults: Counter[str] = Counter()
    for one in reports:
        faults += Counter({k: n for k, n in one.counts.items() if k.startswith("fault ")})
    parts: list[Table | Text] = [plain_table(headings, rows, right=" ".join(headings[1:]))]
    kills = [(name.removeprefix("fault "), number) for name, number in sorted(faults.items())]
    parts += [Text(), plain_table(("fault", "times"), kills, right="times")]
    figures = [(r.name, name, round(v, 2)) for r in reports for name, v in r.figures.items()]
    parts += [Text(), plain_table(("scenario", "figure", "value"), figures, right="value")]
    for one in reports:
        for text in one.violations[:SHOWN_MAX]:
            parts.append(Text(f"\n{one.name}, seed {one.seed}: {text[:3_000]}", style="red"))
    return Group(*parts)


if __name__ == "__main__":
    sys.exit(main())
