"""How a kernel is compiled: by numba, without the GIL, kept on disk between runs.

A kernel is a plain function of arrays and numbers that runs in Python as well, slowly: tests run it both
ways, beside a twin in NumPy. What numba compiles lies beside the source, or in the user's cache folder where
that cannot be written, or nowhere where neither can; `NUMBA_CACHE_DIR` overrides it.
"""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """Return the function compiled at its first call for each set of argument types; `py_func` is the plain one."""
    try:
        return cast("Kernel", numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # no folder to keep it in
        return cast("Kernel", numba.njit(nogil=True)(function))


def ones(word: Any) -> int:
    """Return how many bits of a uint64 are set; one instruction where it is compiled."""
    return int(word).bit_count()


def lowest(word: Any) -> int:
    """Return the place of the lowest bit set of a uint64, 64 if there is none; one instruction where compiled."""
    return (int(word) & -int(word)).bit_length() - 1 if word else 64


@intrinsic
def _ones(_context: Any, word: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(word), generate


@intrinsic
def _lowest(_context: Any, word: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(word), generate


@overload(ones, strict=False)
def _compile_ones(word: Any) -> Any:
    del word  # of its type there is one
    return lambda word: _ones(word)  # type: ignore[call-arg]  # noqa: PLW0108  # numba reads the lambda


@overload(lowest, strict=False)
def _compile_lowest(word: Any) -> Any:
    del word
    return lambda word: _lowest(word)  # type: ignore[call-arg]  # noqa: PLW0108
