"""The values of `--label` and `--param`: names with a value each, and no name twice."""

import json
from collections.abc import Sequence
from typing import NoReturn

from psoup.client.errors import DefinitionError
from psoup.engine.query.parameters import Parameters, ParameterValue


def labels_of(given: Sequence[str]) -> dict[str, str]:
    """Return labels from `key:value` each.

    Raises:
        DefinitionError: one has no colon or no key, or a key comes twice.
    """
    return _pairs(given, "--label", ":", "key:value")


def parameters_of(given: Sequence[str]) -> Parameters:
    """Return the parameters from `name=value` each: `min=40` a number, `sym=ACME` a text, `sym="40"` a text as well.

    Raises:
        DefinitionError: one has no equals sign or no name, or a name comes twice.
    """
    return {
        name: _value(text) for name, text in _pairs(given, "--param", "=", "name=value").items()
    }


def _pairs(given: Sequence[str], option: str, between: str, form: str) -> dict[str, str]:
    """Return each name with the text behind the first `between`; `form` says what the option takes."""
    pairs: dict[str, str] = {}
    for one in given:
        name, found, text = one.partition(between)
        if not name or not found:
            raise DefinitionError(f"{option} is {one!r}: expected {form}.")
        if name in pairs:
            raise DefinitionError(f"{option} names {name!r} twice.")
        pairs[name] = text
    return pairs


def _value(text: str) -> ParameterValue:
    """Return a JSON value that a parameter may have; any other text as it is, arrays, objects and infinity too."""
    try:
        value: object = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and abs(value) != float("inf"):
        return value
    return text


def _no_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python takes and JSON has not."""
    raise ValueError(name)
