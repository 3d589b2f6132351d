"""The budget of log lines: so many a second from one address, so many from all, and what was left out."""

import pytest
from hypothesis import given, strategies as st

from psoup.app.admission.line_budget import LeftOut, LineBudget


class Time:
    now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def test_line_budget_is_one_of_each_second_and_address():
    """An address has its lines, then none until a second has passed; another one has its own."""
    time = Time()
    budget = LineBudget(per_address=2, in_all=10, monotonic_s=time)
    assert [True, True, False, False] == [budget.take("a") for _ in range(4)]
    assert budget.take("b")
    time.now_s = 0.999
    assert not budget.take("a")
    time.now_s = 1.0
    assert budget.take("a")
    assert LeftOut(3, "a") == budget.take_left_out()
    assert budget.take_left_out() is None
    assert (3, 1) == (budget.statistics().left_out, budget.statistics().addresses)
    budget.check()


def test_line_budget_of_all_addresses_is_bounded_with_its_memory():
    """Whoever has many addresses has as few lines, and leaves as little behind."""
    budget = LineBudget(per_address=2, in_all=5, monotonic_s=Time())
    taken = sum(budget.take(f"address {number}") for number in range(1_000))
    assert 5 == taken == budget.statistics().addresses
    budget.check()
    left = budget.take_left_out()
    assert left is not None
    assert 995 == left.lines


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(0, 0.7)), max_size=60))
def test_line_budget_of_any_lines_oracle_is_kept(asked):
    """Of any second that begins with a line no address has more than its lines; each line is written or counted."""
    time, written = Time(), []
    budget = LineBudget(per_address=2, in_all=3, monotonic_s=time)
    for address, pause_s in asked:
        time.now_s += pause_s
        if budget.take(address):
            written.append((time.now_s, address))
        budget.check()
    left = budget.take_left_out()
    assert len(asked) == len(written) + (0 if left is None else left.lines)
    for begun_s, _ in written:
        within = [name for at_s, name in written if begun_s <= at_s < begun_s + 1.0]
        # Two windows touch a second at most.
        assert len(within) <= 2 * 3
        assert max(within.count(name) for name in within) <= 2 * 2


def test_line_budget_check_finds_a_sum_that_differs():
    """The check sees a line that was counted and not kept."""
    budget = LineBudget(per_address=2, in_all=3, monotonic_s=Time())
    assert budget.take("a")
    budget._used = 2
    with pytest.raises(AssertionError, match="left out 0"):
        budget.check()
