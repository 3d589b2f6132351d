"""`psoup demo`: a service, a building's sensors, and standing queries whose answers move.

Starts `psoup serve` with its embedded store as a child, feeds it, invokes, and stops it again, after some seconds or
when told to. Where it is to stay, the sensors go on sending until then. The addresses it shows are good until then.
Nothing is left running; nothing is left on disk unless asked for. Or it feeds and asks a service that is there already,
and leaves it running.
"""

import os
import shutil
import sys
import tempfile
import time
from collections import deque
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.live import Live

from psoup.app.cli.demo.queries import DemoQuery, demo_queries
from psoup.app.cli.demo.readings import ROOMS, SCHEMA, STREAM, readings
from psoup.app.cli.demo.screen import Frame, Late, ShownQuery, overview, screen, tables
from psoup.app.cli.terminal.output import QUIET, standard_output
from psoup.client.calls import ARROW_STREAM, PsoupClient
from psoup.client.own_service import service_process
from psoup.engine.clock import Clock, SystemClock
from psoup.engine.limits import SECOND_US
from psoup.engine.tuples.arrow import encode_batch
from psoup.pipeline.definition import definition_body

HISTORY_US: Final = 300 * SECOND_US
"""Readings that are there before the first query: what a late one is applied to."""
TURN_S: Final = 0.25
PLAIN_EVERY_S: Final = 5.0
ROWS_FETCHED: Final = 1_000
_RATE_TURNS: Final = 20


class Demo:
    """The feeding and the asking of one demo. `turn` does both once."""

    def __init__(self, service: PsoupClient, *, seed: int, clock: Clock) -> None:
        """Declare the stream, send the minutes before now and register the first queries."""
        self._service = service
        self._seed = seed
        self._clock = clock
        self._start_us = clock.now_us()
        self._fed_us = self._start_us - HISTORY_US
        self._tuples = 0
        self._fed: deque[tuple[int, int]] = deque(maxlen=_RATE_TURNS)
        self._standing: list[tuple[DemoQuery, dict[str, object]]] = []
        self._late: dict[str, Late] = {}
        """The first answers of queries that were registered while the stream ran, by their titles."""
        self._waiting = list(demo_queries(self._start_us))
        service.declare(STREAM, definition_body(SCHEMA.columns, time=SCHEMA.time))
        self._feed(self._start_us)
        self._register(0.0)

    @property
    def console(self) -> str:
        """Return the address of the console, with a query of the demo open in it."""
        opened = next(described["id"] for query, described in self._standing if query.opens)
        return f"{self._service.url}/console?q={opened}"

    def turn(self, seconds: float) -> Frame:
        """Feed what arrived since the last turn, register what is due, invoke all; return the frame."""
        now_us = self._clock.now_us()
        elapsed_s = (now_us - self._start_us) / SECOND_US
        self._feed(now_us)
        self._register(elapsed_s)
        return Frame(
            console=self.console,
            shown=tuple(self._invoked(query, found) for query, found in self._standing),
            waiting=tuple(self._waiting),
            tuples=self._tuples,
            tuples_per_s=self._tuples_per_s(),
            elapsed_s=min(elapsed_s, seconds),
            seconds=seconds,
        )

    def go_on(self) -> None:
        """Feed what has arrived since the last turn."""
        self._feed(self._clock.now_us())

    def leave(self) -> None:
        """Remove the demo's queries: with --data the service's folder is kept."""
        for _, described in self._standing:
            self._service.remove(str(described["id"]))

    def _register(self, elapsed_s: float) -> None:
        """Register the queries that are due."""
        for query in [query for query in self._waiting if query.after_s <= elapsed_s]:
            self._waiting.remove(query)
            registered = self._service.register(query.sql, labels={"title": query.title})
            self._standing.append((query, registered))
            if query.after_s:
                first = self._invoked(*self._standing[-1])
                self._late[query.title] = Late(
                    after_s=elapsed_s,
                    rows=first.envelope["count"],
                    milliseconds=first.milliseconds,
                )

    def _feed(self, now_us: int) -> None:
        batch = readings(self._seed, self._fed_us, now_us)
        self._service.append(STREAM, encode_batch(batch), content_type=ARROW_STREAM)
        self._fed_us = now_us
        self._tuples += batch.num_rows
        self._fed.append((now_us, self._tuples))

    def _tuples_per_s(self) -> float:
        (first_us, before), (last_us, after) = self._fed[0], self._fed[-1]  # history is the first
        return (after - before) * SECOND_US / max(last_us - first_us, 1)

    def _invoked(self, query: DemoQuery, described: dict[str, object]) -> ShownQuery:
        started = time.perf_counter()
        envelope = self._service.invoke(str(described["id"]), limit=ROWS_FETCHED)
        return ShownQuery(
            query=query,
            described=described,
            envelope=envelope,
            milliseconds=(time.perf_counter() - started) * 1_000,
            late=self._late.get(query.title),
        )


