"""Bits of a chunk's rows: 64 words of 64 bits. Bit i of a chunk is bit `i % 64` of word `i // 64`.

Words are kept in little byte order, so that their bytes are a little-order bit string anywhere.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from psoup.engine.kernels.compiled import compiled, lowest, ones

Words = NDArray[np.uint64]

WORD_BITS: Final = 64
CHUNK_WORDS: Final = 64
"""A chunk has 4,096 rows. Kernels write the number out: a constant trip count is what they are fast by."""
LITTLE: Final = np.dtype("<u8")
ALL: Final = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


def words_of(bits: int) -> int:
    """Return how many words hold `bits` bits."""
    return -(-bits // WORD_BITS)


def full(bits: int, words: int) -> Words:
    """Return `words` words whose first `bits` bits are set."""
    made = np.zeros(words, dtype=LITTLE)
    whole, rest = divmod(bits, WORD_BITS)
    made[:whole] = ALL
    if rest:
        made[whole] = (1 << rest) - 1
    return made


def packed(flags: NDArray[np.bool_]) -> Words:
    """Return (n,) bools as words_of(n) words; bits past the last are zero."""
    words = np.zeros(words_of(len(flags)) * 8, dtype=np.uint8)
    words[: -(-len(flags) // 8)] = np.packbits(flags, bitorder="little")
    return words.view(LITTLE)


def mask_of(positions: NDArray[np.int64], words: int) -> Words:
    """Return `words` words with the bits at `positions` set."""
    flags = np.zeros(words * WORD_BITS, dtype=np.bool_)
    flags[positions] = True
    return packed(flags)


def positions(words: Words) -> NDArray[np.int64]:
    """Return the places of the bits that are set, ascending. Cost: O(words + bits set)."""
    found = np.empty(popcount(words), dtype=np.int64)
    _walk(words, found)
    return found


def popcount(words: Words) -> int:
    """Return how many bits of (n,) words are set."""
    return int(_count(words))


@compiled
def _count(words: Words) -> int:
    total = 0
    for word in words:
        total += ones(word)
    return total


@compiled
def _walk(words: Words, found: NDArray[np.int64]) -> None:
    at = 0
    for place in range(len(words)):
        word = words[place]
        while word:
            found[at] = place * 64 + lowest(word)
            at += 1
            word &= word - np.uint64(1)
