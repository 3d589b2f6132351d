"""Parameters: the values that a registration gives for the names `:name` and `$name` in a query's text."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from psoup.engine.tuples.value_type import value_type

ParameterValue = bool | int | float | str | None
"""What stands for a constant: a JSON value that is neither an array nor an object."""

Parameters = Mapping[str, ParameterValue]
"""Values by name."""

NO_PARAMETERS: Final[Parameters] = MappingProxyType({})
PARAMETER_NAME: Final = re.compile(r"[^\W\d]\w*")
"""A name: what the scanner takes as a word."""


@value_type
class RegisteredText:
    """A text as it was registered, and the values of its parameters, which its canonical text has as constants."""

    sql: str
    params: Parameters
