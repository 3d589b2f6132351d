"""How a kernel is compiled: by numba, without the GIL, kept on disk between runs.

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
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core import event, types
from numba.extending import intrinsic, overload

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


def of_finite(function: Kernel) -> Kernel:
    """Return the function compiled for floats that are no NaN, and whose zeros may have either sign.

    Comparisons of floats then become those of vectors.
    """
    return _kept(function, fastmath={"nnan", "nsz"})


def _kept(function: Kernel, **options: object) -> Kernel:
    njit: Any = numba.njit
    try:
        made = njit(nogil=True, cache=True, **options)(function)
    except RuntimeError:  # no folder to keep it in
        return cast("Kernel", njit(nogil=True, **options)(function))
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
