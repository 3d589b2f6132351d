"""Values: equal by what they hold, usable as keys, without room for anything else."""

from dataclasses import replace

import pytest

from psoup.engine.query.text.refusal import Span
from psoup.engine.tuples.value_type import value_type


@value_type
class Pair:
    """Two numbers in the place of a span."""

    start: int
    past: int


def test_values_of_equal_fields_are_one_key():
    """And values of another type are another one."""
    assert Pair(1, 2) == Pair(1, 2) != Pair(2, 1)
    assert {Pair(1, 2): "one"} == {Pair(1, 2): "one"}
    others: list[object] = [Span(1, 2), (1, 2)]
    assert Pair(1, 2) not in others
    assert Pair(1, 3) == replace(Pair(1, 2), past=3)
    assert "Pair(start=1, past=2)" == repr(Pair(1, 2))


def test_value_has_no_room_for_other_attributes():
    """Slots: a misspelt name is an error at run time as well."""
    with pytest.raises(AttributeError):
        setattr(Pair(1, 2), "begin", 1)  # noqa: B010  # the type checker refuses the plain statement
