"""The query strings of one endpoint, of which those that come again are read once."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from psoup.app.wire.parameters import Arguments, Parameter, read_arguments

KEPT_COUNT_MAX: Final = 64
KEPT_LENGTH_MAX: Final = 256
"""Query strings of an endpoint whose values are kept, and the length of each, in bytes."""


class ArgumentsReader:
    """Reads the query strings of one endpoint: polls send the same one again and again."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        """Know the parameters of the endpoint."""
        self._known = {parameter.name: parameter for parameter in parameters}
        self._kept = lru_cache(KEPT_COUNT_MAX)(self._read)

    def read(self, query_string: bytes) -> Arguments:
        """Return the values of a request's query string. Raises what `read_arguments` does."""
        if len(query_string) > KEPT_LENGTH_MAX:
            return self._read(query_string)
        return self._kept(query_string)

    def _read(self, query_string: bytes) -> Arguments:
        return read_arguments(query_string, self._known)
