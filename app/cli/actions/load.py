"""What `psoup load` does: looks at the files, shows the columns, sends the batches, sums up.

The rows are the purpose, what is printed is not: where nobody reads it any more, loading goes on.
"""

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack

from rich.console import Console
from rich.text import Text

from psoup.app.cli.consent import require_consent, what_is_dropped
from psoup.app.cli.terminal.load import (
    copying,
    looking,
    notes_of,
    progress_of,
    show_plan,
    show_summary,
    warnings_of,
)
from psoup.app.cli.terminal.output import (
    QUIET,
    Output,
    discard,
    standard_error,
    standard_output,
)
from psoup.client.calls import PsoupClient
from psoup.pipeline.load.known_files import new_files
from psoup.pipeline.load.plan import LoadPlan, LoadRequest, SurveyProgress, plan_load
from psoup.pipeline.load.sources import sources
from psoup.pipeline.load.transfer import LoadProgress, run_load
from psoup.pipeline.wording import counted


def run(
    request: LoadRequest,
    files: Sequence[str],
    *,
    yes: bool,
    dry_run: bool,
    url: str,
    token: str | None,
) -> None:
    """Load files and print what happens to standard output, or to standard error once that is closed.

    Args:
        request: what is asked for.
        files: paths and patterns, `-` for standard input.
        yes: whether to replace a stream, or to add files to one with rows, without asking.
        dry_run: whether to end once the columns and the notes are shown.
        url: where the service is.
        token: for it.

    Raises:
        PsoupError: any of them; `psoup.app.cli.common.exits` turns them into exit codes.
        KeyboardInterrupt: after a line that says how to go on.
    """
    console = standard_output(on_closed=_say_that_it_goes_on)
    with PsoupClient(url, token=token) as service, ExitStack() as stack:
        with copying(console) as on_copied:
            found = stack.enter_context(sources(files, on_copied))
        progress = SurveyProgress()
        with looking(console, progress, time.monotonic):
            plan = plan_load(service, request, found, progress)
        show_plan(console, plan)
        for note in notes_of(plan):
            standard_error().print(note)
        dropped = plan.existing if plan.replaces and not dry_run else None
        if dropped is not None and (dropped["rows"] or dropped["queries"]):
            require_consent(what_is_dropped(dropped), yes=yes)
        if dry_run:
            console.print("nothing was stored: --dry-run", style=QUIET)
            return
        _ask_about_new_files(service, plan, yes=yes)
        _load(service, plan, console)


def _ask_about_new_files(service: PsoupClient, plan: LoadPlan, *, yes: bool) -> None:
    """Return once rows may be added to those of other files. What goes on after an interruption is not asked about."""
    new = new_files(service, plan)
    if new is None:
        return
    if new.goes_on or yes:
        standard_error().print(Text.assemble(("warning ", "bold yellow"), new.sentence))
        return
    require_consent(new.sentence, yes=yes)


def _load(service: PsoupClient, plan: LoadPlan, console: Output) -> None:
    started = time.monotonic()
    latest = LoadProgress()
    said: set[str] = set()
    try:
        with progress_of(console, plan, time.monotonic) as report:

            def follow(done: LoadProgress) -> None:
                nonlocal latest
                latest = done
                for warning in warnings_of(done):
                    if warning.plain not in said:
                        said.add(warning.plain)
                        standard_error().print(warning)
                report(done)

            done = run_load(service, plan, follow)
    except KeyboardInterrupt:
        _say_how_to_go_on(_heard(console), plan, latest)
        raise
    show_summary(_heard(console), plan, done, time.monotonic() - started)


def _say_that_it_goes_on() -> None:
    discard(sys.stdout)
    standard_error().print("nobody reads the progress any more; loading goes on", style="yellow")


def _heard(console: Output) -> Console:
    """Return a console that somebody may still read."""
    return standard_error() if console.quiet else console


def _say_how_to_go_on(console: Console, plan: LoadPlan, latest: LoadProgress) -> None:
    again = "the same command goes on from there"
    if plan.replaces and latest.batches:
        again = "the same command without --replace goes on from there; with it, it begins anew"
    console.print(f"stopped after {counted(latest.rows, 'row')}; {again}", style="yellow")
