"""A test that coverage has nothing to learn from runs at its own speed."""

import sys


def test_test_outside_the_covered_folders_is_not_traced():
    """Neither by the coverage of this process nor by one beneath it, which `pytest-cov` leaves on under xdist."""
    assert sys.gettrace() is None
