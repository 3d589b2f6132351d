"""Which sources factors connect: cross products, and joins that key indexes bound."""

import pytest

from psoup.engine.errors import UnsupportedSqlError
from psoup.engine.query.join_graph import is_bounded, sources_read
from tests.engine.query.join_strategies import joined

TWO = "SELECT a.i FROM s AS a, l AS b"
THREE = "SELECT a.i FROM s AS a, l AS b, s AS c"
FOUR = "SELECT a.i FROM s AS a, l AS b, s AS c, l AS d"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT i FROM s", True),
        ("SELECT i FROM s WHERE t LIKE '%a'", True),
        (f"{TWO} WHERE a.i = b.i", True),
        (f"{TWO} WHERE a.i BETWEEN b.i - 1 AND b.i + 1", True),
        (f"{TWO} WHERE a.i < b.i AND a.i > b.i", True),
        (f"{TWO} WHERE a.i < b.i", False),
        (f"{TWO} WHERE a.i < b.i AND a.i > b.own", False),
        (f"{TWO} WHERE a.i <> b.i", False),
        (f"{TWO} WHERE a.i + b.i = 1", False),
        (f"{TWO} WHERE a.i = 1 AND b.i = 1", False),
        (f"{THREE} WHERE a.i = b.i AND b.i = c.i", True),
        (f"{THREE} WHERE a.i = c.i AND b.i = c.i", True),
        (f"{THREE} WHERE a.i = b.i AND b.i < c.i", False),
        (f"{THREE} WHERE a.i = b.i AND c.i = 1 AND a.j = 1 AND b.own = 1", False),
        (f"{FOUR} WHERE c.i = d.i AND a.i = b.i AND b.own = d.own", True),
        (f"{FOUR} WHERE c.i = d.i AND a.i = b.i AND b.own < d.own", False),
    ],
)
def test_join_is_bounded_where_equalities_and_two_ended_bands_connect_it(text, expected):
    """Chains in any order; a band with one end leads everywhere."""
    assert expected == is_bounded(joined(text).clause)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (TWO, 1),
        (f"{TWO} WHERE a.i = 1", 1),
        (f"{TWO} WHERE b.i = 1", 1),
        (f"{TWO} WHERE a.i = b.i OR a.i = 1", 1),
        (f"{TWO} WHERE a.i = 1 OR b.i = 1", 1),
        (f"{TWO} WHERE NOT (a.i = b.i AND a.j = 1)", 1),
        (f"{TWO} WHERE (a.i = b.i) IS NOT TRUE", 1),
        (f"{THREE} WHERE a.i = b.i", 2),
        (f"{THREE} WHERE b.i = c.i", 1),
        (f"{THREE} WHERE a.i = c.i AND a.i = 1 AND c.i = 1", 1),
        (f"{FOUR} WHERE a.i = b.i AND c.i = d.i", 2),
        (f"{FOUR} WHERE a.i = b.i AND c.i = d.i AND a.i = 1 AND b.i = 1 AND c.i = 1", 2),
    ],
)
def test_cross_product_is_refused_at_the_first_stream_apart(text, place):
    """With what to compare."""
    with pytest.raises(UnsupportedSqlError) as refused:
        joined(text)
    alias = "abcd"[place]
    assert f"Nothing joins '{alias}' to 'a'." == refused.value.quoting
    assert f"WHERE a.column = {alias}.column" in refused.value.hint
    stream = "slsl"[place]
    assert text.index(f"{stream} AS {alias}") + 1 == refused.value.position.column


@pytest.mark.parametrize(
    "text",
    [
        f"{TWO} WHERE a.i <> b.i",
        f"{TWO} WHERE a.t < b.t",
        f"{TWO} WHERE ABS(a.i - b.i) > 5",
        f"{TWO} WHERE a.i = 1 AND b.i = 1",
        f"{TWO} WHERE a.t LIKE '%x' AND b.i + 1 > b.own",
        f"{THREE} WHERE a.i + b.i < c.i",
        f"{THREE} WHERE a.i = b.i AND a.j = 1 AND b.own = 2 AND c.j = 3",
        f"{TWO} WHERE a.i = NULL",
        f"{TWO} WHERE a.i = b.i AND 1 = 2",
    ],
)
def test_product_that_something_bounds_is_accepted(text):
    """A comparison over all of them, a factor on each, or nothing at all that satisfies it."""
    assert joined(text).clause.factors


def test_factor_that_every_value_satisfies_bounds_nothing():
    """It is no factor."""
    with pytest.raises(UnsupportedSqlError):
        joined(f"{TWO} WHERE (a.i = 1 OR a.i <> 1 OR a.i IS NULL) AND b.i = 1")


def test_sources_read_by_each_kind_of_factor():
    """One, two, or all that an expression names."""
    text = f"{THREE} WHERE a.i = 1 AND a.i = b.i AND b.own < c.i AND a.f + b.f = c.f"
    found = [sources_read(factor) for factor in joined(text).clause.factors]
    assert [{0}, {0, 1}, {1, 2}, {0, 1, 2}] == found
