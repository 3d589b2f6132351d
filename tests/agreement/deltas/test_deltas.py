"""Clients that ask what has changed have, at every quiet moment, what a full answer holds."""

import pytest

from tests.agreement.deltas.delta_world import counts, play
from tests.agreement.deltas.group_world import GroupWorld
from tests.agreement.deltas.left_join_world import LeftJoinWorld
from tests.agreement.deltas.partial_world import PartialWorld, with_small_units
from tests.agreement.deltas.row_window_world import RowWindowWorld

WORLDS, TOGETHER = 120, 20
SEEDS = [
    pytest.param(range(4), id="few"),
    *(
        pytest.param(range(first, first + TOGETHER), id=str(first), marks=pytest.mark.slow)
        for first in range(0, WORLDS, TOGETHER)
    ),
]
"""Of worlds that are played together: the first four, and all of them by `make torture`."""


@pytest.mark.parametrize("seeds", SEEDS)
def test_clients_of_deltas_have_the_window_oracle_naive_twin(seeds):
    """Whatever arrives, leaves, is dropped, is lost or crosses on the way; each kind of answer is given."""
    worlds = [play(seed) for seed in seeds]
    assert {"delta", "keep", "removed", "reset", "unchanged"} == set(counts(worlds))


@pytest.mark.parametrize("seeds", SEEDS)
def test_clients_of_groups_and_orders_have_what_a_full_answer_holds_oracle_naive_twin(seeds):
    """So do those of groups, with HAVING or without, of rows in an order of their own, and of the first of either."""
    worlds = [play(seed, of=GroupWorld) for seed in seeds]
    assert {"delta", "removed", "reset", "unchanged"} <= set(counts(worlds))


@pytest.mark.parametrize("seeds", SEEDS)
def test_clients_of_groups_through_partials_have_what_a_full_answer_holds_oracle_naive_twin(
    seeds, monkeypatch
):
    """So do those whose groups are merged of partials, which all windows, policies and sources share."""
    with_small_units(monkeypatch)
    worlds = [play(seed, of=PartialWorld) for seed in seeds]
    assert {"delta", "removed", "reset", "unchanged"} <= set(counts(worlds))
    assert (
        sum(world.units > 0 for world in worlds if isinstance(world, PartialWorld))
        > len(seeds) // 4
    )


@pytest.mark.parametrize("seeds", SEEDS)
def test_clients_of_row_windows_have_what_a_full_answer_holds_oracle_naive_twin(seeds):
    """So do those of the newest rows, of a stream or of each partition, alone, joined, grouped, ordered and limited."""
    worlds = [play(seed, of=RowWindowWorld) for seed in seeds]
    kinds = set(counts(worlds))
    assert (
        {"reset", "unchanged"} <= kinds <= {"reset", "unchanged", "delta"}
    )  # later pages count as delta


@pytest.mark.parametrize("seeds", SEEDS)
def test_clients_of_left_joins_have_what_a_full_answer_holds_oracle_naive_twin(seeds):
    """So do those of tuples beside their partners, or beside NULLs while none of these is visible."""
    worlds = [play(seed, of=LeftJoinWorld) for seed in seeds]
    kinds = set(counts(worlds))
    assert (
        {"reset", "unchanged"} <= kinds <= {"reset", "unchanged", "delta"}
    )  # later pages count as delta
