"""The differential test of stores: each step to `memory://` and to the embedded server, equal answers."""

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.storage.contract.agreeing import StoresAgree
from tests.stores import SharedServer


def compared(server: SharedServer, examples: int, steps: int) -> int:
    """Compare the stores in so many random examples; return how many answers were compared."""
    StoresAgree.server, StoresAgree.compared = server, 0
    run_state_machine_as_test(
        StoresAgree,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
    return StoresAgree.compared


@pytest.mark.redis
def test_differential_memory_and_server_answer_alike(server):
    """Whatever is asked in whatever order, both stores answer the same, errors included."""
    StoresAgree.replaced = StoresAgree.expired = StoresAgree.replayed = 0
    assert compared(server, examples=25, steps=40) > 25
    assert StoresAgree.replaced
    assert StoresAgree.expired
    assert StoresAgree.replayed


@pytest.mark.redis
@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_differential_memory_and_server_answer_alike_for_long(server):
    """The same, much longer."""
    assert compared(server, examples=1_000, steps=120) > 1_000
