"""docs/architecture.md shows each way as a spine: about ten steps, each of them a module or two."""

import pytest

from tests.house import ways


@pytest.mark.parametrize("way", list(ways.steps()))
def test_a_way_has_about_ten_steps(way):
    """More than a dozen is a list of files; each step links to the one, two or three modules that take it."""
    steps = ways.steps()[way]
    assert 8 <= len(steps) <= 12
    assert [] == [step for step in steps if not 1 <= len(step) <= 4]


def test_the_ways_are_those_of_requests_and_processes():
    """The page has them all."""
    expected = {"Rows", "Registration", "Invocation", "Publish and follow", "Recovery", "Spark"}
    assert expected == set(ways.steps())
