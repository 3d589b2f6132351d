"""The query strings of one endpoint, of which those that come again are read once."""

from collections.abc import Sequence
from typing import Final

from psoup.app.wire.parameters import Arguments, Parameter, read_arguments

KEPT_COUNT_MAX: Final = 64
KEPT_LENGTH_MAX: Final = 256
"""Query strings of an endpoint that are kept as they were read, and the length of each, in bytes."""


class ArgumentsReader:
    """Reads the query strings of one endpoint: polls send the same one again and again.

    Used in one event loop.
    """

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        """Know the parameters of the endpoint."""
        self._known = {parameter.name: parameter for parameter in parameters}
        self._read: dict[bytes, Arguments] = {}

    def read(self, query_string: bytes) -> Arguments:
        """Return the values of a request's query string. Raises what `read_arguments` does."""
        found = self._read.get(query_string)
        if found is None:
            found = read_arguments(query_string, self._known)
            if len(query_string) <= KEPT_LENGTH_MAX:
                if len(self._read) >= KEPT_COUNT_MAX:
                    self._read.clear()
                self._read[query_string] = found
        return found
