"""Compiling: the two intrinsics, and a machine on which nothing can be kept."""

import numba
import numpy as np
import pytest

from engine.kernels.compiled import compiled, lowest, ones
from engine.kernels.warm import warm_up

WORDS = [1, 2, 3, 2**31, 2**32, 2**63, 2**64 - 1, 0x8000_0000_0000_0001, 0x0123_4567_89AB_CDEF]


@pytest.mark.parametrize("word", WORDS)
def test_intrinsics_compiled_differential_agree_with_the_plain_ones(word):
    """Bits are counted, and the lowest is found, alike in Python and compiled anew."""
    count = numba.njit(lambda one: ones(one))  # noqa: PLW0108 - numba compiles the lambda
    find = numba.njit(lambda one: lowest(one))  # noqa: PLW0108
    text = f"{word:b}"
    assert text.count("1") == ones(np.uint64(word)) == count(np.uint64(word))
    assert len(text) - len(text.rstrip("0")) == lowest(np.uint64(word)) == find(np.uint64(word))
    assert 0 == ones(np.uint64(0)) == count(np.uint64(0))
    assert 64 == lowest(np.uint64(0)) == find(np.uint64(0))


def test_compiled_without_a_folder_to_keep_it_in_works_all_the_same(monkeypatch):
    """Where numba finds no place for its cache, a kernel is compiled for this process alone."""
    real = numba.njit

    def refusing(*, cache=False, **options):
        if cache:
            raise RuntimeError("no locator available")
        return real(**options)

    monkeypatch.setattr(numba, "njit", refusing)
    assert 3 == compiled(lambda x: x + 1)(2)


def test_warm_up_calls_every_kernel():
    """The number of calls is told, so that a kernel that is left out is noticed."""
    assert 22 == warm_up()
