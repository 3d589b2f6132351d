"""The cache against an ordered list of keys."""

from hypothesis import given, strategies as st

from psoup.engine.recent import Recent


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 6), st.integers(1, 5))))
def test_recent_under_any_use_oracle_forgets_the_least_recently_used(steps):
    """It holds what a list of keys in order of use holds, and never more than its bound."""
    cache = Recent[int, int](10)
    model: list[tuple[int, int]] = []
    for put, key, size in steps:
        known = [one for one in model if one[0] == key]
        if put:
            cache.put(key, key * 2, size=size)
            model = [one for one in model if one[0] != key] + [(key, size)]
            while sum(held for _, held in model) > 10:
                model.pop(0)
        else:
            assert (key * 2 if known else None) == cache.get(key)
            model = [one for one in model if one[0] != key] + known
        cache.check()
        assert model == [(k, size) for k, (_, size) in cache._table.items()]


def test_recent_value_larger_than_everything_is_not_kept():
    """One value that does not fit alone leaves the others where they are."""
    cache = Recent[str, int](3)
    cache.put("a", 1)
    cache.put("b", 2, size=4)
    assert (1, None) == (cache.get("a"), cache.get("b"))
    assert (1, 1) == (cache.statistics().entries, cache.statistics().size)
