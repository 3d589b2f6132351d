"""Smallest and largest values, compiled and plain, beside NumPy."""

import numpy as np
import pytest

from psoup.engine.kernels.span import least_most

KERNELS = [least_most, least_most.py_func]  # type: ignore[attr-defined]


@pytest.mark.parametrize("kernel", KERNELS, ids=["compiled", "plain"])
@pytest.mark.parametrize("dtype", [np.int64, np.float64])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8, 4_096])
def test_least_most_differential_is_min_and_max(kernel, dtype, count):
    """Wherever the smallest and the largest stand, among negative and equal values as well."""
    rng = np.random.default_rng(count)
    drawn = rng.integers(-5, 5, count).astype(dtype) / (1 if dtype is np.int64 else 8)
    for place in {0, count // 3, count // 2, count - 1}:
        for extreme in (-(2**52), 2**52):
            values = drawn.astype(dtype)
            values[place] = extreme
            assert (values.min(), values.max()) == kernel(values)


@pytest.mark.parametrize("kernel", KERNELS, ids=["compiled", "plain"])
def test_least_most_of_the_ends_of_a_type_are_exact(kernel):
    """The smallest and the largest whole number are told apart from their neighbours."""
    ends = np.iinfo(np.int64)
    values = np.array([ends.max - 1, ends.min + 1, ends.max, ends.min], dtype=np.int64)
    assert (ends.min, ends.max) == tuple(map(int, kernel(values)))
