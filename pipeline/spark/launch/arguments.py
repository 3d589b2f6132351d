"""The fields of a request as options of a command: for `psoup pipeline`, and for a job given to spark-submit."""

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, TypeVar, get_type_hints

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

R = TypeVar("R", bound="DataclassInstance")


def command_of(request: type[R], act: Callable[[R], None]) -> Callable[..., None]:
    """Return a typer command: the request's fields are its options, the request's docstring is its help.

    Args:
        request: a dataclass whose fields are annotated with typer's options.
        act: called with the request of the command line.
    """

    def command(**given: object) -> None:
        act(request(**given))

    hints = get_type_hints(request, include_extras=True)
    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=hints[field.name],
        )
        for field in fields(request)
    ]
    command.__doc__ = inspect.getdoc(request)
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return command
