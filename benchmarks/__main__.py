"""Run benchmarks and print what they took.

python -m benchmarks                     # small inputs, seconds: what the test suite runs
python -m benchmarks --size full ways    # benchmarks/bench_ways.py at full size, with text and plot
"""

import argparse
import importlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import report
from benchmarks.bench import ROUNDS_COUNT_MIN, Contest, Result, Size, measure

FOLDER = Path(__file__).resolve().parent


def benchmarks(names: Sequence[str], size: Size) -> Iterator[Contest]:
    """Yield the contests of the modules `bench_<name>.py`, of all of them where none is named."""
    found = sorted(path.stem.removeprefix("bench_") for path in FOLDER.glob("bench_*.py"))
    unknown = sorted(set(names) - set(found))
    if unknown:
        message = f"no benchmark is called {', '.join(unknown)}; there are {', '.join(found)}"
        raise SystemExit(message)
    for name in names or found:
        yield from importlib.import_module(f"benchmarks.bench_{name}").contests(size)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run benchmarks, print their table; with `--out` also write it there as text and as a plot."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", help="which, as in bench_<name>.py; all by default")
    parser.add_argument("--size", type=Size, choices=list(Size), default=Size.SMOKE)
    parser.add_argument("--rounds", type=int, default=ROUNDS_COUNT_MIN)
    parser.add_argument("--out", type=Path, help="folder; at full size benchmarks/results")
    options = parser.parse_args(arguments)

    results: list[Result] = []
    for contest in benchmarks(options.names, options.size):
        print(f"measuring {contest.title} ...", file=sys.stderr)
        results += measure(contest, rounds=options.rounds)

    given = sys.argv[1:] if arguments is None else arguments
    text = report.as_text(results, command=" ".join(["python -m benchmarks", *given]))
    print(text)
    folder = options.out or (FOLDER / "results" if options.size is Size.FULL else None)
    if folder is not None:
        report.write(folder, "-".join(options.names) or "all", text, results)


if __name__ == "__main__":
    main()
