"""The values of `--param`: each as JSON where it is a JSON value, else as the text it is."""

import json
from collections.abc import Sequence
from typing import NoReturn

from psoup.engine.query.parameters import Parameters, ParameterValue
from psoup.pipeline.errors import DefinitionError


def parameters_of(given: Sequence[str]) -> Parameters:
    """Return the parameters from `name=value` each: `min=40` a number, `sym=ACME` a text, `sym="40"` a text as well.

    Raises:
        DefinitionError: one has no equals sign or no name, or a name comes twice.
    """
    params: dict[str, ParameterValue] = {}
    for one in given:
        name, equals, value = one.partition("=")
        if not name or not equals:
            raise DefinitionError(f"--param is {one!r}: expected name=value.")
        if name in params:
            raise DefinitionError(f"--param names {name!r} twice.")
        params[name] = _value(value)
    return params


def _value(text: str) -> ParameterValue:
    try:
        value: object = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text
    # An array or an object is no value of a parameter, and may be a text; a number without end is none of JSON's.
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and abs(value) != float("inf"):
        return value
    return text


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)
