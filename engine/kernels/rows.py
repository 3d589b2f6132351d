"""The 64 words of a chunk's rows as vectors: what a loop over words would take twice as long for.

Each is a plain function for Python, and instructions over eight words at a time where it is compiled.
"""

# mypy: disable-error-code="misc, no-untyped-call"
# (numba's decorators and helpers have no types)

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from psoup.engine.kernels.bits import CHUNK_WORDS, Words
from psoup.engine.kernels.compiled import ones

BLOCK_WORDS: Final = 8
"""So many words are a vector, and a line of the cache."""
_INT: Final = ir.IntType(64)
_VECTOR: Final = ir.VectorType(_INT, BLOCK_WORDS)
_ALIGN: Final = 8

_OFFSETS: Final = tuple(ir.Constant(_INT, offset) for offset in range(0, CHUNK_WORDS, BLOCK_WORDS))


def between(own: Words, bitmaps: Words, low: int, high: int) -> None:
    """Write the bits of bitmap `high` that are not in bitmap `low`, which it holds, into (64,) words."""
    own[:] = bitmaps[low] ^ bitmaps[high]


def and_between(own: Words, bitmaps: Words, low: int, high: int) -> None:
    """Clear the bits of (64,) words that are in bitmap `low` or not in bitmap `high`, which holds the other."""
    own &= bitmaps[low] ^ bitmaps[high]


def count_of(words: Words) -> int:
    """Return how many bits (64,) words have."""
    return sum(ones(word) for word in words)


def with_bits(words: Words) -> Any:
    """Return a word whose bit i is set where the i-th of (64,) words has some."""
    return np.packbits(words != 0, bitorder="little").view(np.uint64)[0]


def copy(words: Words, bitmaps: Words, place: int) -> None:
    """Write (64,) words as bitmap number `place`."""
    bitmaps[place] = words


def add_up(parts: Words, bitmaps: Words, block: int) -> None:
    """Write the union of the first parts as eight words of a bitmap each, and clear the parts.

    Args:
        parts: (u or more, 8) words; those of the first u are written: zeros.
        bitmaps: (u, 64) words; written: bitmap i has the bits of the parts 0 to i, in eight words.
        block: which eight of the words, 0 to 7.
    """
    some = slice(block * BLOCK_WORDS, (block + 1) * BLOCK_WORDS)
    count = len(bitmaps)
    bitmaps[:, some] = np.bitwise_or.accumulate(parts[:count], axis=0)
    parts[:count] = 0


@overload(between, strict=False)
def _compile_between(own: Any, bitmaps: Any, low: Any, high: Any) -> Any:
    del own, bitmaps, low, high
    return lambda own, bitmaps, low, high: _between(own, bitmaps, low, high)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(add_up, strict=False)
def _compile_add_up(parts: Any, bitmaps: Any, block: Any) -> Any:
    del parts, bitmaps, block
    return lambda parts, bitmaps, block: _add_up(parts, bitmaps, block)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(and_between, strict=False)
def _compile_and_between(own: Any, bitmaps: Any, low: Any, high: Any) -> Any:
    del own, bitmaps, low, high  # of their types there are one each
    return lambda own, bitmaps, low, high: _and_between(own, bitmaps, low, high)  # type: ignore[call-arg]  # noqa: PLW0108  # numba reads the lambda


@overload(count_of, strict=False)
def _compile_count_of(words: Any) -> Any:
    del words
    return lambda words: _count_of(words)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(with_bits, strict=False)
def _compile_with_bits(words: Any) -> Any:
    del words
    return lambda words: _with_bits(words)  # type: ignore[call-arg]  # noqa: PLW0108


@overload(copy, strict=False)
def _compile_copy(words: Any, bitmaps: Any, place: Any) -> Any:
    del words, bitmaps, place
    return lambda words, bitmaps, place: _copy(words, bitmaps, place)  # type: ignore[call-arg]  # noqa: PLW0108


