"""`psoup follow`: what enters the answer of a standing query, and what leaves it."""

from typing import Annotated

import typer

from psoup.app.cli.common import (
    URL_DEFAULT,
    WATCH_RETRY_S,
    FollowFormat,
    Handle,
    Token,
    Url,
    exits,
)

Format = Annotated[
    FollowFormat | None,
    typer.Option("--format", "-f", help="Default: screen on a terminal, lines in a pipe."),
]
New = Annotated[bool, typer.Option("--new", help="Leave out the rows that are there already.")]
Every = Annotated[
    float | None,
    typer.Option(help="Seconds between two looks. Default: wait for changes.", min=0.05),
]
Times = Annotated[int | None, typer.Option(help="Looks after which following ends.", min=1)]


@exits
def follow(
    handle: Handle,
    *,
    output: Format = None,
    new: New = False,
    every: Every = None,
    times: Times = None,
    url: Url = URL_DEFAULT,
    token: Token = None,
) -> None:
    """Show what enters and what leaves the answer of a standing query, until interrupted.

    It goes on with its cursor where the service was away for a while.
    """
    from psoup.app.cli.actions.following import Pace, follow_query
    from psoup.app.cli.actions.handles import query_of
    from psoup.client.calls import PsoupClient, RetryPolicy

    retry = RetryPolicy(budget_s=WATCH_RETRY_S)
    with PsoupClient(url, token=token, retry=retry) as service:
        described = query_of(service, handle)
        pace = Pace(every_s=every, times=times)
        follow_query(service, described, pace, output=output, only_new=new)
