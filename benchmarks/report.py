"""What a measurement leaves behind: texts that say where they were made."""

import contextlib
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.bench import Findings, Result
from benchmarks.goals import Kind, Outcome
from benchmarks.texts import duration, quantity

PACKAGES = (
    *("numpy", "numba", "pyarrow", "duckdb", "polars", "bitarray", "clipspy", "psycopg", "pyspark"),
)


def load() -> float:
    """Return how many processes wanted a core in the last minute; 0 where the system does not say."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def header(*, command: str, load_before: float) -> str:
    """Return machine, versions, commit, command and what else went on there, a line each.

    Args:
        command: with which it was measured.
        load_before: `load` as the measuring began: what was measured is no part of it.
    """
    where = f"{platform.system()} {platform.machine()}"
    return "\n".join(
        [
            f"machine   {_processor()}, {os.cpu_count()} cores, {where}",
            f"python    {platform.python_version()}, {_versions()}",
            f"commit    {_commit()}",
            f"command   {command}",
            f"load      {load_before:.2f} as it began, {load():.2f} as it ended",
        ]
    )


def as_text(findings: Findings, *, command: str, load_before: float) -> str:
    """Return the header and one line per contender and figure.

    `times` is how often the first contender of the contest, ours, could have run meanwhile; `own cpu` the CPU time of
    the measuring process.
    """
    lines = [header(command=command, load_before=load_before), ""]
    if findings.results:
        lines.append(
            f"{'contest / contender, per unit':<50} {'min':>10} {'median':>10} {'own cpu':>10} {'a second':>10}"
            f" {'times':>8}  answer"
        )
    ours: Result | None = None
    for one in findings.results:
        if ours is None or one.key != ours.key:
            ours = one
            lines.append(f"{one.title} ({one.count:,} {one.unit})")
        lines.append(
            f"  {one.contender:<48} {duration(one.best_s):>10}"
            f" {duration(one.median_s):>10} {duration(one.cpu_s):>10} {quantity(1 / one.median_s):>10}"
            f" {one.times(ours):>8.3g}  {one.digest}"
        )
    group = ""
    for figure in findings.figures:
        if figure.group != group:
            group = figure.group
            lines.append(group)
        lines.append(f"  {figure.title:<48} {quantity(figure.value):>10} {figure.unit}")
    lines += [f"absent: {sentence}" for sentence in findings.absent]
    return "\n".join(lines)


def goals_text(outcomes: Sequence[Outcome], *, command: str, load_before: float) -> str:
    """Return the header and the table of goals."""
    reached = sum(one.margin is not None and one.margin >= 1 for one in outcomes)
    known = sum(one.margin is not None for one in outcomes)
    below = sum(one.is_below_peer for one in outcomes)
    lines = [
        header(command=command, load_before=load_before),
        "",
        f"{'#':>3} {'goal':>12} {'measured':>12} {'reached':<16} peer; what, and at what size",
        *(_goal_line(one) for one in outcomes),
        "",
        f"{reached} of {known} goals measured are reached.",
        f"{below} ratios are below 1, or below the goal where that is less.",
    ]
    return "\n".join(lines)


def write(folder: Path, name: str, text: str) -> None:
    """Write `<name>.txt` into `folder`, over what was there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_text(text + "\n", encoding="utf-8")


def shown(kind: Kind, value: float) -> str:
    """Return a bound or a measured value as a person reads it."""
    if kind is Kind.RATIO:
        return f"{value:,.0f}x" if value >= 100 else f"{value:.3g}x"
    if kind is Kind.TIME:
        return duration(value)
    return quantity(value) + ("/s" if kind is Kind.RATE else "")


def _goal_line(one: Outcome) -> str:
    goal, margin = one.goal, one.margin
    if goal.kind is Kind.LATER:
        return f"{goal.number:>3} {'':>12} {'':>12} {'later':<16} {goal.text}"
    least = goal.kind in (Kind.RATIO, Kind.RATE, Kind.LEAST)
    bound = f"{'>=' if least else '<='} {shown(goal.kind, goal.bound)}"
    measured, verdict = "-", one.note
    if one.value is not None and margin is not None:
        measured = shown(goal.kind, one.value)
        verdict = f"yes, {margin:.3g} times" if margin >= 1 else f"no, {margin:.2g} of it"
    against = f"{goal.peer}; " if goal.peer else ""
    return f"{goal.number:>3} {bound:>12} {measured:>12} {verdict:<16} {against}{one.title}"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "unknown processor")


def _versions() -> str:
    import sqlite3

    found = []
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return ", ".join([*found, f"sqlite {sqlite3.sqlite_version}"])


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    run = subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return run.stdout.strip() or "none yet"
