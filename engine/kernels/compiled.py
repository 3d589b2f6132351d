"""How a kernel is compiled: by numba, without the GIL but where it is brief, kept on disk between runs.

A kernel is a plain function of arrays and numbers that runs in Python as well, slowly: tests run it both
ways, beside a twin in NumPy. What numba compiles lies beside the source, or in the user's cache folder where
that cannot be written, or nowhere where neither can; `NUMBA_CACHE_DIR` overrides it. When the
source of any kernel changes, all are compiled again.
"""

# mypy: disable-error-code="explicit-override"
# (typing has override from Python 3.12 on)

import functools
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import event, types
from numba.extending import intrinsic, overload

_INT8: Final = ir.IntType(8)
_INT32: Final = ir.IntType(32)
_PREFETCH: Final = "llvm.prefetch.p0"
_READ_OFTEN_DATA: Final = (0, 3, 1)
"""To be read, into all levels of the cache, no instructions."""

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def compiled(function: Kernel) -> Kernel:
    """Return the function compiled at its first call for each set of argument types; `py_func` is the plain one."""
    return _kept(function)


def uncounted(function: Kernel) -> Kernel:
    """Return the function compiled without counting references to arrays. It must not make any.

    Whoever calls it holds its arrays. A reference is counted in and out by two atomic operations for every use of
    an array in a loop that is not plain: they took half of the time of matching.
    """
    return _kept(function, _nrt=False)


def brief(function: Kernel) -> Kernel:
    """Return the function compiled for calls of a few microseconds: it keeps the GIL.

    A thread that lets go of it for so short a time may wait for milliseconds until it has it again.
    """
    return _kept(function, nogil=False)


def _kept(function: Kernel, *, nogil: bool = True, **options: object) -> Kernel:
    njit: Any = numba.njit
    try:
        made = njit(nogil=nogil, cache=True, **options)(function)
    except RuntimeError:  # no folder to keep it in
        return cast("Kernel", njit(nogil=nogil, **options)(function))
    # numba looks at the kernel's own file alone, and would go on with what others in it were.
    made._cache._cache_file._source_stamp = sources()  # noqa: SLF001
    return cast("Kernel", made)


@functools.cache
def sources() -> str:
    """Return a digest of the sources of all kernels: each holds the code and the numbers of those that it uses."""
    digest = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@contextmanager
def telling_of_compilation(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` whenever a kernel begins to be compiled meanwhile, in whichever thread; not where it is loaded."""
    with event.install_listener("numba:compile", _Teller(tell)):
        yield


class _Teller(event.Listener):
    """numba's way to hear of what it does."""

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell = tell

    def on_start(self, event: object) -> None:
        """A compilation begins."""
        del event
        self._tell()

    def on_end(self, event: object) -> None:
        """It has ended."""


def inlined(function: Kernel) -> Kernel:
    """Return the function for kernels alone: it becomes part of each that calls it.

    A call by itself costs tens of nanoseconds where many arrays are handed over.
    """
    return cast("Kernel", numba.njit(nogil=True, inline="always")(function))


def ones(word: Any) -> int:
    """Return how many bits of a uint64 are set; one instruction where it is compiled."""
    return int(word).bit_count()


def lowest(word: Any) -> int:
    """Return the place of the lowest bit set of a uint64, 64 if there is none; one instruction where compiled."""
    return (int(word) & -int(word)).bit_length() - 1 if word else 64


def without_lowest(word: Any) -> Any:
    """Return a uint64 without the lowest bit set, 0 if there is none; one instruction where compiled."""
    return type(word)(int(word) & (int(word) - 1)) if word else word


def prefetch(array: Any, place: Any) -> None:
    """Begin to bring what lies at a place of the first axis into the cache; the place need not be there.

    A loop that reads here and there waits for memory at each step; one that says some steps ahead what it will
    read waits for the first alone. Does nothing where it is not compiled.
    """


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


@intrinsic
def _without_lowest(_context: Any, word: Any) -> Any:
    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        less = builder.sub(arguments[0], ir.Constant(arguments[0].type, 1))
        return builder.and_(arguments[0], less)

    return word(word), generate


@intrinsic
def _prefetch(_context: Any, array: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        held = context.make_array(signature.args[0])(context, builder, arguments[0])
        bytes_before = builder.mul(arguments[1], builder.extract_value(held.strides, 0))
        lies = builder.bitcast(held.data, _INT8.as_pointer())
        lies = builder.gep(lies, [bytes_before])
        kind = ir.FunctionType(ir.VoidType(), [lies.type, _INT32, _INT32, _INT32])
        known = builder.module.globals.get(_PREFETCH)
        called = known or ir.Function(builder.module, kind, _PREFETCH)
        builder.call(called, [lies, *(ir.Constant(_INT32, how) for how in _READ_OFTEN_DATA)])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


@overload(ones, strict=False)
def _compile_ones(word: Any) -> Any:
    del word  # of its type there is one
    return lambda word: _ones(word)  # type: ignore[call-arg]  # noqa: PLW0108  # numba reads the lambda


@overload(lowest, strict=False)
def _compile_lowest(word: Any) -> Any:
    del word
    return lambda word: _lowest(word)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(without_lowest, strict=False)
def _compile_without_lowest(word: Any) -> Any:
    del word
    return lambda word: _without_lowest(word)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(prefetch, strict=False)
def _compile_prefetch(array: Any, place: Any) -> Any:
    del array, place
    return lambda array, place: _prefetch(array, place)  # type: ignore[call-arg]  # noqa: PLW0108
