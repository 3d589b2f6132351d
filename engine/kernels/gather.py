"""Values picked out of columns by row, whatever segments the rows lie in; and whether row numbers ascend."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.addresses import byte, short, word
from psoup.engine.kernels.compiled import compiled

BYTES: Final = 0
"""How a segment keeps a column: as distances from a base in uint8."""
SHORTS: Final = 1
"""In uint16."""
LONGS: Final = 2
"""As values of eight bytes."""
NOWHERE: Final = -1
"""Not at all: the segment is not held."""


@compiled
def gather(
    columns: NDArray[Any],
    wanted: NDArray[np.int64],
    first_row: int,
    rows: NDArray[np.int64],
    found: NDArray[np.int64],
) -> tuple[int, int]:
    """Write the values that some columns have at `rows`.

    Args:
        columns: (s, c, 3) int64: how and where the columns of s segments that follow each other lie, or NOWHERE, 65,536
            values each: form, address, base. Whoever calls keeps them alive.
        wanted: (k,) which of the c columns.
        first_row: the first row of the first segment.
        rows: (n,) row numbers; n is at least 1.
        found: (k, n), written: the values' eight bytes.

    Returns:
        The smallest and the largest of the rows; (0, -1) where one lies in no segment that is held.

    Cost: O(k n), about half of it where rows follow each other without a gap.
    """
    least = most = rows[0]
    apart = 0
    for at in range(len(rows)):
        row = rows[at]
        least, most = min(least, row), max(most, row)
        apart |= (row - at) ^ rows[0]
    if least < first_row or most >= first_row + len(columns) * 65536:
        return 0, -1
    begin = 0
    while begin < len(rows):  # rows of one segment after the other
        segment = (rows[begin] - first_row) >> 16
        first = first_row + (segment << 16)
        past = len(rows)
        if apart == 0:
            past = min(past, begin + first + 65536 - rows[begin])
        elif least < first or most >= first + 65536:
            past = begin + 1
            while past < len(rows) and first <= rows[past] < first + 65536:
                past += 1
        if columns[segment, 0, 0] < 0:
            return 0, -1
        for place in range(len(wanted)):
            form, memory, base = columns[segment, wanted[place]]
            if apart == 0:
                _copy(form, memory, base, rows[begin] - first, found[place, begin:past])
            else:
                _pick(form, memory, base, rows[begin:past], first, found[place, begin:past])
        begin = past
    return least, most


@compiled
def _pick(
    form: int,
    memory: Any,
    base: int,
    rows: NDArray[np.int64],
    first_row: int,
    found: NDArray[np.int64],
) -> None:
    """Write the values at `rows` of one column of a segment that begins with `first_row`."""
    if form == 0:
        for at in range(len(rows)):
            found[at] = base + byte(memory, rows[at] - first_row)
    elif form == 1:
        for at in range(len(rows)):
            found[at] = base + short(memory, rows[at] - first_row)
    else:
        for at in range(len(rows)):
            found[at] = word(memory, rows[at] - first_row)


@compiled
def _copy(form: int, memory: Any, base: int, offset: int, found: NDArray[np.int64]) -> None:
    """Write the values of one column of a segment from `offset` on."""
    if form == 0:
        for at in range(len(found)):
            found[at] = base + byte(memory, offset + at)
    elif form == 1:
        for at in range(len(found)):
            found[at] = base + short(memory, offset + at)
    else:
        for at in range(len(found)):
            found[at] = word(memory, offset + at)


@compiled
def ascends(values: NDArray[np.int64]) -> bool:
    """Return whether no value is smaller than the one before it. Cost: one pass, without a branch."""
    descents = 0
    before, after = values[:-1], values[1:]
    for at in range(len(before)):
        descents += after[at] < before[at]
    return descents == 0