def run(
    *, seconds: float, data: Path | None, port: int, seed: int, url: str | None, stay: bool
) -> None:
    """Run the demo for so many seconds, or until interrupted; print to standard output.

    With `url` it is the service there that is fed and asked, else one over `data` at `port`. Where it is to `stay`, the
    sensors go on afterwards, and a service of its own, until interrupted.

    Raises:
        ServiceUnreachableError: the service did not start.
        ServiceProblem: it refused what the demo asks of it.
    """
    console = standard_output()
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="psoup-demo-")))
        try:
            if url is None:
                with console.status("starting the service"):
                    own = service_process(
                        data or scratch / "data", port=port, log=scratch / "service.log"
                    )
                    at = stack.enter_context(own)
            else:
                at = url
            lives = "until Ctrl-C" if stay else f"for {seconds:.0f} s; --stay keeps it going"
            with console.status("sending the readings of five minutes"):
                service = stack.enter_context(PsoupClient(at))
                demo = Demo(service, seed=seed, clock=SystemClock())
                stack.callback(demo.leave)
            console.print(f"console at {demo.console}", soft_wrap=True)
            console.print(f"psoup at {at}{'' if url else f', {lives}'}")
            console.print(f"API docs at {at}/docs")
            _watch(console, demo, seconds)
            if stay:
                _stay(console, demo, at)
        except KeyboardInterrupt:
            console.print("stopping", style=QUIET)
    if url is None:
        kept = f"; the data is in {data}" if data else "; its folder is removed"
        console.print(f"the service is stopped{kept}", style=QUIET)
    console.print(_next_steps(program()))


def program() -> str:
    """Return how psoup is called in this shell: by its name, where a shell finds that, else by its path."""
    if shutil.which("psoup") is not None:
        return "psoup"
    beside = Path(sys.executable).with_name("psoup")
    if not beside.exists():
        return "python -m psoup"
    return min(os.path.relpath(beside), str(beside), key=len)


def _next_steps(psoup: str) -> str:
    """Return what a newcomer may do once the demo is over."""
    steps = (
        ("demo --stay", "the same until Ctrl-C: register a query of your own"),
        ("serve", "a service of your own; its data lie in ./psoup-data"),
        ("load FILE.csv --stream NAME", "while it runs: your own data in it"),
        ('query "SELECT * FROM NAME"', "then a first query over them"),
    )
    width = max(len(step) for step, _ in steps)
    lines = [f"    {psoup} {step:<{width}}  {what}" for step, what in steps]
    return "\n".join(["\nnow try this", *lines, "The tutorial takes ten minutes: docs/tutorial.md"])


def _stay(console: Console, demo: Demo, url: str) -> None:
    """Let the sensors go on until interrupted."""
    console.print(
        "no more answers are printed; the sensors and the service go on until Ctrl-C. Look at them with"
    )
    console.print(f"    {demo.console}  in a browser", soft_wrap=True)
    for words in ("queries", "status"):
        console.print(f"    {program()} {words} --url {url}")
    while True:
        time.sleep(TURN_S)
        demo.go_on()


def _watch(console: Console, demo: Demo, seconds: float) -> None:
    """Show frames until the time is over. A terminal is drawn whole; what remains there is the last list of answers."""
    deadline = time.monotonic() + seconds
    if not console.is_terminal or console.is_dumb_terminal:
        _print_now_and_then(console, demo, seconds, deadline)
        return
    frame = None
    try:
        with Live(console=console, auto_refresh=False, screen=True) as live:
            while time.monotonic() < deadline:
                turned = time.monotonic()
                frame = demo.turn(seconds)
                live.update(screen(frame, console), refresh=True)
                time.sleep(max(TURN_S - (time.monotonic() - turned), 0))
    finally:
        if frame is not None:
            console.print(overview(frame))


def _print_now_and_then(console: Console, demo: Demo, seconds: float, deadline: float) -> None:
    console.print(
        f"\nThe sensors of {len(ROOMS)} rooms send their readings; those of the last five minutes are there already. Standing"
        " queries\nlook at them, each through a window of time. Every few seconds their answers follow. Times are UTC."
    )
    printed = float("-inf")
    known: set[str] = set()
    while True:
        frame = demo.turn(seconds)
        titles = {one.query.title for one in frame.shown}
        has_come = bool(known) and not titles <= known
        last = time.monotonic() + TURN_S >= deadline
        if has_come or last or time.monotonic() - printed >= PLAIN_EVERY_S:
            console.print(tables(frame, known=known))
            printed = time.monotonic()
            known |= titles
        if last:
            console.print()
            return
        time.sleep(TURN_S)
