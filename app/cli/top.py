"""`psoup top`: the standing queries that cost most."""

from enum import StrEnum
from typing import Annotated

import typer

from psoup.app.cli.common import URL_DEFAULT, WATCH_RETRY_S, ListFormat, Token, Url, exits


class By(StrEnum):
    """What queries are ordered by."""

    BYTES = "bytes"
    MATCHES = "matches"
    INVOKES = "invokes"


Order = Annotated[By, typer.Option("--by", help="What the largest have most of.")]
Limit = Annotated[int, typer.Option("--limit", "-n", help="How many.", min=1)]
Every = Annotated[float, typer.Option(help="Seconds between two looks.", min=0.05)]
Times = Annotated[
    int | None,
    typer.Option(
        help="Looks after which it ends. Default: never on a terminal, 1 in a pipe.", min=1
    ),
]
Format = Annotated[
    ListFormat | None,
    typer.Option("--format", "-f", help="Default: table on a terminal, ndjson in a pipe."),
]


@exits
def top(
    *,
    by: Order = By.BYTES,
    limit: Limit = 20,
    every: Every = 2.0,
    times: Times = None,
    output: Format = None,
    url: Url = URL_DEFAULT,
    token: Token = None,
) -> None:
    """Show the standing queries that cost most; on a terminal until interrupted."""
    from psoup.app.cli.actions.top import show_top
    from psoup.client.calls import PsoupClient, RetryPolicy

    retry = RetryPolicy(budget_s=WATCH_RETRY_S)
    with PsoupClient(url, token=token, retry=retry) as service:
        show_top(service, by=by.value, limit=limit, every_s=every, times=times, output=output)
