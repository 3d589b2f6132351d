"""Draw worlds from seeds, and write them down: `python conformance/generate.py` writes `conformance/worlds/` anew."""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if not __package__:  # started as a file
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from conformance.model import Query, Service
from conformance.recording import World
from conformance.situations import (
    by_the_clock,
    definitions,
    expired,
    strange_cursors,
    there_and_back,
)
from conformance.streams import Stream
from conformance.windows import SECOND, Bound, Hops, Window

FOLDER = Path(__file__).parent / "worlds"
START = 1_577_872_800 * SECOND
"""2020-01-01T10:00:00Z."""
CLIENTS = ("ann", "ben", "cem")
STEPS = 14
SEEDS = 1
"""Worlds of each kind that are kept as files."""


def _at(second: int) -> Bound:
    return Bound(False, START + second * SECOND)


def _back(seconds: int) -> Bound:
    return Bound(True, seconds * SECOND)


WINDOWS = {
    "everything": (None, None),
    "snapshot": (_at(-20), _at(0)),
    "filling": (_at(-20), _at(45)),
    "landmark": (_at(-10), _back(0)),
    "sliding": (_back(20), _back(0)),
    "delayed": (_back(18), _back(6)),
    "hopping": (_back(20), _back(0)),
    "hopping-delayed": (_back(18), _back(4)),
    "hopping-landmark": (_at(-10), _back(0)),
}
HOPS = Hops(6 * SECOND, START - 4 * SECOND)
"""Of the windows that hop."""
PLAIN = tuple(name for name in WINDOWS if not name.startswith("hopping"))
KEEPS = {"rows": (9, None), "time": (None, 16 * SECOND)}
"""Rows and microseconds that a stream retains."""


def _kinds() -> Iterator[tuple[str, str, str]]:
    """Yield each kind of world: shape, window, retention."""
    for shape in ("select", "distinct", "join"):
        for window in PLAIN:
            yield shape, window, ""
    yield "join", "ranges", ""
    for shape in ("select", "distinct", "join"):
        for kept in KEEPS:
            yield shape, "landmark", kept
    for window in PLAIN:
        yield "groups", window, ""
    for shape in ("having", "total", "top", "first", "ordered", "joined-groups"):
        yield shape, "sliding", ""
        yield shape, "landmark", "rows"
    for shape in ("groups", "having", "total"):
        yield shape, "delayed", "time"
    yield "joined-groups", "ranges", ""
    yield "select", "everything", "rows"
    yield "select", "delayed", "time"
    for shape in ("select", "distinct", "join", "groups", "first"):
        yield shape, "hopping", ""
    for shape in ("select", "groups"):
        yield shape, "hopping-delayed", "time"
        yield shape, "hopping-landmark", "rows"
    yield "rows", "delayed", ""
    yield "latest", "sliding", ""
    yield "latest", "landmark", "rows"
    yield "latest-groups", "hopping", ""
    yield "left", "sliding", ""
    yield "left", "landmark", "rows"
    yield "left-latest", "hopping-delayed", "time"


KINDS = tuple(_kinds())

FURTHER = ((("groups", "delayed", "time"), 49), (("total", "delayed", "time"), 10))
"""Kinds and seeds of further worlds: they tell of rows that touch groups and are there no more, as the first do not."""


def query_of(kind: tuple[str, str, str]) -> Query:
    """Return the query of all worlds of a kind."""
    shape, window, _ = kind
    ends = WINDOWS["sliding" if window == "ranges" else window]
    range_us = 7 * SECOND if window == "ranges" else None
    hops = HOPS if window not in (*PLAIN, "ranges") else None
    return Query(shape, Window(*ends), range_us, hops)


def drawn(kind: tuple[str, str, str], seed: int) -> World:
    """Return the world of a kind and a seed: always the same one."""
    shape, window, kept = kind
    query = query_of(kind)
    name = "-".join(part for part in (shape, window, kept and f"keeps-{kept}", str(seed)) if part)
    rng = random.Random(name)
    keep_rows, keep_us = KEEPS.get(kept, (None, None))
    streams = {stream: Stream(keep_rows, keep_us) for stream in query.streams}
    says = f"{shape}, window {window}" + (f", a stream that keeps few by {kept}" if kept else "")
    world = World(name, says, query, Service(streams))
    cursors: dict[str, str | None] = dict.fromkeys(CLIENTS)
    if rng.random() < 0.3:  # somebody comes before the first row
        _poll(world, cursors, CLIENTS[0])
    _rows(world, rng, most=6)
    for _ in range(STEPS):
        for _ in range(rng.choice((0, 1, 1, 2))):
            _rows(world, rng, most=3)
        _turn(world, rng, cursors, rng.choice(CLIENTS))
    for client in CLIENTS:  # however long they were away
        _poll(world, cursors, client)
        world.compare(client)
    return world


