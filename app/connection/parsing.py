"""A connection that has a parser only while bytes may come for it: thousands of requests wait for minutes."""
# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

from typing import Any

from httptools import HttpRequestParser
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class ParsingProtocol(HttpToolsProtocol):
    """uvicorn's protocol; its parser, a kilobyte with its callbacks, can be released between two requests."""

    __slots__ = ("fed",)
    fed: bytes
    """The bytes that the parser is given just now."""

    def release_parser(self) -> None:
        """Release the parser, which must have no part of a request that is still to be parsed."""
        self.parser = None  # type: ignore[assignment] # as after the end of the connection

    def data_received(self, data: bytes) -> None:
        """Parse `data`, with a parser that is made as uvicorn makes it where the last one was released."""
        parser: Any = self.parser
        if parser is None:
            self.parser = HttpRequestParser(self)
            self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.fed = data
        super().data_received(data)
        self.fed = b""
