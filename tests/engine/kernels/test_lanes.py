"""Sixty-four values at an address, compiled and in Python, against comparing one by one."""

from typing import Any

import numba
import numpy as np
import pytest

from psoup.engine.kernels import lanes
from tests.engine.kernels.test_order import FLOAT_EDGES


@numba.njit(nogil=True)
def _bytes(address, low, reach):
    return lanes.bytes_within(address, np.uint8(low), np.uint8(reach))


@numba.njit(nogil=True)
def _shorts(address, low, reach):
    return lanes.shorts_within(address, np.uint16(low), np.uint16(reach))


@numba.njit(nogil=True)
def _longs(address, low, high):
    return lanes.longs_within(address, low, high)


@numba.njit(nogil=True)
def _doubles(address, low, high):
    return lanes.doubles_within(address, low, high)


@numba.njit(nogil=True)
def _loaded(address):
    double = lanes.double_of(lanes.long_at(address))
    whole = lanes.long_at(address)
    return lanes.byte_at(address), lanes.short_at(address), whole, lanes.word_at(address), double


LONG_EDGES = [-(2**63), -(2**63) + 1, -1, 0, 1, 2**63 - 2, 2**63 - 1]
UNSIGNED: dict[str, tuple[Any, Any, list[Any]]] = {
    "bytes": (_bytes, np.uint8, [0, 1, 127, 128, 200, 255]),
    "shorts": (_shorts, np.uint16, [0, 1, 255, 256, 32_767, 32_768, 65_535]),
}
SIGNED: dict[str, tuple[Any, Any, list[Any]]] = {
    "longs": (_longs, np.int64, LONG_EDGES),
    "doubles": (_doubles, np.float64, FLOAT_EDGES),
}


def ways(kernel):
    return kernel, kernel.py_func


@pytest.mark.parametrize("name", [*UNSIGNED, *SIGNED])
def test_lanes_within_any_ends_oracle_flag_what_lies_inside(name):
    """Every pair of edges as ends, over values of all edges, in a word that begins anywhere."""
    kernel, dtype, edges = {**UNSIGNED, **SIGNED}[name]
    values = np.resize(np.array(edges, dtype=dtype), 70)
    for first in (0, 1, 6):
        address = values.ctypes.data + first * values.itemsize
        some = values[first : first + 64].tolist()
        for low in edges:
            for high in (edge for edge in edges if edge >= low):
                end = high - low if name in UNSIGNED else high
                expected = sum(1 << i for i, value in enumerate(some) if low <= value <= high)
                assert [expected] * 2 == [int(way(address, low, end)) for way in ways(kernel)]


def test_values_at_an_address_are_those_that_lie_there():
    """One value of each width, from the same eight bytes."""
    for value in (-(2**63), -1, 0x0102_0304_0506_0708, 2**63 - 1):
        there = np.array([value], dtype=np.int64)
        raw = there.tobytes()
        expected = (
            raw[0],
            int.from_bytes(raw[:2], "little"),
            value,
            int.from_bytes(raw, "little"),
            there.view(np.float64)[0],
        )
        for way in ways(_loaded):
            np.testing.assert_array_equal(expected, way(there.ctypes.data))
