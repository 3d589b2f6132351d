"""What house rules share, and when it is let go."""

from collections.abc import Iterator

import pytest

from tests.house.tree import syntax_tree


@pytest.fixture(scope="package", autouse=True)
def syntax_trees() -> Iterator[None]:
    """Let syntax trees go behind the last house rule: each look for garbage at two million nodes takes a second."""
    yield
    syntax_tree.cache_clear()