def _pieces_between(
    context: Any, builder: Any, types_of: Any, arguments: Any
) -> Iterator[tuple[Any, Any]]:
    """Yield where each piece of `own` lies, and which of its rows one of two bitmaps has and the other has not.

    Args:
        context: of the compiler.
        builder: of the instructions.
        types_of: the types of the arguments.
        arguments: `own`, `bitmaps` and the places of two of these.
    """
    own = _data(context, builder, types_of[0], arguments[0])
    rows = _data(context, builder, types_of[1], arguments[1])
    ends = [_row(builder, rows, argument) for argument in arguments[2:]]
    for place in _OFFSETS:
        lower, upper = (builder.load(_at(builder, end, place), align=_ALIGN) for end in ends)
        yield _at(builder, own, place), builder.xor(lower, upper)


@intrinsic
def _between(_context: Any, own: Any, bitmaps: Any, low: Any, high: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        for kept, inside in _pieces_between(context, builder, signature.args, arguments):
            builder.store(inside, kept, align=_ALIGN)
        return context.get_dummy_value()

    return types.void(own, bitmaps, types.int64, types.int64), generate


@intrinsic
def _add_up(_context: Any, parts: Any, bitmaps: Any, block: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        taken = _data(context, builder, signature.args[0], arguments[0])
        held = context.make_array(signature.args[1])(context, builder, arguments[1])
        count = builder.extract_value(held.shape, 0)
        offset = builder.mul(arguments[2], ir.Constant(_INT, BLOCK_WORDS))
        none = ir.Constant(_VECTOR, None)
        grown = cgutils.alloca_once_value(builder, none)
        with cgutils.for_range(builder, count) as loop:
            begin = builder.mul(loop.index, ir.Constant(_INT, BLOCK_WORDS))
            part = _at(builder, taken, begin)
            words = builder.or_(builder.load(grown), builder.load(part, align=_ALIGN))
            builder.store(none, part, align=_ALIGN)
            builder.store(words, grown)
            row = _row(builder, held.data, loop.index)
            builder.store(words, _at(builder, row, offset), align=_ALIGN)
        return context.get_dummy_value()

    return types.void(parts, bitmaps, types.int64), generate


@intrinsic
def _and_between(_context: Any, own: Any, bitmaps: Any, low: Any, high: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        for kept, inside in _pieces_between(context, builder, signature.args, arguments):
            words = builder.load(kept, align=_ALIGN)
            builder.store(builder.and_(words, inside), kept, align=_ALIGN)
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
            some = builder.load(_at(builder, rows, place), align=_ALIGN)
            total = builder.add(total, builder.call(ctpop, [some]))
        count = ir.Constant(_INT, 0)
        for lane in range(BLOCK_WORDS):
            count = builder.add(count, builder.extract_element(total, ir.Constant(_INT, lane)))
        return count

    return types.int64(words), generate


@intrinsic
def _with_bits(_context: Any, words: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        rows = _data(context, builder, signature.args[0], arguments[0])
        found = ir.Constant(_INT, 0)
        for place in _OFFSETS:
            some = builder.load(_at(builder, rows, place), align=_ALIGN)
            flags = builder.icmp_unsigned("!=", some, ir.Constant(_VECTOR, None))
            bits = builder.zext(builder.bitcast(flags, ir.IntType(BLOCK_WORDS)), _INT)
            found = builder.or_(found, builder.shl(bits, place))
        return found

    return types.uint64(words), generate


@intrinsic
def _copy(_context: Any, words: Any, bitmaps: Any, place: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        taken = _data(context, builder, signature.args[0], arguments[0])
        rows = _data(context, builder, signature.args[1], arguments[1])
        row = _row(builder, rows, arguments[2])
        for offset in _OFFSETS:
            some = builder.load(_at(builder, taken, offset), align=_ALIGN)
            builder.store(some, _at(builder, row, offset), align=_ALIGN)
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
