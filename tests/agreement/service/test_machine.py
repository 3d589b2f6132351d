"""The state machine of all verbs, on each store, against the naive twin."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from tests.agreement.service.machine import ServiceMachine
from tests.stores import SharedServer
from tests.world import World

VERBS = {
    "declare",
    "declare-again",
    "declare-otherwise",
    "add-column",
    "drop",
    "cascade",
    "append",
    "append-version",
    "fold",
    "register",
    "register-join",
    "register-shared",
    "register-named",
    "remove",
    "invoke",
    "invoke-at",
    "invoke-at-refused",
    "count-only",
    "next-page",
    "tick",
    "advance",
    "restart",
}
"""What the runs of a test have to have done at least once, all together."""


class MemoryMachine(ServiceMachine):
    """Over `memory://`."""

    def open_world(self) -> World:
        """Return a world in memory."""
        return World()


def machine_over(server: SharedServer, folder: Path) -> type[ServiceMachine]:
    """Return the machine over one embedded server, emptied for each run."""

    class EmbeddedMachine(ServiceMachine):
        def open_world(self) -> World:
            return World(server.empty_store(folder))

    return EmbeddedMachine


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One embedded server for all runs."""
    shared = SharedServer(tmp_path_factory.mktemp("server"))
    yield shared
    shared.stop()


def untried(machine: type[ServiceMachine], *, runs: int, steps: int) -> set[str]:
    """Run the machine, which compares every answer; return the verbs that it never came to."""
    machine.counts = Counter()
    run_state_machine_as_test(
        machine, settings=settings(max_examples=runs, stateful_step_count=steps)
    )
    return VERBS - set(machine.counts)


def test_oracle_service_over_memory_answers_as_the_twin():
    """Any sequence of verbs over `memory://` answers as the twin does."""
    assert set() == untried(MemoryMachine, runs=8, steps=40)


@pytest.mark.redis
def test_oracle_service_over_the_embedded_server_answers_as_the_twin(server, tmp_path):
    """The same over a Redis-compatible server: its clock is its own."""
    assert set() == untried(machine_over(server, tmp_path), runs=7, steps=40)


@pytest.mark.slow
def test_oracle_service_over_memory_long_runs_answer_as_the_twin():
    """The same over memory, two thousand times."""
    assert set() == untried(MemoryMachine, runs=2_000, steps=60)


@pytest.mark.slow
@pytest.mark.redis
def test_oracle_service_over_the_embedded_server_long_runs_answer_as_the_twin(server, tmp_path):
    """The same over a server, three hundred times."""
    assert set() == untried(machine_over(server, tmp_path), runs=300, steps=60)
