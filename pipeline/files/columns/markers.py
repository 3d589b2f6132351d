"""Words for nothing: cells such as NA, which are NULL in every column that is not text.

In a column of text they may be values: NA is Namibia, and NAN is traded in New York. There they stay what they are.
"""

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

MARKERS: Final = frozenset(
    "NA na N/A n/a #N/A NaN nan NAN null NULL Null None NONE none nil - -- ?".split()  # noqa: SIM905 - one line of words
)
"""Numbers, booleans and times are never written so. psoup has no NaN: as a measurement, it says that there is none."""


def without_markers(array: pa.Array) -> pa.Array:
    """Return an array of text with NULL instead of its markers."""
    return count_markers(array, {})


def is_marker(value: Any) -> bool:  # noqa: ANN401 (any JSON value)
    """Return whether one value is a marker."""
    return isinstance(value, str) and value in MARKERS


def count_markers(array: pa.Array, counts: dict[str, int]) -> pa.Array:
    """Add the markers of an array of text to `counts`, and return it with NULL instead of them."""
    mask = pc.is_in(array, pa.array(sorted(MARKERS), pa.string()))
    if not pc.any(mask).as_py():
        return array
    for found in pc.value_counts(array.filter(mask)).to_pylist():
        counts[found["values"]] = counts.get(found["values"], 0) + found["counts"]
    return pc.if_else(mask, pa.scalar(None, pa.string()), array)
