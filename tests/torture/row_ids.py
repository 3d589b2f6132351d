"""What rows are known by: ids, of which those of DISTINCT are digests; a judge knows only what they have to be."""

import re
from collections.abc import Sequence
from typing import Any, Final

from psoup.engine.query.shape import Shape
from psoup.engine.query.values.expression import Value

ShownRow = tuple[str, int | None, tuple[Value | None, ...]]
"""The ids of its tuples, when it leaves, its values."""

DIGEST: Final = re.compile("[0-9a-f]{24}")


class RowIds:
    """Ids of rows of DISTINCT as answers have shown them: one for equal values, for ever, and none for two of them."""

    def __init__(self) -> None:
        """Know none."""
        self._of_values: dict[tuple[tuple[type, object], ...], str] = {}
        self._values: dict[str, tuple[tuple[type, object], ...]] = {}

    def expected(self, values: tuple[Value | None, ...], shown: str) -> str:
        """Return the id of a row with these values, which is the one `shown` where it was never seen and may be one."""
        typed = tuple((type(value), value) for value in values)  # 1 is neither 1.0 nor true
        if DIGEST.fullmatch(shown) and self._values.get(shown, typed) == typed:
            self._values[shown] = typed
            return self._of_values.setdefault(typed, shown)
        return self._of_values.get(typed, "a digest of its values")


def in_one_order(
    shape: Shape, expected: Sequence[ShownRow], held: Sequence[dict[str, Any]]
) -> tuple[list[ShownRow], list[dict[str, Any]]]:
    """Return expected rows, and those that a client holds, both in the order of what they are known by."""
    if not shape.distinct:
        return sorted(expected, key=lambda row: row[0]), sorted(
            held, key=lambda row: str(row["_id"])
        )
    names = [output.name for output in shape.outputs]
    return (
        sorted(expected, key=lambda row: repr(row[2])),
        sorted(held, key=lambda row: repr(tuple([row[name] for name in names]))),
    )