def _rows(world: World, rng: random.Random, *, most: int) -> None:
    """Append a batch: rows dated now, late or ahead, or one that matches nothing and moves NOW alone."""
    now = world.service.newest(world.query) or START
    stream = rng.choice(world.query.streams)
    if rng.random() < 0.25:
        world.append(stream, [(now + rng.choice((1, 3, 12)) * SECOND, rng.randrange(5), 0)])
        return
    shifts = (0, 0, 0, 1, 1, 2, -2, -5, -9, -40, 4)
    world.append(
        stream,
        [
            (now + rng.choice(shifts) * SECOND, rng.randrange(5), rng.randrange(1, 60))
            for _ in range(rng.randrange(1, most + 1))
        ],
    )


def _turn(world: World, rng: random.Random, cursors: dict[str, str | None], client: str) -> None:
    """Let one client do one thing."""
    how = rng.random()
    if how < 0.1:
        world.ask(cursors[client])  # the answer is lost on the way
    elif how < 0.25:
        _cross(world, rng, cursors, client)
    elif how < 0.4:  # the client ends before it has saved the cursor
        world.apply(client, world.ask(cursors[client]), saves=False)
    elif how < 0.6:
        _read_pages(world, rng, cursors, client)
    else:
        _poll(world, cursors, client)
        if rng.random() < 0.5:
            _poll(world, cursors, client)  # nothing has changed
        world.compare(client)


def _poll(world: World, cursors: dict[str, str | None], client: str) -> None:
    answer = world.ask(cursors[client])
    world.apply(client, answer)
    cursors[client] = answer


def _cross(world: World, rng: random.Random, cursors: dict[str, str | None], client: str) -> None:
    """Let two answers come in the wrong order."""
    older = world.ask(cursors[client])
    _rows(world, rng, most=2)
    newer = world.ask(cursors[client])
    world.apply(client, newer)
    world.apply(client, older, holds=newer)
    cursors[client] = newer


def _read_pages(
    world: World, rng: random.Random, cursors: dict[str, str | None], client: str
) -> None:
    """Let a client read an answer page by page while rows arrive between the pages."""
    retains_all = all(s.keep_rows is s.keep_us is None for s in world.service.streams.values())
    # A reset, which is right where retention drops rows, has other pages; so has a delta of fewer DISTINCT rows.
    is_exact = retains_all and world.query.form.kind == "rows" and not world.query.form.replaces
    since = cursors[client] if is_exact and rng.random() < 0.5 else None
    answer = world.ask(since, limit=max(2, world.count() // 3))
    world.apply(client, answer)
    gives_up = rng.random() < 0.2
    while world.pages is not None:
        _rows(world, rng, most=2)
        if gives_up:
            world.pages, cursors[client] = None, since
            return
        answer = world.page()
        world.apply(client, answer)
    cursors[client] = answer


def text(world: dict[str, Any]) -> str:
    """Return a world as its file's text: one step a line."""
    head = {name: value for name, value in world.items() if name != "steps"}
    steps = ",\n".join(f"  {json.dumps(step)}" for step in world["steps"])
    return json.dumps(head, indent=1)[:-2] + f',\n "steps": [\n{steps}\n ]\n}}\n'


def files() -> dict[str, str]:
    """Return the text of each file of `worlds/`, by name."""
    seeds = [(kind, seed) for kind in KINDS for seed in range(1, SEEDS + 1)]
    worlds = [drawn(kind, seed).written() for kind, seed in (*seeds, *FURTHER)]
    situations = (strange_cursors, definitions, there_and_back, expired)
    worlds += [*(one(START).written() for one in situations), *by_the_clock()]
    return {f"{world['world']}.json": text(world) for world in worlds}


def main() -> None:
    """Write the files anew."""
    FOLDER.mkdir(exist_ok=True)
    for old in FOLDER.glob("*.json"):
        old.unlink()
    for name, content in files().items():
        (FOLDER / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
