"""Run benchmarks and print what they took.

python -m benchmarks                       # small inputs, seconds: what the test suite runs
python -m benchmarks --size full           # all at full size, with texts, pictures, goals and a page that sums up
python -m benchmarks --size full invoke    # benchmarks/bench_invoke.py alone
python -m benchmarks goals                 # what the goals need, at full size, and their table
python -m benchmarks plots                 # nothing is measured: pictures and page of the texts that are there
"""

import argparse
import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import goals, plots, report, summary, texts
from benchmarks.bench import (
    ROUNDS_COUNT_MIN,
    Contest,
    Findings,
    Measurement,
    Size,
    absences,
    measure,
)
from psoup.engine.engine import keep_memory
from psoup.engine.limits import MIB

MEMORY_TOUCHED_BYTES = 256 * MIB
MEMORY_FREE_BYTES_MAX = 512 * MIB
FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results"
GOALS, PLOTS = "goals", "plots"
ROUNDS_SECONDS = 2.0
"""Rounds of a contest at full size go on for so long, if they are not as many as it takes before."""


def found() -> list[str]:
    """Return the names of all benchmarks: modules `bench_<name>.py`."""
    return sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))


def benchmark(name: str, size: Size) -> Iterator[Measurement]:
    """Yield what the module `bench_<name>.py` measures."""
    yield from importlib.import_module(f"benchmarks.bench_{name}").contests(size)


def take(one: Measurement, findings: Findings, *, rounds: int, seconds: float) -> None:
    """Measure one thing and add it to the findings.

    A service that does not answer costs its own figures, and the findings say so: not the whole run.
    """
    print(f"measuring {one.title} ...", file=sys.stderr, flush=True)
    try:
        if isinstance(one, Contest):
            findings.results += measure(one, rounds=rounds, seconds=seconds)
            findings.absent += absences(one)
        else:
            findings.figures += [figure.of(one.title) for figure in one.run()]
    except RuntimeError as error:
        findings.absent.append(f"{one.title}: {error}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run benchmarks, print their tables; with `--out` also write them there, draw what is there, and sum it up."""
    options = _options(arguments)
    given = sys.argv[1:] if arguments is None else arguments
    folder: Path | None = options.out
    if options.names == [PLOTS]:
        folder = folder or RESULTS
    else:
        size = options.size or (Size.FULL if options.names == [GOALS] else Size.SMOKE)
        if size is Size.FULL:
            folder = folder or RESULTS
            # As the service does; what is touched for the first time costs more than what is done.
            keep_memory(MEMORY_TOUCHED_BYTES, MEMORY_FREE_BYTES_MAX)
        command = " ".join(["python -m benchmarks", *given])
        _run(options.names, size, rounds=options.rounds, command=command, folder=folder)
    if folder is not None:
        for path in plots.draw_all(folder):
            print(f"drawn: {path}", file=sys.stderr)
        if page := summary.page(folder):
            _tell(texts.SUMMARY, page, folder)


def _run(
    asked: Sequence[str], size: Size, *, rounds: int | None, command: str, folder: Path | None
) -> None:
    """Run what was asked for, and tell what it took; all benchmarks, or what the goals need, tell the goals as well."""
    only_goals = asked == [GOALS]
    rounds = rounds or (ROUNDS_COUNT_MIN if size is Size.FULL else 1)
    seconds = ROUNDS_SECONDS if size is Size.FULL else 0.0
    if size is Size.FULL and rounds < ROUNDS_COUNT_MIN:
        message = f"{rounds} rounds: a median of fewer than {ROUNDS_COUNT_MIN} says nothing"
        raise SystemExit(message)
    everything = Findings()
    begun_under = report.load()
    for name in found() if only_goals or not asked else asked:
        findings, load_before = Findings(), report.load()
        for one in benchmark(name, size):
            if not only_goals or goals.wanted(one):
                take(one, findings, rounds=rounds, seconds=seconds)
        everything.add(findings)
        if not only_goals:
            _tell(name, report.as_text(findings, command=command, load_before=load_before), folder)
    if only_goals or not asked:
        outcomes = goals.outcomes(everything)
        _tell(GOALS, report.goals_text(outcomes, command=command, load_before=begun_under), folder)


def _tell(name: str, text: str, folder: Path | None) -> None:
    """Print a text, and write it where there is a folder for it."""
    print(text, end="\n\n", flush=True)
    if folder is not None:
        report.write(folder, name, text)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Return the options, or end with what is wrong with them."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument(
        "names", nargs="*", help="as in bench_<name>.py, or `goals`, `plots`; default: all"
    )
    parser.add_argument("--size", type=Size, choices=list(Size), help="smoke, but full for `goals`")
    parser.add_argument("--rounds", type=int, help=f"at full size at least {ROUNDS_COUNT_MIN}")
    parser.add_argument("--out", type=Path, help="folder; at full size benchmarks/results")
    options = parser.parse_args(arguments)
    if options.names not in ([GOALS], [PLOTS]) and (
        unknown := sorted(set(options.names) - set(found()))
    ):
        message = f"no benchmark is called {', '.join(unknown)}; there are {', '.join(found())}"
        raise SystemExit(message)
    return options


if __name__ == "__main__":
    main()
