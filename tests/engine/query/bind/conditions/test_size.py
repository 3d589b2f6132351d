"""Limits on the normal form: what a short text swells to is counted as it will be kept."""

import pytest

from psoup.engine.errors import QueryTooComplexError
from psoup.engine.query.bind.conditions.size import Size, measure
from tests.engine.query.expression_strategies import bound


def nested(levels: int) -> str:
    """Return BETWEENs inside each other: each writes its operand twice."""
    text = "b"
    for _ in range(levels):
        text = f"({text} BETWEEN FALSE AND c)"
    return text


def among(first: int, past: int) -> str:
    """Return an IN list of whole numbers."""
    return f"i IN ({', '.join(str(n) for n in range(first, past))})"


@pytest.mark.parametrize(
    ("condition", "size"),
    [
        ("b", Size(1, 0, 0)),
        ("i > 1", Size(1, 1, 0)),
        ("b < TRUE", Size(2, 1, 0)),
        ("b < c", Size(2, 1, 0)),
        ("i + j > 1", Size(1, 2, 0)),
        ("i BETWEEN 1 AND 2", Size(2, 2, 0)),
        ("i IN (1, 2, 3)", Size(1, 1, 3)),
        ("NOT i IN (1, 2, 3)", Size(1, 1, 3)),
        ("NOT (i > 1 AND b)", Size(2, 2, 0)),
        ("(i > 1 OR b) IS TRUE AND t LIKE '%x'", Size(3, 4, 0)),
    ],
)
def test_measure_counts_factors_height_and_options(condition, size):
    """As canonical SQL writes the condition."""
    (output,) = bound(f"SELECT ({condition}) AS shown FROM s").shape.outputs
    assert size == measure(output.expression)


@pytest.mark.parametrize(
    ("condition", "limit", "actual"),
    [
        (f"{among(0, 600)} OR {among(600, 1_200)}", 1_000, 1_200),
        (nested(6), 64, 94),
    ],
    ids=["options", "factors"],
)
def test_condition_that_swells_past_a_limit_is_refused(condition, limit, actual):
    """The text is short and flat enough; its normal form is not."""
    with pytest.raises(QueryTooComplexError) as refused:
        bound(f"SELECT i FROM s WHERE {condition}")
    assert {"limit": limit, "actual": actual}.items() <= refused.value.extras.items()


def test_condition_that_swells_up_to_a_limit_is_accepted():
    """Lists that share their constants are one list of each of them."""
    query = bound(f"SELECT i FROM s WHERE {among(0, 600)} OR {among(400, 1_000)}")
    assert query == bound(f"SELECT i FROM s WHERE {among(0, 1_000)}")
