"""Seeded runs of every verb with deaths of the engine at every boundary of a turn."""

from collections import Counter

import pytest

from tests.simulation.simulator import Boundary, Simulator

VERBS = {"declare", "drop", "append", "version", "register", "remove", "tick", "advance"}


def test_oracle_simulated_service_that_dies_anywhere_answers_as_the_twin():
    """Whatever is done and wherever the engine dies, every answer is that of State(seq)."""
    counts: Counter[str] = Counter()
    for seed in range(12):
        simulator = Simulator(seed)
        assert 60 == simulator.run(60)
        counts += simulator.counts
    assert set() == (VERBS | set(Boundary)) - set(counts), "every verb and every death occurred"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1_000, 1_200))
def test_oracle_simulated_service_long_runs_answer_as_the_twin(seed):
    """The same, for longer."""
    assert 300 == Simulator(seed).run(300)
