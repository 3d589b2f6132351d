"""Each kernel once more, slowly: single bits, single values, nothing packed and nothing shared.

Bits of words are sets of positions here, lineages lists of such sets.
"""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

CHUNK = 4_096


def plainly(kernel: Any) -> Any:
    """Return the kernel as the Python function it was compiled from."""
    return kernel.py_func


@contextlib.contextmanager
def all_plain(*modules: Any) -> Iterator[None]:
    """Let every kernel that these modules name be the Python function it was compiled from, for a while."""
    with pytest.MonkeyPatch.context() as patch:
        for module in modules:
            for name, value in vars(module).copy().items():
                if hasattr(value, "py_func"):
                    patch.setattr(module, name, value.py_func)
        yield


def modes(*modules: Any) -> Iterator[str]:
    """Yield twice: with the kernels of these modules compiled, and with all of them as plain Python."""
    yield "compiled"
    with all_plain(*modules):
        yield "plain"


def integers(values: Any) -> NDArray[np.int64]:
    """Return values as kernels take them."""
    return np.array(values, dtype=np.int64)


def bits_of(words: Any) -> set[int]:
    """Return the positions set in (n,) words: bit i is bit i % 64 of word i // 64."""
    held = np.ascontiguousarray(words, dtype="<u8")
    return set(np.flatnonzero(np.unpackbits(held.view(np.uint8), bitorder="little")).tolist())


def words_from(positions: set[int], words: int) -> Any:
    """Return `words` words with these bits set."""
    made = [0] * words
    for position in positions:
        made[position // 64] |= 1 << position % 64
    return np.array(made, dtype=np.uint64)


def places_below(ordered: Sequence[Any], bounds: Sequence[Any]) -> list[int]:
    """Return for each bound how many values are smaller."""
    return [sum(value < bound for value in ordered) for bound in bounds]


def satisfying(
    factors: Sequence[tuple[int, Sequence[tuple[int, int]], bool]],
    *,
    orders: Sequence[Sequence[int]],
    null_rows: Sequence[set[int]],
) -> set[int]:
    """Return the rows of a chunk that satisfy factors (attribute, ranges of places [low, high), takes NULL)."""
    left = set(range(CHUNK))
    for attribute, ranges, takes_null in factors:
        rows = {orders[attribute][place] for low, high in ranges for place in range(low, high)}
        left &= rows | (null_rows[attribute] if takes_null else set())
    return left


def narrowest(
    factors: Sequence[tuple[int, Sequence[tuple[int, int]], bool]],
) -> tuple[int, int]:
    """Return the fewest rows of a factor of one interval or none that does not take NULL, and its place.

    The first of several such; 4,097 and -1 where there is none.
    """
    sizes = [
        (sum(high - low for low, high in ranges), place)
        for place, (_, ranges, takes_null) in enumerate(factors)
        if len(ranges) <= 1 and not takes_null
    ]
    return min(sizes, default=(CHUNK + 1, -1))


def within(values: Sequence[Any], intervals: Sequence[tuple[Any, Any]], bits: set[int]) -> set[int]:
    """Return the bits of values that lie in one of the closed intervals."""
    return {
        bit
        for bit in bits
        if bit < len(values) and any(low <= values[bit] <= high for low, high in intervals)
    }


def gathered(
    held: Sequence[Sequence[Any]], columns: Sequence[int], first_row: int, rows: Sequence[int]
) -> list[list[int]]:
    """Return the values that columns of segments of 65,536 rows have at `rows`, column by column."""
    found = []
    for column in columns:
        places = [divmod(row - first_row, 65_536) for row in rows]
        found.append([int(held[segment][column][offset]) for segment, offset in places])
    return found


def span_equal(keys: Sequence[int], value: int) -> tuple[int, int]:
    """Return where ascending keys that equal a value begin and end."""
    return sum(key < value for key in keys), sum(key <= value for key in keys)


def span_within(keys: Sequence[int], least: int, most: int, low: int, high: int) -> list[int]:
    """Return the places in `[low, high)` whose keys lie in `[least, most]`."""
    return [place for place in range(low, high) if least <= keys[place] <= most]


def pairs_of(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return each span's own place with each place in it."""
    return [(i, place) for i, (low, high) in enumerate(spans) for place in range(low, high)]


def lineage_of(words: Any) -> list[set[int]]:
    """Return the slots of each row of (n, w) words."""
    return [bits_of(row) for row in words]
