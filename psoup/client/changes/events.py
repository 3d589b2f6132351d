"""Server-sent events out of the bytes of a stream, in whatever pieces these come."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Event:
    """One event: its name, and its data. The pause before the next connection is an event named `retry`."""

    name: str
    data: bytes


class EventReader:
    """Reads events as the service writes them: lines end with a line feed."""

    def __init__(self) -> None:
        """Nothing was read."""
        self._held = b""

    def read(self, piece: bytes) -> Iterator[Event]:
        """Yield the events that a further piece completes."""
        *blocks, self._held = (self._held + piece).split(b"\n\n")
        for block in blocks:
            fields = dict(_field(line) for line in block.split(b"\n"))
            if b"retry" in fields:
                yield Event("retry", fields[b"retry"])
            if b"data" in fields:
                yield Event(fields.get(b"event", b"message").decode(), fields[b"data"])


def _field(line: bytes) -> tuple[bytes, bytes]:
    name, _, value = line.partition(b":")
    return name, value.removeprefix(b" ")
