"""What `psoup load` does: looks at the file, shows the columns, sends the batches, sums up.

The rows are the purpose, what is printed is not: where nobody reads it any more, loading goes on.
"""

import sys
import time

from rich.console import Console
from rich.text import Text

from app.terminal import Output, discard, standard_error, standard_output
from app.terminal_load import notes_of, progress_of, show_plan, show_summary, warnings_of
from pipeline.client import Service
from pipeline.load import LoadProgress, LoadRequest, plan_load, run_load


def run(request: LoadRequest, *, url: str, token: str | None) -> None:
    """Load a file and print what happens to standard output, or to standard error once that is closed.

    Raises:
        PipelineError: any of them; `app.cli_common.exits` turns them into exit codes.
        KeyboardInterrupt: after a line that says how to go on.
    """
    console = standard_output(on_closed=_say_that_it_goes_on)
    with Service(url, token=token) as service:
        with console.status(Text(f"looking at {request.path.name}")):
            plan = plan_load(service, request)
        show_plan(console, plan)
        for note in notes_of(plan):
            standard_error().print(note)
        started = time.monotonic()
        latest = LoadProgress()
        said: set[str] = set()
        try:
            with progress_of(console, plan, time.monotonic) as report:

                def follow(done: LoadProgress) -> None:
                    nonlocal latest
                    latest = done
                    for warning in warnings_of(plan, done):
                        if warning.plain not in said:
                            said.add(warning.plain)
                            standard_error().print(warning)
                    report(done)

                done = run_load(service, plan, follow)
        except KeyboardInterrupt:
            _say_how_to_go_on(_heard(console), latest)
            raise
        show_summary(_heard(console), plan, done, time.monotonic() - started)


def _say_that_it_goes_on() -> None:
    discard(sys.stdout)
    standard_error().print("nobody reads the progress any more; loading goes on", style="yellow")


def _heard(console: Output) -> Console:
    """Return a console that somebody may still read."""
    return standard_error() if console.quiet else console


def _say_how_to_go_on(console: Console, latest: LoadProgress) -> None:
    console.print(
        f"stopped after {latest.rows:,} rows; the same command goes on from there",
        style="yellow",
    )
