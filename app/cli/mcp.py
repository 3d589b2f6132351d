"""`psoup mcp`: what agents use a service through, on standard input and output or over HTTP."""

from importlib.util import find_spec
from typing import Annotated

import typer

from psoup.app.cli.common import URL_DEFAULT, ExitCode, Token, Url, exits

Http = Annotated[
    str | None,
    typer.Option(
        metavar="[HOST:]PORT",
        help="Serve streamable HTTP there, at /mcp; default: standard input and output. Port 0: any free port.",
    ),
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="With --http: answer requests for this host too, each of which has to bring a key.",
    ),
]
_MISSING = (
    "This needs the package of the protocol, which is not installed: pip install 'psoup[mcp]' (in a clone:"
    " pip install -e '.[mcp]')."
)


@exits
def mcp(
    *,
    http: Http = None,
    allow_host: AllowHost = None,
    url: Url = URL_DEFAULT,
    token: Token = None,
) -> None:
    """Let agents use the service, by the Model Context Protocol: docs/agents.md says how to add it to a host.

    It keeps nothing: end it and start it as you like.
    """
    if find_spec("mcp") is None:
        from psoup.app.cli.terminal.output import failure, standard_error

        standard_error().print(failure(_MISSING))
        raise typer.Exit(ExitCode.USAGE)
    from psoup.app.cli.actions.mcp import serve

    serve(http, allow_host or (), url=url, token=token)
