"""A command whose options are refused in plain words: what typer reads numbers with has words of its own."""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from collections.abc import Mapping
from typing import Any, Final

import typer
from typer.core import TyperCommand

_KINDS: Final = {
    "int_parsing": "a whole number",
    "float_parsing": "a number",
    "finite_number": "a number",
}


class PlainCommand(TyperCommand):
    """A command of psoup."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 (typer's own kind of context)
        """Read the arguments. Raises typer.BadParameter: one cannot be; says what was expected, and what was given."""
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            from pydantic import ValidationError

            if isinstance(error.__cause__, ValidationError):
                error.message = _in_plain_words(error.__cause__.errors()[0])
            raise


def _in_plain_words(refused: Mapping[str, Any]) -> str:
    """Return what was expected in place of a value that pydantic has refused, and the value."""
    from psoup.app.wire.reasons import reason_of

    if refused["type"] == "value_error":
        return reason_of(refused)  # names the value itself
    kind = _KINDS.get(refused["type"])
    expected = reason_of(refused) if kind is None else f"expected {kind}"
    return f"{expected}, got {refused['input']}"
