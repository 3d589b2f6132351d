"""`psoup validate` and `psoup explain`: questions about a query and a row, from which nothing follows."""

from typing import Annotated

import typer

from psoup.app.cli.common import URL_DEFAULT, Handle, ListFormat, Params, Token, Url, exits

Sql = Annotated[str, typer.Argument(help="SELECT ... FROM ... WHERE ... BEGIN (...) END (...)")]
RowId = Annotated[str, typer.Argument(help="The _id of a row, or of one tuple of a join.")]
Now = Annotated[
    str | None, typer.Option(help="Another instant to answer for, as `psoup invoke --now`.")
]
Format = Annotated[
    ListFormat | None,
    typer.Option("--format", "-f", help="Default: table on a terminal, ndjson in a pipe."),
]


@exits
def validate(
    sql: Sql,
    *,
    param: Params = None,
    output: Format = None,
    url: Url = URL_DEFAULT,
    token: Token = None,
) -> None:
    """Look at a query without registering it: its plan, what it would answer, what is wrong."""
    from psoup.app.cli.actions.ask import show_validation
    from psoup.app.cli.actions.pairs import parameters_of
    from psoup.client.calls import PsoupClient

    params = parameters_of(param or ())
    with PsoupClient(url, token=token) as service:
        show_validation(service, sql, output, params=params)


@exits
def explain(
    handle: Handle,
    row_id: RowId,
    *,
    now: Now = None,
    output: Format = None,
    url: Url = URL_DEFAULT,
    token: Token = None,
) -> None:
    """Say why a standing query answers a row, or does not."""
    from psoup.app.cli.actions.ask import show_explanation
    from psoup.app.cli.actions.handles import handle_of
    from psoup.client.calls import PsoupClient

    with PsoupClient(url, token=token) as service:
        show_explanation(service, handle_of(service, handle), row_id, output, now=now)
