"""`psoup query` and `psoup invoke`: register, invoke, print; look again while one watches."""

import sys
from typing import Annotated

import typer

from psoup.app.cli.common import (
    URL_DEFAULT,
    WATCH_RETRY_S,
    Handle,
    Materialize,
    OutputFormat,
    Params,
    Token,
    Url,
    exits,
)

Sql = Annotated[str, typer.Argument(help="SELECT ... FROM ... WHERE ... BEGIN (...) END (...)")]
Name = Annotated[str | None, typer.Option(help="Name the query; implies --keep.")]
Keep = Annotated[bool, typer.Option("--keep", help="Leave it registered, and print its handle.")]
Kept = Annotated[
    Materialize | None,
    typer.Option(
        "--materialize", help="What is kept of its matches between invocations. Default: auto."
    ),
]
Now = Annotated[
    str | None,
    typer.Option(
        help="The answer at another instant, as SQL writes one: 2014-01-05, '2014-01-05 12:00:00' (UTC),"
        " 2014-01-05T12:00:00+02:00; an integer counts microseconds since 1970."
    ),
]
Limit = Annotated[
    int | None,
    typer.Option(
        help="Rows at most: the newest of a table that is watched, else the first. Default: 100 in a table, else all.",
        min=1,
    ),
]
Format = Annotated[
    OutputFormat | None,
    typer.Option("--format", "-f", help="Default: table on a terminal, ndjson in a pipe."),
]
Ids = Annotated[bool, typer.Option("--ids", help="Show _id and _x of each row.")]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Look again until interrupted.")]
Every = Annotated[
    float | None,
    typer.Option(
        help="Seconds between two looks. Default: on a terminal wait for changes, else 1.", min=0.05
    ),
]
Times = Annotated[int | None, typer.Option(help="Looks after which watching ends.", min=1)]


@exits
def query(
    sql: Sql,
    *,
    param: Params = None,
    name: Name = None,
    keep: Keep = False,
    materialize: Kept = None,
    now: Now = None,
    limit: Limit = None,
    output: Format = None,
    ids: Ids = False,
    watch: Watch = False,
    every: Every = None,
    times: Times = None,
    url: Url = URL_DEFAULT,
    token: Token = None,
) -> None:
    """Register a query, invoke it and print the answer; remove it again unless --keep."""
    from psoup.app.cli.actions.pairs import parameters_of
    from psoup.app.cli.actions.query import View, register_and_show
    from psoup.client.calls import PsoupClient, RetryPolicy

    view = View(
        now=now, limit=limit, output=output, ids=ids, watch=watch, every_s=every, times=times
    )
    params = parameters_of(param or ())
    on_screen = watch and sys.stdout.isatty()
    retry = RetryPolicy(budget_s=WATCH_RETRY_S) if on_screen else None
    with PsoupClient(url, token=token, retry=retry) as service:
        register_and_show(
            service,
            sql,
            view,
            params=params,
            name=name,
            materialize=materialize and materialize.value,
            keep=keep or name is not None,
        )


@exits
def invoke(
    handle: Handle,
    *,
    now: Now = None,
    limit: Limit = None,
    output: Format = None,
    ids: Ids = False,
    watch: Watch = False,
    every: Every = None,
    times: Times = None,
    url: Url = URL_DEFAULT,
    token: Token = None,
) -> None:
    """Invoke a standing query by its handle or name and print the answer."""
    from psoup.app.cli.actions.handles import query_of
    from psoup.app.cli.actions.query import View, show
    from psoup.client.calls import PsoupClient, RetryPolicy

    view = View(
        now=now, limit=limit, output=output, ids=ids, watch=watch, every_s=every, times=times
    )
    on_screen = watch and sys.stdout.isatty()
    retry = RetryPolicy(budget_s=WATCH_RETRY_S) if on_screen else None
    with PsoupClient(url, token=token, retry=retry) as service:
        show(service, query_of(service, handle), view)
