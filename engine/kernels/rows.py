"""The 64 words of a chunk's rows as vectors: what a loop over words would take twice as long for.

Each is a plain function for Python, and instructions over eight words at a time where it is compiled.
"""

# mypy: disable-error-code="misc"
# (numba's decorators have no types)

from typing import Any, Final

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from psoup.engine.kernels.bits import CHUNK_WORDS, Words
from psoup.engine.kernels.compiled import ones

_LANES: Final = 8
_INT: Final = ir.IntType(64)
_VECTOR: Final = ir.VectorType(_INT, _LANES)

_OFFSETS: Final = tuple(ir.Constant(_INT, offset) for offset in range(0, CHUNK_WORDS, _LANES))


def and_between(own: Words, bitmaps: Words, low: int, high: int) -> None:
    """Clear the bits of (64,) words that are in bitmap `low` or not in bitmap `high`, which holds the other."""
    own &= bitmaps[low] ^ bitmaps[high]


def count_of(words: Words) -> int:
    """Return how many bits (64,) words have."""
    return sum(ones(word) for word in words)


def copy(words: Words, bitmaps: Words, place: int) -> None:
    """Write (64,) words as bitmap number `place`."""
    bitmaps[place] = words


@overload(and_between, strict=False)
def _compile_and_between(own: Any, bitmaps: Any, low: Any, high: Any) -> Any:
    del own, bitmaps, low, high  # of their types there are one each
    return lambda own, bitmaps, low, high: _and_between(own, bitmaps, low, high)  # type: ignore[call-arg]  # noqa: PLW0108  # numba reads the lambda


@overload(count_of, strict=False)
def _compile_count_of(words: Any) -> Any:
    del words
    return lambda words: _count_of(words)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(copy, strict=False)
def _compile_copy(words: Any, bitmaps: Any, place: Any) -> Any:
    del words, bitmaps, place
    return lambda words, bitmaps, place: _copy(words, bitmaps, place)  # type: ignore[call-arg]  # noqa: PLW0108


@intrinsic
def _and_between(_context: Any, own: Any, bitmaps: Any, low: Any, high: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        kept = _data(context, builder, signature.args[0], arguments[0])
        rows = _data(context, builder, signature.args[1], arguments[1])
        ends = [_row(builder, rows, argument) for argument in arguments[2:]]
        for place in _OFFSETS:
            lower, upper = (builder.load(_at(builder, end, place), align=_LANES) for end in ends)
            own_words = builder.load(_at(builder, kept, place), align=_LANES)
            inside = builder.and_(own_words, builder.xor(lower, upper))
            builder.store(inside, _at(builder, kept, place), align=_LANES)
        return context.get_dummy_value()

    return types.void(own, bitmaps, types.int64, types.int64), generate


@intrinsic
def _count_of(_context: Any, words: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = _data(context, builder, signature.args[0], arguments[0])
        known = builder.module.globals.get("llvm.ctpop.v8i64")
        kind = ir.FunctionType(_VECTOR, [_VECTOR])
        ctpop = known or ir.Function(builder.module, kind, "llvm.ctpop.v8i64")
        total = ir.Constant(_VECTOR, None)
        for place in _OFFSETS:
            some = builder.load(_at(builder, rows, place), align=_LANES)
            total = builder.add(total, builder.call(ctpop, [some]))
        count = ir.Constant(_INT, 0)
        for lane in range(_LANES):
            count = builder.add(count, builder.extract_element(total, ir.Constant(_INT, lane)))
        return count

    return types.int64(words), generate


@intrinsic
def _copy(_context: Any, words: Any, bitmaps: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        taken = _data(context, builder, signature.args[0], arguments[0])
        rows = _data(context, builder, signature.args[1], arguments[1])
        row = _row(builder, rows, arguments[2])
        for offset in _OFFSETS:
            some = builder.load(_at(builder, taken, offset), align=_LANES)
            builder.store(some, _at(builder, row, offset), align=_LANES)
        return context.get_dummy_value()

    return types.void(words, bitmaps, types.int64), generate


def _data(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """Return where the values of an array lie."""
    return context.make_array(kind)(context, builder, array).data


def _row(builder: Any, data: Any, number: Any) -> Any:
    """Return where a row of 64 words begins."""
    return builder.gep(data, [builder.mul(number, ir.Constant(_INT, CHUNK_WORDS))])


def _at(builder: Any, data: Any, offset: Any) -> Any:
    """Return where the eight words from an offset on lie."""
    return builder.bitcast(builder.gep(data, [offset]), _VECTOR.as_pointer())
