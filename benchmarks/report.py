"""What a measurement leaves behind: a text that says where it was made, and a plot."""

import contextlib
import os
import platform
import subprocess
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.bench import Result

PACKAGES = ("numpy", "pyarrow", "duckdb", "polars")


def as_text(results: Sequence[Result], *, command: str) -> str:
    """Return the machine, the commit, the command and one line per contender.

    `times` is how often the first contender of the contest, ours, could have run meanwhile.
    """
    lines = [
        f"machine   {_processor()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}",
        f"python    {platform.python_version()}, {_versions()}",
        f"commit    {_commit()}",
        f"command   {command}",
        "",
        f"{'contest / contender':<46} {'min':>10} {'median':>10} {'per unit':>12} {'times':>8}  answer",
    ]
    first: Result | None = None
    for result in results:
        if first is None or result.contest is not first.contest:
            first = result
            contest = result.contest
            lines.append(f"{contest.title} ({contest.count:,} {contest.unit})")
        lines.append(
            f"  {result.contender.name:<44} {_duration(result.best_s):>10}"
            f" {_duration(result.median_s):>10} {_duration(result.per_unit_ns / 1e9):>12}"
            f" {result.median_s / first.median_s:>8.2g}  {result.digest}"
        )
    return "\n".join(lines)


def write(folder: Path, name: str, text: str, results: Sequence[Result]) -> None:
    """Write `<name>.txt` and `<name>.png` into `folder`, over what was there."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.txt").write_text(text + "\n", encoding="utf-8")
    plot(folder / f"{name}.png", results)


def plot(path: Path, results: Sequence[Result]) -> None:
    """Draw nanoseconds per unit, one panel per contest, on a logarithmic scale."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    titles = list(dict.fromkeys(result.contest.title for result in results))
    figure = Figure(figsize=(9, 1 + 1.6 * len(titles)), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(len(titles), 1, squeeze=False)[:, 0]
    for panel, title in zip(panels, titles, strict=True):
        shown = [result for result in results if result.contest.title == title]
        names = [result.contender.name for result in shown]
        bars = panel.barh(names, [result.per_unit_ns for result in shown])
        panel.bar_label(bars, [_duration(result.per_unit_ns / 1e9) for result in shown], padding=3)
        panel.set(xscale="log", title=f"{title}: time per {shown[0].contest.unit} (median)")
        panel.invert_yaxis()
        panel.margins(x=0.2)
    figure.savefig(path, dpi=120)


def _duration(seconds: float) -> str:
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "unknown processor")


def _versions() -> str:
    found = []
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return ", ".join(found)


def _commit() -> str:
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12"]
    run = subprocess.run(
        command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False
    )
    return run.stdout.strip() or "none yet"
