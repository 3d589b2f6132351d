"""A command whose argument is a query: words that the shell has split are answered with how they are quoted."""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from typing import Any

import typer

from psoup.app.cli.plain_command import PlainCommand


class OneTextCommand(PlainCommand):
    """A command that takes one text."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 (typer's own kind of context)
        """Read the arguments.

        Raises:
            typer.BadParameter: the text came in several words; says to quote it.
        """
        ctx.allow_extra_args = True
        rest = super().parse_args(ctx, args)
        if rest:
            raise typer.BadParameter(
                "the query came as several words. Put all of it in double quotes, and texts within it in single ones:"
                f" {ctx.command_path} \"SELECT ... WHERE sym = 'ACME'\"",
                ctx=ctx,
            )
        return rest
