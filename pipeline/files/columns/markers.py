"""Words for NULL, such as NA: cells that are NULL in every column that is not text.

In a text column they may be values (NA is Namibia, and NAN is traded in New York), and stay unchanged.
"""

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

MARKERS: Final = frozenset(
    "NA na N/A n/a #N/A NaN nan NAN null NULL Null None NONE none nil - -- ?".split()  # noqa: SIM905 - one line of words
)
"""No number, boolean or time is written like this. psoup has no NaN: in measurements NaN means that there is none."""


def without_markers(array: pa.Array) -> pa.Array:
    """Return an array of text with NULL instead of its markers."""
    return count_markers(array, {})


def is_marker(value: Any) -> bool:  # noqa: ANN401 (any JSON value)
    """Return whether one value is a marker."""
    return isinstance(value, str) and value in MARKERS


def count_markers(array: pa.Array, counts: dict[str, int]) -> pa.Array:
    """Add the markers of an array of text to `counts`; return the array with NULL instead of them."""
    mask = pc.is_in(array, pa.array(sorted(MARKERS), pa.string()))
    if not pc.any(mask).as_py():
        return array
    for entry in pc.value_counts(array.filter(mask)).to_pylist():
        counts[entry["values"]] = counts.get(entry["values"], 0) + entry["counts"]
    return pc.if_else(mask, pa.scalar(None, pa.string()), array)
