"""Reading and writing through addresses, compiled anew and as plain Python."""

import numba
import numpy as np
import pytest

from psoup.engine.kernels.addresses import address, byte, put, put_byte, put_float, word


def move(data, words, floats):
    """Move the last byte and the last word to the front, and halve the second word into a float."""
    put_byte(data, 0, byte(data, 2))
    put(words, 0, word(words, 2))
    put_float(floats, 0, word(words, 1) / 2)
    return byte(data, 0) - 256, word(words, 0)


@pytest.mark.parametrize(("run", "at"), [(move, lambda array: array), (numba.njit(move), address)])
def test_memory_through_addresses_is_that_of_the_array(run, at):
    """What is read is what the array holds, unsigned bytes and signed words; what is written is there."""
    data = np.array([1, 2, 250], np.uint8)
    words = np.array([1, -(2**63) + 2, -(2**63)], np.int64)
    floats = np.array([0.5, 2.5])
    assert (250 - 256, -(2**63)) == run(at(data), at(words), at(floats))
    assert [250, 2, 250] == data.tolist()
    assert [-(2**63), -(2**63) + 2, -(2**63)] == words.tolist()
    assert [-(2.0**62), 2.5] == floats.tolist()
