"""Play worlds against a psoup service: `python conformance/run.py --url http://127.0.0.1:8000`.

Exit codes: 0 nothing differs, 1 something does, 2 wrong use or no such service.
"""

import argparse
import http.client
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

if not __package__:  # started as a file
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.by_the_clock import play_by_the_clock
from conformance.generate import FOLDER, KINDS, drawn
from conformance.playing import Failure, play
from conformance.service import Json, RefusedError, Service

FILE_SEEDS = 1_000
"""Worlds that are drawn have seeds past those of the files."""


def worlds_of(paths: Sequence[Path]) -> Iterator[Json]:
    """Yield the worlds of files, and of the files of folders. Raises OSError and ValueError."""
    for path in paths:
        for file in sorted(path.glob("*.json")) if path.is_dir() else [path]:
            yield json.loads(file.read_text(encoding="utf-8"))


def drawn_worlds(count: int, first_seed: int) -> Iterator[Json]:
    """Yield `count` worlds that are in no file, of all kinds in turn."""
    for number in range(count):
        kind = KINDS[number % len(KINDS)]
        yield drawn(kind, FILE_SEEDS + first_seed + number // len(KINDS)).written()


def played(service: Service, world: Json) -> list[Failure]:
    """Play one world; a service that refuses to take part, or goes away, is a failure as well."""
    kind = play_by_the_clock if world.get("clock") == "server" else play
    try:
        return kind(service, world)
    except RefusedError as error:
        return [Failure(world["world"], 0, str(error), "")]
    except (KeyError, TypeError) as error:
        return [Failure(world["world"], 0, f"an answer is no envelope: {error!r}", "")]


def table(failures: Sequence[Failure], count: int, requests: int) -> str:
    """Return what failed and where, and the differences below it."""
    lines = []
    if failures:
        width = max(len(one.world) for one in failures)
        lines = [f"{'world':{width}}  step  what differs"]
        lines += [f"{one.world:{width}}  {one.step:4}  {one.sentence}" for one in failures]
        for one in failures:
            if one.diff:
                lines += ["", f"{one.world}, step {one.step}:", one.diff]
        lines.append("")
    wrong = len({one.world for one in failures})
    lines.append(f"{count - wrong} of {count} worlds as expected ({requests} requests)")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url", required=True, help="where the service listens")
    parser.add_argument("--key", help="the bearer token, where the service asks for one")
    parser.add_argument(
        "--worlds", nargs="*", type=Path, default=[FOLDER], help="files, or folders of them"
    )
    parser.add_argument("--slow", action="store_true", help="also those that wait for minutes")
    parser.add_argument("--drawn", type=int, default=0, help="worlds to draw and play besides")
    parser.add_argument("--seed", type=int, default=0, help="of the first of those")
    given = parser.parse_args(arguments)
    failures: list[Failure] = []
    count = 0
    try:
        with Service(given.url, given.key) as service:
            for world in worlds_of(given.worlds):
                if world.get("slow") and not given.slow:
                    continue
                failures += played(service, world)
                count += 1
            for world in drawn_worlds(given.drawn, given.seed):
                failures += played(service, world)
                count += 1
    except (OSError, ValueError, http.client.HTTPException) as error:
        print(f"after {count} worlds: {error}", file=sys.stderr)
        return 2
    print(table(failures, count, service.requests))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
