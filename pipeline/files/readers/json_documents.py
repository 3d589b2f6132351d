"""Reads the objects of a JSON document one by one, each with its line, without holding the document.

A document is an array of objects, one object, several objects in a row, or a GeoJSON FeatureCollection.
"""

import codecs
import json
import re
from collections.abc import Iterator
from typing import IO, Final

from psoup.engine.limits import MIB, ROW_BYTES_MAX

BLANKS: Final = " \t\r\n"
ELEMENT_CHARACTERS_MAX: Final = 4 * ROW_BYTES_MAX + MIB
"""Size of one element, far above that of a row: damage does not pull the whole file into memory."""


_SURROGATE: Final = re.compile(r"\\u[dD][89a-fA-F]")


class DocumentError(ValueError):
    """A document is malformed, at `line`."""

    def __init__(self, reason: str, line: int) -> None:
        """Keep reason and line."""
        super().__init__(reason)
        self.reason = reason
        self.line = line


def elements(plain: IO[bytes]) -> Iterator[tuple[int, object]]:
    """Yield (line, value) of the elements of an array, or of values in a row.

    Raises:
        DocumentError: it is not JSON, cut short, or something follows after the array.
    """
    window = Window(plain)
    bracketed = window.skip(BLANKS) == "["
    if bracketed:
        yield from _array(window)
        if window.skip(BLANKS + ","):
            raise DocumentError("something follows after the array", window.line)
        return
    while window.skip(BLANKS + ","):
        yield window.line, window.decode()


def features(plain: IO[bytes]) -> Iterator[tuple[int, object]]:
    """Yield (line, value) of the features of a FeatureCollection, or of Features in a row.

    Raises:
        DocumentError: it is not JSON, cut short, or has no features.
    """
    window = Window(plain)
    while window.skip(BLANKS + ",\x1e"):
        line = window.line
        if window.skip(BLANKS) != "{":
            raise DocumentError("a feature has to be an object", line)
        window.advance(1)
        members: dict[str, object] = {}
        collected = False
        while window.skip(BLANKS + ",") not in {"", "}"}:
            name = window.decode()
            if window.skip(BLANKS) != ":" or not isinstance(name, str):
                raise DocumentError("a member has no name", window.line)
            window.advance(1)
            if name == "features" and window.skip(BLANKS) == "[":
                collected = True
                yield from _array(window)
            else:
                window.skip(BLANKS)
                members[name] = window.decode()
        if window.skip(BLANKS) != "}":
            raise DocumentError("the object does not end: the file is cut short", window.line)
        window.advance(1)
        if not collected:
            yield line, members


def _array(window: "Window") -> Iterator[tuple[int, object]]:
    """Yield the elements of the array that begins here, and move past it."""
    window.advance(1)
    while (begins := window.skip(BLANKS + ",")) and begins != "]":
        yield window.line, window.decode()
    if begins != "]":
        raise DocumentError("the array does not end: the file is cut short", window.line)
    window.advance(1)


class Window:
    """A window into a document's text: it grows until one element is whole, and drops decoded text."""

    def __init__(self, plain: IO[bytes]) -> None:
        """Begin at the start of the document."""
        self._plain = plain
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._json = json.JSONDecoder(parse_constant=_no_constant)
        self._text = ""
        self._at = 0
        self._ended = False
        self.line = 1

    def skip(self, blanks: str) -> str:
        """Advance over `blanks`; return the character after them, empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in blanks:
                self.advance(1)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                return ""

    def advance(self, characters: int) -> None:
        """Move over text that is done with."""
        past = self._at + characters
        self.line += self._text.count("\n", self._at, past)
        self._at = past

    def decode(self) -> object:
        """Return the element that begins here, and move behind it.

        Raises:
            DocumentError: it is not JSON, or longer than an element may be.
        """
        while True:
            try:
                value, past = self._json.raw_decode(self._text, self._at)
            except ValueError as error:
                # Cut off by the window's end, or wrong.
                if len(self._text) - self._at > ELEMENT_CHARACTERS_MAX or not self._grow():
                    raise DocumentError(f"it is not JSON: {error}", self.line) from None
            except RecursionError:
                raise DocumentError("it is nested too deeply", self.line) from None
            else:
                if _SURROGATE.search(self._text, self._at, past) and not _is_text(value):
                    raise DocumentError(
                        "it has half of a surrogate pair, which is no text", self.line
                    )
                self.advance(past - self._at)
                return value

    def _grow(self) -> bool:
        if self._ended:
            return False
        block = self._plain.read(MIB)
        self._ended = not block
        self._text = self._text[self._at :] + self._decoder.decode(block, final=self._ended)
        self._at = 0
        return not self._ended


def _is_text(value: object) -> bool:
    """Return whether all strings of a value can be written in UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _no_constant(name: str) -> object:
    msg = f"{name} is not a JSON number"
    raise ValueError(msg)
