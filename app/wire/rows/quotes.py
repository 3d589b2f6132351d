"""Which bytes of a text lie within quotes, all at once: for CSV, and for JSON without its escapes."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine import limits

BLOCK: Final = limits.MIB
"""How many bytes are looked at together: arrays of that many entries are made, a few at a time."""
_QUOTE: Final = ord('"')


def within_quotes(data: NDArray[np.uint8], *, inside: bool = False) -> NDArray[np.bool_]:
    """Return whether each byte is within quotes, an opening quote included and a closing one not.

    Args:
        data: (n,) bytes.
        inside: whether the byte before the first one is.
    """
    odd = np.add.accumulate(data == _QUOTE, dtype=np.uint8) & 1  # the sum may wrap: parity stays
    return odd.astype(np.bool_) ^ inside
