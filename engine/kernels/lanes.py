"""Sixty-four stored values compared at once: one bit each, without a flag in between.

Values are read where they lie, by address, so that one call of a kernel meets the arrays of many segments.
Whoever hands out an address keeps its array alive until the kernel has returned. Compiled, the comparisons
are vector instructions of whatever width the machine has; in Python they are NumPy, slowly.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

_LANES = 64
_WORD = ir.IntType(64)


def bytes_within(address: Any, low: Any, reach: Any) -> Any:
    """Return which of the 64 uint8 from `address` on lie in `[low, low + reach]`, as a uint64."""
    return _packed(_read(ctypes.c_uint8, address) - np.uint8(low) <= np.uint8(reach))


def shorts_within(address: Any, low: Any, reach: Any) -> Any:
    """Return which of the 64 uint16 from `address` on lie in `[low, low + reach]`, as a uint64."""
    return _packed(_read(ctypes.c_uint16, address) - np.uint16(low) <= np.uint16(reach))


def longs_within(address: Any, low: Any, high: Any) -> Any:
    """Return which of the 64 int64 from `address` on lie in `[low, high]`, as a uint64."""
    values = _read(ctypes.c_int64, address)
    return _packed((values >= low) & (values <= high))


def doubles_within(address: Any, low: Any, high: Any) -> Any:
    """Return which of the 64 float64 from `address` on lie in `[low, high]`, as a uint64."""
    values = _read(ctypes.c_double, address)
    return _packed((values >= low) & (values <= high))


def byte_at(address: Any) -> Any:
    """Return the uint8 at an address."""
    return ctypes.c_uint8.from_address(int(address)).value


def short_at(address: Any) -> Any:
    """Return the uint16 at an address."""
    return ctypes.c_uint16.from_address(int(address)).value


def long_at(address: Any) -> Any:
    """Return the int64 at an address."""
    return ctypes.c_int64.from_address(int(address)).value


def double_of(value: Any) -> Any:
    """Return the float64 that has the bits of an int64."""
    return np.int64(value).view(np.float64)


def word_at(address: Any) -> Any:
    """Return the uint64 at an address."""
    return np.uint64(ctypes.c_uint64.from_address(int(address)).value)


def _read(kind: Any, address: Any) -> Any:
    return np.ctypeslib.as_array((kind * _LANES).from_address(int(address)))


def _packed(flags: Any) -> Any:
    return np.packbits(flags, bitorder="little").view(np.uint64)[0]


def _compare_unsigned(builder: Any, values: Any, low: Any, reach: Any) -> Any:
    """One comparison tells both ends: what lies below `low` wraps around to the far end."""
    return builder.icmp_unsigned("<=", builder.sub(values, low), reach)


def _compare_signed(builder: Any, values: Any, low: Any, high: Any) -> Any:
    above = builder.icmp_signed(">=", values, low)
    return builder.and_(above, builder.icmp_signed("<=", values, high))


def _compare_doubles(builder: Any, values: Any, low: Any, high: Any) -> Any:
    above = builder.fcmp_ordered(">=", values, low)
    return builder.and_(above, builder.fcmp_ordered("<=", values, high))


def _spread(builder: Any, value: Any) -> Any:
    """Return a vector of 64 times the value."""
    lanes = ir.VectorType(value.type, _LANES)
    nothing = ir.Constant(lanes, ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    places = ir.Constant(ir.VectorType(ir.IntType(32), _LANES), [0] * _LANES)
    return builder.shuffle_vector(first, nothing, places)


def _comparison(kind: Any, stored: Any, compare: Callable[..., Any]) -> Any:
    """Return the intrinsic that compares 64 values of a type and moves the signs into one word."""

    @intrinsic
    def compared(_context: Any, address: Any, low: Any, high: Any) -> Any:
        def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
            place, *ends = arguments
            lanes = ir.VectorType(stored, _LANES)
            values = builder.load(builder.inttoptr(place, lanes.as_pointer()), align=1)
            found = compare(builder, values, *(_spread(builder, end) for end in ends))
            return builder.bitcast(found, _WORD)

        return types.uint64(types.int64, kind, kind), generate

    return compared


def _loading(kind: Any, stored: Any) -> Any:
    """Return the intrinsic that loads one value of a type."""

    @intrinsic
    def loaded(_context: Any, address: Any) -> Any:
        def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
            return builder.load(builder.inttoptr(arguments[0], stored.as_pointer()), align=1)

        return kind(types.int64), generate

    return loaded


@intrinsic
def _double_of(_context: Any, value: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(value), generate


_bytes_within = _comparison(types.uint8, ir.IntType(8), _compare_unsigned)
_shorts_within = _comparison(types.uint16, ir.IntType(16), _compare_unsigned)
_longs_within = _comparison(types.int64, _WORD, _compare_signed)
_doubles_within = _comparison(types.float64, ir.DoubleType(), _compare_doubles)
_byte_at = _loading(types.uint8, ir.IntType(8))
_short_at = _loading(types.uint16, ir.IntType(16))
_long_at = _loading(types.int64, _WORD)
_word_at = _loading(types.uint64, _WORD)

# numba reads the lambdas: none of them can be replaced by what it calls.


@overload(bytes_within, strict=False)
def _compile_bytes(address: Any, low: Any, reach: Any) -> Any:
    del address, low, reach  # of their types there is one
    return lambda address, low, reach: _bytes_within(address, low, reach)  # noqa: PLW0108


@overload(shorts_within, strict=False)
def _compile_shorts(address: Any, low: Any, reach: Any) -> Any:
    del address, low, reach
    return lambda address, low, reach: _shorts_within(address, low, reach)  # noqa: PLW0108


@overload(longs_within, strict=False)
def _compile_longs(address: Any, low: Any, high: Any) -> Any:
    del address, low, high
    return lambda address, low, high: _longs_within(address, low, high)  # noqa: PLW0108


@overload(doubles_within, strict=False)
def _compile_doubles(address: Any, low: Any, high: Any) -> Any:
    del address, low, high
    return lambda address, low, high: _doubles_within(address, low, high)  # noqa: PLW0108


@overload(byte_at, strict=False)
def _compile_byte(address: Any) -> Any:
    del address
    return lambda address: _byte_at(address)  # noqa: PLW0108


@overload(short_at, strict=False)
def _compile_short(address: Any) -> Any:
    del address
    return lambda address: _short_at(address)  # noqa: PLW0108


@overload(long_at, strict=False)
def _compile_long(address: Any) -> Any:
    del address
    return lambda address: _long_at(address)  # noqa: PLW0108


@overload(double_of, strict=False)
def _compile_double(value: Any) -> Any:
    del value
    return lambda value: _double_of(value)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(word_at, strict=False)
def _compile_word(address: Any) -> Any:
    del address
    return lambda address: _word_at(address)  # noqa: PLW0108
