"""Compiling: the intrinsics, a machine on which nothing can be kept, and nothing left to compile."""

import subprocess
import sys
from typing import Any

import numba
import numpy as np
import pytest

from psoup.engine.kernels import compiled as compiled_module
from psoup.engine.kernels.compiled import (
    compiled,
    lowest,
    ones,
    prefetch,
    sources,
    telling_of_compilation,
    without_lowest,
)

WORDS = [1, 2, 3, 2**31, 2**32, 2**63, 2**64 - 1, 0x8000_0000_0000_0001, 0x0123_4567_89AB_CDEF]


@pytest.mark.parametrize("word", WORDS)
def test_intrinsics_compiled_differential_agree_with_the_plain_ones(word):
    """Bits are counted, and the lowest is found, alike in Python and compiled anew."""
    count = numba.njit(lambda one: ones(one))  # noqa: PLW0108 - numba compiles the lambda
    find = numba.njit(lambda one: lowest(one))  # noqa: PLW0108
    clear = numba.njit(lambda one: without_lowest(one))  # noqa: PLW0108
    text = f"{word:b}"
    assert text.count("1") == ones(np.uint64(word)) == count(np.uint64(word))
    assert len(text) - len(text.rstrip("0")) == lowest(np.uint64(word)) == find(np.uint64(word))
    less = word - (word & -word)
    assert less == without_lowest(np.uint64(word)) == clear(np.uint64(word))
    assert np.uint64 is type(without_lowest(np.uint64(word))) is type(without_lowest(np.uint64(0)))
    assert 0 == without_lowest(np.uint64(0)) == clear(np.uint64(0))
    assert 0 == ones(np.uint64(0)) == count(np.uint64(0))
    assert 64 == lowest(np.uint64(0)) == find(np.uint64(0))


def test_prefetch_changes_nothing_wherever_it_looks():
    """Compiled or not; a place of a table of rows, and places that are not there."""
    look = numba.njit(lambda array, place: prefetch(array, place))  # noqa: PLW0108 - numba compiles the lambda
    for array in (np.arange(6), np.arange(6).reshape(3, 2), np.empty((0, 3), dtype=np.int32)):
        before = array.tobytes()
        for place in (0, 2, -1, 2**40):
            look(array, place)
            prefetch(array, place)
        assert before == array.tobytes()


def test_compiled_without_a_folder_to_keep_it_in_works_all_the_same(monkeypatch):
    """Where numba finds no place for its cache, a kernel is compiled for this process alone."""
    real = numba.njit

    def refusing(*, cache=False, **options):
        if cache:
            raise RuntimeError("no locator available")
        return real(**options)

    monkeypatch.setattr(numba, "njit", refusing)
    assert 3 == compiled(lambda x: x + 1)(2)


def plus_one(number):
    return number + 1


def test_compiled_kernels_are_kept_until_the_source_of_any_changes(monkeypatch, tmp_path):
    """The second process-like use loads what the first compiled; with other sources it is compiled anew."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def loaded():
        kernel: Any = compiled(plus_one)
        assert 3 == kernel(2)
        return sum(kernel.stats.cache_hits.values())

    assert [0, 1] == [loaded(), loaded()]
    monkeypatch.setattr(compiled_module, "sources", lambda: "others")
    assert [0, 1] == [loaded(), loaded()]


def test_sources_of_kernels_are_told_apart_by_any_of_them():
    """The digest is that of the files as they lie there."""
    assert sources() == sources()
    assert 64 == len(sources())


def test_warm_up_leaves_nothing_to_compile():
    """A process that has warmed up answers queries of every kind without compiling anything more."""
    command = [sys.executable, "-m", "tests.engine.kernels.after_warm_up"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "" == run.stdout.strip(), "a kernel that is left out, or other types of its arguments"


def test_compilation_is_told_of_and_loading_is_not():
    """A kernel that is new is compiled, which is told before it takes long; called again, it is there."""
    new = numba.njit(lambda one: one + 1)
    told: list[str] = []
    with telling_of_compilation(lambda: told.append("compiles")):
        assert 2 == new(1)
        first = len(told)
        assert 3 == new(2)
    assert 1 <= first == len(told)
    assert 1.5 == new(0.5)
    assert first == len(told)
