"""Reading and writing an array through its address, as a reader of text does that takes one byte after the other.

A function that is compiled counts a reference for each array it is given, in 5 ns and more: for functions called once
for each value, that is most of their time. An address is a number. Kernels that run as Python are given the array where
compiled ones are given its address. Nothing here knows where an array ends: whoever hands out an address keeps its
array alive until the kernel has returned.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

_BYTE, _SHORT, _INT32 = ir.IntType(8), ir.IntType(16), ir.IntType(32)
_WORD, _FLOAT = ir.IntType(64), ir.DoubleType()


def address(array: NDArray[Any] | bytes | bytearray) -> Any:
    """Return where a contiguous array, or bytes, lie. Not for kernels."""
    return pa.py_buffer(array).address  # an eighth of what ndarray.ctypes takes


def byte(memory: Any, at: int) -> int:
    """Return byte `at` of a uint8 array."""
    return int(memory[at])


def word(memory: Any, at: int) -> int:
    """Return entry `at` of an int64 array."""
    return int(memory[at])


def int32(memory: Any, at: int) -> int:
    """Return entry `at` of an int32 array."""
    return int(memory[at])


def short(memory: Any, at: int) -> int:
    """Return entry `at` of a uint16 array."""
    return int(memory[at])


def eight(memory: Any, at: int) -> Any:
    """Return the eight bytes of a uint8 array that begin at byte `at`, wherever that is, as a uint64."""
    return np.uint64(int.from_bytes(memory[at : at + 8].tobytes(), "little"))


def put(memory: Any, at: int, what: int) -> None:
    """Write entry `at` of an int64 array."""
    memory[at] = what


def put_byte(memory: Any, at: int, what: int) -> None:
    """Write byte `at` of a uint8 array."""
    memory[at] = what


def put_eight(memory: Any, at: int, what: Any) -> None:
    """Write a uint64 into the eight bytes of a uint8 array that begin at byte `at`, wherever that is."""
    memory[at : at + 8] = np.frombuffer(int(what).to_bytes(8, "little"), np.uint8)


def put_float(memory: Any, at: int, what: float) -> None:
    """Write entry `at` of a float64 array."""
    memory[at] = what


def _pointer(builder: Any, kind: Any, memory: Any, at: Any) -> Any:
    """Return the pointer to entry `at` of values of one kind that lie from an address on."""
    return builder.gep(builder.inttoptr(memory, kind.as_pointer()), [at])


@intrinsic
def _byte(_context: Any, _memory: Any, _at: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, given: Any) -> Any:
        return builder.zext(builder.load(_pointer(builder, _BYTE, *given)), _WORD)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def _word(_context: Any, _memory: Any, _at: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, given: Any) -> Any:
        return builder.load(_pointer(builder, _WORD, *given))

    return types.int64(types.int64, types.int64), generate


@intrinsic
def _int32(_context: Any, _memory: Any, _at: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, given: Any) -> Any:
        return builder.sext(builder.load(_pointer(builder, _INT32, *given)), _WORD)

    return types.int64(types.int64, types.int64), generate


@intrinsic
def _short(_context: Any, _memory: Any, _at: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, given: Any) -> Any:
        return builder.zext(builder.load(_pointer(builder, _SHORT, *given)), _WORD)

    return types.int64(types.int64, types.int64), generate


def _unaligned(builder: Any, memory: Any, at: Any) -> Any:
    """Return the pointer to the eight bytes that begin at byte `at`."""
    return builder.bitcast(_pointer(builder, _BYTE, memory, at), _WORD.as_pointer())


@intrinsic
def _eight(_context: Any, _memory: Any, _at: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, given: Any) -> Any:
        return builder.load(_unaligned(builder, *given), align=1)

    return types.uint64(types.int64, types.int64), generate


@intrinsic
def _put_eight(_context: Any, _memory: Any, _at: Any, _what: Any) -> Any:
    def generate(context: Any, builder: Any, _: Any, given: Any) -> Any:
        memory, at, what = given
        builder.store(what, _unaligned(builder, memory, at), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.uint64), generate


@intrinsic
def _put_byte(_context: Any, _memory: Any, _at: Any, _what: Any) -> Any:
    def generate(context: Any, builder: Any, _: Any, given: Any) -> Any:
        memory, at, what = given
        builder.store(what, _pointer(builder, _BYTE, memory, at))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.uint8), generate


@intrinsic
def _put(_context: Any, _memory: Any, _at: Any, what: Any) -> Any:
    kind, stored = (_FLOAT, types.float64) if what == types.float64 else (_WORD, types.int64)

    def generate(context: Any, builder: Any, _: Any, given: Any) -> Any:
        memory, at, value = given
        builder.store(value, _pointer(builder, kind, memory, at))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, stored), generate


@overload(byte, strict=False)
def _compile_byte(memory: Any, at: Any) -> Any:
    del memory, at
    return lambda memory, at: _byte(memory, at)  # type: ignore[call-arg]  # noqa: PLW0108  # numba reads the lambda


@overload(word, strict=False)
def _compile_word(memory: Any, at: Any) -> Any:
    del memory, at
    return lambda memory, at: _word(memory, at)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(int32, strict=False)
def _compile_int32(memory: Any, at: Any) -> Any:
    del memory, at
    return lambda memory, at: _int32(memory, at)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(short, strict=False)
def _compile_short(memory: Any, at: Any) -> Any:
    del memory, at
    return lambda memory, at: _short(memory, at)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(eight, strict=False)
def _compile_eight(memory: Any, at: Any) -> Any:
    del memory, at
    return lambda memory, at: _eight(memory, at)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(put_eight, strict=False)
def _compile_put_eight(memory: Any, at: Any, what: Any) -> Any:
    del memory, at, what
    return lambda memory, at, what: _put_eight(memory, at, np.uint64(what))  # type: ignore[call-arg]


@overload(put, strict=False)
def _compile_put(memory: Any, at: Any, what: Any) -> Any:
    del memory, at, what
    return lambda memory, at, what: _put(memory, at, np.int64(what))  # type: ignore[call-arg]


@overload(put_byte, strict=False)
def _compile_put_byte(memory: Any, at: Any, what: Any) -> Any:
    del memory, at, what
    return lambda memory, at, what: _put_byte(memory, at, np.uint8(what))  # type: ignore[call-arg]


@overload(put_float, strict=False)
def _compile_put_float(memory: Any, at: Any, what: Any) -> Any:
    del memory, at, what
    return lambda memory, at, what: _put(memory, at, np.float64(what))  # type: ignore[call-arg]
