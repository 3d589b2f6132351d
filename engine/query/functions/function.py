"""What a scalar function is: the types of its arguments and of its value, and its kernel."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from psoup.engine.tuples.batch import Column
from psoup.engine.tuples.schema import ColumnType

Kernel = Callable[[Sequence[Column], ColumnType], Column]
"""From arguments, at least one and all of one length, and the type of the value, to the values. Changes no argument."""


class Takes(Enum):
    """What an argument may be."""

    NUMBER = auto()
    """BIGINT or DOUBLE."""
    DOUBLE = auto()
    """A number, as DOUBLE."""
    BIGINT = auto()
    TEXT = auto()
    PRINTED = auto()
    """Anything, as the text that CAST(... AS VARCHAR) gives."""
    TIMESTAMP = auto()
    ALIKE = auto()
    """Any type, the same for all such arguments; BIGINT beside DOUBLE becomes DOUBLE."""
    ANY = auto()
    """Any type."""
    UNIT = auto()
    """A constant text that names a unit of time."""
    PART = auto()
    """A constant text that names a part of an instant."""
    INTERVAL = auto()
    """A constant INTERVAL above 0, in microseconds."""


@dataclass(frozen=True, slots=True)
class Function:
    """A scalar function.

    Attributes:
        usage: how it is written.
        takes: what each argument has to be; the last one stands for all that follow it.
        least: how many arguments it has at least.
        most: how many it has at most.
        gives: the type of its value; None = that of its first argument that is no UNIT, or of all that are ALIKE.
        kernel: computes it; None where the binder writes the call in other words.
    """

    usage: str
    takes: tuple[Takes, ...]
    least: int
    most: int
    gives: ColumnType | None
    kernel: Kernel | None

    def taken(self, place: int) -> Takes:
        """Return what the argument at a place has to be, counted from 0."""
        return self.takes[min(place, len(self.takes) - 1)]
